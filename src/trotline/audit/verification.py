"""Whether a trail is what was written: its chain, what it is searched by, its file, and heads noted elsewhere."""

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from trotline.audit.chain import BEGINNING, Break, Head, breaks_in
from trotline.audit.inspection import (
    Forgotten,
    Unchecked,
    checkpoints_in,
    damage_in,
    damage_in_words,
    entries_in,
    estranged,
    forgotten_in,
    head_in,
    misindexed_in,
    standing_still,
)
from trotline.audit.sqlite_store import SqliteStore

MISLED = "what it is found by is not what is in it"
WHOLE = 0
"""Where a break is that is in no entry, but in the file."""


class Verified(NamedTuple):
    head: Head
    breaks: list[Break]
    anchored: int  # up to which entry a head is known from elsewhere; 0 if nowhere
    forgotten: Forgotten
    unchecked: list[str]  # what could not be looked at now


def verified(store: SqliteStore, anchors: Mapping[int, str]) -> Verified:
    head, forgotten = BEGINNING, Forgotten(0, 0)
    unchecked: list[str] = []
    with store.looked_over() as db:
        with standing_still(db):
            breaks = [Break(WHOLE, "", what) for what in _wrong_with_the_file(db)]
            with contextlib.suppress(sqlite3.OperationalError) if breaks else contextlib.nullcontext():
                head, forgotten = head_in(db), forgotten_in(db)
                breaks += _wrong_with_entries(db, anchors)
        try:
            damage = damage_in_words(db)
        except Unchecked as why:
            damage, unchecked = "", [str(why)]
    breaks += [Break(WHOLE, "", damage)] if damage else []
    return Verified(Head(head.seq, str(head.digest)), sorted(breaks), max(anchors, default=0), forgotten, unchecked)


def _wrong_with_the_file(db: sqlite3.Connection) -> Iterator[str]:
    damage = damage_in(db)
    if damage:
        yield f"the file is damaged: {damage}"
    yield from estranged(db)


def _wrong_with_entries(db: sqlite3.Connection, anchors: Mapping[int, str]) -> Iterator[Break]:
    told = set()
    for one in breaks_in(entries_in(db), checkpoints_in(db), anchors):
        told.add(one.seq)
        yield one
    yield from (Break(seq, id_, MISLED) for seq, id_ in misindexed_in(db) if seq not in told)
