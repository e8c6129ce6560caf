"""What agents did, counted: lines, tools, lengths, costs."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trails import called
from trotline.audit.measures import measures_of
from trotline.audit.work import costs_of
from trotline.config.settings import read_settings
from trotline.events import AfterFileEdit, AfterShell, BeforeSubmitPrompt
from trotline.parts import Edit
from worlds import World, new_world, trotline_process


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def stats(world: World, *words: str) -> dict[str, Any]:
    done = trotline_process("log", "stats", "--json", *words, *world.options, cwd=world.project)
    return dict(json.loads(done.stdout)["data"])


def raised(name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "conversation_id": "c", "generation_id": "g", **fields}


def edit(path: str, old: str, new: str, name: str = "afterFileEdit") -> dict[str, Any]:
    return raised(name, file_path=path, edits=[{"old_string": old, "new_string": new}])


CURSOR = (
    edit("/srv/a.py", "x\ny\n", "x\nz\nw\ny\n"),
    edit("/srv/a.py", "k\nl\n", "k\n"),
    edit("/srv/a.py", "", "tab\n", "afterTabFileEdit"),
    edit("/srv/b.py", "", "1\n2\n"),
    raised("afterShellExecution", command="ls", output="four", duration=10),
    raised("postToolUse", tool_name="Shell", tool_input={"command": "ls"}, tool_output="four", duration=10),
    raised("afterShellExecution", command="ls", output="seven77", duration=30),
    raised(
        "postToolUseFailure", tool_name="Shell", tool_input={"command": "x"}, error_message="no", failure_type="error"
    ),
    raised(
        "afterMCPExecution", tool_name="find", mcp_server_name="search", tool_input="{}", result_json="{}", duration=5
    ),
    raised("postToolUse", tool_name="Grep", tool_input={}, tool_output="", duration=1),
    raised("beforeSubmitPrompt", prompt="twelve chars"),
    raised("afterAgentResponse", text="four"),
)


def test_lines_are_counted_by_file_and_by_whom(world: World) -> None:
    for number, payload in enumerate(CURSOR):
        called(world, payload, number)
    assert stats(world)["files"] == [
        {"file": "/srv/a.py", "agent_added": 2, "agent_removed": 1, "tab_added": 1, "tab_removed": 0},
        {"file": "/srv/b.py", "agent_added": 2, "agent_removed": 0},
    ]


def test_a_call_is_counted_once_however_often_its_host_tells_of_it(world: World) -> None:
    for number, payload in enumerate(CURSOR):
        called(world, payload, number)
    tools = {one.pop("tool"): one for one in stats(world)["tools"]}
    assert tools["Shell"] == {"calls": 3, "failed": 1, "bytes": 13, "p50_ms": 10, "p95_ms": 30}
    assert tools["MCP:search:find"] == {"calls": 1, "failed": 0, "bytes": 2, "p50_ms": 5, "p95_ms": 5}
    assert tools["Grep"] == {"calls": 1, "failed": 0, "bytes": 0, "p50_ms": 1, "p95_ms": 1}
    lengths = stats(world)["lengths"]
    assert (lengths["prompt"]["p50"], lengths["response"]["p50"]) == (12, 4)


def test_a_host_with_generic_events_only_is_counted_by_them(world: World) -> None:
    shared = {"session_id": "c", "hook_event_name": "PostToolUse", "cwd": "/srv"}
    called(
        world, {**shared, "tool_name": "Bash", "tool_input": {"command": "ls"}, "tool_response": "ok"}, 1, "claude-code"
    )
    given = {"file_path": "/srv/a.py", "old_string": "a", "new_string": "b\nc"}
    called(world, {**shared, "tool_name": "Edit", "tool_input": given, "tool_response": "ok"}, 2, "claude-code")
    found = stats(world)
    assert {one["tool"]: one["calls"] for one in found["tools"]} == {"Shell": 1, "Write": 1}
    assert found["files"] == [{"file": "/srv/a.py", "agent_added": 2, "agent_removed": 1}]


def test_costs_are_what_settings_say(world: World) -> None:
    for number, payload in enumerate(CURSOR):
        called(world, payload, number)
    assert all("cost" not in one for one in stats(world)["tools"])
    settings = world.roots().config / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"costs": "MCP:=0.5, MCP:search=0.25, Shell=0.01"}')
    tools = {one["tool"]: one.get("cost") for one in stats(world)["tools"]}
    assert tools == {"Shell": 0.03, "MCP:search:find": 0.25, "Grep": None}
    settings.write_text('{"costs": "MCP"}')
    (problem,) = read_settings(world.roots()).problems
    assert "prices of calls" in problem.message


def test_prices_are_read_as_they_are_written() -> None:
    assert costs_of("MCP:a:b=0.5, Shell=2,x=1") == {"MCP:a:b": 0.5, "Shell": 2.0, "x": 1.0}
    assert costs_of("off") == {}


@given(st.text(alphabet="ab\n", max_size=20), st.text(alphabet="ab\n", max_size=20))
def test_lines_added_and_removed_are_the_difference_in_length(old: str, new: str) -> None:
    found = measures_of(AfterFileEdit(file_path="/a", edits=(Edit(old, new),)))
    added, removed = found.get("lines_added", 0), found.get("lines_removed", 0)
    assert added - removed == len(new.splitlines()) - len(old.splitlines())
    assert (added == removed == 0) is (old.splitlines() == new.splitlines())


def test_sizes_are_counted_in_bytes_and_characters() -> None:
    assert measures_of(AfterShell(command="x", output="né"))["output_bytes"] == 3
    assert measures_of(BeforeSubmitPrompt(prompt="né"))["characters"] == 2
