"""Spans: where in the trail the records of a time can be.

Records come in nearly the order of their times, but not quite: a spool may have waited, a clock may have gone back. So
"since two hours" alone says nothing certain about places, and the trail would be gone through to its first record for
a few that are not there. Of every hundred entries a span knows the earliest time in them and after them, and the latest
in them and before them: what is later than that latest comes after it, what is earlier than that earliest before it.
"""

import sqlite3
from collections.abc import Iterator

SINCE = "{seq} >= 100 * (SELECT number FROM spans WHERE last_us >= ? ORDER BY last_us, number LIMIT 1)"
UNTIL = "{seq} < 100 * (1 + (SELECT number FROM spans WHERE first_us < ? ORDER BY first_us DESC, number DESC LIMIT 1))"
"""`seq` is the column that is gone through; nothing is in it when there is no such span."""

_OF_RECORDS = (
    "SELECT number, min(earliest) OVER (ORDER BY number DESC), max(latest) OVER (ORDER BY number)"
    " FROM (SELECT seq / 100 AS number, min(at_us) AS earliest, max(at_us) AS latest"
    " FROM records WHERE seq > ? GROUP BY 1) ORDER BY number"
)

_WIDEN = (
    "INSERT INTO spans VALUES (?1, ?2, max(?3, coalesce((SELECT max(last_us) FROM spans), ?3)))"
    " ON CONFLICT (number) DO UPDATE SET first_us = min(first_us, excluded.first_us), last_us = excluded.last_us"
)


def widen(db: sqlite3.Connection, after: int) -> None:
    """By the records that came after this entry."""
    found = db.execute(_OF_RECORDS, (after,)).fetchall()
    db.executemany(_WIDEN, found)
    if found:
        number, earliest, _ = found[0]
        db.execute("UPDATE spans SET first_us = ? WHERE first_us > ? AND number < ?", (earliest, earliest, number))


def renew(db: sqlite3.Connection) -> None:
    """Of what is left: the times of what was forgotten are forgotten too."""
    db.execute("DELETE FROM spans")
    widen(db, -1)


def astray(db: sqlite3.Connection) -> Iterator[tuple[int, str]]:
    """Where a question with a time would be led to the wrong place: an entry, and the record that is there."""
    kept, right = set(db.execute("SELECT number, first_us, last_us FROM spans")), set(db.execute(_OF_RECORDS, (-1,)))
    for number in sorted({span[0] for span in kept ^ right}):
        found = "SELECT seq, id FROM records WHERE seq >= ? AND seq < ? LIMIT 1"
        yield db.execute(found, (100 * number, 100 * number + 100)).fetchone() or (100 * number, "")
