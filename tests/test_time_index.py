"""The time index finds records by time in any order of arrival."""

import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import age_audit_log, count_query_steps
from store_behaviour import detail, ids, keep, record
from trotline.audit.query.query import Query
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.store.store import ForgetRequest

TIMES = st.integers(1, 60)
CLOCKS = st.lists(st.tuples(TIMES, st.integers(1, 90)), min_size=1, max_size=6)
"""Times of a clock that stands still and jumps."""


def batches(clocks: list[tuple[int, int]]) -> list[list[tuple[int, int]]]:
    """Return numbers and times of records in order of arrival."""
    found, number = [], 0
    for at_us, count in clocks:
        found.append([(one, at_us) for one in range(number, number + count)])
        number += count
    return found


def filled(file: Path, clocks: list[tuple[int, int]]) -> SqliteStore:
    store = SqliteStore(file)
    for batch in batches(clocks):
        keep(
            store,
            *(
                record(number, at_us=at_us, conversation=f"at {at_us}", event="stop", decided="deny")
                for number, at_us in batch
            ),
        )
    return store


@given(CLOCKS, TIMES, TIMES, st.none() | st.integers(0, 5))
@settings(max_examples=40)
def test_the_time_index_finds_all_records_of_a_time(
    clocks: list[tuple[int, int]], since: int, until: int, forgotten: int | None
) -> None:
    gone = "" if forgotten is None else f"at {clocks[forgotten % len(clocks)][0]}"
    with tempfile.TemporaryDirectory() as scratch, filled(Path(scratch, "state", "audit_log.db"), clocks) as store:
        if gone:
            store.forget(ForgetRequest(conversation=gone), now_us=99)
        remaining = [one for batch in batches(clocks) for one in batch if f"at {one[1]}" != gone]
        for conditions, answer in (
            ({"since_us": since}, [one for one in remaining if one[1] >= since]),
            ({"until_us": until}, [one for one in remaining if one[1] < until]),
            ({"since_us": since, "until_us": until}, [one for one in remaining if since <= one[1] < until]),
        ):
            assert ids(store, **conditions) == [f"id-{number}" for number, _ in reversed(answer)]
        assert list(store.find_index_faults()) == []


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "state" / "audit_log.db"


@pytest.mark.parametrize(
    "conditions",
    [{}, {"event": "stop"}, {"effect": "send"}, {"text": "cart"}, {"verdict": "deny"}],
    ids=lambda conditions: next(iter(conditions), "nothing else"),
)
def test_older_records_are_not_read(file: Path, conditions: dict[str, Any]) -> None:
    """Count database steps: a thousand older records take none."""
    steps = []
    for older in (0, 1000):
        with filled(file.with_name(f"{older}.db"), [(1, older), (50, 3)] if older else [(50, 3)]) as store:
            keep(store, *(detail(number, command="cart", effects=(("send", "", "x"),)) for number in range(older + 3)))
            assert len(ids(store, since_us=50, **conditions)) == 3
            steps.append(count_query_steps(store, Query(since_us=50, limit=20, **conditions)))
    assert steps[1] <= steps[0] + 1500


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE spans SET last_us = 2 WHERE number = 1",
        "UPDATE spans SET first_us = 9 WHERE number = 1",
        "DELETE FROM spans WHERE number = 1",
    ],
)
def test_a_span_that_was_edited_is_found(file: Path, change: str) -> None:
    with filled(file, [(5, 250)]) as store:
        store._db.execute(change)
        assert list(store.find_index_faults()) == [(100, "id-99")]


def test_a_span_of_nothing_is_found(file: Path) -> None:
    with filled(file, [(5, 250)]) as store:
        store._db.execute("INSERT INTO spans VALUES (70, 5, 6)")
        assert list(store.find_index_faults()) == [(7000, "")]


def test_an_older_audit_log_gets_a_time_index(file: Path) -> None:
    clocks = [(9, 150), (3, 150), (20, 40)]
    filled(file, clocks).close()
    age_audit_log(file)
    with SqliteStore(file) as store:
        assert list(store.find_index_faults()) == []
        assert len(ids(store, since_us=9)) == 190
