"""Verification of the audit log: its chain, its index, its file, and heads known from elsewhere.

A manipulated file may contain anything anywhere, so data that cannot be read is a finding here and does not stop the
verification.
"""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from trotline.audit.query.metrics import build_metrics
from trotline.audit.record.record import Record
from trotline.audit.record.record_reader import decode_record
from trotline.audit.store.log_schema import prepare_schema
from trotline.audit.store.record_index import (
    RecordColumns,
    build_columns,
    build_facts,
    build_search_text,
    find_wrong_spans,
)
from trotline.audit.verify.chain import (
    EMPTY_HEAD,
    TOMBSTONE,
    ChainBreak,
    ChainEntry,
    ChainHead,
    find_breaks,
    list_forgotten,
)

if TYPE_CHECKING:
    from trotline.audit.store.sqlite_store import SqliteStore

RECORD_COLUMNS = ", ".join(("seq", *RecordColumns._fields))

SELECT_BODIES = (
    "SELECT record.seq, record.id, record.body, detail.body FROM entries AS record LEFT JOIN entries AS detail"
    " ON detail.id = record.id AND detail.kind = 'detail'"
    " WHERE record.kind = 'record' AND record.body IS NOT NULL ORDER BY record.seq"
)

SELECT_STRAYS = (
    "SELECT seq FROM facts WHERE seq NOT IN (SELECT seq FROM records)"
    " UNION SELECT seq FROM metrics WHERE seq NOT IN (SELECT seq FROM records)"
    " UNION SELECT rowid FROM words WHERE rowid NOT IN (SELECT seq FROM records)"
)

STATISTICS_TABLE = "sqlite_stat"
SHADOW_TABLES = "words_"
"""Prefix of the tables of the search index; their SQL may differ between SQLite versions, so it is not compared."""

RECORD_NUMBER = re.compile(r"[0-9]{1,15}")

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class ForgottenCounts(NamedTuple):
    """The number of entries whose body was forgotten, and the number of tombstones."""

    entries: int
    rounds: int


class CheckSkipped(Exception):  # noqa: N818 - not an error: it may work later or for another user
    """Raised when a check could not be run."""


@contextlib.contextmanager
def read_snapshot(db: sqlite3.Connection) -> Iterator[None]:
    """Read everything inside from one snapshot, whatever other processes write, including text that is not UTF-8."""
    db.execute("BEGIN")
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        db.text_factory = str
        db.execute("ROLLBACK")


def read_head(db: sqlite3.Connection) -> ChainHead:
    """Return the head of the chain."""
    row = db.execute("SELECT seq, digest FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
    return ChainHead(*row) if row else EMPTY_HEAD


def read_entries(db: sqlite3.Connection) -> Iterator[ChainEntry]:
    """Yield all entries of the chain in order."""
    columns = ", ".join(ChainEntry._fields)
    for row in db.execute(f"SELECT {columns} FROM entries ORDER BY seq"):  # noqa: S608 - fixed column names
        yield ChainEntry(*row)


def read_checkpoints(db: sqlite3.Connection) -> dict[int, str]:
    """Return the digests of the checkpoints by entry number."""
    return dict(db.execute("SELECT seq, digest FROM checkpoints"))


def count_forgotten(db: sqlite3.Connection) -> ForgottenCounts:
    """Count forgotten entries and tombstones."""
    counted = "SELECT count(*) FILTER (WHERE body IS NULL), count(*) FILTER (WHERE kind = ?) FROM entries"
    return ForgottenCounts(*db.execute(counted, (TOMBSTONE,)).fetchone())


def find_forgotten_time(db: sqlite3.Connection, name: str) -> int | None:
    """Return when the record with a number or id was forgotten.

    Return 0 if no tombstone says when, and None if no such record was forgotten.
    """
    found = "SELECT seq FROM entries WHERE kind = 'record' AND body IS NULL AND (id = ? OR seq = ?)"
    row = db.execute(found, (name, int(name) if RECORD_NUMBER.fullmatch(name) else 0)).fetchone()
    if row is None:
        return None
    for (body,) in db.execute("SELECT body FROM entries WHERE kind = ? ORDER BY seq", (TOMBSTONE,)):
        if any(first <= row[0] <= last for first, last in list_forgotten(body)):
            at_us = json.loads(body).get("at_us")
            return at_us if isinstance(at_us, int) else 0
    return 0


def find_misindexed(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Yield the number and id of records with a wrong index and of index rows without a record, each once."""
    reported: set[int] = set()
    for seq, id_ in _find_index_faults(db):
        number = seq if isinstance(seq, int) else 0
        if number not in reported:
            reported.add(number)
            yield number, str(id_)


def _find_index_faults(db: sqlite3.Connection) -> Iterator[tuple[Any, Any]]:
    listed = {row[0]: row[1:] for row in db.execute(f"SELECT {RECORD_COLUMNS} FROM records")}  # noqa: S608 - fixed column names
    for seq, id_, record, detail in db.execute(SELECT_BODIES):
        if not _is_found(db, listed.pop(seq, ()), id_, (seq, record, detail)):
            yield seq, id_
    yield from ((seq, row[0]) for seq, row in listed.items())
    yield from ((seq, "") for (seq,) in db.execute(SELECT_STRAYS))
    yield from find_wrong_spans(db)


def _is_found(db: sqlite3.Connection, columns: tuple[Any, ...], id_: str, bodies: tuple[int, str, str | None]) -> bool:
    try:
        record = decode_record(*bodies)
        return record.id == id_ and columns == tuple(build_columns(record)) and _has_facts(db, record)
    except UNREADABLE:
        return False


def _has_facts(db: sqlite3.Connection, record: Record) -> bool:
    seq = record.seq
    found = set(db.execute("SELECT kind, name FROM facts WHERE seq = ?", (seq,)))
    metrics = set(db.execute("SELECT * FROM metrics WHERE seq = ?", (seq,)))
    words = db.execute("SELECT text FROM words WHERE rowid = ?", (seq,)).fetchone()
    return (
        metrics == set(build_metric_rows(seq, record))
        and found == build_facts(record)
        and words == (build_search_text(record),)
    )


def build_metric_rows(seq: int, record: Record) -> list[tuple[str, str, int, int, int]]:
    """Build the rows of the table `metrics` for a record."""
    return [
        (metric.kind, metric.name, seq, number, metric.amount) for number, metric in enumerate(build_metrics(record))
    ]


def check_integrity(db: sqlite3.Connection) -> str:
    """Return the first fault that SQLite finds in its pages and indexes, or an empty string."""
    found = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return "" if found == "ok" else " ".join(found.split())


def check_search_index(db: sqlite3.Connection) -> str:
    """Return a sentence if the search index does not match its text, or an empty string.

    SQLite needs write access for this check. Raises CheckSkipped if it cannot be run.
    """
    try:
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "").startswith("SQLITE_CORRUPT"):
            return "the index of words is not that of its words"
        raise CheckSkipped(f"the index of words could not be checked: {error}") from None
    return ""


def find_schema_changes(db: sqlite3.Connection) -> Iterator[str]:
    """Yield a sentence for each table, index or trigger that differs from a new audit log.

    They decide what is kept and what is found.
    """
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        prepare_schema(made, Path(":memory:"))
        ours, theirs = _read_schema(made), _read_schema(db)
    for name in sorted(ours.keys() | theirs.keys()):
        kind = (theirs.get(name) or ours[name])[0]
        if name not in theirs:
            yield f"the {kind} `{name}` is missing"
        elif name not in ours:
            yield f"the {kind} `{name}` is none of ours"
        elif ours[name] != theirs[name]:
            yield f"the {kind} `{name}` is not as we made it"


def _read_schema(db: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    found = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {
        str(name): (str(kind), str(table), "" if str(name).startswith(SHADOW_TABLES) else str(sql))
        for kind, name, table, sql in found
        if not str(name).startswith(STATISTICS_TABLE)
    }


MISINDEXED = "what it is found by is not what is in it"
WHOLE_FILE = 0
"""Number used for a break that concerns the file instead of an entry."""


class VerificationResult(NamedTuple):
    """The result of a verification."""

    head: ChainHead
    breaks: list[ChainBreak]
    anchored: int  # newest entry with a head known from elsewhere; 0 if none
    forgotten: ForgottenCounts
    unchecked: list[str]  # checks that could not be run


def verify_audit_log(store: "SqliteStore", anchors: Mapping[int, str]) -> VerificationResult:
    """Verify the file, the chain and the index of a store, using heads known from elsewhere."""
    head, forgotten = EMPTY_HEAD, ForgottenCounts(0, 0)
    unchecked: list[str] = []
    with store.open_connection() as db:
        with read_snapshot(db):
            breaks = [ChainBreak(WHOLE_FILE, "", what) for what in _find_file_faults(db)]
            with contextlib.suppress(sqlite3.OperationalError) if breaks else contextlib.nullcontext():
                head, forgotten = read_head(db), count_forgotten(db)
                breaks += _find_entry_faults(db, anchors)
        try:
            damage = check_search_index(db)
        except CheckSkipped as why:
            damage, unchecked = "", [str(why)]
    breaks += [ChainBreak(WHOLE_FILE, "", damage)] if damage else []
    return VerificationResult(
        ChainHead(head.seq, str(head.digest)), sorted(breaks), max(anchors, default=0), forgotten, unchecked
    )


def _find_file_faults(db: sqlite3.Connection) -> Iterator[str]:
    damage = check_integrity(db)
    if damage:
        yield f"the file is damaged: {damage}"
    yield from find_schema_changes(db)


def _find_entry_faults(db: sqlite3.Connection, anchors: Mapping[int, str]) -> Iterator[ChainBreak]:
    reported = set()
    for chain_break in find_breaks(read_entries(db), read_checkpoints(db), anchors):
        reported.add(chain_break.seq)
        yield chain_break
    yield from (ChainBreak(seq, id_, MISINDEXED) for seq, id_ in find_misindexed(db) if seq not in reported)
