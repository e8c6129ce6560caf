"""The texts of an event: what a person wrote, what a tool is given, what came back. Each with what it is."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from trotline.events import (
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
from trotline.pattern import pattern

PROMPT, READ, WRITE, OUTPUT = "prompt", "read", "write", "output"
COMMAND, ARGUMENTS, NAME, RESPONSE = "command", "arguments", "name", "response"

SHORTEST = 8
"""Characters below which a text holds nothing that anybody looks for."""


class Text(NamedTuple):
    source: str
    text: str
    path: str = ""
    before: str = ""  # what stood there until now: what was there already is not written anew


def texts_of(event: Event) -> list[Text]:
    """What there is to look at; short texts hold nothing."""
    given = TEXTS.get(type(event))
    return [text for text in given(event) if len(text.text) >= SHORTEST] if given is not None else []


def _prompt(event: BeforeSubmitPrompt) -> Iterator[Text]:
    yield Text(PROMPT, event.prompt)
    for attached in event.attachments:
        yield Text(NAME, attached.file_path)


def _file(event: BeforeReadFile | BeforeTabFileRead) -> Iterator[Text]:
    yield Text(NAME, event.file_path)
    yield Text(READ, event.content, event.file_path)


def _command(event: BeforeShell) -> Iterator[Text]:
    yield Text(COMMAND, event.command)


def _call(event: BeforeMCP) -> Iterator[Text]:
    yield Text(ARGUMENTS, flat(event.tool_input))


def _task(event: SubagentStart) -> Iterator[Text]:
    yield Text(ARGUMENTS, event.task)


def _tool(event: PreToolUse) -> Iterator[Text]:
    given = event.tool_input if isinstance(event.tool_input, dict) else {"text": event.tool_input}
    if event.tool_name == "Shell":
        for command in _listed(given.get("command", given.get("text"))):
            yield Text(COMMAND, command)
        return
    for path in _listed(given.get("file_path", given.get("path"))):
        yield Text(NAME, path)
    if event.tool_name == "Write":
        yield from _written(given)
    elif event.tool_name not in WITHOUT_TEXT:
        yield Text(ARGUMENTS, flat(event.tool_input))


WITHOUT_TEXT = frozenset({"Read", "Grep", "Delete"})
"""Tools that are given no more than a path and what to look for."""

ADDED = pattern(r"^\+(?!\+\+ )(.*)$", re.MULTILINE)
PATCHED = pattern(r"^\*\*\* (?:(?:Add|Update|Delete) File|Move to): (.+)$", re.MULTILINE)
"""Where a file begins in a patch of `apply_patch`."""


def _written(given: dict[str, Any]) -> Iterator[Text]:
    """What a file would hold afterwards that it may not hold now, one text for each edit."""
    path = next(iter(_listed(given.get("file_path", given.get("path")))), "")
    edits = given.get("edits")
    several = [one for one in edits if isinstance(one, dict)] if isinstance(edits, list) else []
    for one in (given, *several):
        before = str(one.get("old_string") or "")
        new = {key: value for key, value in one.items() if key not in OLD and not (one is given and key == "edits")}
        patch = new.pop("patch", None)
        yield Text(WRITE, "\n".join(_listed(list(new.values()))), path, before)
        if isinstance(patch, str):
            yield from _patched(patch, path)


def _patched(patch: str, path: str) -> Iterator[Text]:
    """What comes into each file of a patch. Lines before the first name may be for any of them."""
    heads = list(PATCHED.finditer(patch))
    begins = [0, *(head.end() for head in heads)]
    ends = [*(head.start() for head in heads), len(patch)]
    for named, begin, end in zip([path, *(head[1].strip() for head in heads)], begins, ends, strict=True):
        yield Text(WRITE, "\n".join(ADDED.findall(patch[begin:end])), named)


OLD = frozenset({"file_path", "path", "old_string", "tool_use_id"})
"""What an edit says that does not come into the file."""


def _edited(event: AfterFileEdit | AfterTabFileEdit) -> Iterator[Text]:
    for edit in event.edits:
        yield Text(WRITE, edit.new_string, event.file_path, edit.old_string)


def _output(event: PostToolUse) -> Iterator[Text]:
    yield Text(OUTPUT, unpacked(event.tool_output))


def _failed(event: PostToolUseFailure) -> Iterator[Text]:
    yield Text(OUTPUT, event.error_message)


def _printed(event: AfterShell) -> Iterator[Text]:
    yield Text(OUTPUT, event.output)


def _result(event: AfterMCP) -> Iterator[Text]:
    yield Text(OUTPUT, unpacked(event.result_json))


def _said(event: AfterAgentResponse | AfterAgentThought) -> Iterator[Text]:
    yield Text(RESPONSE, event.text)


def _ended(event: Stop) -> Iterator[Text]:
    """On hosts that have no event for what the assistant said."""
    yield Text(RESPONSE, str(event.raw.get("last_assistant_message") or ""))


def _summed(event: SubagentStop) -> Iterator[Text]:
    yield Text(RESPONSE, event.summary or "")


TEXTS: dict[type[Event], Callable[[Any], Iterator[Text]]] = {
    AfterAgentResponse: _said,
    AfterAgentThought: _said,
    AfterFileEdit: _edited,
    AfterMCP: _result,
    AfterShell: _printed,
    AfterTabFileEdit: _edited,
    BeforeMCP: _call,
    BeforeReadFile: _file,
    BeforeShell: _command,
    BeforeSubmitPrompt: _prompt,
    BeforeTabFileRead: _file,
    PostToolUse: _output,
    PostToolUseFailure: _failed,
    PreToolUse: _tool,
    Stop: _ended,
    SubagentStart: _task,
    SubagentStop: _summed,
}


# Texts inside of JSON

DEEPEST = 3
"""How often JSON may stand inside of a text of JSON; servers put it there once."""


def unpacked(text: str) -> str:
    """A text that is JSON line by line, since a value may begin right behind an escape; any other as it is."""
    value = _parsed(text)
    return text if value is None else flat(value)


def flat(value: object) -> str:
    """Every text of a JSON value on lines of its own, behind the key it stands under, which may say what it is."""
    lines: list[str] = []
    waiting: list[tuple[str, object, int]] = [("", value, 0)]
    while waiting:
        name, node, depth = waiting.pop()
        if isinstance(node, dict):
            lines += [str(key) for key, child in node.items() if isinstance(child, dict | list)]
            waiting += [(str(key), child, depth) for key, child in reversed(node.items())]
        elif isinstance(node, list | tuple):
            waiting += [(name, child, depth) for child in reversed(node)]
        elif isinstance(node, str) and depth < DEEPEST and (inner := _parsed(node)) is not None:
            waiting.append((name, inner, depth + 1))
        elif node is not None:
            lines.append(f"{name}: {node}" if name else str(node))
    return "\n".join(lines)


def _parsed(text: str) -> object:
    if text.lstrip()[:1] not in {"{", "[", '"'}:
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _listed(value: object) -> list[str]:
    values = value if isinstance(value, list) else [] if value is None else [value]
    return [one if isinstance(one, str) else flat(one) for one in values]
