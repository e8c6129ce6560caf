"""What agents of every host did, counted once each: commands, edits, calls and how they ended."""

import json
from pathlib import Path
from typing import Any

import pytest

from store_behaviour import record
from trails import called, edit, raised, stats
from trotline.audit import trail
from trotline.audit.export import exported
from trotline.audit.query import Query
from trotline.audit.trail import spool_of
from worlds import World, new_world, trotline_process


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def test_lines_are_those_of_the_diff_and_not_all_between_the_first_and_the_last(world: World) -> None:
    old = "\n".join(f"line {number}" for number in range(1, 11))
    new = old.replace("line 1\n", "LINE 1\n").replace("line 10", "LINE 10")
    called(world, edit("/srv/a.py", old, new), 1)
    assert stats(world)["files"] == [{"file": "/srv/a.py", "agent_added": 2, "agent_removed": 2}]


PATCH = "*** Begin Patch\n*** Add File: src/new.py\n+a\n+b\n*** Update File: old.py\n@@\n k\n-o\n+n\n*** End Patch\n"
CLAUDES = {"session_id": "c", "cwd": "/srv"}
EDITS: dict[str, tuple[dict[str, Any], ...]] = {
    "codex": (
        {**CLAUDES, "hook_event_name": "PreToolUse", "tool_name": "apply_patch", "tool_input": {"command": PATCH}},
        {**CLAUDES, "hook_event_name": "PostToolUse", "tool_name": "apply_patch", "tool_input": {"command": PATCH}},
    ),
    "windsurf": (
        {
            "agent_action_name": "post_write_code",
            "trajectory_id": "c",
            "tool_info": {"file_path": "/srv/old.py", "edits": [{"old_string": "o", "new_string": "n"}]},
        },
    ),
    "copilot": (
        {
            "sessionId": "c",
            "toolName": "edit",
            "toolArgs": {"path": "/srv/old.py", "old_str": "o", "new_str": "n"},
            "toolResult": {"resultType": "success", "textResultForLlm": "done"},
        },
    ),
    "cline": (
        {
            "clineVersion": "3",
            "hookName": "tool_result",
            "taskId": "c",
            "tool_result": {
                "name": "editor",
                "input": {"path": "/srv/old.py", "old_text": "o", "new_text": "n"},
                "output": {"result": "done", "success": True},
            },
        },
    ),
}


@pytest.mark.parametrize("host", EDITS)
def test_edits_of_every_host_are_counted_once_under_their_files(world: World, host: str) -> None:
    for number, payload in enumerate(EDITS[host]):
        called(world, payload, number, host, "postToolUse" if host == "copilot" else "")
    files = {one["file"]: (one["agent_added"], one["agent_removed"]) for one in stats(world)["files"]}
    assert files == {"/srv/old.py": (1, 1), **({"/srv/src/new.py": (2, 0)} if host == "codex" else {})}
    (talk,) = talks(world)
    assert (talk["commands"], talk["edits"]) == (0, len(files))


OLD = "\n".join(f"line {number}" for number in range(300))
NEW = OLD.replace("line 7\n", "line seven\n")
PART = {"oldStart": 7, "oldLines": 3, "newStart": 7, "newLines": 3, "lines": [" line 6", "-line 7", "+line seven"]}
WRITTEN: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[int, int]]] = {
    "a patch": ({"content": NEW}, {"originalFile": OLD, "structuredPatch": [PART]}, (1, 1)),
    "what was there": ({"content": NEW}, {"originalFile": OLD}, (1, 1)),
    "the same": ({"content": NEW}, {"originalFile": NEW, "structuredPatch": []}, (0, 0)),
    "a new file": ({"content": NEW}, {"originalFile": None, "structuredPatch": []}, (300, 0)),
    "everywhere": (
        {"old_string": "7", "new_string": "seven", "replace_all": True},
        {"originalFile": OLD, "structuredPatch": [PART, PART]},
        (2, 2),
    ),
    "nothing that is known": ({"content": "a\nb"}, {"originalFile": 3, "structuredPatch": [{"lines": [4]}, 5]}, (0, 0)),
}


@pytest.mark.parametrize("case", WRITTEN)
def test_lines_are_those_that_a_host_says_were_changed(world: World, case: str) -> None:
    given, answer, lines = WRITTEN[case]
    tool = {"tool_name": "Write" if "content" in given else "Edit", "tool_input": {"file_path": "/srv/a.py", **given}}
    called(world, {**CLAUDES, "hook_event_name": "PostToolUse", **tool, "tool_response": answer}, 1, "claude-code")
    files = [(one["agent_added"], one["agent_removed"]) for one in stats(world)["files"]]
    assert files == ([lines] if any(lines) else [])
    assert [talk["edits"] for talk in talks(world)] == [1]


@pytest.mark.parametrize("words", [(), ("--since", "1970-01-01"), ("--host", "cursor"), ("--event", "afterFileEdit")])
def test_lines_of_a_file_that_cursor_creates_are_counted_once(world: World, words: tuple[str, ...]) -> None:
    new, old = "/srv/new.py", "/srv/old.py"
    refused = {"tool_name": "Write", "tool_input": {"file_path": f"{world.home}/.ssh/config", "content": "x"}}
    number = 0
    for path, content, edits in (
        (new, "1\n2\n3\n", []),
        (old, "a\nb\nC\n", [{"old_string": "c", "new_string": "C"}]),
        (new, "1\n2\n3\n4\n", [{"old_string": "", "new_string": "4\n"}]),
    ):
        tool = {"tool_name": "Write", "tool_input": {"file_path": path, "content": content}, "tool_use_id": str(number)}
        after = raised("afterFileEdit", file_path=path, edits=edits)
        for told in (
            raised("preToolUse", **refused),
            raised("preToolUse", **tool),
            after,
            raised("postToolUse", **tool),
        ):
            number += 1
            called(world, told, number)
    files = {one["file"]: (one["agent_added"], one["agent_removed"]) for one in stats(world, *words)["files"]}
    assert files == {new: (4, 0), old: (1, 1)}
    assert [talk["edits"] for talk in talks(world)] == [3]


def talks(world: World, *words: str) -> list[dict[str, Any]]:
    done = trotline_process("log", "conversations", "--json", *words, *world.options, cwd=world.project)
    return list(json.loads(done.stdout)["data"])


def test_a_command_is_counted_once_whichever_event_tells_of_it(world: World) -> None:
    ran = {"tool_name": "Shell", "tool_input": {"command": "ls"}}
    called(world, raised("preToolUse", **ran), 1)
    called(world, raised("beforeShellExecution", command="ls"), 2)
    called(world, raised("afterShellExecution", command="ls", output=""), 3)
    called(world, raised("postToolUse", **ran), 4)
    bash = {**CLAUDES, "session_id": "c2", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    called(world, {**bash, "hook_event_name": "PreToolUse"}, 5, "claude-code")
    called(world, {**bash, "hook_event_name": "PostToolUse", "tool_response": "ok"}, 6, "claude-code")
    assert {one["id"]: one["commands"] for one in talks(world)} == {"c": 1, "c2": 1}


@pytest.mark.parametrize("refused", ["git push --force", "ls"])
def test_a_command_that_was_refused_is_one_that_was_tried_under_every_host(world: World, refused: str) -> None:
    """Where it is refused at the event of any tool, its own event does not come."""
    command = {"command": refused}
    called(world, raised("preToolUse", tool_name="Shell", tool_input=command), 1)
    if refused == "ls":
        called(world, raised("beforeShellExecution", **command), 2)
    called(world, {**raised("beforeShellExecution", **command), "conversation_id": "c1"}, 3)
    bash = {"session_id": "c2", "cwd": "/srv", "tool_name": "Bash", "tool_input": command}
    called(world, {**bash, "hook_event_name": "PreToolUse"}, 4, "claude-code")
    assert {one["id"]: one["commands"] for one in talks(world)} == {"c": 1, "c1": 1, "c2": 1}


def test_a_filter_chooses_conversations_and_each_is_told_whole(world: World) -> None:
    called(world, raised("beforeShellExecution", command="git push --force"), 1)
    called(world, raised("beforeShellExecution", command="ls"), 3_000_000)
    called(world, raised("stop", status="completed"), 5_000_000)
    called(world, {**raised("stop", status="completed"), "conversation_id": "c2"}, 6_000_000)
    (talk,) = talks(world, "--verdict", "denied")
    assert (talk["id"], talk["calls"], talk["commands"], talk["status"]) == ("c", 3, 2, "completed")
    assert talk["last_us"] - talk["first_us"] == 4_999_999


# How calls end

BASH = {**CLAUDES, "hook_event_name": "PostToolUse", "tool_name": "Bash", "tool_input": {"command": "x"}}
GEMINIS = {**CLAUDES, "hook_event_name": "AfterTool", "tool_name": "run_shell_command", "tool_input": {"command": "x"}}
HANDS = {"event_type": "PostToolUse", "session_id": "c", "tool_name": "terminal", "tool_input": {"command": "x"}}
COPILOTS = {"sessionId": "c", "toolName": "bash", "toolArgs": {"command": "x"}}
CLINES = {"clineVersion": "3", "hookName": "tool_result", "taskId": "c"}
OPENCODES = {"hook": "tool.execute.after", "input": {"tool": "bash", "sessionID": "c", "args": {"command": "x"}}}
SHELL = {"tool_name": "Shell", "tool_input": {"command": "x"}}
MCP = {"tool_name": "find", "mcp_server_name": "search", "tool_input": "{}"}
ENDS: dict[str, tuple[str, dict[str, Any], bool]] = {
    "cursor by a number": ("cursor", raised("postToolUse", **SHELL, tool_output='{"exitCode":1}'), True),
    "cursor went well": ("cursor", raised("postToolUse", **SHELL, tool_output='{"exitCode":0}'), False),
    "a server": ("cursor", raised("afterMCPExecution", **MCP, result_json='{"isError":true}'), True),
    "a server's own word": ("cursor", raised("afterMCPExecution", **MCP, result_json='{"code":5}'), False),
    "claude": (
        "claude-code",
        {**BASH, "hook_event_name": "PostToolUseFailure", "error": "Exit code 2\nno"},
        True,
    ),
    "a command's own words": ("claude-code", {**BASH, "tool_response": {"stdout": '{"isError":true}'}}, False),
    "gemini": (
        "gemini-cli",
        {**GEMINIS, "tool_response": {"llmContent": "Output: oops\nExit Code: 3\nProcess Group PGID: 9"}},
        True,
    ),
    "gemini, in the output": ("gemini-cli", {**GEMINIS, "tool_response": {"llmContent": "Exit Code: 3\nmore"}}, False),
    "gemini's error": ("gemini-cli", {**GEMINIS, "tool_response": {"llmContent": "", "error": {"type": "x"}}}, True),
    "openhands": ("openhands", {**HANDS, "tool_response": {"content": [], "is_error": True, "exit_code": -1}}, True),
    "openhands by a number": (
        "openhands",
        {**HANDS, "tool_response": {"content": [{"type": "text", "text": "x"}], "is_error": False, "exit_code": 3}},
        True,
    ),
    "copilot": (
        "copilot",
        {
            **COPILOTS,
            "toolResult": {"resultType": "success", "textResultForLlm": "x\n<shellId: 0 completed with exit code 3>"},
        },
        True,
    ),
    "copilot by a word": (
        "copilot",
        {**COPILOTS, "toolResult": {"resultType": "failure", "textResultForLlm": ""}},
        True,
    ),
    "droid": (
        "factory-droid",
        {**BASH, "tool_name": "Execute", "tool_response": "x\n\n[Process exited with code 4]"},
        True,
    ),
    "cline": (
        "cline",
        {
            **CLINES,
            "tool_result": {
                "name": "run_commands",
                "input": {"commands": ["x"]},
                "output": [{"query": "x", "result": "", "error": "Command exited with code 3", "success": False}],
            },
        },
        True,
    ),
    "opencode": ("opencode", {**OPENCODES, "output": {"output": "x", "metadata": {"exit": 3}}}, True),
    "opencode went well": ("opencode", {**OPENCODES, "output": {"output": "x", "metadata": {"exit": 0}}}, False),
}


@pytest.mark.parametrize("case", ENDS)
def test_a_call_that_failed_is_counted_as_one_however_its_host_says_so(world: World, case: str) -> None:
    host, payload, failed = ENDS[case]
    called(world, payload, 1, host, "postToolUse" if host == "copilot" else "")
    with trail.opened(world.roots().state) as store:
        found = [one["sum"] for one in store.search(Query(by="figure")) if one["kind"] == "failed"]
    assert found == [1] * failed


@pytest.mark.parametrize("words", [True, False], ids=["words", "no words"])
@pytest.mark.parametrize("case", ENDS)
def test_exports_say_failure_of_a_call_that_stats_count_as_failed(world: World, case: str, words: bool) -> None:
    host, payload, failed = ENDS[case]
    called(world, payload, 1, host, "postToolUse" if host == "copilot" else "")
    with trail.opened(world.roots().state) as store:
        (line,) = exported("ocsf", store.search(Query()), words=words)
    assert json.loads(line)["status"] == ("Failure" if failed else "Success")


def test_a_call_that_was_refused_is_neither_a_call_nor_a_failure(world: World) -> None:
    refused = {"tool_name": "Shell", "tool_input": {"command": "x"}, "error_message": "no"}
    called(world, raised("postToolUseFailure", **refused, failure_type="permission_denied"), 1)
    assert stats(world)["tools"] == []


def test_servers_are_told_with_all_their_tools(world: World) -> None:
    settings = world.roots().config / "settings.json"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('{"costs": "MCP:search:find=0.5, MCP:search:buy=1"}')
    for number, (tool, milliseconds) in enumerate((("find", 10), ("find", 20), ("buy", 300))):
        told = {**MCP, "tool_name": tool, "result_json": '{"isError":true}' if tool == "buy" else "{}"}
        called(world, raised("afterMCPExecution", **told, duration=milliseconds), number)
        generic = {"tool_name": f"MCP:search:{tool}", "tool_input": {}, "tool_output": told["result_json"]}
        called(world, raised("postToolUse", **generic), number + 10)
    assert stats(world)["servers"] == [
        {"server": "search", "calls": 3, "failed": 1, "bytes": 20, "p50_ms": 20, "p95_ms": 300, "cost": 2.0}
    ]


@pytest.mark.parametrize("field, host", [("last_assistant_message", "claude-code"), ("prompt_response", "gemini-cli")])
def test_a_response_that_comes_with_the_end_of_a_turn_has_a_length(world: World, field: str, host: str) -> None:
    called(
        world, {**CLAUDES, "hook_event_name": "Stop" if host == "claude-code" else "AfterAgent", field: "four"}, 1, host
    )
    assert stats(world)["lengths"]["response"]["p50"] == 4


@pytest.mark.parametrize("name", ["afterFileEdit", "afterTabFileEdit"])
def test_an_edit_is_found_as_a_write(world: World, name: str) -> None:
    called(world, edit(f"{world.project}/src/a.py", "a", "b", name), 1)
    options = ("--path", "src/**", "--effect", "write", "--count")
    assert trotline_process("log", *options, *world.options, cwd=world.project).stdout == "1\n"


def test_a_guard_that_speaks_has_a_time(world: World) -> None:
    called(world, raised("beforeShellExecution", command="git push --force"), 1)
    slowest = {one["who"]: one["p50"] for one in stats(world)["slowest"]}
    assert len(slowest) > 1
    assert all(slowest.values())


def test_a_table_that_is_cut_says_so_and_programs_get_all_of_it(world: World) -> None:
    for number in range(13):
        called(world, edit(f"/srv/{number}.py", "", "x\n"), number)
    assert len(stats(world)["files"]) == 13
    shown = trotline_process("log", "stats", *world.options, cwd=world.project).stdout
    assert "and 3 more" in shown


def test_the_row_of_all_calls_is_the_first_and_not_one_of_the_ten_slowest(world: World) -> None:
    voices = [{"author": f"hook-{number}", "said": "silent", "failure": None, "micros": 9000} for number in range(12)]
    assert spool_of(world.roots().state).append(record(1, voices=voices, micros=5)) == ""
    found = [one["who"] for one in stats(world)["slowest"]]
    assert (found[0], len(found)) == ("every call", 13)
    shown = trotline_process("log", "stats", *world.options, cwd=world.project).stdout.split("slowest, in ms\n")[1]
    rows = [line.split()[-2:] for line in shown.splitlines()[1:]]
    assert rows[0] == ["every", "call"]
    assert rows[11] == ["2", "more"]


SERVERS = {
    "a name": ({"mcp_server_name": "search", "url": "https://mcp.acme.io/sse"}, "search"),
    "an address": ({"mcp_server_url": "https://mcp.acme.io:8443/sse"}, "mcp.acme.io"),
    "an older address": ({"url": "http://localhost:3000"}, "localhost"),
    "a program": ({"command": "/opt/bin/search-server --stdio"}, "search-server"),
    "a package": ({"command": "npx -y @acme/search@1.2 --stdio"}, "@acme/search@1.2"),
    "a module": ({"command": "python3 -m acme_search"}, "acme_search"),
    "a script": ({"command": "node /srv/search/server.js"}, "server.js"),
    "no address": ({"url": "http://[bad"}, "not told"),
    "nothing": ({}, "not told"),
}


@pytest.mark.parametrize("case", SERVERS)
def test_a_server_without_a_name_is_called_by_its_address_or_its_program(world: World, case: str) -> None:
    told, server = SERVERS[case]
    for number, name in enumerate(("beforeMCPExecution", "afterMCPExecution")):
        called(world, raised(name, tool_name="find", tool_input="{}", **told), number)
    assert [(one["server"], one["calls"]) for one in stats(world)["servers"]] == [(server, 1)]
    done = trotline_process("mcp", "--json", *world.options, cwd=world.project)
    (tool,) = json.loads(done.stdout)["data"]["tools"]
    assert (tool["server"] or "not told", tool["named"], tool["calls"]) == (server, case == "a name", 1)
    listed = trotline_process("mcp", "--allow-list", *world.options, cwd=world.project).stdout
    assert ("search:find" in listed, "find" in listed) == (case == "a name", case == "a name")
