"""Conversations as a host has them, of which we see what our installed lines are called for."""

import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from trails import called
from trotline.audit import trail
from trotline.audit.alarms import UNASKED
from trotline.hosts import HOSTS, host_named
from trotline.hosts.wiring import EVERYTHING
from worlds import World, new_world, trotline_process

MATCHED = [name for name in HOSTS if (wiring := host_named(name).wiring) is not None and wiring.matchers]

CURSORS = {"conversation_id": "c", "generation_id": "g", "cursor_version": "3.21.16"}
HANDS = {"session_id": "c", "working_dir": "/w"}

Raised = list[tuple[str, dict[str, Any]]]
"""The host's events, each with its payload."""


def cursors(world: World) -> Raised:
    """A file is written, read and searched, a command runs, a server is called; each tool has an id of its own."""
    path, command = f"{world.project}/a.py", {"command": "make"}
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


def hands(_: World) -> Raised:
    found: Raised = [("SessionStart", {}), ("UserPromptSubmit", {"message": "go"})]
    for name, given in (("terminal", {"command": "make"}), ("file_editor", {"command": "view", "path": "/w/a"})):
        tool = {"tool_name": name, "tool_input": given}
        found += [("PreToolUse", tool), ("PostToolUse", {**tool, "tool_response": {"exit_code": 0}})]
    found += [("Stop", {}), ("SessionEnd", {})]
    return [(event, {**HANDS, "event_type": event, **told}) for event, told in found]


CONVERSATIONS = {"cursor": cursors, "openhands": hands}


@pytest.fixture
def world(tmp_path: Path) -> World:
    return new_world(tmp_path)


def seen(world: World, host: str, raised: Raised) -> Raised:
    """What of it comes to the lines that `install` writes."""
    done = trotline_process("install", host, "--yes", *world.options, cwd=world.project)
    assert done.returncode == 0, done.stderr
    wiring = host_named(host).wiring
    assert wiring is not None
    lines = json.loads((world.home / wiring.files["user"]).read_text())
    matchers = {event: [one.get("matcher", "") for one in entries] for event, entries in lines["hooks"].items()}
    return [(event, told) for event, told in raised if _is_called(matchers.get(event, []), told)]


def _is_called(matchers: Iterable[str], told: dict[str, Any]) -> bool:
    return any(one in EVERYTHING or re.search(one, told["tool_name"]) for one in matchers)


def alarms(world: World, host: str, raised: Raised) -> list[str]:
    for number, (event, told) in enumerate(raised):
        called(world, told, number, host, event)
    with trail.opened(world.roots().state) as store:
        return [alarm.kind for alarm in store.alarms(0)]


@pytest.mark.parametrize("host", MATCHED)
def test_an_ordinary_conversation_is_no_alarm(world: World, host: str) -> None:
    assert alarms(world, host, seen(world, host, CONVERSATIONS[host](world))) == []


@pytest.mark.parametrize("host", MATCHED)
def test_a_line_that_stops_being_called_is_an_alarm(world: World, host: str) -> None:
    raised = seen(world, host, CONVERSATIONS[host](world))
    asks = [at for at, (event, _) in enumerate(raised) if event.lower() == "pretooluse"]
    del raised[asks[-1]]
    assert alarms(world, host, raised) == [UNASKED]


def test_a_command_of_cursor_that_nobody_was_asked_about_is_an_alarm(world: World) -> None:
    first = seen(world, "cursor", cursors(world))
    gap = [one for one in first if one[0] not in {"beforeShellExecution", "sessionEnd"}]
    later = [(event, {**told, "generation_id": "g2"}) for event, told in gap]
    assert alarms(world, "cursor", [*first[:-1], *later]) == [UNASKED]


def test_a_tool_that_was_refused_where_no_line_of_ours_asks_and_done_is_an_alarm(world: World) -> None:
    """A person's own line has no matcher, and asks about everything."""
    tool = {**CURSORS, "tool_name": "Shell", "tool_input": {"command": "rm -rf /"}, "tool_use_id": "t"}
    raised: Raised = [(event, {**tool, "hook_event_name": event}) for event in ("preToolUse", "postToolUse")]
    assert alarms(world, "cursor", raised) == ["done all the same"]
