"""The texts of an event, such as prompts, tool arguments and outputs, each with its source."""

import json
import re
from collections.abc import Callable, Iterator
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
    given = TEXTS.get(type(event))
    return [text for text in given(event) if len(text.text) >= MIN_TEXT_LENGTH] if given is not None else []


def _prompt(event: BeforeSubmitPrompt) -> Iterator[EventText]:
    yield EventText(PROMPT, event.prompt)
    for attached in event.attachments:
        yield EventText(NAME, attached.file_path)


def _file(event: BeforeReadFile | BeforeTabFileRead) -> Iterator[EventText]:
    yield EventText(NAME, event.file_path)
    yield EventText(READ, event.content, event.file_path)


def _command(event: BeforeShell) -> Iterator[EventText]:
    yield EventText(COMMAND, event.command)


def _call(event: BeforeMCP) -> Iterator[EventText]:
    yield EventText(ARGUMENTS, flatten_json(event.tool_input))


def _task(event: SubagentStart) -> Iterator[EventText]:
    yield EventText(ARGUMENTS, event.task)


def _tool(event: PreToolUse) -> Iterator[EventText]:
    given = event.tool_input if isinstance(event.tool_input, dict) else {"text": event.tool_input}
    if event.tool_name == "Shell":
        for command in _list_texts(given.get("command", given.get("text"))):
            yield EventText(COMMAND, command)
        return
    for path in _list_texts(given.get("file_path", given.get("path"))):
        yield EventText(NAME, path)
    if event.tool_name == "Write":
        yield from _get_written_texts(given)
    elif event.tool_name not in WITHOUT_TEXT:
        yield EventText(ARGUMENTS, flatten_json(event.tool_input))


WITHOUT_TEXT = frozenset({"Read", "Grep", "Delete"})
"""Tools whose arguments are only a path or a search pattern."""

ADDED = lazy_regex(r"^\+(?!\+\+ )(.*)$", re.MULTILINE)
PATCHED = lazy_regex(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
"""Pattern of the line that begins a file in a patch of `apply_patch`."""


def _get_written_texts(given: dict[str, Any]) -> Iterator[EventText]:
    """Yield the text that each edit would add to a file."""
    path = next(iter(_list_texts(given.get("file_path", given.get("path")))), "")
    edits = given.get("edits")
    several = [one for one in edits if isinstance(one, dict)] if isinstance(edits, list) else []
    for one in (given, *several):
        before = str(one.get("old_string") or "")
        new = {key: value for key, value in one.items() if key not in OLD and not (one is given and key == "edits")}
        patch = new.pop("patch", None)
        yield EventText(WRITE, "\n".join(_list_texts(list(new.values()))), path, before)
        if isinstance(patch, str):
            yield from _get_patch_texts(patch, path)


def _get_patch_texts(patch: str, path: str) -> Iterator[EventText]:
    """Yield the lines that a patch adds to each file. Lines before the first file name belong to `path`."""
    heads = list(PATCHED.finditer(patch))
    begins = [0, *(head.end() for head in heads)]
    ends = [*(head.start() for head in heads), len(patch)]
    for named, begin, end in zip([path, *(head[1].strip() for head in heads)], begins, ends, strict=True):
        yield EventText(WRITE, "\n".join(ADDED.findall(patch[begin:end])), named)


OLD = frozenset({"file_path", "path", "old_string", "tool_use_id"})
"""Keys of an edit whose values are not written to the file."""


def _get_edit_texts(event: AfterFileEdit | AfterTabFileEdit) -> Iterator[EventText]:
    for edit in event.edits:
        yield EventText(WRITE, edit.new_string, event.file_path, edit.old_string)


def _output(event: PostToolUse) -> Iterator[EventText]:
    yield EventText(OUTPUT, flatten_json_text(event.tool_output))


def _get_failure_texts(event: PostToolUseFailure) -> Iterator[EventText]:
    yield EventText(OUTPUT, event.error_message)


def _get_printed_texts(event: AfterShell) -> Iterator[EventText]:
    yield EventText(OUTPUT, event.output)


def _result(event: AfterMCP) -> Iterator[EventText]:
    yield EventText(OUTPUT, flatten_json_text(event.result_json))


def _get_response_texts(event: AfterAgentResponse | AfterAgentThought) -> Iterator[EventText]:
    yield EventText(RESPONSE, event.text)


def _get_stop_texts(event: Stop) -> Iterator[EventText]:
    """Yield the last message of the assistant, which some agents send only with this event."""
    yield EventText(RESPONSE, str(event.raw.get("last_assistant_message") or ""))


def _get_summary_texts(event: SubagentStop) -> Iterator[EventText]:
    yield EventText(RESPONSE, event.summary or "")


TEXTS: dict[type[Event], Callable[[Any], Iterator[EventText]]] = {
    AfterAgentResponse: _get_response_texts,
    AfterAgentThought: _get_response_texts,
    AfterFileEdit: _get_edit_texts,
    AfterMCP: _result,
    AfterShell: _get_printed_texts,
    AfterTabFileEdit: _get_edit_texts,
    BeforeMCP: _call,
    BeforeReadFile: _file,
    BeforeShell: _command,
    BeforeSubmitPrompt: _prompt,
    BeforeTabFileRead: _file,
    PostToolUse: _output,
    PostToolUseFailure: _get_failure_texts,
    PreToolUse: _tool,
    Stop: _get_stop_texts,
    SubagentStart: _task,
    SubagentStop: _get_summary_texts,
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
    return [one if isinstance(one, str) else flatten_json(one) for one in values]
