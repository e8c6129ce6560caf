"""Measures of an event: tokens, durations, sizes, exit status, how it ended, and attachments.

Agents report the result of a call in different ways. Seen on real clients (hosts.md 5): Cursor and OpenHands send a
number, OpenCode a number among other fields, Cline a flag and a sentence, Gemini, Qwen, Copilot and Droid a line after
the output. The output of a command could imitate such a line; that only makes a count wrong.

Measures are read from the event by their declared field names. A status or reason is a short word; longer values are
ignored.
"""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, TypeGuard

from trotline.agents.derived_events import LAST_MESSAGE_KEY
from trotline.audit.record.edit_diffs import EditDiff
from trotline.domain.events import (
    AfterAgentResponse,
    AfterAgentThought,
    AfterMCP,
    AfterShell,
    BeforeSubmitPrompt,
    Event,
    PostToolUse,
    PostToolUseFailure,
    Stop,
)
from trotline.domain.hooks import split_mcp_name
from trotline.formats.lazy_regex import lazy_regex

RESULT_EVENTS = (AfterShell, AfterMCP, PostToolUse, PostToolUseFailure)
MAX_JSON_OUTPUT = 1_000_000
"""Maximum characters of an output that is parsed as JSON."""

MAX_TAIL, MAX_PARTS = 400, 100
"""Characters at the end of an output, and parts of a tool response, that are searched."""

EXIT_FIELDS = ("exitCode", "exit_code", "exitcode", "returncode")
INNER_EXIT_FIELDS = (*EXIT_FIELDS, "exit", "code")
"""Names of an exit status inside a tool response, where generic names are unambiguous."""

ANSWER_FIELDS = ("tool_response", "toolResult", "tool_result", "output")
INNER_FIELDS = ("metadata", "output")
"""Fields in which agents send a structured tool response, and fields inside it that are searched too."""

ERROR_FIELDS = ("isError", "is_error")
FIRST_LINE = lazy_regex(r"(?:Error: )?(?:Command failed with )?[Ee]xit code:? (-?\d{1,10})\b")
SENTENCE = lazy_regex(r"\bexited with (?:exit )?code (-?\d{1,10})\b")
LAST_LINE = lazy_regex(
    r"(?:<shellId: \S{1,64} completed with exit code (-?\d{1,10})>|\[Process exited with code (-?\d{1,10})\]"
    r"|^Exit Code: (-?\d{1,10})(?:\n(?:Signal|Background PIDs|Process Group PGID): [^\n]*)*(?:\n</untrusted_context>)?)"
    r"\s*\Z",
    re.MULTILINE,
)


def find_exit_status(event: Event) -> int | None:
    """Return the exit status of a command, or None if the agent does not report it."""
    if not isinstance(event, RESULT_EVENTS) or _is_mcp_call(event):
        return None
    found = next(_list_numbers([event.raw, *_walk_objects(_parse_json_output(_get_output(event)))], EXIT_FIELDS), None)
    if found is None:
        found = next(_list_numbers(_list_responses(event), INNER_EXIT_FIELDS), None)
    return found if found is not None else _find_in_text(event)


def has_failed(event: Event) -> bool:
    """Check whether the agent reports a completed call as failed, with or without an exit status."""
    if not isinstance(event, RESULT_EVENTS):
        return False
    # A command can print anything.
    printed = () if _is_command(event) else _walk_objects(_parse_json_output(_get_output(event)))
    parts = [*_list_responses(event), *printed]
    if any(part.get(name) is True for part in parts for name in ERROR_FIELDS):
        return True
    if _is_mcp_call(event):
        return False  # an MCP server defines the other fields itself
    return any(map(_reports_failure, parts))


def _reports_failure(part: dict[str, Any]) -> bool:
    kind = part.get("resultType", part.get("result_type"))
    return part.get("success") is False or kind == "failure" or ("llmContent" in part and bool(part.get("error")))


def is_number(value: Any) -> TypeGuard[int | float]:
    """Check whether a value is a number below 2**53 in magnitude, and not a boolean."""
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 53


def _list_numbers(parts: Iterable[dict[str, Any]], names: tuple[str, ...]) -> Iterator[int]:
    values = (part.get(name) for part in parts for name in names)
    return (int(value) for value in values if is_number(value))


def _find_in_text(event: Event) -> int | None:
    if not _is_command(event):
        return None
    output = _get_output(event)
    sentences = [part["error"] for part in _list_responses(event) if isinstance(part.get("error"), str)]
    found = (
        LAST_LINE.search(output[-MAX_TAIL:])
        or (FIRST_LINE.match(output) if isinstance(event, PostToolUseFailure) else None)
        or next(filter(None, map(SENTENCE.search, sentences)), None)
    )
    return next(int(number) for number in found.groups() if number) if found else None


def _get_output(event: Event) -> str:
    names = ("tool_output", "result_json", "output", "error_message")
    return next((text for name in names if isinstance(text := getattr(event, name, None), str) and text), "")


def _is_command(event: Event) -> bool:
    return isinstance(event, AfterShell) or getattr(event, "tool_name", "") == "Shell"


def _is_mcp_call(event: Event) -> bool:
    return isinstance(event, AfterMCP) or bool(split_mcp_name(getattr(event, "tool_name", ""))[1])


def _list_responses(event: Event) -> Iterator[dict[str, Any]]:
    for name in ANSWER_FIELDS:
        yield from _walk_objects(event.raw.get(name))


def _walk_objects(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the objects of a tool response, as deep as agents nest their own fields."""
    waiting = [value]
    for _ in range(MAX_PARTS):
        if not waiting:
            return
        value = waiting.pop()
        if isinstance(value, dict):
            yield value
            waiting += [value[name] for name in INNER_FIELDS if isinstance(value.get(name), dict | list)]
        elif isinstance(value, list):
            waiting += [inner for inner in value[:MAX_PARTS] if isinstance(inner, dict)]


def _parse_json_output(text: str) -> Any:
    """Return the value of a JSON object in a text, or None."""
    if len(text) > MAX_JSON_OUTPUT or text.lstrip()[:1] != "{":
        return None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


COUNT_FIELDS = (
    "input_tokens",
    "output_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "context_tokens",
    "context_window_size",
    "context_usage_percent",
    "message_count",
    "messages_to_compact",
    "tool_call_count",
    "loop_count",
    "duration_ms",
)
FLAG_FIELDS = ("is_background_agent", "is_interrupt", "is_parallel_worker", "sandbox")
WORD_FIELDS = ("status", "reason", "final_status", "failure_type", "trigger", "subagent_type", "composer_mode")
WORD = re.compile(r"[A-Za-z][\w .:-]{0,63}")

NAME_FIELDS = ("model", "model_id", "mcp_server_name")
MAX_MEASURED_NAME = 128
MAX_ATTACHMENTS = 100


def collect_measures(event: Event, diffs: Sequence[EditDiff] = ()) -> dict[str, Any]:
    """Return the measures that the agent sent, and the size of its texts and edits. Zero values are left out."""
    found: dict[str, Any] = {
        name: value for name in COUNT_FIELDS if is_number(value := _get_field(event, name)) and value
    }
    milliseconds = _get_field(event, "duration")
    if is_number(milliseconds) and milliseconds:
        found["duration_ms"] = milliseconds
    found |= {name: True for name in FLAG_FIELDS if _get_field(event, name) is True}
    found |= {
        name: word for name in WORD_FIELDS if (word := str(_get_field(event, name) or "")) and WORD.fullmatch(word)
    }
    found |= {name: _shorten(str(value)) for name in NAME_FIELDS if (value := _get_field(event, name))}
    found |= {name: size for name, size in _measure_sizes(event, diffs) if size}
    found |= {"failed": True} if has_failed(event) else {}
    status = find_exit_status(event)
    return found if status is None else {**found, "exit": status}


def _shorten(name: str) -> str:
    """Replace a long name by its length. A name is not cut before redaction: half a secret is still sensitive."""
    return name if len(name) <= MAX_MEASURED_NAME else f"[{len(name)} characters]"


OUTPUT_FIELDS = ("output", "tool_output", "result_json", "error_message")
TEXT_FIELDS: dict[type[Event], str] = {
    BeforeSubmitPrompt: "prompt",
    AfterAgentResponse: "text",
    AfterAgentThought: "text",
}


def _measure_sizes(event: Event, diffs: Iterable[EditDiff]) -> Iterator[tuple[str, int]]:
    """Yield the sizes of the output and the text, and the lines that edits added and removed."""
    output = next((text for name in OUTPUT_FIELDS if isinstance(text := getattr(event, name, None), str)), "")
    yield "output_bytes", len(output.encode("utf-8", "surrogatepass"))
    yield "characters", len(_get_text(event))
    yield "lines_added", sum(diff.added for diff in diffs)
    yield "lines_removed", sum(diff.removed for diff in diffs)


def _get_text(event: Event) -> str:
    """Return the prompt or response text. Agents without an event for responses send it with the `stop` event."""
    found = getattr(
        event, TEXT_FIELDS.get(type(event), ""), event.raw.get(LAST_MESSAGE_KEY) if isinstance(event, Stop) else ""
    )
    return found if isinstance(found, str) else ""


def list_attachments(event: Event) -> list[list[str]]:
    """Return type and path of the attached files and rules."""
    attached = getattr(event, "attachments", ())
    return [[attachment.type, attachment.file_path] for attachment in attached[:MAX_ATTACHMENTS]]


def _get_field(event: Event, name: str) -> Any:
    value = getattr(event, name, None)
    return value if value is not None else event.raw.get(name)
