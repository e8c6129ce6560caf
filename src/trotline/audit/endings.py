"""How a call ended, as hosts tell it: by a number, by a flag, by the last line of a text, each in its own way.

Seen on real clients (hosts.md 5): Cursor and OpenHands send a number, OpenCode one among other things, Cline a flag and
a sentence, Gemini, Qwen, Copilot and Droid a line after the output. What a command prints itself could pass for such a
line; that spoils a count and nothing else.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any, TypeGuard

from trotline.events import AfterMCP, AfterShell, Event, PostToolUse, PostToolUseFailure
from trotline.hooks import mcp_parts
from trotline.pattern import pattern

ENDED = (AfterShell, AfterMCP, PostToolUse, PostToolUseFailure)
LONGEST_OUTPUT = 1_000_000
"""Characters of an output in which JSON is looked for."""

LONGEST_END, MOST_PARTS = 400, 100
"""Characters at the end of an output, and parts of an answer, that are looked at."""

EXITS = ("exitCode", "exit_code", "exitcode", "returncode")
SHORT_EXITS = (*EXITS, "exit", "code")
"""Inside of what a tool gave back, where it is clear whose they are."""

ANSWERS = ("tool_response", "toolResult", "tool_result", "output")
INNER = ("metadata", "output")
"""Where hosts keep the structure whose text is the output, and what more there is in it."""

ERRORS = ("isError", "is_error")
FIRST = pattern(r"(?:Error: )?(?:Command failed with )?[Ee]xit code:? (-?\d{1,10})\b")
SENTENCE = pattern(r"\bexited with (?:exit )?code (-?\d{1,10})\b")
LAST = pattern(
    r"(?:<shellId: \S{1,64} completed with exit code (-?\d{1,10})>|\[Process exited with code (-?\d{1,10})\]"
    r"|^Exit Code: (-?\d{1,10})(?:\n(?:Signal|Background PIDs|Process Group PGID): [^\n]*)*(?:\n</untrusted_context>)?)"
    r"\s*\Z",
    re.MULTILINE,
)


def exit_of(event: Event) -> int | None:
    """The exit status of a command, where the host tells it."""
    if not isinstance(event, ENDED) or _is_of_a_server(event):
        return None
    found = next(_numbers([event.raw, *_parts(_written(_output(event)))], EXITS), None)
    if found is None:
        found = next(_numbers(_structures(event), SHORT_EXITS), None)
    return found if found is not None else _in_words(event)


def went_wrong(event: Event) -> bool:
    """Whether the host says so of a call that it tells as done, with or without a number."""
    if not isinstance(event, ENDED):
        return False
    printed = () if _is_of_a_command(event) else _parts(_written(_output(event)))  # a command may print what it likes
    told = [*_structures(event), *printed]
    if any(part.get(name) is True for part in told for name in ERRORS):
        return True
    return not _is_of_a_server(event) and any(map(_says_failed, told))  # the rest of its answer is the server's own


def _says_failed(part: dict[str, Any]) -> bool:
    kind = part.get("resultType", part.get("result_type"))
    return part.get("success") is False or kind == "failure" or ("llmContent" in part and bool(part.get("error")))


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 53


def _numbers(parts: Iterable[dict[str, Any]], names: tuple[str, ...]) -> Iterator[int]:
    values = (part.get(name) for part in parts for name in names)
    return (int(value) for value in values if is_number(value))


def _in_words(event: Event) -> int | None:
    if not _is_of_a_command(event):
        return None
    output = _output(event)
    sentences = [part["error"] for part in _structures(event) if isinstance(part.get("error"), str)]
    found = (
        LAST.search(output[-LONGEST_END:])
        or (FIRST.match(output) if isinstance(event, PostToolUseFailure) else None)
        or next(filter(None, map(SENTENCE.search, sentences)), None)
    )
    return next(int(number) for number in found.groups() if number) if found else None


def _output(event: Event) -> str:
    names = ("tool_output", "result_json", "output", "error_message")
    return next((text for name in names if isinstance(text := getattr(event, name, None), str) and text), "")


def _is_of_a_command(event: Event) -> bool:
    return isinstance(event, AfterShell) or getattr(event, "tool_name", "") == "Shell"


def _is_of_a_server(event: Event) -> bool:
    return isinstance(event, AfterMCP) or bool(mcp_parts(getattr(event, "tool_name", ""))[1])


def _structures(event: Event) -> Iterator[dict[str, Any]]:
    for name in ANSWERS:
        yield from _parts(event.raw.get(name))


def _parts(value: Any) -> Iterator[dict[str, Any]]:
    """Objects in an answer, as deep as hosts put what they say themselves."""
    waiting = [value]
    for _ in range(MOST_PARTS):
        if not waiting:
            return
        one = waiting.pop()
        if isinstance(one, dict):
            yield one
            waiting += [one[name] for name in INNER if isinstance(one.get(name), dict | list)]
        elif isinstance(one, list):
            waiting += [inner for inner in one[:MOST_PARTS] if isinstance(inner, dict)]


def _written(text: str) -> Any:
    """What is in a text that is JSON."""
    if len(text) > LONGEST_OUTPUT or text.lstrip()[:1] != "{":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
