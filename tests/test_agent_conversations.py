"""Alarms in ordinary conversations of an agent, seen through the matchers of the installed hook lines."""

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from kit import Workspace, call_in_process
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import MATCH_ALL
from trotline.audit.query.alarms import DONE_WITHOUT_CALL
from trotline.audit.store import audit_log

MATCHED = [name for name in AGENTS if (wiring := get_agent(name).wiring) is not None and wiring.matchers]

CURSOR_FIELDS = {"conversation_id": "c", "generation_id": "g", "cursor_version": "3.21.16"}
OPENHANDS_FIELDS = {"session_id": "c", "working_dir": "/w"}

RaisedEvents = list[tuple[str, dict[str, Any]]]
"""Events of an agent, each with its payload."""


def play_cursor(workspace: Workspace) -> RaisedEvents:
    """Write, read and search a file, run a command and call a server; each tool use has an ID."""
    path, command = f"{workspace.project}/a.py", {"command": "make"}
    server: dict[str, Any] = {"tool_name": "find", "tool_input": "{}", "mcp_server_name": "search"}
    events: RaisedEvents = [("sessionStart", {}), ("beforeSubmitPrompt", {"prompt": "go"})]
    events += build_cursor_tool_events(
        "Write", {"file_path": path, "content": "x"}, [], [("afterFileEdit", {"file_path": path})]
    )
    events += build_cursor_tool_events(
        "Read", {"file_path": path}, [("beforeReadFile", {"file_path": path, "content": "x"})], []
    )
    events += build_cursor_tool_events("Grep", {"pattern": "x"}, [], [])
    events += build_cursor_tool_events(
        "Shell", command, [("beforeShellExecution", command)], [("afterShellExecution", command)]
    )
    events += build_cursor_tool_events(
        "MCP:find", {}, [("beforeMCPExecution", server)], [("afterMCPExecution", server)]
    )
    events += [("stop", {"status": "completed"}), ("sessionEnd", {"reason": "completed"})]
    return [(event, {**CURSOR_FIELDS, "hook_event_name": event, **payload}) for event, payload in events]


def build_cursor_tool_events(
    name: str, given: dict[str, Any], before: RaisedEvents, after: RaisedEvents
) -> RaisedEvents:
    tool = {"tool_name": name, "tool_input": given, "tool_use_id": f"tool_{name}"}
    return [("preToolUse", tool), *before, *after, ("postToolUse", {**tool, "tool_output": "{}"})]


def play_openhands(_: Workspace) -> RaisedEvents:
    events: RaisedEvents = [("SessionStart", {}), ("UserPromptSubmit", {"message": "go"})]
    for name, given in (("terminal", {"command": "make"}), ("file_editor", {"command": "view", "path": "/w/a"})):
        tool = {"tool_name": name, "tool_input": given}
        events += [("PreToolUse", tool), ("PostToolUse", {**tool, "tool_response": {"exit_code": 0}})]
    events += [("Stop", {}), ("SessionEnd", {})]
    return [(event, {**OPENHANDS_FIELDS, "event_type": event, **payload}) for event, payload in events]


CONVERSATIONS = {"cursor": play_cursor, "openhands": play_openhands}


def select_matched(workspace: Workspace, agent: str, raised: RaisedEvents) -> RaisedEvents:
    """Return the events for which the installed hook lines are called."""
    done = workspace.run("install", agent, "--yes")
    assert done.returncode == 0, done.stderr
    wiring = get_agent(agent).wiring
    assert wiring is not None
    lines = json.loads((workspace.home / wiring.files["user"]).read_text())
    matchers = {event: [entry.get("matcher", "") for entry in entries] for event, entries in lines["hooks"].items()}
    return [(event, payload) for event, payload in raised if _is_called(matchers.get(event, []), payload)]


def _is_called(matchers: Iterable[str], payload: dict[str, Any]) -> bool:
    return any(entry in MATCH_ALL or re.search(entry, payload["tool_name"]) for entry in matchers)


def find_alarm_kinds(workspace: Workspace, agent: str, raised: RaisedEvents) -> list[str]:
    for number, (event, payload) in enumerate(raised):
        call_in_process(workspace, payload, number, agent, event)
    with audit_log.open_audit_log(workspace.roots().state) as store:
        return [alarm.kind for alarm in store.alarms(0)]


@pytest.mark.parametrize("agent", MATCHED)
def test_ordinary_conversation_raises_no_alarm(workspace: Workspace, agent: str) -> None:
    assert find_alarm_kinds(workspace, agent, select_matched(workspace, agent, CONVERSATIONS[agent](workspace))) == []


@pytest.mark.parametrize("agent", MATCHED)
def test_hook_line_that_is_no_longer_called_raises_an_alarm(workspace: Workspace, agent: str) -> None:
    raised = select_matched(workspace, agent, CONVERSATIONS[agent](workspace))
    asks = [at for at, (event, _) in enumerate(raised) if event.lower() == "pretooluse"]
    del raised[asks[-1]]
    assert find_alarm_kinds(workspace, agent, raised) == [DONE_WITHOUT_CALL]


def test_cursor_command_without_a_question_raises_an_alarm(workspace: Workspace) -> None:
    first = select_matched(workspace, "cursor", play_cursor(workspace))
    gap = [entry for entry in first if entry[0] not in {"beforeShellExecution", "sessionEnd"}]
    later = [(event, {**payload, "generation_id": "g2"}) for event, payload in gap]
    assert find_alarm_kinds(workspace, "cursor", [*first[:-1], *later]) == [DONE_WITHOUT_CALL]


def test_denied_tool_that_was_done_raises_an_alarm_without_a_matcher(workspace: Workspace) -> None:
    """A hook line that the user wrote has no matcher and is called for every tool."""
    tool = {**CURSOR_FIELDS, "tool_name": "Shell", "tool_input": {"command": "rm -rf /"}, "tool_use_id": "t"}
    raised: RaisedEvents = [(event, {**tool, "hook_event_name": event}) for event in ("preToolUse", "postToolUse")]
    assert find_alarm_kinds(workspace, "cursor", raised) == ["done all the same"]
