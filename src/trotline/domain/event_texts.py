"""The texts of an event, such as prompts, tool arguments and outputs, each with its source."""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from trotline.domain.events import (
    AfterAgentResponse,
    AfterAgentThought,
    AfterFileEdit,
    AfterMCP,
    AfterShell,
    AfterTabFileEdit,
    BeforeMCP,
    BeforeReadFile,
    BeforeShell,
    BeforeSubmitPrompt,
    BeforeTabFileRead,
    Event,
    PostToolUse,
    PostToolUseFailure,
    PreToolUse,
    Stop,
    SubagentStart,
    SubagentStop,
)
from trotline.formats.lazy_regex import lazy_regex

PROMPT, READ, WRITE, OUTPUT = "prompt", "read", "write", "output"
COMMAND, ARGUMENTS, NAME, RESPONSE = "command", "arguments", "name", "response"

MIN_TEXT_LENGTH = 8
"""The number of characters below which a text is not scanned."""


class EventText(NamedTuple):
    """A text of an event, its source, and the file it belongs to."""

    source: str
    text: str
    path: str = ""
    before: str = ""  # the text that it replaces: findings that it already had are not new


def get_texts(event: Event) -> list[EventText]:
    """Return the texts of an event that are long enough to scan."""
    get_all = TEXTS.get(type(event))
    return [text for text in get_all(event) if len(text.text) >= MIN_TEXT_LENGTH] if get_all is not None else []


def _get_prompt_texts(event: BeforeSubmitPrompt) -> Iterator[EventText]:
    yield EventText(PROMPT, event.prompt)
    for attached in event.attachments:
        yield EventText(NAME, attached.file_path)


def _get_file_texts(event: BeforeReadFile | BeforeTabFileRead) -> Iterator[EventText]:
    yield EventText(NAME, event.file_path)
    yield EventText(READ, event.content, event.file_path)


def _get_tool_texts(event: PreToolUse) -> Iterator[EventText]:
    tool_input = event.tool_input if isinstance(event.tool_input, dict) else {"text": event.tool_input}
    if event.tool_name == "Shell":
        for command in _list_texts(tool_input.get("command", tool_input.get("text"))):
            yield EventText(COMMAND, command)
        return
    for path in _list_texts(tool_input.get("file_path", tool_input.get("path"))):
        yield EventText(NAME, path)
    if event.tool_name == "Write":
        yield from _get_written_texts(tool_input)
    elif event.tool_name not in WITHOUT_TEXT:
        yield EventText(ARGUMENTS, flatten_json(event.tool_input))


WITHOUT_TEXT = frozenset({"Read", "Grep", "Delete"})
"""Tools whose arguments are only a path or a search pattern."""

ADDED = lazy_regex(r"^\+(?!\+\+ )(.*)$", re.MULTILINE)
PATCHED = lazy_regex(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
"""Pattern of the line that begins a file in a patch of `apply_patch`."""


def _get_written_texts(tool_input: dict[str, Any]) -> Iterator[EventText]:
    """Yield the text that each edit would add to a file."""
    path = next(iter(_list_texts(tool_input.get("file_path", tool_input.get("path")))), "")
    edits = tool_input.get("edits")
    several = [edit for edit in edits if isinstance(edit, dict)] if isinstance(edits, list) else []
    for edit in ({key: value for key, value in tool_input.items() if key != "edits"}, *several):
        before = str(edit.get("old_string") or "")
        new = {key: value for key, value in edit.items() if key not in UNWRITTEN_KEYS}
        patch = new.pop("patch", None)
        yield EventText(WRITE, "\n".join(_list_texts(list(new.values()))), path, before)
        if isinstance(patch, str):
            yield from _get_patch_texts(patch, path)


def _get_patch_texts(patch: str, path: str) -> Iterator[EventText]:
    """Yield the lines that a patch adds to each file. Lines before the first file name belong to `path`."""
    first, *rest = PATCHED.split(patch)
    names, parts = [path, *(name.strip() for name in rest[::2])], [first, *rest[1::2]]
    for name, part in zip(names, parts, strict=True):
        yield EventText(WRITE, "\n".join(ADDED.findall(part)), name)


UNWRITTEN_KEYS = frozenset({"file_path", "path", "old_string", "tool_use_id"})
"""Keys of an edit whose values are not written to the file."""


def _get_edit_texts(event: AfterFileEdit | AfterTabFileEdit) -> Iterator[EventText]:
    for edit in event.edits:
        yield EventText(WRITE, edit.new_string, event.file_path, edit.old_string)


TEXTS: dict[type[Event], Callable[[Any], Iterable[EventText]]] = {
    AfterAgentResponse: lambda event: [EventText(RESPONSE, event.text)],
    AfterAgentThought: lambda event: [EventText(RESPONSE, event.text)],
    AfterFileEdit: _get_edit_texts,
    AfterMCP: lambda event: [EventText(OUTPUT, flatten_json_text(event.result_json))],
    AfterShell: lambda event: [EventText(OUTPUT, event.output)],
    AfterTabFileEdit: _get_edit_texts,
    BeforeMCP: lambda event: [EventText(ARGUMENTS, flatten_json(event.tool_input))],
    BeforeReadFile: _get_file_texts,
    BeforeShell: lambda event: [EventText(COMMAND, event.command)],
    BeforeSubmitPrompt: _get_prompt_texts,
    BeforeTabFileRead: _get_file_texts,
    PostToolUse: lambda event: [EventText(OUTPUT, flatten_json_text(event.tool_output))],
    PostToolUseFailure: lambda event: [EventText(OUTPUT, event.error_message)],
    PreToolUse: _get_tool_texts,
    # some agents send the last message of the assistant only with this event
    Stop: lambda event: [EventText(RESPONSE, str(event.raw.get("last_assistant_message") or ""))],
    SubagentStart: lambda event: [EventText(ARGUMENTS, event.task)],
    SubagentStop: lambda event: [EventText(RESPONSE, event.summary or "")],
}


# Texts inside JSON

MAX_NESTED_JSON = 3
"""The maximum depth of JSON inside strings of JSON. Servers nest it once."""


def flatten_json_text(text: str) -> str:
    """Flatten a JSON text, so that no value begins right after an escape. Other texts are returned unchanged."""
    value = _parse_json(text)
    return text if value is None else flatten_json(value)


def flatten_json(value: object) -> str:
    """Return each value of a JSON document on its own line, after its key, which may mark a value as secret."""
    lines: list[str] = []
    waiting: list[tuple[str, object, int]] = [("", value, 0)]
    while waiting:
        name, node, depth = waiting.pop()
        if isinstance(node, dict):
            lines += [str(key) for key, child in node.items() if isinstance(child, dict | list)]
            waiting += [(str(key), child, depth) for key, child in reversed(node.items())]
        elif isinstance(node, list | tuple):
            waiting += [(name, child, depth) for child in reversed(node)]
        elif isinstance(node, str) and depth < MAX_NESTED_JSON and (inner := _parse_json(node)) is not None:
            waiting.append((name, inner, depth + 1))
        elif node is not None:
            lines.append(f"{name}: {node}" if name else str(node))
    return "\n".join(lines)


def _parse_json(text: str) -> object:
    if text.lstrip()[:1] not in {"{", "[", '"'}:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _list_texts(value: object) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [item if isinstance(item, str) else flatten_json(item) for item in values]
