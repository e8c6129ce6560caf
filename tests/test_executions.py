"""What agents of every agent did, counted once each: commands, edits, calls and how they ended."""

import json
from typing import Any

import pytest

from kit import Workspace, build_edit_payload, build_payload, call_in_process, read_stats
from store_behaviour import record
from trotline.audit.export.export_formats import format_records
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.store.audit_log import get_spool


def test_lines_are_those_of_the_diff_and_not_all_between_the_first_and_the_last(workspace: Workspace) -> None:
    old = "\n".join(f"line {number}" for number in range(1, 11))
    new = old.replace("line 1\n", "LINE 1\n").replace("line 10", "LINE 10")
    call_in_process(workspace, build_edit_payload("/srv/a.py", old, new), 1)
    assert read_stats(workspace)["files"] == [{"file": "/srv/a.py", "agent_added": 2, "agent_removed": 2}]


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


@pytest.mark.parametrize("agent", EDITS)
def test_edits_of_every_agent_are_counted_once_under_their_files(workspace: Workspace, agent: str) -> None:
    for number, payload in enumerate(EDITS[agent]):
        call_in_process(workspace, payload, number, agent, "postToolUse" if agent == "copilot" else "")
    files = {one["file"]: (one["agent_added"], one["agent_removed"]) for one in read_stats(workspace)["files"]}
    assert files == {"/srv/old.py": (1, 1), **({"/srv/src/new.py": (2, 0)} if agent == "codex" else {})}
    (talk,) = talks(workspace)
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
def test_lines_are_those_that_an_agent_says_were_changed(workspace: Workspace, case: str) -> None:
    given, answer, lines = WRITTEN[case]
    tool = {"tool_name": "Write" if "content" in given else "Edit", "tool_input": {"file_path": "/srv/a.py", **given}}
    call_in_process(
        workspace, {**CLAUDES, "hook_event_name": "PostToolUse", **tool, "tool_response": answer}, 1, "claude-code"
    )
    files = [(one["agent_added"], one["agent_removed"]) for one in read_stats(workspace)["files"]]
    assert files == ([lines] if any(lines) else [])
    assert [talk["edits"] for talk in talks(workspace)] == [1]


@pytest.mark.parametrize("words", [(), ("--since", "1970-01-01"), ("--agent", "cursor"), ("--event", "afterFileEdit")])
def test_lines_of_a_file_that_cursor_creates_are_counted_once(workspace: Workspace, words: tuple[str, ...]) -> None:
    new, old = "/srv/new.py", "/srv/old.py"
    refused = {"tool_name": "Write", "tool_input": {"file_path": f"{workspace.home}/.ssh/config", "content": "x"}}
    number = 0
    for path, content, edits in (
        (new, "1\n2\n3\n", []),
        (old, "a\nb\nC\n", [{"old_string": "c", "new_string": "C"}]),
        (new, "1\n2\n3\n4\n", [{"old_string": "", "new_string": "4\n"}]),
    ):
        tool = {"tool_name": "Write", "tool_input": {"file_path": path, "content": content}, "tool_use_id": str(number)}
        after = build_payload("afterFileEdit", file_path=path, edits=edits)
        for told in (
            build_payload("preToolUse", **refused),
            build_payload("preToolUse", **tool),
            after,
            build_payload("postToolUse", **tool),
        ):
            number += 1
            call_in_process(workspace, told, number)
    files = {one["file"]: (one["agent_added"], one["agent_removed"]) for one in read_stats(workspace, *words)["files"]}
    assert files == {new: (4, 0), old: (1, 1)}
    assert [talk["edits"] for talk in talks(workspace)] == [3]


def talks(workspace: Workspace, *words: str) -> list[dict[str, Any]]:
    done = workspace.run("log", "conversations", "--json", *words)
    return list(json.loads(done.stdout)["data"])


def test_a_command_is_counted_once_whichever_event_tells_of_it(workspace: Workspace) -> None:
    ran = {"tool_name": "Shell", "tool_input": {"command": "ls"}}
    call_in_process(workspace, build_payload("preToolUse", **ran), 1)
    call_in_process(workspace, build_payload("beforeShellExecution", command="ls"), 2)
    call_in_process(workspace, build_payload("afterShellExecution", command="ls", output=""), 3)
    call_in_process(workspace, build_payload("postToolUse", **ran), 4)
    bash = {**CLAUDES, "session_id": "c2", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    call_in_process(workspace, {**bash, "hook_event_name": "PreToolUse"}, 5, "claude-code")
    call_in_process(workspace, {**bash, "hook_event_name": "PostToolUse", "tool_response": "ok"}, 6, "claude-code")
    assert {one["id"]: one["commands"] for one in talks(workspace)} == {"c": 1, "c2": 1}


@pytest.mark.parametrize("refused", ["git push --force", "ls"])
def test_a_command_that_was_refused_is_one_that_was_tried_under_every_agent(workspace: Workspace, refused: str) -> None:
    """Where it is refused at the event of any tool, its own event does not come."""
    command = {"command": refused}
    call_in_process(workspace, build_payload("preToolUse", tool_name="Shell", tool_input=command), 1)
    if refused == "ls":
        call_in_process(workspace, build_payload("beforeShellExecution", **command), 2)
    call_in_process(workspace, {**build_payload("beforeShellExecution", **command), "conversation_id": "c1"}, 3)
    bash = {"session_id": "c2", "cwd": "/srv", "tool_name": "Bash", "tool_input": command}
    call_in_process(workspace, {**bash, "hook_event_name": "PreToolUse"}, 4, "claude-code")
    assert {one["id"]: one["commands"] for one in talks(workspace)} == {"c": 1, "c1": 1, "c2": 1}


def test_a_filter_chooses_conversations_and_each_is_told_whole(workspace: Workspace) -> None:
    call_in_process(workspace, build_payload("beforeShellExecution", command="git push --force"), 1)
    call_in_process(workspace, build_payload("beforeShellExecution", command="ls"), 3_000_000)
    call_in_process(workspace, build_payload("stop", status="completed"), 5_000_000)
    call_in_process(workspace, {**build_payload("stop", status="completed"), "conversation_id": "c2"}, 6_000_000)
    (talk,) = talks(workspace, "--verdict", "denied")
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
    "cursor by a number": ("cursor", build_payload("postToolUse", **SHELL, tool_output='{"exitCode":1}'), True),
    "cursor went well": ("cursor", build_payload("postToolUse", **SHELL, tool_output='{"exitCode":0}'), False),
    "a server": ("cursor", build_payload("afterMCPExecution", **MCP, result_json='{"isError":true}'), True),
    "a server's own word": ("cursor", build_payload("afterMCPExecution", **MCP, result_json='{"code":5}'), False),
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
def test_a_call_that_failed_is_counted_as_one_however_its_agent_says_so(workspace: Workspace, case: str) -> None:
    agent, payload, failed = ENDS[case]
    call_in_process(workspace, payload, 1, agent, "postToolUse" if agent == "copilot" else "")
    with audit_log.open_audit_log(workspace.roots().state) as store:
        found = [one["sum"] for one in store.search(Query(by="figure")) if one["kind"] == "failed"]
    assert found == [1] * failed


@pytest.mark.parametrize("words", [True, False], ids=["words", "no words"])
@pytest.mark.parametrize("case", ENDS)
def test_exports_say_failure_of_a_call_that_stats_count_as_failed(workspace: Workspace, case: str, words: bool) -> None:
    agent, payload, failed = ENDS[case]
    call_in_process(workspace, payload, 1, agent, "postToolUse" if agent == "copilot" else "")
    with audit_log.open_audit_log(workspace.roots().state) as store:
        (line,) = format_records("ocsf", store.search(Query()), words=words)
    assert json.loads(line)["status"] == ("Failure" if failed else "Success")


def test_a_call_that_was_refused_is_neither_a_call_nor_a_failure(workspace: Workspace) -> None:
    refused = {"tool_name": "Shell", "tool_input": {"command": "x"}, "error_message": "no"}
    call_in_process(workspace, build_payload("postToolUseFailure", **refused, failure_type="permission_denied"), 1)
    assert read_stats(workspace)["tools"] == []


def test_servers_are_told_with_all_their_tools(workspace: Workspace) -> None:
    settings = workspace.roots().config / "trotline.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('costs = "MCP:search:find=0.5, MCP:search:buy=1"')
    for number, (tool, milliseconds) in enumerate((("find", 10), ("find", 20), ("buy", 300))):
        told = {**MCP, "tool_name": tool, "result_json": '{"isError":true}' if tool == "buy" else "{}"}
        call_in_process(workspace, build_payload("afterMCPExecution", **told, duration=milliseconds), number)
        generic = {"tool_name": f"MCP:search:{tool}", "tool_input": {}, "tool_output": told["result_json"]}
        call_in_process(workspace, build_payload("postToolUse", **generic), number + 10)
    assert read_stats(workspace)["servers"] == [
        {"server": "search", "calls": 3, "failed": 1, "bytes": 20, "p50_ms": 20, "p95_ms": 300, "cost": 2.0}
    ]


@pytest.mark.parametrize("field, agent", [("last_assistant_message", "claude-code"), ("prompt_response", "gemini-cli")])
def test_a_response_that_comes_with_the_end_of_a_turn_has_a_length(
    workspace: Workspace, field: str, agent: str
) -> None:
    call_in_process(
        workspace,
        {**CLAUDES, "hook_event_name": "Stop" if agent == "claude-code" else "AfterAgent", field: "four"},
        1,
        agent,
    )
    assert read_stats(workspace)["lengths"]["response"]["p50"] == 4


@pytest.mark.parametrize("name", ["afterFileEdit", "afterTabFileEdit"])
def test_an_edit_is_found_as_a_write(workspace: Workspace, name: str) -> None:
    call_in_process(workspace, build_edit_payload(f"{workspace.project}/src/a.py", "a", "b", name), 1)
    options = ("--path", "src/**", "--effect", "write", "--count")
    assert workspace.run("log", *options).stdout == "1\n"


def test_a_guard_that_speaks_has_a_time(workspace: Workspace) -> None:
    call_in_process(workspace, build_payload("beforeShellExecution", command="git push --force"), 1)
    slowest = {one["who"]: one["p50"] for one in read_stats(workspace)["slowest"]}
    assert len(slowest) > 1
    assert all(slowest.values())


def test_a_table_that_is_cut_says_so_and_programs_get_all_of_it(workspace: Workspace) -> None:
    for number in range(13):
        call_in_process(workspace, build_edit_payload(f"/srv/{number}.py", "", "x\n"), number)
    assert len(read_stats(workspace)["files"]) == 13
    shown = workspace.run("log", "stats").stdout
    assert "and 3 more" in shown


def test_the_row_of_all_calls_is_the_first_and_not_one_of_the_ten_slowest(workspace: Workspace) -> None:
    responses = [{"author": f"hook-{number}", "said": "none", "failure": None, "micros": 9000} for number in range(12)]
    assert get_spool(workspace.roots().state).append(record(1, responses=responses, micros=5)) == ""
    found = [one["who"] for one in read_stats(workspace)["slowest"]]
    assert (found[0], len(found)) == ("every call", 13)
    shown = workspace.run("log", "stats").stdout.split("slowest, in ms\n")[1]
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
def test_a_server_without_a_name_is_called_by_its_address_or_its_program(workspace: Workspace, case: str) -> None:
    told, server = SERVERS[case]
    for number, name in enumerate(("beforeMCPExecution", "afterMCPExecution")):
        call_in_process(workspace, build_payload(name, tool_name="find", tool_input="{}", **told), number)
    assert [(one["server"], one["calls"]) for one in read_stats(workspace)["servers"]] == [(server, 1)]
    done = workspace.run("log", "mcp", "--json")
    (tool,) = json.loads(done.stdout)["data"]["tools"]
    assert (tool["server"] or "not told", tool["named"], tool["calls"]) == (server, case == "a name", 1)
    listed = workspace.run("log", "mcp", "--allow-list").stdout
    assert ("search:find" in listed, "find" in listed) == (case == "a name", case == "a name")
