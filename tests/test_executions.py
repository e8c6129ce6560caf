"""Counts of commands, edits, calls and failures of every agent; each execution counts once."""

import json
from typing import Any

import pytest

from kit import Workspace, build_edit_payload, build_payload, call_in_process, convert_lists, read_corpus, read_stats
from store_behaviour import record
from trotline.audit.export.export_formats import format_records
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.store.audit_log import get_spool


def test_changed_lines_are_those_of_the_diff(workspace: Workspace) -> None:
    old = "\n".join(f"line {number}" for number in range(1, 11))
    new = old.replace("line 1\n", "LINE 1\n").replace("line 10", "LINE 10")
    call_in_process(workspace, build_edit_payload("/srv/a.py", old, new), 1)
    assert read_stats(workspace)["files"] == [{"file": "/srv/a.py", "agent_added": 2, "agent_removed": 2}]


CLAUDE_FIELDS = {"session_id": "c", "cwd": "/srv"}
EDITS: dict[str, tuple[dict[str, Any], ...]] = convert_lists(read_corpus("executions")["edits"])


@pytest.mark.parametrize("agent", EDITS)
def test_edits_of_every_agent_are_counted_once_per_file(workspace: Workspace, agent: str) -> None:
    for number, payload in enumerate(EDITS[agent]):
        call_in_process(workspace, payload, number, agent, "postToolUse" if agent == "copilot" else "")
    files = {row["file"]: (row["agent_added"], row["agent_removed"]) for row in read_stats(workspace)["files"]}
    assert files == {"/srv/old.py": (1, 1), **({"/srv/src/new.py": (2, 0)} if agent == "codex" else {})}
    (conversation,) = list_conversations(workspace)
    assert (conversation["commands"], conversation["edits"]) == (0, len(files))


CLAUDE_EDITS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[int, int]]] = convert_lists(
    read_corpus("executions")["claude_edits"]
)


@pytest.mark.parametrize("case", CLAUDE_EDITS)
def test_changed_lines_reported_by_the_agent_are_used(workspace: Workspace, case: str) -> None:
    tool_input, answer, lines = CLAUDE_EDITS[case]
    tool = {
        "tool_name": "Write" if "content" in tool_input else "Edit",
        "tool_input": {"file_path": "/srv/a.py", **tool_input},
    }
    call_in_process(
        workspace,
        {**CLAUDE_FIELDS, "hook_event_name": "PostToolUse", **tool, "tool_response": answer},
        1,
        "claude-code",
    )
    files = [(row["agent_added"], row["agent_removed"]) for row in read_stats(workspace)["files"]]
    assert files == ([lines] if any(lines) else [])
    assert [conversation["edits"] for conversation in list_conversations(workspace)] == [1]


@pytest.mark.parametrize("words", [(), ("--since", "1970-01-01"), ("--agent", "cursor"), ("--event", "afterFileEdit")])
def test_lines_of_a_new_file_are_counted_once(workspace: Workspace, words: tuple[str, ...]) -> None:
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
        for fields in (
            build_payload("preToolUse", **refused),
            build_payload("preToolUse", **tool),
            after,
            build_payload("postToolUse", **tool),
        ):
            number += 1
            call_in_process(workspace, fields, number)
    files = {row["file"]: (row["agent_added"], row["agent_removed"]) for row in read_stats(workspace, *words)["files"]}
    assert files == {new: (4, 0), old: (1, 1)}
    assert [conversation["edits"] for conversation in list_conversations(workspace)] == [3]


def list_conversations(workspace: Workspace, *words: str) -> list[dict[str, Any]]:
    done = workspace.run("log", "conversations", "--json", *words)
    return list(json.loads(done.stdout)["data"])


def test_command_reported_by_several_events_is_counted_once(workspace: Workspace) -> None:
    ran = {"tool_name": "Shell", "tool_input": {"command": "ls"}}
    call_in_process(workspace, build_payload("preToolUse", **ran), 1)
    call_in_process(workspace, build_payload("beforeShellExecution", command="ls"), 2)
    call_in_process(workspace, build_payload("afterShellExecution", command="ls", output=""), 3)
    call_in_process(workspace, build_payload("postToolUse", **ran), 4)
    bash = {**CLAUDE_FIELDS, "session_id": "c2", "tool_name": "Bash", "tool_input": {"command": "ls"}}
    call_in_process(workspace, {**bash, "hook_event_name": "PreToolUse"}, 5, "claude-code")
    call_in_process(workspace, {**bash, "hook_event_name": "PostToolUse", "tool_response": "ok"}, 6, "claude-code")
    assert {row["id"]: row["commands"] for row in list_conversations(workspace)} == {"c": 1, "c2": 1}


@pytest.mark.parametrize("refused", ["git push --force", "ls"])
def test_denied_command_is_counted_for_every_agent(workspace: Workspace, refused: str) -> None:
    """If the generic tool event is denied, the specific event does not follow."""
    command = {"command": refused}
    call_in_process(workspace, build_payload("preToolUse", tool_name="Shell", tool_input=command), 1)
    if refused == "ls":
        call_in_process(workspace, build_payload("beforeShellExecution", **command), 2)
    call_in_process(workspace, {**build_payload("beforeShellExecution", **command), "conversation_id": "c1"}, 3)
    bash = {"session_id": "c2", "cwd": "/srv", "tool_name": "Bash", "tool_input": command}
    call_in_process(workspace, {**bash, "hook_event_name": "PreToolUse"}, 4, "claude-code")
    assert {row["id"]: row["commands"] for row in list_conversations(workspace)} == {"c": 1, "c1": 1, "c2": 1}


def test_filter_selects_whole_conversations(workspace: Workspace) -> None:
    call_in_process(workspace, build_payload("beforeShellExecution", command="git push --force"), 1)
    call_in_process(workspace, build_payload("beforeShellExecution", command="ls"), 3_000_000)
    call_in_process(workspace, build_payload("stop", status="completed"), 5_000_000)
    call_in_process(workspace, {**build_payload("stop", status="completed"), "conversation_id": "c2"}, 6_000_000)
    (conversation,) = list_conversations(workspace, "--verdict", "denied")
    assert (conversation["id"], conversation["calls"], conversation["commands"], conversation["status"]) == (
        "c",
        3,
        2,
        "completed",
    )
    assert conversation["last_us"] - conversation["first_us"] == 4_999_999


# Failed calls

MCP = {"tool_name": "find", "mcp_server_name": "search", "tool_input": "{}"}
FAILURES: dict[str, tuple[str, dict[str, Any], bool]] = convert_lists(read_corpus("executions")["failures"])


@pytest.mark.parametrize("case", FAILURES)
def test_failed_call_of_every_agent_is_counted(workspace: Workspace, case: str) -> None:
    agent, payload, failed = FAILURES[case]
    call_in_process(workspace, payload, 1, agent, "postToolUse" if agent == "copilot" else "")
    with audit_log.open_audit_log(workspace.roots().state) as store:
        rows = [row["sum"] for row in store.aggregate(Query(by="metric")) if row["kind"] == "failed"]
    assert rows == [1] * failed


@pytest.mark.parametrize("with_detail", [True, False], ids=["detail", "no detail"])
@pytest.mark.parametrize("case", FAILURES)
def test_export_marks_the_calls_that_stats_count_as_failed(workspace: Workspace, case: str, with_detail: bool) -> None:
    agent, payload, failed = FAILURES[case]
    call_in_process(workspace, payload, 1, agent, "postToolUse" if agent == "copilot" else "")
    with audit_log.open_audit_log(workspace.roots().state) as store:
        (line,) = format_records("ocsf", store.search(Query()), with_detail=with_detail)
    assert json.loads(line)["status"] == ("Failure" if failed else "Success")


def test_denied_call_is_neither_a_call_nor_a_failure(workspace: Workspace) -> None:
    refused = {"tool_name": "Shell", "tool_input": {"command": "x"}, "error_message": "no"}
    call_in_process(workspace, build_payload("postToolUseFailure", **refused, failure_type="permission_denied"), 1)
    assert read_stats(workspace)["tools"] == []


def test_stats_of_a_server_contain_all_its_tools(workspace: Workspace) -> None:
    settings = workspace.roots().config / "trotline.toml"
    settings.parent.mkdir(parents=True, exist_ok=True)
    settings.write_text('costs = "MCP:search:find=0.5, MCP:search:buy=1"')
    for number, (tool, milliseconds) in enumerate((("find", 10), ("find", 20), ("buy", 300))):
        fields = {**MCP, "tool_name": tool, "result_json": '{"isError":true}' if tool == "buy" else "{}"}
        call_in_process(workspace, build_payload("afterMCPExecution", **fields, duration=milliseconds), number)
        generic = {"tool_name": f"MCP:search:{tool}", "tool_input": {}, "tool_output": fields["result_json"]}
        call_in_process(workspace, build_payload("postToolUse", **generic), number + 10)
    assert read_stats(workspace)["servers"] == [
        {"server": "search", "calls": 3, "failed": 1, "bytes": 20, "p50_ms": 20, "p95_ms": 300, "cost": 2.0}
    ]


@pytest.mark.parametrize("field, agent", [("last_assistant_message", "claude-code"), ("prompt_response", "gemini-cli")])
def test_length_of_a_response_at_the_end_of_a_turn_is_measured(workspace: Workspace, field: str, agent: str) -> None:
    call_in_process(
        workspace,
        {**CLAUDE_FIELDS, "hook_event_name": "Stop" if agent == "claude-code" else "AfterAgent", field: "four"},
        1,
        agent,
    )
    assert read_stats(workspace)["lengths"]["response"]["p50"] == 4


@pytest.mark.parametrize("name", ["afterFileEdit", "afterTabFileEdit"])
def test_edit_is_found_by_the_effect_write(workspace: Workspace, name: str) -> None:
    call_in_process(workspace, build_edit_payload(f"{workspace.project}/src/a.py", "a", "b", name), 1)
    options = ("--path", "src/**", "--effect", "write", "--count")
    assert workspace.run("log", *options).stdout == "1\n"


def test_responding_guard_has_a_duration(workspace: Workspace) -> None:
    call_in_process(workspace, build_payload("beforeShellExecution", command="git push --force"), 1)
    slowest = {row["author"]: row["p50"] for row in read_stats(workspace)["slowest"]}
    assert len(slowest) > 1
    assert all(slowest.values())


def test_long_table_is_cut_except_in_json(workspace: Workspace) -> None:
    for number in range(13):
        call_in_process(workspace, build_edit_payload(f"/srv/{number}.py", "", "x\n"), number)
    assert len(read_stats(workspace)["files"]) == 13
    shown = workspace.run("log", "stats").stdout
    assert "and 3 more" in shown


def test_row_of_all_calls_comes_before_the_ten_slowest(workspace: Workspace) -> None:
    responses = [{"author": f"hook-{number}", "failure": None, "micros": 9000} for number in range(12)]
    assert get_spool(workspace.roots().state).append(record(1, responses=responses, micros=5)) == ""
    rows = [row["author"] for row in read_stats(workspace)["slowest"]]
    assert (rows[0], len(rows)) == ("every call", 13)
    shown = workspace.run("log", "stats").stdout.split("slowest, in ms\n")[1]
    rows = [line.split()[-2:] for line in shown.splitlines()[1:]]
    assert rows[0] == ["every", "call"]
    assert rows[11] == ["2", "more"]


SERVERS = convert_lists(read_corpus("executions")["servers"])


@pytest.mark.parametrize("case", SERVERS)
def test_server_without_a_name_is_named_by_address_or_program(workspace: Workspace, case: str) -> None:
    fields, server = SERVERS[case]
    for number, name in enumerate(("beforeMCPExecution", "afterMCPExecution")):
        call_in_process(workspace, build_payload(name, tool_name="find", tool_input="{}", **fields), number)
    assert [(row["server"], row["calls"]) for row in read_stats(workspace)["servers"]] == [(server, 1)]
    done = workspace.run("log", "mcp", "--json")
    (tool,) = json.loads(done.stdout)["data"]["tools"]
    assert (tool["server"] or "not told", tool["named"], tool["calls"]) == (server, case == "a name", 1)
    listed = workspace.run("log", "mcp", "--allow-list").stdout
    assert ("search:find" in listed, "find" in listed) == (case == "a name", case == "a name")
