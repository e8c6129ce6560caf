"""What any Store does. A test module of a store imports everything here and has a fixture `store`, empty."""

from typing import Any

import pytest

from trotline.audit.query.query import Query
from trotline.audit.store.store import ForgetRequest, Store, StoredLine, UnreadLine

HOUR = 3_600_000_000


def record(number: int, **fields: Any) -> dict[str, Any]:
    body = {
        "schema": "trotline.record/1",
        "id": f"id-{number}",
        "at_us": number * HOUR,
        "agent": "somebody",
        "event": "beforeShellExecution",
        "conversation": "c1",
        "asked": "none",
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
    return {"schema": "trotline.detail/1", "id": f"id-{number}", "payload": payload, "reasons": [], "effects": listed}


def keep(store: Store, *bodies: dict[str, Any]) -> int:
    return store.append([StoredLine(body, str(at)) for at, body in enumerate(bodies)])


def ids(store: Store, **asked: Any) -> list[str]:
    return [one["id"] for one in store.search(Query(**asked))]


def test_records_come_newest_first(store: Store) -> None:
    keep(store, record(1), record(2))
    keep(store, record(3))
    assert ids(store) == ["id-3", "id-2", "id-1"]
    assert ids(store, limit=2) == ["id-3", "id-2"]


def test_newest_is_what_came_last_whatever_its_clock_said(store: Store) -> None:
    keep(store, record(5), record(2), record(4))
    assert ids(store) == ["id-4", "id-2", "id-5"]


def test_the_same_id_again_changes_nothing(store: Store) -> None:
    assert keep(store, record(1), record(1)) == 1
    assert keep(store, record(1, agent="another")) == 0
    assert [one["agent"] for one in store.search(Query())] == ["somebody"]


def test_words_that_come_after_others_for_the_same_call_change_nothing(store: Store) -> None:
    keep(store, record(1), detail(1, command="echo hello"))
    assert keep(store, detail(1, command="rm -rf /")) == 0
    assert ids(store, command="echo hello") == ["id-1"]


@pytest.mark.parametrize("first", ["record", "detail"])
def test_a_detail_belongs_to_its_record_whichever_comes_first(store: Store, first: str) -> None:
    both = [record(1), detail(1, command="make")]
    for body in both if first == "record" else both[::-1]:
        keep(store, body)
    found = store.fetch("id-1")
    assert found is not None
    assert found["detail"]["payload"] == {"command": "make"}
    assert ids(store, command="ma*") == ["id-1"]


def test_a_detail_alone_is_no_record(store: Store) -> None:
    keep(store, detail(1, command="make"))
    assert ids(store) == []
    assert store.fetch("id-1") is None


def test_what_is_unknown_is_not_found(store: Store) -> None:
    assert store.fetch("nobody") is None


def test_fields_that_nobody_knows_are_kept(store: Store) -> None:
    keep(store, record(1, novelty={"deep": [1, None]}))
    found = store.fetch("id-1")
    assert found is not None
    assert found["novelty"] == {"deep": [1, None]}


@pytest.mark.parametrize(
    "asked,found",
    [
        ({"event": "stop"}, [2]),
        ({"agent": "another"}, [3]),
        ({"verdict": "deny"}, [3, 1]),
        ({"conversation": "c2"}, [2]),
        ({"since_us": 2 * HOUR}, [3, 2]),
        ({"until_us": 2 * HOUR}, [1]),
        ({"command": "npm *"}, [1]),
        ({"command": "npm"}, []),
        ({"path": "src/**"}, [3]),
        ({"path": "/w/src/a.py"}, [3]),
        ({"path": "rc/a.py"}, []),
        ({"path": "src"}, [3]),
        ({"path": "src/"}, [3]),
        ({"path": "./src/**"}, [3]),
        ({"path": "/w/src"}, [3]),
        ({"path": "sr"}, []),
        ({"path": "[a-z]rc/?.py"}, [3]),
        ({"path": "./"}, []),
        ({"effect": "send"}, [1]),
        ({"text": "publish npm"}, [1]),
        ({"text": "publish nothing"}, []),
        ({"text": 'NOT " OR ('}, []),
        ({"verdict": "deny", "agent": "another"}, [3]),
    ],
)
def test_everything_that_is_asked_must_be_true(store: Store, asked: dict[str, Any], found: list[int]) -> None:
    keep(
        store,
        record(1, asked="deny"),
        detail(1, command="npm publish", effects=(("send", "publish", "registry"),)),
        record(2, event="stop", conversation="c2"),
        record(3, agent="another", asked="deny"),
        detail(3, effects=(("write", "edit", "/w/src/a.py"),)),
    )
    assert ids(store, **asked) == [f"id-{number}" for number in found]


@pytest.mark.parametrize("path", ["app/[id]/page.tsx", "app/[id]", "[id]/*.tsx", "/w/app/[id]/", "app/[[]id]/page.tsx"])
def test_brackets_in_a_path_are_also_what_they_are(store: Store, path: str) -> None:
    keep(store, record(1), detail(1, effects=(("write", "edit", "/w/app/[id]/page.tsx"),)))
    keep(store, record(2), detail(2, effects=(("write", "edit", "/w/app/x/other.tsx"),)))
    assert ids(store, path=path) == ["id-1"]


@pytest.mark.parametrize("text", [" ", "\n", "!"])
def test_a_text_without_a_word_finds_nothing(store: Store, text: str) -> None:
    keep(store, record(1), detail(1, command="make"))
    assert ids(store, text=text) == []


def test_calls_that_only_tried_the_lines_are_left_out_unless_asked_for(store: Store) -> None:
    keep(store, record(1, conversation="trotline-prove"), record(2))
    assert ids(store) == ["id-2"]
    assert ids(store, own=True) == ["id-2", "id-1"]


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
def test_counts_are_asked_for_by_the_same_question(store: Store, by: Any, counts: dict[str, int]) -> None:
    keep(
        store,
        record(1, deciders=["deletion"]),
        record(2, deciders=["deletion", "remotes"]),
        record(3, at_us=2 * HOUR + 1, agent="another", conversation="c2"),
    )
    assert {one["what"]: one["count"] for one in store.search(Query(by=by))} == counts


def test_conversations_come_newest_first_with_what_each_came_to(store: Store) -> None:
    keep(
        store,
        record(1, asked="deny"),
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
    unnamed = {**common, "what": "", "count": 1, "first_us": 7 * HOUR, "last_us": 7 * HOUR, "status": "not told"}
    another = {**common, "what": "c1", "count": 1, "first_us": 6 * HOUR, "last_us": 6 * HOUR, "commands": 1}
    first = {**common, "what": "c1", "count": 2, "first_us": HOUR, "last_us": 5 * HOUR, "denied": 1, "commands": 2}
    second = {
        **common,
        "what": "c2",
        "count": 3,
        "first_us": 2 * HOUR,
        "last_us": 4 * HOUR,
        "edits": 1,
        "status": "aborted",
    }
    found = list(store.search(Query(by="conversation")))
    assert found == [unnamed, {**another, "agent": "another"}, first, {**second, "reason": "window_close"}]
    assert list(store.search(Query(by="conversation", limit=1))) == [unnamed]
    whole = {**second, "reason": "window_close"}
    assert list(store.search(Query(by="conversation", event="afterFileEdit", until_us=4 * HOUR))) == [whole]
    assert list(store.search(Query(by="conversation", verdict="deny"))) == [first]
    assert len(list(store.search(Query(by="conversation", own=True)))) == 5


def test_figures_are_added_up(store: Store) -> None:
    responses = [{"author": "h1", "micros": 5, "failure": "timeout"}, {"author": "h2", "micros": 7, "failure": None}]
    keep(
        store,
        record(1, asked="deny", deciders=["h1", "deletion"], responses=responses, losses=[["ask", "why"]]),
        {**detail(1), "hooks": {"h1": "./check.sh"}},
        record(2, asked="deny", deciders=["deletion"], agent="another"),
        record(3, deciders=["deletion"], responses=responses),
        {**detail(3), "hooks": {"h1": "./check.sh"}},
        record(4, asked="deny", deciders=["deletion"], conversation="trotline-prove"),
    )
    sums = {(one["kind"], one["what"]): one["sum"] for one in store.search(Query(by="figure"))}
    assert sums == {
        ("denied", "./check.sh"): 1,
        ("denied", "deletion"): 2,
        ("lost", "ask"): 1,
        ("broken", "./check.sh: timeout"): 2,
        ("open", "./check.sh: timeout"): 1,
    }
    (one,) = store.search(Query(by="figure", agent="another"))
    assert one == {"kind": "denied", "what": "deletion", "count": 1, "sum": 1}


def test_what_so_many_do_not_exceed_is_asked_for_by_the_same_question(store: Store) -> None:
    keep(store, *(record(number, micros=number) for number in range(1, 101)), record(101, micros=9999, event="stop"))
    (one,) = store.search(Query(by="spread", event="beforeShellExecution"))
    assert one == {"kind": "took", "what": "every call", "count": 100, "p50": 50, "p95": 95, "p99": 99}
    (one,) = store.search(Query(by="spread"))
    assert (one["count"], one["p50"], one["p99"]) == (101, 51, 100)


@pytest.mark.parametrize("by", ["all", "figure", "spread", "conversation"])
def test_what_is_forgotten_counts_no_more(store: Store, by: Any) -> None:
    keep(store, record(1, deciders=["deletion"], asked="deny"), record(2, conversation="c2", agent="another"))
    store.forget(ForgetRequest(conversation="c1"), now_us=9)
    found = list(store.search(Query(by=by)))
    assert sum(one["count"] for one in found) == (0 if by == "figure" else 1)


def test_what_is_forgotten_is_found_by_nothing(store: Store) -> None:
    keep(store, record(1), detail(1, command="unmistakable"), record(2, conversation="c2"))
    assert store.forget(ForgetRequest(conversation="c1"), now_us=9) == 1
    assert store.fetch("id-1") is None
    assert ids(store) == ["id-2"]
    assert ids(store, text="unmistakable") == []


def test_what_is_forgotten_does_not_come_back(store: Store) -> None:
    keep(store, record(1))
    store.forget(ForgetRequest(before_us=2 * HOUR), now_us=9)
    assert keep(store, record(1), detail(1, command="late")) == 0
    assert ids(store) == []


@pytest.mark.parametrize("size", [10**12, 1], ids=["a size that it has not", "a size that it cannot have"])
def test_to_keep_a_size_is_to_forget_nothing_where_that_is_no_help(store: Store, size: int) -> None:
    keep(store, record(1), record(2), detail(2, command="make"))
    assert store.forget(ForgetRequest(keep_bytes=size), now_us=10**15) == 0
    assert ids(store) == ["id-2", "id-1"]


def test_to_forget_nothing_is_nothing(store: Store) -> None:
    keep(store, record(3))
    assert store.forget(ForgetRequest(before_us=2 * HOUR), now_us=9) == 0
    assert ids(store) == ["id-3"]


@pytest.mark.parametrize(
    "odd",
    [
        {"schema": "trotline.record/2"},
        {"schema": None},
        {"id": ""},
        {"id": "x" * 200},
        {"id": "a\nb"},
    ],
    ids=str,
)
def test_what_is_no_record_of_ours_is_no_entry(store: Store, odd: dict[str, Any]) -> None:
    assert keep(store, record(1, **odd), record(2)) == 1
    assert ids(store) == ["id-2"]


@pytest.mark.parametrize(
    "odd",
    [
        {"at_us": "yesterday"},
        {"at_us": 1 << 80},
        {"micros": 10**400, "responses": [{"author": "h1", "micros": -(10**400)}]},
        {"agent": None, "event": 3, "conversation": ["x"], "asked": {}},
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
def test_a_record_of_an_odd_shape_is_kept_all_the_same(store: Store, odd: dict[str, Any]) -> None:
    assert keep(store, record(1, **odd)) == 1
    assert ids(store) == ["id-1"]
    assert len(list(store.search(Query(by="conversation")))) == 1
    assert all(isinstance(one["sum"], int) for one in store.search(Query(by="figure")))


def test_what_cannot_be_read_is_no_record_and_stops_nobody(store: Store) -> None:
    assert (
        store.append([UnreadLine("0", "torn", b"\xff"), StoredLine(record(1)), UnreadLine("0", "torn", b"\xff")]) == 1
    )
    assert ids(store) == ["id-1"]
