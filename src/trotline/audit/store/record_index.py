"""The index of records: the columns, facts and search text by which the store finds them.

All of it is derived from the bodies, so that it can be rebuilt and compared.

Spans narrow a time range down to a range of entries. Records arrive nearly in the order of their times, but not quite:
a spool may have waited, a clock may have been set back. Without spans, a query such as "the last two hours" would scan
the log back to its first record. For every hundred entries, a span holds the earliest time in or after them and the
latest time in or before them: later records come after the span, earlier records come before it.
"""

import sqlite3
from collections.abc import Iterator
from typing import NamedTuple

from trotline.audit.record.actions import list_steps
from trotline.audit.record.record import EDIT_AUTHORS, UNKNOWN_FILE, Record, clean_text
from trotline.audit.record.subjects import PATH_FIELDS

MAX_SEARCH_TEXT = 65_536
"""Maximum number of characters indexed for full-text search per record."""


class RecordColumns(NamedTuple):
    """The indexed columns of a record."""

    id: str
    at_us: int
    agent: str
    event: str
    conversation: str
    verdict: str
    command: str
    is_self_test: int


def build_columns(record: Record) -> RecordColumns:
    """Build the indexed columns of a record."""
    return RecordColumns(
        id=clean_text(record.id),
        at_us=record.at_us,
        agent=clean_text(record.agent),
        event=clean_text(record.event),
        conversation=clean_text(record.conversation),
        verdict=clean_text(record.effective_verdict),
        command=clean_text(record.command),
        is_self_test=int(record.is_self_test),
    )


def build_facts(record: Record) -> set[tuple[str, str]]:
    """Build the (kind, name) pairs of a record: guards that decided, effects, paths, writes and action steps.

    A record may have several of each, so they are not columns.
    """
    effects = record.detail_or_empty.effects
    paths = [effect.path for effect in effects] + [record.find_text(name) for name in PATH_FIELDS]
    paths += record.detail_or_empty.subject_paths
    found = [("guard", author) for author in record.deciders]
    found += [("effect", effect.kind) for effect in effects]
    if record.event in EDIT_AUTHORS:  # guards do not evaluate these events, so they have no effects
        found.append(("effect", "write"))
        paths += [edit.path for edit in record.edits if edit.path != UNKNOWN_FILE]
    found += [("path", path) for path in paths]
    found += list_steps(record)
    return {(kind, clean_text(name)) for kind, name in found if name}


def build_search_text(record: Record) -> str:
    """Build the text for full-text search from the names in a record and the texts of its detail."""
    texts, room = [], MAX_SEARCH_TEXT
    for text in record.list_search_texts():
        texts.append(text[:room])
        room -= len(text) + 1
        if room <= 0:
            break
    return clean_text("\n".join(texts), MAX_SEARCH_TEXT)


SINCE_CONDITION = "{seq} >= 100 * (SELECT number FROM spans WHERE last_us >= ? ORDER BY last_us, number LIMIT 1)"
UNTIL_CONDITION = (
    "{seq} < 100 * (1 + (SELECT number FROM spans WHERE first_us < ? ORDER BY first_us DESC, number DESC LIMIT 1))"
)
"""SQL conditions on the column `seq` that limit a query to the spans of a time range.

Without a matching span the subquery is NULL, and no row matches.
"""

_OF_RECORDS = (
    "SELECT number, min(earliest) OVER (ORDER BY number DESC), max(latest) OVER (ORDER BY number)"
    " FROM (SELECT seq / 100 AS number, min(at_us) AS earliest, max(at_us) AS latest"
    " FROM records WHERE seq > ? GROUP BY 1) ORDER BY number"
)

_WIDEN = (
    "INSERT INTO spans VALUES (?1, ?2, max(?3, coalesce((SELECT max(last_us) FROM spans), ?3)))"
    " ON CONFLICT (number) DO UPDATE SET first_us = min(first_us, excluded.first_us), last_us = excluded.last_us"
)


def extend_spans(db: sqlite3.Connection, after: int) -> None:
    """Update the spans with the records after an entry."""
    found = db.execute(_OF_RECORDS, (after,)).fetchall()
    db.executemany(_WIDEN, found)
    if found:
        number, earliest, _ = found[0]
        db.execute("UPDATE spans SET first_us = ? WHERE first_us > ? AND number < ?", (earliest, earliest, number))


def rebuild_spans(db: sqlite3.Connection) -> None:
    """Rebuild all spans from the remaining records, so that the times of forgotten records are gone too."""
    db.execute("DELETE FROM spans")
    extend_spans(db, -1)


def find_wrong_spans(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Yield the number and id of an entry in each span that would lead a query with a time to the wrong place."""
    stored, expected = (
        set(db.execute("SELECT number, first_us, last_us FROM spans")),
        set(db.execute(_OF_RECORDS, (-1,))),
    )
    for number in sorted({span[0] for span in stored ^ expected}):
        found = "SELECT seq, id FROM records WHERE seq >= ? AND seq < ? LIMIT 1"
        yield db.execute(found, (100 * number, 100 * number + 100)).fetchone() or (100 * number, "")
