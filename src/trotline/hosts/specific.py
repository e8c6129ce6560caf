"""What else a tool call is: a handler of shell commands must not care whether its host has an event for them.

Most hosts raise the generic event only, and get the specific ones here; a host that raises only the specific ones gets
the generic one.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from trotline.events import (
    AfterAgentResponse,
    AfterFileEdit,
    AfterMCP,
    AfterShell,
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    Event,
    PostToolUse,
    PostToolUseFailure,
    PreToolUse,
    Stop,
    SubagentStart,
    ToolInput,
)
from trotline.hooks import mcp_parts
from trotline.parts import Edit
from trotline.pattern import pattern

SHARED = (
    "conversation_id",
    "generation_id",
    "session_id",
    "workspace_roots",
    "model",
    "transcript_path",
    "user_email",
    "raw",
)
ABSOLUTE = pattern(r"[/\\~]|[A-Za-z]:")
LAST_WORDS = "last_assistant_message"
"""Where a `stop` has what the assistant said last, on hosts that have no event for that."""


def specifics(event: Event) -> tuple[Event, ...]:
    """What else this call is; nothing for events that are no more than they say."""
    judged = MEANINGS.get(type(event))
    return tuple(judged(event)) if judged else ()


def _before(event: PreToolUse) -> Iterator[Event]:
    shared, given = _shared(event), _object(event.tool_input)
    server, tool = mcp_parts(event.tool_name)
    if event.tool_name == "Shell":
        for command in texts_of(given.get("command", event.tool_input)):
            yield BeforeShell(command=command, cwd=event.cwd, **shared)
    elif event.tool_name == "Read":
        for path in texts_of(given.get("file_path", event.tool_input)):
            yield BeforeReadFile(file_path=absolute(event.cwd, path), **shared)
    elif event.tool_name == "Task":
        kind, task = str(given.get("subagent_type") or ""), str(given.get("prompt") or "")
        yield SubagentStart(subagent_type=kind, task=task, tool_call_id=event.tool_use_id, **shared)
    elif tool:
        yield BeforeMCP(tool_name=tool, tool_input=event.tool_input, mcp_server_name=server or None, **shared)


def _after(event: PostToolUse) -> Iterator[Event]:
    shared, given = _shared(event), _object(event.tool_input)
    server, tool = mcp_parts(event.tool_name)
    if event.tool_name == "Shell":
        for command in texts_of(given.get("command")):
            yield AfterShell(
                command=command, output=event.tool_output, duration=event.duration, cwd=event.cwd or None, **shared
            )
    elif event.tool_name == "Write":
        for path, edits in _written(given):
            yield AfterFileEdit(file_path=absolute(event.cwd, path), edits=edits, **shared)
    elif tool:
        yield AfterMCP(
            tool_name=tool,
            tool_input=event.tool_input,
            result_json=_result(event.tool_output),
            duration=event.duration,
            mcp_server_name=server or None,
            **shared,
        )


def edited(event: Event) -> list[str]:
    """The files that the event is about to edit, or has edited."""
    if isinstance(event, AfterFileEdit):
        return [event.file_path] if event.file_path else []
    if not isinstance(event, PreToolUse) or event.tool_name != "Write":
        return []
    given = _object(event.tool_input)
    return [absolute(event.cwd, path) for path, _ in _written(given) if path]


def _failed(event: PostToolUseFailure) -> Iterator[Event]:
    """A command that ended badly has run all the same."""
    if event.tool_name == "Shell":
        for command in texts_of(_object(event.tool_input).get("command")):
            yield AfterShell(
                command=command,
                output=event.error_message,
                duration=event.duration,
                cwd=event.cwd or None,
                **_shared(event),
            )


def _stopped(event: Stop) -> Iterator[Event]:
    if isinstance(text := event.raw.get(LAST_WORDS), str):
        yield AfterAgentResponse(text=text, **_shared(event))


def _about(event: BeforeShell | BeforeReadFile | BeforeMCP) -> Iterator[Event]:
    name, given, cwd = _tool(event)
    yield PreToolUse(tool_name=name, tool_input=given, cwd=cwd, **_shared(event))


def _done(event: AfterShell | AfterMCP | AfterFileEdit) -> Iterator[Event]:
    name, given, cwd = _tool(event)
    output = event.output if isinstance(event, AfterShell) else getattr(event, "result_json", "")
    duration = getattr(event, "duration", 0)
    yield PostToolUse(
        tool_name=name, tool_input=given, tool_output=output, duration=duration, cwd=cwd, **_shared(event)
    )


def _tool(event: Any) -> tuple[str, ToolInput, str]:
    """The call as the generic event has it: tool, input, directory."""
    if isinstance(event, BeforeShell | AfterShell):
        return "Shell", {"command": event.command}, event.cwd or ""
    if isinstance(event, BeforeMCP | AfterMCP):
        server = f"{event.mcp_server_name}:" if event.mcp_server_name else ""
        return f"MCP:{server}{event.tool_name}", event.tool_input, ""
    if isinstance(event, AfterFileEdit):
        edits = [{"old_string": edit.old_string, "new_string": edit.new_string} for edit in event.edits]
        return "Write", {"file_path": event.file_path, "edits": edits}, ""
    return "Read", {"file_path": event.file_path}, ""


MEANINGS: dict[type[Event], Callable[[Any], Iterator[Event]]] = {
    PreToolUse: _before,
    PostToolUse: _after,
    PostToolUseFailure: _failed,
    Stop: _stopped,
    **dict.fromkeys((BeforeShell, BeforeReadFile, BeforeMCP), _about),
    **dict.fromkeys((AfterShell, AfterMCP, AfterFileEdit), _done),
}


def _shared(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in SHARED}


def _object(given: object) -> dict[str, Any]:
    if isinstance(given, str):
        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
            return {}
    return given if isinstance(given, dict) else {}


def texts_of(value: object) -> list[str]:
    """One or several, as texts or as objects with one; what is neither is shown whole, for a guard to see."""
    found = value if isinstance(value, list) else [] if value is None else [value]
    return [_text(one) for one in found]


def _text(value: object) -> str:
    if isinstance(value, dict):
        if isinstance(value.get("path"), str):
            return str(value["path"])
        if isinstance(value.get("command"), str):
            arguments = value.get("args")
            return " ".join([value["command"], *map(str, arguments if isinstance(arguments, list) else ())])
    return value if isinstance(value, str) else json.dumps(value)


def absolute(cwd: str, path: str) -> str:
    return path if not cwd or ABSOLUTE.match(path) else f"{cwd.rstrip('/')}/{path}"


def _result(text: str) -> str:
    """What an MCP tool gave, as such servers say it."""
    return json.dumps({"content": [{"type": "text", "text": text}]}, ensure_ascii=False)


def _written(given: dict[str, Any]) -> list[tuple[str, tuple[Edit, ...]]]:
    """The files that a call writes, and what it changes in each."""
    if given.get("patch"):
        from trotline.hosts.patches import patched  # noqa: PLC0415 - few calls are patches, and every call loads this

        if files := patched(str(given["patch"])):
            return [(path, edits) for path, edits in files]
    return [(path, _edits(given)) for path in texts_of(given.get("file_path"))]


def _edits(given: dict[str, Any]) -> tuple[Edit, ...]:
    if isinstance(several := given.get("edits"), list):
        return tuple(edit for one in several if isinstance(one, dict) for edit in _edits({**one, "edits": None}))
    if given.get("new_string") is not None or given.get("old_string") is not None:
        return (Edit(str(given.get("old_string") or ""), str(given.get("new_string") or "")),)
    return (Edit("", str(given["content"])),) if given.get("content") is not None else ()
