"""Retention: deleted records, remaining records, and size limits."""

import json
import os
import sqlite3

import pytest

from store_behaviour import HOUR, detail, ids, keep, record
from trotline.audit.store.retention import LINK_BYTES, get_id_time
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.store.store import ForgetRequest, StoredLine, UnreadLine
from trotline.audit.verify.chain import find_breaks
from trotline.domain.errors import TryAgain
from trotline.domain.ids import uuid7

LATER = 10**15
"""A time long after all records of these tests, which are from 1970."""


def everything(store: SqliteStore) -> bytes:
    return b"".join(one.read_bytes() for one in store.file.parent.iterdir())


def notes(store: SqliteStore) -> list[dict[str, object]]:
    return [json.loads(entry.body or "{}") for entry in store.entries() if entry.kind == "forgotten"]


def test_a_large_unreadable_line_is_deleted_before_any_record(store: SqliteStore) -> None:
    keep(store, *(record(number) for number in range(20)))
    store.append([UnreadLine("1", "torn", os.urandom(3_000_000)), UnreadLine("2", "torn", b"light")])
    assert store.forget(ForgetRequest(keep_bytes=1_000_000), now_us=LATER) == 0
    assert len(ids(store)) == 20
    assert [one.line for one in store.unread()] == [b"light"]
    assert [(note["why"], note["entries"], note["lines"]) for note in notes(store)] == [("size", [], 1)]
    assert store.size() < 1_000_000
    assert list(find_breaks(store.entries(), store.checkpoints())) == []


def test_large_detail_without_a_record_is_deleted_first(store: SqliteStore) -> None:
    keep(store, *(record(number) for number in range(20)), detail(99, command=os.urandom(1_500_000).hex()))
    assert store.forget(ForgetRequest(keep_bytes=1_000_000), now_us=LATER) == 0
    assert len(ids(store)) == 20
    assert notes(store)[0]["entries"] == [[21, 21]]
    assert store.size() < 1_000_000


def test_new_detail_without_a_record_is_not_deleted(store: SqliteStore) -> None:
    id_ = uuid7(LATER, bytes(10))
    keep(store, {**detail(1, command=os.urandom(1_500_000).hex()), "id": id_})
    assert store.forget(ForgetRequest(keep_bytes=1_000_000), now_us=LATER) == 0
    assert notes(store) == []
    keep(store, {**record(1), "id": id_})
    found = store.fetch(id_)
    assert found is not None
    assert found.has_detail


def test_hashes_of_deleted_entries_do_not_cause_pruning(store: SqliteStore) -> None:
    keep(store, *(record(number) for number in range(4000)))
    assert store.forget(ForgetRequest(before_us=4000 * HOUR), now_us=LATER) == 4000
    keep(store, *(record(number) for number in range(4000, 4010)))
    for _ in range(2):
        assert store.forget(ForgetRequest(keep_bytes=4000 * LINK_BYTES // 2), now_us=LATER) == 0
    assert len(ids(store)) == 10
    assert 0 < store.estimate_minimum_size(LATER) < store.size()


def test_records_of_the_newest_day_are_not_pruned_for_size(store: SqliteStore) -> None:
    long = [os.urandom(100_000).hex() for _ in range(8)]
    keep(store, *(detail(number, command=long[number]) for number in range(8)))
    keep(store, *(record(number, at_us=number * HOUR if number < 4 else LATER) for number in range(8)))
    half = store.size() // 2
    assert store.forget(ForgetRequest(keep_bytes=half // 4), now_us=LATER + HOUR) == 0
    assert len(ids(store)) == 8
    assert 0 < store.forget(ForgetRequest(keep_bytes=half + half // 3), now_us=LATER + HOUR) <= 4
    assert set(ids(store)) >= {"id-4", "id-5", "id-6", "id-7"}


def test_foreign_data_in_the_file_does_not_cause_pruning(store: SqliteStore) -> None:
    keep(store, *(record(number) for number in range(50)))
    store._db.execute("CREATE TABLE planted (anything)")
    store._db.execute("INSERT INTO planted VALUES (zeroblob(3000000))")
    for _ in range(3):
        assert store.forget(ForgetRequest(keep_bytes=1_000_000), now_us=LATER) == 0
    assert len(ids(store)) == 50


def test_detail_without_a_record_is_pruned_by_the_time_in_its_id(store: SqliteStore) -> None:
    old, new = uuid7(5 * HOUR, bytes(10)), uuid7(9 * HOUR, bytes(10))
    assert (get_id_time(old), get_id_time("id-1")) == (5 * HOUR, 0)
    keep(store, *({**detail(1, command=f"echo unmistakable-{id_}"), "id": id_} for id_ in (old, new)))
    store.forget(ForgetRequest(before_us=6 * HOUR), now_us=LATER)
    left = everything(store)
    assert f"unmistakable-{old}".encode() not in left
    assert f"unmistakable-{new}".encode() in left
    assert list(find_breaks(store.entries(), store.checkpoints())) == []


def test_unreadable_lines_are_pruned_by_arrival_time(store: SqliteStore) -> None:
    store.append([UnreadLine("1", "torn", b"unmistakable", 5 * HOUR), UnreadLine("2", "torn", b"later", 9 * HOUR)])
    store.append([StoredLine({**record(3), "schema": "x"}, "3", 5 * HOUR, b"unmistakable too")])
    assert store.oldest_us() == 5 * HOUR
    assert store.forget(ForgetRequest(before_us=6 * HOUR), now_us=LATER) == 0
    assert b"unmistakable" not in everything(store)
    assert [one.line for one in store.unread()] == [b"later"]


def test_lines_that_tell_of_a_conversation_are_forgotten_with_it(store: SqliteStore) -> None:
    keep(store, record(1), detail(1, command="first"), record(2, conversation="c2"))
    keep(store, detail(1, command="second"))
    store.append(
        [
            StoredLine({**record(3), "schema": "x"}, "9"),
            StoredLine({**record(4, conversation="c2"), "schema": "x"}, "8"),
        ]
    )
    assert len(store.unread()) == 3
    assert store.forget(ForgetRequest(conversation="c1"), now_us=LATER) == 1
    assert [b"id-4" in one.line for one in store.unread()] == [True]


def test_a_note_that_something_was_forgotten_is_not_forgotten_by_its_id(store: SqliteStore) -> None:
    keep(store, record(1))
    store.forget(ForgetRequest(before_us=2 * HOUR), now_us=LATER)
    note = str(notes(store)[0]["id"])
    keep(store, {**record(3), "id": note})
    assert store.forget(ForgetRequest(before_us=LATER), now_us=LATER) == 1
    assert notes(store)[0]["id"] == note
    assert list(find_breaks(store.entries(), store.checkpoints())) == []


def test_pruning_during_a_read_is_reported(store: SqliteStore) -> None:
    keep(store, record(1), detail(1, command="unmistakable"))
    store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    store._db.execute("PRAGMA busy_timeout = 1")
    reader = sqlite3.connect(store.file, isolation_level=None)
    reader.execute("BEGIN")
    assert reader.execute("SELECT count(*) FROM entries").fetchone() == (2,)
    with pytest.raises(TryAgain, match="it is forgotten, but another process still reads"):
        store.forget(ForgetRequest(before_us=2 * HOUR), now_us=LATER)
    assert ids(store) == []
    assert b"unmistakable" in everything(store)
    reader.close()
    assert store.forget(ForgetRequest(before_us=2 * HOUR), now_us=LATER) == 0
    assert b"unmistakable" not in everything(store)
