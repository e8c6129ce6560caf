"""What a host counted and named, apart from what was said: tokens, times, exit status, how it ended, what was attached.

All of it is taken from the event by the names that the declarations give; a host's word for how something ended is a
short word, and anything longer is not one.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from trotline.audit.changes import Diff
from trotline.audit.endings import exit_of, is_number, went_wrong
from trotline.events import AfterAgentResponse, AfterAgentThought, BeforeSubmitPrompt, Event, Stop
from trotline.hosts.specific import LAST_WORDS

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


def measures_of(event: Event, diffs: Sequence[Diff] = ()) -> dict[str, Any]:
    """Only what the host sent, and what its edits came to; a zero that stands for nothing is left out."""
    found: dict[str, Any] = {name: value for name in COUNTS if is_number(value := _given(event, name)) and value}
    milliseconds = _given(event, "duration")
    if is_number(milliseconds) and milliseconds:
        found["duration_ms"] = milliseconds
    found |= {name: True for name in FLAGS if _given(event, name) is True}
    found |= {name: word for name in WORDS if (word := str(_given(event, name) or "")) and WORD.fullmatch(word)}
    found |= {name: _short(str(value)) for name in NAMED if (value := _given(event, name))}
    found |= {name: size for name, size in _sizes(event, diffs) if size}
    found |= {"failed": True} if went_wrong(event) else {}
    status = exit_of(event)
    return found if status is None else {**found, "exit": status}


def _short(name: str) -> str:
    """Nothing is cut in two before it is redacted: half of a secret is one too."""
    return name if len(name) <= LONGEST_NAME else f"[{len(name)} characters]"


OUTPUTS = ("output", "tool_output", "result_json", "error_message")
TEXTS: dict[type[Event], str] = {BeforeSubmitPrompt: "prompt", AfterAgentResponse: "text", AfterAgentThought: "text"}


def _sizes(event: Event, diffs: Iterable[Diff]) -> Iterator[tuple[str, int]]:
    """How much came back, how much was said, how many lines an edit added and removed."""
    output = next((text for name in OUTPUTS if isinstance(text := getattr(event, name, None), str)), "")
    yield "output_bytes", len(output.encode("utf-8", "surrogatepass"))
    yield "characters", len(_said(event))
    yield "lines_added", sum(diff.added for diff in diffs)
    yield "lines_removed", sum(diff.removed for diff in diffs)


def _said(event: Event) -> str:
    """What was said in words. Hosts that have no event for an answer send it with the end of the turn."""
    found = getattr(event, TEXTS.get(type(event), ""), event.raw.get(LAST_WORDS) if isinstance(event, Stop) else "")
    return found if isinstance(found, str) else ""


def attachments_of(event: Event) -> list[list[str]]:
    """Which files and rules were in force: type and path."""
    attached = getattr(event, "attachments", ())
    return [[one.type, one.file_path] for one in attached[:MOST_ATTACHED]]


def _given(event: Event, name: str) -> Any:
    value = getattr(event, name, None)
    return value if value is not None else event.raw.get(name)
