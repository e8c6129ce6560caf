"""What a host counted and named, apart from what was said: tokens, times, exit status, how it ended, what was attached.

All of it is taken from the event by the names that the declarations give; a host's word for how something ended is a
short word, and anything longer is not one.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from trotline.events import (
    AfterAgentResponse,
    AfterAgentThought,
    AfterFileEdit,
    AfterTabFileEdit,
    BeforeSubmitPrompt,
    Event,
)
from trotline.hosts.specific import specifics

COUNTS = (
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
FLAGS = ("is_background_agent", "is_interrupt", "is_parallel_worker", "sandbox")
WORDS = ("status", "reason", "final_status", "failure_type", "trigger", "subagent_type", "composer_mode")
WORD = re.compile(r"[A-Za-z][\w .:-]{0,63}")

NAMED = ("model", "model_id", "mcp_server_name")
LONGEST_NAME = 128
MOST_ATTACHED = 100
LONGEST_OUTPUT = 1_000_000
"""Characters of an output in which a status is looked for."""

EXITS = ("exitCode", "exit_code", "exitcode", "returncode", "code")
FAILED = re.compile(r"(?:Error: )?(?:Command failed with )?[Ee]xit code:? (-?\d{1,10})\b")
"""How hosts that send no number tell of one."""


def measures_of(event: Event) -> dict[str, Any]:
    """Only what the host sent; a zero that stands for nothing is left out."""
    found: dict[str, Any] = {name: value for name in COUNTS if _is_number(value := _given(event, name)) and value}
    milliseconds = _given(event, "duration")
    if _is_number(milliseconds) and milliseconds:
        found["duration_ms"] = milliseconds
    found |= {name: True for name in FLAGS if _given(event, name) is True}
    found |= {name: word for name in WORDS if (word := str(_given(event, name) or "")) and WORD.fullmatch(word)}
    found |= {name: _short(str(value)) for name in NAMED if (value := _given(event, name))}
    found |= {name: size for name, size in _sizes(event) if size}
    status = exit_of(event)
    return found if status is None else {**found, "exit": status}


def _short(name: str) -> str:
    """Nothing is cut in two before it is redacted: half of a secret is one too."""
    return name if len(name) <= LONGEST_NAME else f"[{len(name)} characters]"


OUTPUTS = ("output", "tool_output", "result_json", "error_message")
TEXTS: dict[type[Event], str] = {BeforeSubmitPrompt: "prompt", AfterAgentResponse: "text", AfterAgentThought: "text"}


def _sizes(event: Event) -> Iterator[tuple[str, int]]:
    """How much came back, how much was said, how many lines an edit added and removed."""
    output = next((text for name in OUTPUTS if isinstance(text := getattr(event, name, None), str)), "")
    yield "output_bytes", len(output.encode("utf-8", "surrogatepass"))
    yield "characters", len(getattr(event, TEXTS.get(type(event), ""), ""))
    edits = [edit for one in (event, *specifics(event)) if isinstance(one, EDITED) for edit in one.edits]
    changed = [_changed(edit.old_string, edit.new_string) for edit in edits]
    yield "lines_added", sum(added for added, _ in changed)
    yield "lines_removed", sum(removed for _, removed in changed)


EDITED = (AfterFileEdit, AfterTabFileEdit)


def _changed(old: str, new: str) -> tuple[int, int]:
    """Lines that are new and lines that are gone, between what is the same at the beginning and at the end."""
    before, after = old.splitlines(), new.splitlines()
    same = next((at for at, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]), None)
    same = min(len(before), len(after)) if same is None else same
    before, after = before[same:], after[same:]
    ends = zip(reversed(before), reversed(after), strict=False)
    tail = next((at for at, pair in enumerate(ends) if pair[0] != pair[1]), min(len(before), len(after)))
    return len(after) - tail, len(before) - tail


def attachments_of(event: Event) -> list[list[str]]:
    """Which files and rules were in force: type and path."""
    attached = getattr(event, "attachments", ())
    return [[one.type, one.file_path] for one in attached[:MOST_ATTACHED]]


def exit_of(event: Event) -> int | None:
    """The exit status of a command, where the host tells it."""
    direct = next((value for name in EXITS[:-1] if _is_number(value := event.raw.get(name))), None)
    if direct is not None:
        return int(direct)
    output = _object(getattr(event, "tool_output", None) or event.raw.get("tool_response"))
    inside = next((value for name in EXITS if _is_number(value := output.get(name))), None)
    if inside is not None:
        return int(inside)
    told = FAILED.match(str(getattr(event, "error_message", "") or ""))
    return int(told[1]) if told else None


def _given(event: Event, name: str) -> Any:
    value = getattr(event, name, None)
    return value if value is not None else event.raw.get(name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) < 1 << 53


def _object(value: Any) -> dict[str, Any]:
    if isinstance(value, str) and len(value) <= LONGEST_OUTPUT and value.lstrip()[:1] == "{":
        try:
            value = json.loads(value)
        except (ValueError, RecursionError):
            return {}
    return value if isinstance(value, dict) else {}
