"""Behaviour of every Store. The test module of a store imports everything here and defines an empty `store`."""

from typing import Any

import pytest

from kit import read_rows
from trotline.audit.query.query import Query
from trotline.audit.store.store import ForgetRequest, Store, StoredLine, UnreadLine

HOUR = 3_600_000_000


def record(number: int, **fields: Any) -> dict[str, Any]:
    body = {
        "schema": "trotline.record/2",
        "id": f"id-{number}",
        "at_us": number * HOUR,
        "agent": "somebody",
        "event": "beforeShellExecution",
        "conversation": "c1",
        "decided": "none",
        "deciders": [],
        "responses": [],
        "losses": [],
        "withheld": [],
        "micros": 100,
    }
    return {**body, **fields}


def detail(number: int, *, command: str = "", effects: tuple[tuple[Any, ...], ...] = ()) -> dict[str, Any]:
    payload = {"command": command} if command else {}
    listed = [list(effect) for effect in effects]
    return {"schema": "trotline.detail/2", "id": f"id-{number}", "payload": payload, "reasons": [], "effects": listed}


def keep(store: Store, *bodies: dict[str, Any]) -> int:
    return store.append([StoredLine(body, str(at)) for at, body in enumerate(bodies)])


def ids(store: Store, **query: Any) -> list[str]:
    """Return the IDs of the records that match."""
    return [row.id for row in store.search(Query(**query))]


def test_records_come_newest_first(store: Store) -> None:
    keep(store, record(1), record(2))
    keep(store, record(3))
    assert ids(store) == ["id-3", "id-2", "id-1"]
    assert ids(store, limit=2) == ["id-3", "id-2"]


def test_newest_record_is_the_last_one_stored_despite_its_clock(store: Store) -> None:
    keep(store, record(5), record(2), record(4))
    assert ids(store) == ["id-4", "id-2", "id-5"]


def test_second_record_with_the_same_id_changes_nothing(store: Store) -> None:
    assert keep(store, record(1), record(1)) == 1
    assert keep(store, record(1, agent="another")) == 0
    assert [row.agent for row in store.search(Query())] == ["somebody"]


def test_second_detail_of_a_call_changes_nothing(store: Store) -> None:
    keep(store, record(1), detail(1, command="echo hello"))
    assert keep(store, detail(1, command="rm -rf /")) == 0
    assert ids(store, command="echo hello") == ["id-1"]


@pytest.mark.parametrize("first", ["record", "detail"])
def test_detail_belongs_to_its_record_in_any_order(store: Store, first: str) -> None:
    both = [record(1), detail(1, command="make")]
    for body in both if first == "record" else both[::-1]:
        keep(store, body)
    record_ = store.fetch("id-1")
    assert record_ is not None
    assert record_.payload == {"command": "make"}
    assert ids(store, command="ma*") == ["id-1"]


def test_detail_alone_is_not_a_record(store: Store) -> None:
    keep(store, detail(1, command="make"))
    assert ids(store) == []
    assert store.fetch("id-1") is None


def test_unknown_id_is_not_found(store: Store) -> None:
    assert store.fetch("nobody") is None


def test_unknown_fields_are_preserved(store: Store) -> None:
    keep(store, record(1, novelty={"deep": [1, None]}))
    record_ = store.fetch("id-1")
    assert record_ is not None
    assert record_.body["novelty"] == {"deep": [1, None]}


@pytest.mark.parametrize(
    "query,expected",
    read_rows("store_behaviour", "records_match_every_filter"),
)
def test_records_match_every_filter(store: Store, query: dict[str, Any], expected: list[int]) -> None:
    keep(
        store,
        record(1, decided="deny"),
        detail(1, command="npm publish", effects=(("send", "publish", "registry"),)),
        record(2, event="stop", conversation="c2"),
        record(3, agent="another", decided="deny"),
        detail(3, effects=(("write", "edit", "/w/src/a.py"),)),
    )
    assert ids(store, **query) == [f"id-{number}" for number in expected]


@pytest.mark.parametrize("path", ["app/[id]/page.tsx", "app/[id]", "[id]/*.tsx", "/w/app/[id]/", "app/[[]id]/page.tsx"])
def test_brackets_in_a_path_match_literally(store: Store, path: str) -> None:
    keep(store, record(1), detail(1, effects=(("write", "edit", "/w/app/[id]/page.tsx"),)))
    keep(store, record(2), detail(2, effects=(("write", "edit", "/w/app/x/other.tsx"),)))
    assert ids(store, path=path) == ["id-1"]


@pytest.mark.parametrize("text", [" ", "\n", "!"])
def test_text_without_a_word_finds_nothing(store: Store, text: str) -> None:
    keep(store, record(1), detail(1, command="make"))
    assert ids(store, text=text) == []


def test_self_tests_are_omitted_by_default(store: Store) -> None:
    keep(store, record(1, conversation="trotline-prove"), record(2))
    assert ids(store) == ["id-2"]
    assert ids(store, include_self_tests=True) == ["id-2", "id-1"]


@pytest.mark.parametrize(
    "by,counts",
    [
        ("all", {"all": 3}),
        ("agent", {"somebody": 2, "another": 1}),
        ("hour", {"1970-01-01T01:00Z": 1, "1970-01-01T02:00Z": 2}),
        ("guard", {"deletion": 2, "remotes": 1}),
        ("verdict", {"none": 3}),
        ("conversation", {"c1": 2, "c2": 1}),
    ],
)
def test_counts_are_grouped(store: Store, by: Any, counts: dict[str, int]) -> None:
    keep(
        store,
        record(1, deciders=["deletion"]),
        record(2, deciders=["deletion", "remotes"]),
        record(3, at_us=2 * HOUR + 1, agent="another", conversation="c2"),
    )
    assert {row["name"]: row["count"] for row in store.aggregate(Query(by=by))} == counts


def test_conversations_come_newest_first_with_their_totals(store: Store) -> None:
    keep(
        store,
        record(1, decided="deny"),
        record(2, conversation="c2", event="afterFileEdit"),
        record(3, conversation="c2", event="stop"),
        {**detail(3), "measures": {"status": "aborted"}},
        record(4, conversation="c2", event="sessionEnd"),
        {**detail(4), "measures": {"reason": "window_close"}},
        record(5),
        record(6, agent="another"),
        record(7, conversation="", event="stop"),
        record(8, conversation="trotline-prove"),
    )
    common = {"agent": "somebody", "denied": 0, "commands": 0, "edits": 0, "status": "", "reason": ""}
    unnamed = {**common, "name": "", "count": 1, "first_us": 7 * HOUR, "last_us": 7 * HOUR, "status": "not told"}
    another = {**common, "name": "c1", "count": 1, "first_us": 6 * HOUR, "last_us": 6 * HOUR, "commands": 1}
    first = {**common, "name": "c1", "count": 2, "first_us": HOUR, "last_us": 5 * HOUR, "denied": 1, "commands": 2}
    times = {"first_us": 2 * HOUR, "last_us": 4 * HOUR}
    whole = {**common, **times, "name": "c2", "count": 3, "edits": 1, "status": "aborted", "reason": "window_close"}
    conversations = list(store.aggregate(Query(by="conversation")))
    assert conversations == [unnamed, {**another, "agent": "another"}, first, whole]
    assert list(store.aggregate(Query(by="conversation", limit=1))) == [unnamed]
    assert list(store.aggregate(Query(by="conversation", event="afterFileEdit", until_us=4 * HOUR))) == [whole]
    assert list(store.aggregate(Query(by="conversation", verdict="deny"))) == [first]
    assert len(list(store.aggregate(Query(by="conversation", include_self_tests=True)))) == 5


def test_metrics_are_summed(store: Store) -> None:
    responses = [{"author": "h1", "micros": 5, "failure": "timeout"}, {"author": "h2", "micros": 7, "failure": None}]
    keep(
        store,
        record(1, decided="deny", deciders=["h1", "deletion"], responses=responses, losses=[["ask", "why"]]),
        {**detail(1), "hooks": {"h1": "./check.sh"}},
        record(2, decided="deny", deciders=["deletion"], agent="another"),
        record(3, deciders=["deletion"], responses=responses),
        {**detail(3), "hooks": {"h1": "./check.sh"}},
        record(4, decided="deny", deciders=["deletion"], conversation="trotline-prove"),
    )
    sums = {(row["kind"], row["name"]): row["sum"] for row in store.aggregate(Query(by="metric"))}
    assert sums == {
        ("denied", "./check.sh"): 1,
        ("denied", "deletion"): 2,
        ("lost", "ask"): 1,
        ("broken", "./check.sh: timeout"): 2,
        ("open", "./check.sh: timeout"): 1,
    }
    (row,) = store.aggregate(Query(by="metric", agent="another"))
    assert row == {"kind": "denied", "name": "deletion", "count": 1, "sum": 1}


def test_percentiles_of_durations_are_computed(store: Store) -> None:
    keep(store, *(record(number, micros=number) for number in range(1, 101)), record(101, micros=9999, event="stop"))
    (row,) = store.aggregate(Query(by="percentile", event="beforeShellExecution"))
    assert row == {"kind": "took", "name": "every call", "count": 100, "p50": 50, "p95": 95, "p99": 99}
    (row,) = store.aggregate(Query(by="percentile"))
    assert (row["count"], row["p50"], row["p99"]) == (101, 51, 100)


@pytest.mark.parametrize("by", ["all", "metric", "percentile", "conversation"])
def test_forgotten_records_are_not_counted(store: Store, by: Any) -> None:
    keep(store, record(1, deciders=["deletion"], decided="deny"), record(2, conversation="c2", agent="another"))
    store.forget(ForgetRequest(conversation="c1"), now_us=9)
    counts = [row["count"] for row in store.aggregate(Query(by=by))]
    assert sum(counts) == (0 if by == "metric" else 1)


def test_forgotten_records_are_not_found(store: Store) -> None:
    keep(store, record(1), detail(1, command="unmistakable"), record(2, conversation="c2"))
    assert store.forget(ForgetRequest(conversation="c1"), now_us=9) == 1
    assert store.fetch("id-1") is None
    assert ids(store) == ["id-2"]
    assert ids(store, text="unmistakable") == []


def test_forgotten_records_are_not_stored_again(store: Store) -> None:
    keep(store, record(1))
    store.forget(ForgetRequest(before_us=2 * HOUR), now_us=9)
    assert keep(store, record(1), detail(1, command="late")) == 0
    assert ids(store) == []


@pytest.mark.parametrize("size", [10**12, 1], ids=["a size that it has not", "a size that it cannot have"])
def test_size_limit_forgets_nothing_if_it_cannot_help(store: Store, size: int) -> None:
    keep(store, record(1), record(2), detail(2, command="make"))
    assert store.forget(ForgetRequest(keep_bytes=size), now_us=10**15) == 0
    assert ids(store) == ["id-2", "id-1"]


def test_forget_without_matches_changes_nothing(store: Store) -> None:
    keep(store, record(3))
    assert store.forget(ForgetRequest(before_us=2 * HOUR), now_us=9) == 0
    assert ids(store) == ["id-3"]


@pytest.mark.parametrize(
    "odd",
    [
        {"schema": "trotline.record/1"},
        {"schema": "trotline.record/3"},
        {"schema": None},
        {"id": ""},
        {"id": "x" * 200},
        {"id": "a\nb"},
    ],
    ids=str,
)
def test_body_with_an_invalid_schema_or_id_is_dropped(store: Store, odd: dict[str, Any]) -> None:
    assert keep(store, record(1, **odd), record(2)) == 1
    assert ids(store) == ["id-2"]


@pytest.mark.parametrize(
    "odd",
    [
        {"at_us": "yesterday"},
        {"at_us": 1 << 80},
        {"micros": 10**400, "responses": [{"author": "h1", "micros": -(10**400)}]},
        {"agent": None, "event": 3, "conversation": ["x"], "decided": {}},
        {"agent": "\ud83d"},
        {"deciders": "everybody"},
        {"deciders": [None, 1, ["x"]]},
        {"detail": "words"},
        {"responses": "many", "losses": 3, "micros": "long"},
        {"responses": [None, {"author": ["x"], "micros": 1e400, "failure": 1}], "losses": [None, [], ["\ud83d"]]},
        {
            "micros": -1,
            "event": "afterFileEdit",
            "detail": {"measures": {"lines_added": "x", "lines_removed": 1 << 90}},
        },
        {"event": "postToolUse", "tool": ["x"], "detail": {"measures": {"duration_ms": float("nan")}, "hooks": []}},
    ],
    ids=ascii,
)
def test_malformed_record_is_stored(store: Store, odd: dict[str, Any]) -> None:
    assert keep(store, record(1, **odd)) == 1
    assert ids(store) == ["id-1"]
    assert len(list(store.aggregate(Query(by="conversation")))) == 1
    assert all(isinstance(row["sum"], int) for row in store.aggregate(Query(by="metric")))


def test_unreadable_line_does_not_stop_other_records(store: Store) -> None:
    unreadable = UnreadLine("0", "torn", b"\xff")
    assert store.append([unreadable, StoredLine(record(1)), unreadable]) == 1
    assert ids(store) == ["id-1"]
