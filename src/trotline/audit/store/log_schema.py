"""The tables of the audit log: create them, and rebuild those that are derived from the entries.

`entries`, `checkpoints` and `unread` hold what was written. Every other table is an index over the entries. A new
version that changes an index raises VERSION; the first process that opens an older file rebuilds all of them.
"""

import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trotline.audit.query.metrics import build_metrics
from trotline.audit.record.record import Record
from trotline.audit.record.record_reader import decode_record
from trotline.audit.store.record_index import build_columns, build_facts, build_search_text
from trotline.domain.errors import TrotlineError

VERSION = 11

SCHEMA_FILE = Path(__file__).parent / "schema.sql"
REINDEX_FILE = Path(__file__).parent / "reindex.sql"
COMMENT = re.compile(r"^--.*$", re.MULTILINE)
INDEX_TABLES = ("records", "facts", "metrics", "spans", "words")
INDEX_FUNCTIONS: dict[str, Callable[[Record], Any]] = {
    "build_columns": build_columns,
    "build_facts": lambda record: sorted(build_facts(record)),
    "build_metrics": build_metrics,
    "build_search_text": build_search_text,
}
"""SQL functions for reindex.sql: each takes the bodies of a record and its detail."""

LIST_FUNCTIONS = frozenset({"build_facts", "build_metrics"})
PRE_RELEASE_NAME = "trail.db"
"""The file name of the audit log in development versions before 0.1.0."""

PRE_RELEASE_TABLE = "SELECT 1 FROM sqlite_master WHERE name = 'versions'"
PRE_RELEASE_RECORD = """SELECT 1 FROM entries WHERE body LIKE '{"schema":"trotline.record/1"%' LIMIT 1"""
"""Queries that find something that only development versions before 0.1.0 wrote."""

PRE_RELEASE = "`{}` was written by a development version of Trotline before 0.1.0"
NEWER = "`{}` was written by a newer Trotline (schema {}, known up to {})"
MOVE_HINT = "`trotline service stop`, then `mv {0} {0}.old`: the next call starts a new audit log"


def prepare_schema(connection: sqlite3.Connection, file: Path) -> None:
    """Create the tables of a new file, or rebuild the indexes of an older one."""
    if _read_version(connection) == VERSION:
        return
    connection.execute("BEGIN IMMEDIATE")  # one of several processes that open a new file creates the tables
    try:
        done = check_version(connection, file)
        if done < VERSION:
            _create(connection, file, is_new=done == 0)
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def check_version(connection: sqlite3.Connection, file: Path) -> int:
    """Return the schema version of a file, or raise if a newer Trotline wrote it."""
    version = _read_version(connection)
    if version > VERSION:
        hint = "use that version, or move the file away: the next call starts a new audit log"
        raise TrotlineError(NEWER.format(file, version, VERSION), hint=hint)
    return version


def reindex(connection: sqlite3.Connection) -> None:
    """Rebuild all index tables from the entries, inside the caller's transaction."""
    for table in INDEX_TABLES:
        connection.execute(f"DROP TABLE IF EXISTS {table}")
    for name in INDEX_FUNCTIONS:
        connection.create_function(name, 2, _make_sql_function(name), deterministic=True)
    _run(connection, SCHEMA_FILE)
    _run(connection, REINDEX_FILE)


def _create(connection: sqlite3.Connection, file: Path, *, is_new: bool) -> None:
    old_file = file.with_name(PRE_RELEASE_NAME)
    if is_new and old_file.exists():
        raise TrotlineError(PRE_RELEASE.format(old_file), hint=MOVE_HINT.format(old_file))
    if connection.execute(PRE_RELEASE_TABLE if is_new else PRE_RELEASE_RECORD).fetchone():
        raise TrotlineError(PRE_RELEASE.format(file), hint=MOVE_HINT.format(file))
    if is_new:
        _run(connection, SCHEMA_FILE)
    else:
        reindex(connection)
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _run(connection: sqlite3.Connection, file: Path) -> None:
    """Run the statements of a file; `executescript` would end the transaction."""
    for statement in COMMENT.sub("", file.read_text("utf-8")).split(";"):
        connection.execute(statement)


def _make_sql_function(name: str) -> Callable[[str, str | None], str]:
    """Build an SQL function that returns text, or JSON for other values.

    A body that cannot be read gets an empty index, and does not stop the rebuild.
    """

    def call(record: str, detail: str | None) -> str:
        try:
            found = INDEX_FUNCTIONS[name](decode_record(0, record, detail))
            return found if isinstance(found, str) else json.dumps(found)
        except (ValueError, TypeError, ArithmeticError, RecursionError):
            return "[]" if name in LIST_FUNCTIONS else ""

    return call


def _read_version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])
