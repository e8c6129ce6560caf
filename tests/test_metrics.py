"""Metrics of calls: lines, tools, durations and costs."""

import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import Workspace, age_audit_log, call_in_process, count_query_steps, read_rows, read_stats
from store_behaviour import detail, keep, record
from trotline.audit.query.query import Query
from trotline.audit.query.statistics import parse_costs
from trotline.audit.record.edit_diffs import build_diffs, list_changes
from trotline.audit.record.measures import collect_measures
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.config.settings import read_settings
from trotline.domain.event_records import Edit
from trotline.domain.events import AfterFileEdit, AfterShell, BeforeSubmitPrompt

CURSOR = read_rows("metrics", "cursor_payloads")


def test_lines_are_counted_by_file_and_author(workspace: Workspace) -> None:
    for number, payload in enumerate(CURSOR):
        call_in_process(workspace, payload, number)
    assert read_stats(workspace)["files"] == [
        {"file": "/srv/a.py", "agent_added": 2, "agent_removed": 1, "tab_added": 1, "tab_removed": 0},
        {"file": "/srv/b.py", "agent_added": 2, "agent_removed": 0},
    ]


def test_a_call_with_several_events_is_counted_once(workspace: Workspace) -> None:
    for number, payload in enumerate(CURSOR):
        call_in_process(workspace, payload, number)
    tools = {one.pop("tool"): one for one in read_stats(workspace)["tools"]}
    assert tools["Shell"] == {"calls": 3, "failed": 1, "bytes": 13, "p50_ms": 10, "p95_ms": 30}
    assert tools["MCP:search:find"] == {"calls": 1, "failed": 0, "bytes": 2, "p50_ms": 5, "p95_ms": 5}
    assert tools["Grep"] == {"calls": 1, "failed": 0, "bytes": 0, "p50_ms": 1, "p95_ms": 1}
    lengths = read_stats(workspace)["lengths"]
    assert (lengths["prompt"]["p50"], lengths["response"]["p50"]) == (12, 4)


def test_an_agent_with_generic_events_only_is_counted_by_them(workspace: Workspace) -> None:
    shared = {"session_id": "c", "hook_event_name": "PostToolUse", "cwd": "/srv"}
    call_in_process(
        workspace,
        {**shared, "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "ok"},
        1,
        "claude-code",
    )
    given = {"file_path": "/srv/a.py", "old_string": "a", "new_string": "b\nc"}
    call_in_process(
        workspace, {**shared, "tool_name": "Edit", "tool_input": given, "tool_response": "ok"}, 2, "claude-code"
    )
    found = read_stats(workspace)
    assert {one["tool"]: one["calls"] for one in found["tools"]} == {"Shell": 1, "Write": 1}
    assert found["files"] == [{"file": "/srv/a.py", "agent_added": 2, "agent_removed": 1}]


def test_costs_use_the_configured_prices(workspace: Workspace) -> None:
    for number, payload in enumerate(CURSOR):
        call_in_process(workspace, payload, number)
    assert all("cost" not in one for one in read_stats(workspace)["tools"])
    settings = workspace.roots().config / "trotline.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('costs = "MCP:=0.5, MCP:search=0.25, Shell=0.01"')
    tools = {one["tool"]: one.get("cost") for one in read_stats(workspace)["tools"]}
    assert tools == {"Shell": 0.03, "MCP:search:find": 0.25, "Grep": None}
    settings.write_text('costs = "MCP:find=0.125"')  # as the documents have it: a tool without its server
    assert {one["tool"] for one in read_stats(workspace)["tools"] if "cost" in one} == {"MCP:search:find"}
    settings.write_text('costs = "MCP"')
    (problem,) = read_settings(workspace.roots()).problems
    assert "prices of calls" in problem.message
    done = workspace.run("log", "stats")
    assert (done.returncode, "`costs` must be prices of calls" in done.stderr) == (0, True)


def test_prices_are_read_from_text() -> None:
    assert parse_costs("MCP:a:b=0.5, Shell=2,x=1") == {"MCP:a:b": 0.5, "Shell": 2.0, "x": 1.0}
    assert parse_costs("off") == {}


@given(st.text(alphabet="ab\n", max_size=20), st.text(alphabet="ab\n", max_size=20))
def test_lines_added_and_removed_are_the_difference_in_length(old: str, new: str) -> None:
    edited = AfterFileEdit(file_path="/a", edits=(Edit(old, new),))
    found = collect_measures(edited, build_diffs(list_changes(edited)))
    added, removed = found.get("lines_added", 0), found.get("lines_removed", 0)
    assert added - removed == len(new.splitlines()) - len(old.splitlines())
    assert (added == removed == 0) is (old.splitlines() == new.splitlines())


def test_sizes_are_counted_in_bytes_and_characters() -> None:
    assert collect_measures(AfterShell(command="x", output="né"))["output_bytes"] == 3
    assert collect_measures(BeforeSubmitPrompt(prompt="né"))["characters"] == 2


AGENTS, CONVERSATIONS, EVENTS = ("one", "two"), ("a", "b", ""), ("beforeShellExecution", "afterFileEdit", "stop")
BODIES = st.fixed_dictionaries(
    {
        "agent": st.sampled_from(AGENTS),
        "conversation": st.sampled_from(CONVERSATIONS),
        "event": st.sampled_from(EVENTS),
        "decided": st.sampled_from(("deny", "none")),
        "micros": st.integers(0, 50),
    }
)
CONDITIONS = st.fixed_dictionaries(
    {},
    optional={
        "agent": st.sampled_from(AGENTS),
        "event": st.sampled_from(EVENTS),
        "verdict": st.sampled_from(("deny", "none")),
        "conversation": st.sampled_from(CONVERSATIONS),
    },
)


@given(st.lists(BODIES, min_size=1, max_size=40), CONDITIONS, st.integers(0, 3))
@settings(max_examples=60)
def test_database_counts_equal_counts_over_all_records(
    bodies: list[dict[str, Any]], conditions: dict[str, Any], limit: int
) -> None:
    with tempfile.TemporaryDirectory() as scratch, SqliteStore(Path(scratch, "state", "audit_log.db")) as store:
        keep(store, *(record(number, **body) for number, body in enumerate(bodies)))
        read = list(store.search(Query(**conditions)))
        everything = Counter((one.agent, one.conversation) for one in store.search(Query()))
        conversations = list(dict.fromkeys((one.agent, one.conversation) for one in read))[: limit or None]
        counted = list(store.aggregate(Query(**conditions, by="conversation", limit=limit)))
        assert [((one["agent"], one["name"]), one["count"]) for one in counted] == [
            (one, everything[one]) for one in conversations
        ]
        times = sorted(one.micros for one in read)
        spread = [
            (one["count"], one["p50"], one["p95"], one["p99"])
            for one in store.aggregate(Query(**conditions, by="percentile"))
        ]
        shares = (_least(times, share) for share in (50, 95, 99) if times)
        assert spread == ([(len(times), *shares)] if times else [])


def _least(times: list[int], share: int) -> int:
    """Return the percentile by its definition."""
    return next(one for one in times if sum(other <= one for other in times) * 100 >= share * len(times))


def test_an_older_audit_log_gets_metrics(store: SqliteStore) -> None:
    responses = [{"author": "h1", "micros": 5, "failure": "timeout"}]
    keep(
        store, record(1, responses=responses, losses=[["ask", ""]]), {**detail(1), "hooks": {"h1": "\ud83d ./check.sh"}}
    )
    keep(store, record(2), record(3, conversation="trotline-prove"))
    before = [list(store.aggregate(Query(by=by))) for by in ("metric", "percentile")]
    store.close()
    age_audit_log(store.file)
    with SqliteStore(store.file) as again:
        assert [list(again.aggregate(Query(by=by))) for by in ("metric", "percentile")] == before
        assert list(again.find_index_faults()) == []


@pytest.mark.parametrize(
    "change",
    ["UPDATE metrics SET amount = 1", "DELETE FROM metrics", "INSERT INTO metrics VALUES ('denied', 'x', 1, 9, 1)"],
)
def test_a_figure_that_was_edited_is_found(store: SqliteStore, change: str) -> None:
    keep(store, record(1))
    assert list(store.find_index_faults()) == []
    store._db.execute(change)
    assert list(store.find_index_faults()) == [(1, "id-1")]


def test_for_the_newest_conversations_no_older_ones_are_read(store: SqliteStore) -> None:
    """Count database steps, which are the same on every machine."""
    steps = []
    for first in range(0, 3000, 1000):
        keep(store, *(record(number, conversation=f"c{number // 10}") for number in range(first, first + 1000)))
        steps.append(count_query_steps(store, Query(by="conversation", limit=5)))
    assert steps[2] <= steps[0] + 100


def test_statistics_cover_the_selected_records(workspace: Workspace) -> None:
    for number, payload in enumerate(CURSOR):
        call_in_process(workspace, payload, number)
    assert read_stats(workspace, "--event", "afterShellExecution")["tools"] == [
        {"tool": "Shell", "calls": 2, "failed": 0, "bytes": 11, "p50_ms": 10, "p95_ms": 30}
    ]
    assert read_stats(workspace, "--path", "*/b.py")["files"] == [
        {"file": "/srv/b.py", "agent_added": 2, "agent_removed": 0}
    ]
    assert read_stats(workspace, "--agent", "nobody")["calls"] == 0
