"""The specific events of a tool call, for hosts that raise only the generic one: a handler of shell commands must not
care whether its host has an event for them."""

import json
import re
from collections.abc import Iterator
from typing import Any

from trotline.events import (
    AfterFileEdit,
    AfterMCP,
    AfterShell,
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    Event,
    PostToolUse,
    PreToolUse,
)
from trotline.hooks import mcp_parts
from trotline.parts import Edit

SHARED = ("conversation_id", "generation_id", "session_id", "workspace_roots", "model", "transcript_path", "user_email")
PATCHED = re.compile(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)


def specifics(event: Event) -> tuple[Event, ...]:
    """What else this tool call is; nothing for events that are specific themselves."""
    if isinstance(event, PreToolUse):
        return tuple(_before(event))
    return tuple(_after(event)) if isinstance(event, PostToolUse) else ()


def _before(event: PreToolUse) -> Iterator[Event]:
    shared, given = _shared(event), _object(event.tool_input)
    server, tool = mcp_parts(event.tool_name)
    if event.tool_name == "Shell":
        for command in _texts(given.get("command")):
            yield BeforeShell(command=command, cwd=event.cwd, **shared)
    elif event.tool_name == "Read":
        for path in _texts(given.get("file_path")):
            yield BeforeReadFile(file_path=path, **shared)
    elif tool:
        yield BeforeMCP(tool_name=tool, tool_input=given, mcp_server_name=server or None, **shared)


def _after(event: PostToolUse) -> Iterator[Event]:
    shared, given = _shared(event), _object(event.tool_input)
    server, tool = mcp_parts(event.tool_name)
    if event.tool_name == "Shell":
        for command in _texts(given.get("command")):
            yield AfterShell(command=command, output=event.tool_output, duration=event.duration, **shared)
    elif event.tool_name == "Write":
        paths = PATCHED.findall(str(given.get("patch", ""))) or _texts(given.get("file_path"))
        for path in paths:
            yield AfterFileEdit(file_path=path, edits=_edits(given), **shared)
    elif tool:
        yield AfterMCP(
            tool_name=tool,
            tool_input=given,
            result_json=event.tool_output,
            duration=event.duration,
            mcp_server_name=server or None,
            **shared,
        )


def _shared(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in SHARED}


def _object(given: object) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except ValueError:
            return {}
    return given if isinstance(given, dict) else {}


def _texts(value: object) -> list[str]:
    """One or several, as texts or as objects with a path; some tools take many things at once."""
    found = value if isinstance(value, list) else [value]
    texts = [one.get("path") if isinstance(one, dict) else one for one in found]
    return [text for text in texts if isinstance(text, str)]


def _edits(given: dict[str, Any]) -> tuple[Edit, ...]:
    if "new_string" in given or "old_string" in given:
        return (Edit(str(given.get("old_string", "")), str(given.get("new_string", ""))),)
    return (Edit("", str(given["content"])),) if "content" in given else ()
