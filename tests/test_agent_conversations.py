"""Conversations as an agent has them, of which we see what our installed lines are called for."""

import json
import re
from collections.abc import Iterable
from typing import Any

import pytest

from kit import Workspace, call_in_process, run_trotline
from trotline.agents import AGENTS, get_agent
from trotline.agents.wiring import MATCH_ALL
from trotline.audit.query.alarms import NOT_ASKED
from trotline.audit.store import audit_log

MATCHED = [name for name in AGENTS if (wiring := get_agent(name).wiring) is not None and wiring.matchers]

CURSORS = {"conversation_id": "c", "generation_id": "g", "cursor_version": "3.21.16"}
HANDS = {"session_id": "c", "working_dir": "/w"}

Raised = list[tuple[str, dict[str, Any]]]
"""The agent's events, each with its payload."""


def cursors(workspace: Workspace) -> Raised:
    """A file is written, read and searched, a command runs, a server is called; each tool has an id of its own."""
    path, command = f"{workspace.project}/a.py", {"command": "make"}
    server: dict[str, Any] = {"tool_name": "find", "tool_input": "{}", "mcp_server_name": "search"}
    found: Raised = [("sessionStart", {}), ("beforeSubmitPrompt", {"prompt": "go"})]
    found += _cursors("Write", {"file_path": path, "content": "x"}, [], [("afterFileEdit", {"file_path": path})])
    found += _cursors("Read", {"file_path": path}, [("beforeReadFile", {"file_path": path, "content": "x"})], [])
    found += _cursors("Grep", {"pattern": "x"}, [], [])
    found += _cursors("Shell", command, [("beforeShellExecution", command)], [("afterShellExecution", command)])
    found += _cursors("MCP:find", {}, [("beforeMCPExecution", server)], [("afterMCPExecution", server)])
    found += [("stop", {"status": "completed"}), ("sessionEnd", {"reason": "completed"})]
    return [(event, {**CURSORS, "hook_event_name": event, **told}) for event, told in found]


def _cursors(name: str, given: dict[str, Any], before: Raised, after: Raised) -> Raised:
    tool = {"tool_name": name, "tool_input": given, "tool_use_id": f"tool_{name}"}
    return [("preToolUse", tool), *before, *after, ("postToolUse", {**tool, "tool_output": "{}"})]


def hands(_: Workspace) -> Raised:
    found: Raised = [("SessionStart", {}), ("UserPromptSubmit", {"message": "go"})]
    for name, given in (("terminal", {"command": "make"}), ("file_editor", {"command": "view", "path": "/w/a"})):
        tool = {"tool_name": name, "tool_input": given}
        found += [("PreToolUse", tool), ("PostToolUse", {**tool, "tool_response": {"exit_code": 0}})]
    found += [("Stop", {}), ("SessionEnd", {})]
    return [(event, {**HANDS, "event_type": event, **told}) for event, told in found]


CONVERSATIONS = {"cursor": cursors, "openhands": hands}


def seen(workspace: Workspace, agent: str, raised: Raised) -> Raised:
    """What of it comes to the lines that `install` writes."""
    done = run_trotline("install", agent, "--yes", *workspace.options, cwd=workspace.project)
    assert done.returncode == 0, done.stderr
    wiring = get_agent(agent).wiring
    assert wiring is not None
    lines = json.loads((workspace.home / wiring.files["user"]).read_text())
    matchers = {event: [one.get("matcher", "") for one in entries] for event, entries in lines["hooks"].items()}
    return [(event, told) for event, told in raised if _is_called(matchers.get(event, []), told)]


def _is_called(matchers: Iterable[str], told: dict[str, Any]) -> bool:
    return any(one in MATCH_ALL or re.search(one, told["tool_name"]) for one in matchers)


def alarms(workspace: Workspace, agent: str, raised: Raised) -> list[str]:
    for number, (event, told) in enumerate(raised):
        call_in_process(workspace, told, number, agent, event)
    with audit_log.open_audit_log(workspace.roots().state) as store:
        return [alarm.kind for alarm in store.alarms(0)]


@pytest.mark.parametrize("agent", MATCHED)
def test_an_ordinary_conversation_is_no_alarm(workspace: Workspace, agent: str) -> None:
    assert alarms(workspace, agent, seen(workspace, agent, CONVERSATIONS[agent](workspace))) == []


@pytest.mark.parametrize("agent", MATCHED)
def test_a_line_that_stops_being_called_is_an_alarm(workspace: Workspace, agent: str) -> None:
    raised = seen(workspace, agent, CONVERSATIONS[agent](workspace))
    asks = [at for at, (event, _) in enumerate(raised) if event.lower() == "pretooluse"]
    del raised[asks[-1]]
    assert alarms(workspace, agent, raised) == [NOT_ASKED]


def test_a_command_of_cursor_that_nobody_was_asked_about_is_an_alarm(workspace: Workspace) -> None:
    first = seen(workspace, "cursor", cursors(workspace))
    gap = [one for one in first if one[0] not in {"beforeShellExecution", "sessionEnd"}]
    later = [(event, {**told, "generation_id": "g2"}) for event, told in gap]
    assert alarms(workspace, "cursor", [*first[:-1], *later]) == [NOT_ASKED]


def test_a_tool_that_was_refused_where_no_line_of_ours_asks_and_done_is_an_alarm(workspace: Workspace) -> None:
    """A person's own line has no matcher, and asks about everything."""
    tool = {**CURSORS, "tool_name": "Shell", "tool_input": {"command": "rm -rf /"}, "tool_use_id": "t"}
    raised: Raised = [(event, {**tool, "hook_event_name": event}) for event in ("preToolUse", "postToolUse")]
    assert alarms(workspace, "cursor", raised) == ["done all the same"]
