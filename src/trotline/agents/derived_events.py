"""Derive further events from one event, so that a handler works under every agent.

Most agents raise only generic tool events: the specific ones (such as beforeShellExecution) are derived here. For
agents that raise only specific events, the generic one is derived.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

from trotline.domain.event_records import Edit
from trotline.domain.events import (
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
from trotline.domain.hooks import split_mcp_name
from trotline.formats.lazy_regex import lazy_regex

SHARED_FIELDS = (
    "conversation_id",
    "generation_id",
    "session_id",
    "workspace_roots",
    "model",
    "transcript_path",
    "user_email",
    "raw",
)
ABSOLUTE_PATH = lazy_regex(r"[/\\~]|[A-Za-z]:")
LAST_MESSAGE_KEY = "last_assistant_message"
"""Key of a `stop` payload with the last response, for agents without an event for responses."""


def derive_events(event: Event) -> tuple[Event, ...]:
    """Return the events that an event implies."""
    derive = DERIVATIONS.get(type(event))
    return tuple(derive(event)) if derive else ()


def _derive_before(event: PreToolUse) -> Iterator[Event]:
    shared, arguments = _get_shared_fields(event), _parse_object(event.tool_input)
    server, tool = split_mcp_name(event.tool_name)
    if event.tool_name == "Shell":
        for command in list_texts(arguments.get("command", event.tool_input)):
            yield BeforeShell(command=command, cwd=event.cwd, **shared)
    elif event.tool_name == "Read":
        for path in list_texts(arguments.get("file_path", event.tool_input)):
            yield BeforeReadFile(file_path=make_absolute(event.cwd, path), **shared)
    elif event.tool_name == "Task":
        kind, task = str(arguments.get("subagent_type") or ""), str(arguments.get("prompt") or "")
        yield SubagentStart(subagent_type=kind, task=task, tool_call_id=event.tool_use_id, **shared)
    elif tool:
        yield BeforeMCP(tool_name=tool, tool_input=event.tool_input, mcp_server_name=server or None, **shared)


def _derive_after(event: PostToolUse) -> Iterator[Event]:
    shared, arguments = _get_shared_fields(event), _parse_object(event.tool_input)
    server, tool = split_mcp_name(event.tool_name)
    if event.tool_name == "Shell":
        for command in list_texts(arguments.get("command")):
            yield AfterShell(
                command=command, output=event.tool_output, duration=event.duration, cwd=event.cwd or None, **shared
            )
    elif event.tool_name == "Write":
        for path, edits in _list_written_files(arguments):
            yield AfterFileEdit(file_path=make_absolute(event.cwd, path), edits=edits, **shared)
    elif tool:
        yield AfterMCP(
            tool_name=tool,
            tool_input=event.tool_input,
            result_json=_format_mcp_result(event.tool_output),
            duration=event.duration,
            mcp_server_name=server or None,
            **shared,
        )


def list_file_edits(event: Event) -> list[str]:
    """Return the files that an event will edit or has edited."""
    if isinstance(event, AfterFileEdit):
        return [event.file_path] if event.file_path else []
    if not isinstance(event, PreToolUse) or event.tool_name != "Write":
        return []
    arguments = _parse_object(event.tool_input)
    return [make_absolute(event.cwd, path) for path, _ in _list_written_files(arguments) if path]


def _derive_failure(event: PostToolUseFailure) -> Iterator[Event]:
    """Derive afterShellExecution: a command that failed has run."""
    if event.tool_name == "Shell":
        for command in list_texts(_parse_object(event.tool_input).get("command")):
            yield AfterShell(
                command=command,
                output=event.error_message,
                duration=event.duration,
                cwd=event.cwd or None,
                **_get_shared_fields(event),
            )


def _derive_response(event: Stop) -> Iterator[Event]:
    if isinstance(text := event.raw.get(LAST_MESSAGE_KEY), str):
        yield AfterAgentResponse(text=text, **_get_shared_fields(event))


def _derive_generic_before(event: BeforeShell | BeforeReadFile | BeforeMCP) -> Iterator[Event]:
    name, arguments, cwd = _describe_tool(event)
    yield PreToolUse(tool_name=name, tool_input=arguments, cwd=cwd, **_get_shared_fields(event))


def _derive_generic_after(event: AfterShell | AfterMCP | AfterFileEdit) -> Iterator[Event]:
    name, arguments, cwd = _describe_tool(event)
    output = event.output if isinstance(event, AfterShell) else getattr(event, "result_json", "")
    duration = getattr(event, "duration", 0)
    yield PostToolUse(
        tool_name=name,
        tool_input=arguments,
        tool_output=output,
        duration=duration,
        cwd=cwd,
        **_get_shared_fields(event),
    )


def _describe_tool(event: Any) -> tuple[str, ToolInput, str]:
    """Return tool, input and working directory as the generic event has them."""
    if isinstance(event, BeforeShell | AfterShell):
        return "Shell", {"command": event.command}, event.cwd or ""
    if isinstance(event, BeforeMCP | AfterMCP):
        server = f"{event.mcp_server_name}:" if event.mcp_server_name else ""
        return f"MCP:{server}{event.tool_name}", event.tool_input, ""
    if isinstance(event, AfterFileEdit):
        edits = [{"old_string": edit.old_string, "new_string": edit.new_string} for edit in event.edits]
        return "Write", {"file_path": event.file_path, "edits": edits}, ""
    return "Read", {"file_path": event.file_path}, ""


DERIVATIONS: dict[type[Event], Callable[[Any], Iterator[Event]]] = {
    PreToolUse: _derive_before,
    PostToolUse: _derive_after,
    PostToolUseFailure: _derive_failure,
    Stop: _derive_response,
    **dict.fromkeys((BeforeShell, BeforeReadFile, BeforeMCP), _derive_generic_before),
    **dict.fromkeys((AfterShell, AfterMCP, AfterFileEdit), _derive_generic_after),
}


def _get_shared_fields(event: Event) -> dict[str, Any]:
    return {name: getattr(event, name) for name in SHARED_FIELDS}


def _parse_object(value: object) -> dict[str, Any]:
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}


def list_texts(value: object) -> list[str]:
    """Return the texts of a value or list. Other values are returned as JSON, so that guards see them."""
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [_get_text(item) for item in values]


def _get_text(value: object) -> str:
    if isinstance(value, dict):
        if isinstance(value.get("path"), str):
            return str(value["path"])
        if isinstance(value.get("command"), str):
            arguments = value.get("args")
            return " ".join([value["command"], *map(str, arguments if isinstance(arguments, list) else ())])
    return value if isinstance(value, str) else json.dumps(value)


def make_absolute(cwd: str, path: str) -> str:
    """Return a path below the working directory; absolute paths are unchanged."""
    return path if not cwd or ABSOLUTE_PATH.match(path) else f"{cwd.rstrip('/')}/{path}"


def _format_mcp_result(text: str) -> str:
    """Return a text as the result of an MCP tool."""
    return json.dumps({"content": [{"type": "text", "text": text}]}, ensure_ascii=False)


def _list_written_files(arguments: dict[str, Any]) -> list[tuple[str, tuple[Edit, ...]]]:
    """Return the files that a call writes, with the edits of each."""
    if arguments.get("patch"):
        from trotline.agents.patches import parse_patch  # noqa: PLC0415 - few calls are patches, and every call loads this

        if files := parse_patch(str(arguments["patch"])):
            return [(path, edits) for path, edits in files]
    return [(path, _list_edits(arguments)) for path in list_texts(arguments.get("file_path"))]


def _list_edits(arguments: dict[str, Any]) -> tuple[Edit, ...]:
    if isinstance(several := arguments.get("edits"), list):
        return tuple(
            edit for part in several if isinstance(part, dict) for edit in _list_edits({**part, "edits": None})
        )
    if arguments.get("new_string") is not None or arguments.get("old_string") is not None:
        return (Edit(str(arguments.get("old_string") or ""), str(arguments.get("new_string") or "")),)
    return (Edit("", str(arguments["content"])),) if arguments.get("content") is not None else ()
