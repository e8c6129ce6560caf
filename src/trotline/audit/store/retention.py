"""Selection of what to forget: records, details without a record, and lines that could not be read.

Forgetting by size either reaches the size or removes nothing. Otherwise an attacker could fill the log with today's
calls, or with entries that cannot be forgotten, and have everything else removed without making the log smaller.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trotline.audit.store.store import ForgetRequest

DAY_US = 86_400_000_000
"""Minimum age of records forgotten by size: the newest records are the ones that users look for."""

RECORD_WAIT_US = 600_000_000
"""Time in which a record may still arrive after its detail."""

LINK_BYTES = 300
"""Approximate size of a forgotten entry: its id, its digests and its place in an index."""

TABLES_BYTES = 120_000
"""Approximate size of an empty database."""

MAX_BYTES_PER_BODY_BYTE = 6.0
"""Upper limit for the file bytes per body byte; including the search index it is two to five."""

RECORD_SIZES = (
    "SELECT records.id, length(record.body) + coalesce(length(detail.body), 0) FROM records"
    " JOIN entries AS record ON record.seq = records.seq"
    " LEFT JOIN entries AS detail ON detail.id = records.id AND detail.kind = 'detail'"
    " WHERE records.at_us < ? ORDER BY records.seq"
)

ORPHANED_DETAILS = (
    "SELECT id, length(body) FROM entries JOIN"
    " (SELECT id AS name FROM entries GROUP BY id HAVING min(kind) = 'detail' AND max(kind) = 'detail')"
    " ON id = name WHERE kind = 'detail' AND body IS NOT NULL"
)
"""Details without a record. The ids come from an index, so no body is read for those that have a record."""

LINE_ID = re.compile(rb'"id": ?"([^"]{1,128})"')
UUID7 = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class DueEntries(NamedTuple):
    """The ids of records, the ids of details without a record, and the places of unread lines to forget."""

    records: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


class SpaceUsage(NamedTuple):
    """The size of the file, and the parts of it that forgetting can free."""

    size: int
    entries: int
    bodies: float
    alone: tuple[tuple[str, int], ...]
    lines: tuple[tuple[str, int], ...]

    @property
    def bytes_per_body_byte(self) -> float:
        """File bytes per body byte of a record."""
        others = self.entries * LINK_BYTES + TABLES_BYTES + sum(weight for _, weight in (*self.alone, *self.lines))
        return max(1.0, min(MAX_BYTES_PER_BODY_BYTE, (self.size - others) / max(1.0, self.bodies)))


def find_due(db: sqlite3.Connection, request: ForgetRequest, size: int, now_us: int) -> DueEntries:
    """Return what a request selects, including unread lines that mention the selected ids or the conversation."""
    if request.keep_bytes:
        found = _find_excess(db, _measure_space(db, size, now_us), request.keep_bytes, now_us)
    elif request.conversation:
        found = DueEntries(_select_ids(db, "SELECT id FROM records WHERE conversation = ?", request.conversation))
    else:
        found = DueEntries(
            _select_ids(db, "SELECT id FROM records WHERE at_us < ?", request.before_us),
            tuple(id_ for id_, _ in db.execute(ORPHANED_DETAILS) if get_id_time(id_) < request.before_us),
            _select_ids(db, "SELECT place FROM unread WHERE at_us < ?", request.before_us),
        )
    mentions = _find_lines_mentioning(db, {*found.records, *found.details}, request.conversation)
    return found._replace(lines=tuple(dict.fromkeys((*found.lines, *mentions))))


def estimate_minimum_size(db: sqlite3.Connection, size: int, now_us: int) -> int:
    """Estimate the size of the log after forgetting everything that may be forgotten by size."""
    usage = _measure_space(db, size, now_us)
    freed = sum(weight for _, weight in (*usage.alone, *usage.lines))
    freed += sum(int(weight * usage.bytes_per_body_byte) for _, weight in db.execute(RECORD_SIZES, (now_us - DAY_US,)))
    return max(0, size - freed)


def get_id_time(id_: str) -> int:
    """Return the creation time of a UUIDv7 in microseconds, or 0 for any other id."""
    found = UUID7.fullmatch(id_)
    return int(found[1] + found[2], 16) * 1000 if found else 0


def erase_entries(db: sqlite3.Connection, found: DueEntries) -> list[int]:
    """Erase bodies and unread lines, and return the sorted numbers of the entries.

    Tombstones, the entries that say what was forgotten, stay.
    """
    statement = "SELECT seq FROM entries WHERE id = ? AND kind IN ('record', 'detail')"
    numbers = [int(row[0]) for id_ in (*found.records, *found.details) for row in db.execute(statement, (id_,))]
    db.executemany("UPDATE entries SET salt = NULL, body = NULL WHERE seq = ?", [(seq,) for seq in numbers])
    db.executemany("DELETE FROM unread WHERE place = ?", [(place,) for place in found.lines])
    return sorted(numbers)


def _measure_space(db: sqlite3.Connection, size: int, now_us: int) -> SpaceUsage:
    entries, bodies = db.execute("SELECT count(*), total(length(body)) FROM entries").fetchone()
    alone = tuple(
        (id_, weight) for id_, weight in db.execute(ORPHANED_DETAILS) if get_id_time(id_) < now_us - RECORD_WAIT_US
    )
    lines = tuple(db.execute("SELECT place, length(line) FROM unread"))
    return SpaceUsage(size, entries, bodies - sum(weight for _, weight in alone), alone, lines)


def _find_excess(db: sqlite3.Connection, usage: SpaceUsage, keep: int, now_us: int) -> DueEntries:
    """Select entries until the size is reached, or nothing if it cannot be reached.

    Lines and details that no query shows go first, the largest before the others; then the oldest records.
    """
    left = float(usage.size - keep)
    lines: list[str] = []
    details: list[str] = []
    records: list[str] = []
    unshown = [(weight, place, lines) for place, weight in usage.lines]
    unshown += [(weight, id_, details) for id_, weight in usage.alone]
    for weight, name, into in sorted(unshown, key=lambda item: -item[0]):
        if left <= 0:
            break
        left -= weight
        into.append(name)
    for id_, weight in db.execute(RECORD_SIZES, (now_us - DAY_US,)):
        if left <= 0:
            break
        left -= weight * usage.bytes_per_body_byte
        records.append(id_)
    return DueEntries(tuple(records), tuple(details), tuple(lines)) if left <= 0 else DueEntries()


def _find_lines_mentioning(db: sqlite3.Connection, ids: set[str], conversation: str) -> Iterator[str]:
    """Yield the places of unread lines that mention a forgotten id or conversation, as far as they are legible."""
    field = b'"conversation":' + json.dumps(conversation).encode()
    for place, line in db.execute("SELECT place, line FROM unread") if ids or conversation else ():
        named = {name.decode("utf-8", "replace") for name in LINE_ID.findall(line)}
        if named & ids or (conversation and field in line):
            yield place


def _select_ids(db: sqlite3.Connection, statement: str, *values: object) -> tuple[str, ...]:
    rows: Iterable[tuple[str]] = db.execute(statement, values)
    return tuple(row[0] for row in rows)
