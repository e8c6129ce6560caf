"""A trail looked over: what its file holds, read at one moment, and whether its tables are what its entries make them.

Whoever edits the file may put anything anywhere. What cannot be read is a finding here, and never the end of the look.
"""

import contextlib
import json
import re
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trotline.audit import spans
from trotline.audit.bodies import joined
from trotline.audit.chain import BEGINNING, FORGOTTEN, Entry, Head, forgotten_by
from trotline.audit.columns import Columns, columns_of, facts_of, words_of
from trotline.audit.figures import figures_of
from trotline.audit.migrations import migrate

COLUMNS = ", ".join(("seq", *Columns._fields))

RECORDS = (
    "SELECT record.seq, record.id, record.body, detail.body FROM entries AS record LEFT JOIN entries AS detail"
    " ON detail.id = record.id AND detail.kind = 'detail'"
    " WHERE record.kind = 'record' AND record.body IS NOT NULL ORDER BY record.seq"
)

STRAYS = (
    "SELECT seq FROM facts WHERE seq NOT IN (SELECT seq FROM records)"
    " UNION SELECT seq FROM figures WHERE seq NOT IN (SELECT seq FROM records)"
    " UNION SELECT rowid FROM words WHERE rowid NOT IN (SELECT seq FROM records)"
)

STATISTICS = "sqlite_stat"
SHADOWS = "words_"
"""Tables in which the index of words is kept: each version of SQLite may make them in its own words."""

NUMBER = re.compile(r"[0-9]{1,15}")

UNREADABLE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError, RecursionError)


class Forgotten(NamedTuple):
    """How many entries have no body any more, and how many entries say so."""

    entries: int
    rounds: int


class Unchecked(Exception):  # noqa: N818 - it is no error: another moment, or another user, may be able to
    """Something could not be looked at now."""


@contextlib.contextmanager
def standing_still(db: sqlite3.Connection) -> Iterator[None]:
    """Everything inside is read at one moment, whatever others write; bytes that are no text are read as well."""
    db.execute("BEGIN")
    db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
    try:
        yield
    finally:
        db.text_factory = str
        db.execute("ROLLBACK")


def head_in(db: sqlite3.Connection) -> Head:
    row = db.execute("SELECT seq, digest FROM entries ORDER BY seq DESC LIMIT 1").fetchone()
    return Head(*row) if row else BEGINNING


def entries_in(db: sqlite3.Connection) -> Iterator[Entry]:
    """The whole chain, in its order."""
    columns = ", ".join(Entry._fields)
    for row in db.execute(f"SELECT {columns} FROM entries ORDER BY seq"):  # noqa: S608 - names of ours
        yield Entry(*row)


def checkpoints_in(db: sqlite3.Connection) -> dict[int, str]:
    return dict(db.execute("SELECT seq, digest FROM checkpoints"))


def forgotten_in(db: sqlite3.Connection) -> Forgotten:
    counted = "SELECT count(*) FILTER (WHERE body IS NULL), count(*) FILTER (WHERE kind = ?) FROM entries"
    return Forgotten(*db.execute(counted, (FORGOTTEN,)).fetchone())


def forgotten_at(db: sqlite3.Connection, name: str) -> int | None:
    """When the record of this number or id was forgotten; 0 if no note says when, and None if it was not."""
    found = "SELECT seq FROM entries WHERE kind = 'record' AND body IS NULL AND (id = ? OR seq = ?)"
    row = db.execute(found, (name, int(name) if NUMBER.fullmatch(name) else 0)).fetchone()
    if row is None:
        return None
    for (body,) in db.execute("SELECT body FROM entries WHERE kind = ? ORDER BY seq", (FORGOTTEN,)):
        if any(first <= row[0] <= last for first, last in forgotten_by(body)):
            at_us = json.loads(body).get("at_us")
            return at_us if isinstance(at_us, int) else 0
    return 0


def misindexed_in(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Records that would not be found by what is in them, and what is found without being a record; each once."""
    told: set[int] = set()
    for seq, id_ in _misindexed(db):
        number = seq if isinstance(seq, int) else 0
        if number not in told:
            told.add(number)
            yield number, str(id_)


def _misindexed(db: sqlite3.Connection) -> Iterator[tuple[Any, Any]]:
    listed = {row[0]: row[1:] for row in db.execute(f"SELECT {COLUMNS} FROM records")}  # noqa: S608 - names of ours
    for seq, id_, record, detail in db.execute(RECORDS):
        if not _is_found(db, listed.pop(seq, ()), id_, (seq, record, detail)):
            yield seq, id_
    yield from ((seq, row[0]) for seq, row in listed.items())
    yield from ((seq, "") for (seq,) in db.execute(STRAYS))
    yield from spans.astray(db)


def _is_found(db: sqlite3.Connection, columns: tuple[Any, ...], id_: str, bodies: tuple[int, str, str | None]) -> bool:
    try:
        record = joined(*bodies)
        return record["id"] == id_ and columns == tuple(columns_of(record)) and _has_facts(db, record)
    except UNREADABLE:
        return False


def _has_facts(db: sqlite3.Connection, record: dict[str, Any]) -> bool:
    seq = record["seq"]
    found = set(db.execute("SELECT kind, name FROM facts WHERE seq = ?", (seq,)))
    figures = set(db.execute("SELECT * FROM figures WHERE seq = ?", (seq,)))
    words = db.execute("SELECT text FROM words WHERE rowid = ?", (seq,)).fetchone()
    return figures == set(figure_rows(seq, record)) and found == facts_of(record) and words == (words_of(record),)


def figure_rows(seq: int, record: dict[str, Any]) -> list[tuple[str, str, int, int, int]]:
    return [(figure.kind, figure.name, seq, turn, figure.amount) for turn, figure in enumerate(figures_of(record))]


def damage_in(db: sqlite3.Connection) -> str:
    """What the database itself finds wrong with its pages, and with indexes that lack a row."""
    found = str(db.execute("PRAGMA integrity_check(1)").fetchone()[0])
    return "" if found == "ok" else " ".join(found.split())


def damage_in_words(db: sqlite3.Connection) -> str:
    """Whether words lead to the records that have them. The database asks for the right to write before it looks."""
    try:
        db.execute("INSERT INTO words (words) VALUES ('integrity-check')")
    except sqlite3.DatabaseError as error:
        if getattr(error, "sqlite_errorname", "").startswith("SQLITE_CORRUPT"):
            return "the index of words is not that of its words"
        raise Unchecked(f"the index of words could not be checked: {error}") from None
    return ""


def estranged(db: sqlite3.Connection) -> Iterator[str]:
    """Tables, indexes and triggers that are not those which we make: they decide what is kept, and what is found."""
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as made:
        migrate(made, Path(":memory:"))
        ours, theirs = _schema(made), _schema(db)
    for name in sorted(ours.keys() | theirs.keys()):
        kind = (theirs.get(name) or ours[name])[0]
        if name not in theirs:
            yield f"the {kind} `{name}` is missing"
        elif name not in ours:
            yield f"the {kind} `{name}` is none of ours"
        elif ours[name] != theirs[name]:
            yield f"the {kind} `{name}` is not as we made it"


def _schema(db: sqlite3.Connection) -> dict[str, tuple[str, ...]]:
    found = db.execute("SELECT type, name, tbl_name, sql FROM sqlite_master")
    return {
        str(name): (str(kind), str(table), "" if str(name).startswith(SHADOWS) else str(sql))
        for kind, name, table, sql in found
        if not str(name).startswith(STATISTICS)
    }
