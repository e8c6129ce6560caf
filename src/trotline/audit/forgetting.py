"""What is due to be forgotten: records, words that no record belongs to, and lines that could not be read.

By size either the size is reached or nothing goes. Somebody who makes the trail large with what cannot be forgotten,
or with calls of today, would else have all the rest forgotten for it, and the size were none the smaller.
"""

import json
import re
import sqlite3
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from trotline.audit.store import Forgetting

DAY_US = 86_400_000_000
"""By size nothing is forgotten that is younger: what happened just now is what people ask for."""

PATIENCE_US = 600_000_000
"""For so long a record may still come for words that were quicker."""

LINK_BYTES = 300
"""About what an entry takes when it is forgotten: its name, its digests, its place in an index."""

TABLES_BYTES = 120_000
"""About what a trail takes that has nothing in it."""

DEAREST = 6.0
"""Bytes of the file for one of a body, at most: with its words in an index it takes two to five."""

WEIGHTS = (
    "SELECT records.id, length(record.body) + coalesce(length(detail.body), 0) FROM records"
    " JOIN entries AS record ON record.seq = records.seq"
    " LEFT JOIN entries AS detail ON detail.id = records.id AND detail.kind = 'detail'"
    " WHERE records.at_us < ? ORDER BY records.seq"
)

ALONE = (
    "SELECT id, length(body) FROM entries JOIN"
    " (SELECT id AS name FROM entries GROUP BY id HAVING min(kind) = 'detail' AND max(kind) = 'detail')"
    " ON id = name WHERE kind = 'detail' AND body IS NOT NULL"
)
"""Words without a record: the names are found in an index, and no body is read for those that have one."""

NAMED = re.compile(rb'"id": ?"([^"]{1,128})"')
MADE_BY_TIME = re.compile(r"([0-9a-f]{8})-([0-9a-f]{4})-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}")


class Due(NamedTuple):
    """Records, words without one, and places of lines."""

    records: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()


class Room(NamedTuple):
    """What the file takes, and what of it forgetting gives back."""

    size: int
    entries: int
    bodies: float
    alone: tuple[tuple[str, int], ...]
    lines: tuple[tuple[str, int], ...]

    @property
    def dearness(self) -> float:
        """Bytes of the file for one of a record's bodies."""
        others = self.entries * LINK_BYTES + TABLES_BYTES + sum(weight for _, weight in (*self.alone, *self.lines))
        return max(1.0, min(DEAREST, (self.size - others) / max(1.0, self.bodies)))


def due(db: sqlite3.Connection, what: Forgetting, size: int, now_us: int) -> Due:
    if what.keep_bytes:
        found = _too_much(db, _room(db, size, now_us), what.keep_bytes, now_us)
    elif what.conversation:
        found = Due(_ids(db, "SELECT id FROM records WHERE conversation = ?", what.conversation))
    else:
        found = Due(
            _ids(db, "SELECT id FROM records WHERE at_us < ?", what.before_us),
            tuple(id_ for id_, _ in db.execute(ALONE) if time_of(id_) < what.before_us),
            _ids(db, "SELECT place FROM unread WHERE at_us < ?", what.before_us),
        )
    also = _lines_about(db, {*found.records, *found.words}, what.conversation)
    return found._replace(lines=tuple(dict.fromkeys((*found.lines, *also))))


def least(db: sqlite3.Connection, size: int, now_us: int) -> int:
    """About what the trail takes when everything is forgotten that may be by size."""
    room = _room(db, size, now_us)
    given_back = sum(weight for _, weight in (*room.alone, *room.lines))
    given_back += sum(int(weight * room.dearness) for _, weight in db.execute(WEIGHTS, (now_us - DAY_US,)))
    return max(0, size - given_back)


def time_of(id_: str) -> int:
    """When an id of ours was made, in microseconds; 0 for one that does not say."""
    found = MADE_BY_TIME.fullmatch(id_)
    return int(found[1] + found[2], 16) * 1000 if found else 0


def empty(db: sqlite3.Connection, found: Due) -> list[int]:
    """Bodies and lines are gone then; the numbers of the entries. A note that something was forgotten stays."""
    of = "SELECT seq FROM entries WHERE id = ? AND kind IN ('record', 'detail')"
    numbers = [int(row[0]) for id_ in (*found.records, *found.words) for row in db.execute(of, (id_,))]
    db.executemany("UPDATE entries SET salt = NULL, body = NULL WHERE seq = ?", [(seq,) for seq in numbers])
    db.executemany("DELETE FROM unread WHERE place = ?", [(place,) for place in found.lines])
    return sorted(numbers)


def _room(db: sqlite3.Connection, size: int, now_us: int) -> Room:
    entries, bodies = db.execute("SELECT count(*), total(length(body)) FROM entries").fetchone()
    alone = tuple((id_, weight) for id_, weight in db.execute(ALONE) if time_of(id_) < now_us - PATIENCE_US)
    lines = tuple(db.execute("SELECT place, length(line) FROM unread"))
    return Room(size, entries, bodies - sum(weight for _, weight in alone), alone, lines)


def _too_much(db: sqlite3.Connection, room: Room, keep: int, now_us: int) -> Due:
    """What nobody can be shown goes first, the heaviest before the others; then the oldest records."""
    left = float(room.size - keep)
    lines: list[str] = []
    words: list[str] = []
    records: list[str] = []
    unshown = [(weight, place, lines) for place, weight in room.lines]
    unshown += [(weight, id_, words) for id_, weight in room.alone]
    for weight, name, into in sorted(unshown, key=lambda one: -one[0]):
        if left <= 0:
            break
        left -= weight
        into.append(name)
    for id_, weight in db.execute(WEIGHTS, (now_us - DAY_US,)):
        if left <= 0:
            break
        left -= weight * room.dearness
        records.append(id_)
    return Due(tuple(records), tuple(words), tuple(lines)) if left <= 0 else Due()


def _lines_about(db: sqlite3.Connection, ids: set[str], conversation: str) -> Iterator[str]:
    """Lines that tell of what is forgotten, as far as they can be read."""
    talk = b'"conversation":' + json.dumps(conversation).encode()
    for place, line in db.execute("SELECT place, line FROM unread") if ids or conversation else ():
        named = {name.decode("utf-8", "replace") for name in NAMED.findall(line)}
        if named & ids or (conversation and talk in line):
            yield place


def _ids(db: sqlite3.Connection, statement: str, *values: object) -> tuple[str, ...]:
    rows: Iterable[tuple[str]] = db.execute(statement, values)
    return tuple(row[0] for row in rows)
