"""Metrics of a record: durations, denials, failures, tool output, lines added to files, text lengths.

Each metric is a kind, a name and an amount, so that a store can add them up without reading the records.
"""

from collections.abc import Iterator
from math import isnan
from typing import Any, NamedTuple

from trotline.audit.query.mcp_inventory import guess_server
from trotline.audit.record.record import EDIT_AUTHORS, PERMISSION_DENIED, Record, clean_text
from trotline.domain.hooks import split_mcp_name

DENIED_BY, LOST, BROKEN, OPEN = "denied", "lost", "broken", "open"
MONITORED = "would_be_denied"
CALLED, FAILED = "called", "failed"
SERVED, UNSERVED = "server_called", "server_failed"
ADDED, REMOVED = "added", "removed"
SUM_KINDS = (
    DENIED_BY,
    MONITORED,
    LOST,
    BROKEN,
    OPEN,
    CALLED,
    FAILED,
    SERVED,
    UNSERVED,
    *(f"{by}_{way}" for by in EDIT_AUTHORS.values() for way in (ADDED, REMOVED)),
)
"""Kinds that are summed. `open`: the call was not denied although a hook or guard failed."""

TOOK, LASTED, SERVING, LENGTH = "took", "lasted", "server_lasted", "length"
PERCENTILE_KINDS = (TOOK, LASTED, SERVING, LENGTH)
"""Kinds with percentiles: microseconds (`took`), milliseconds (`lasted`, `server_lasted`), characters (`length`)."""

COMMAND, EDIT = "command", "edit"
"""Kinds counted per conversation."""

CREATED, PLANNED = "created", "planned"
"""Kinds for a new file, and for the lines planned for a file.

They come from different events; only both together give the number of lines of a new file.
"""

EVERY_CALL = "every call"
NOT_NAMED = "not told"
SHELL = "Shell"
MAX_AMOUNT = 1 << 40
"""Upper limit of one amount, so that the sum of millions still fits a 64-bit integer in the database."""

TEXTS = {"beforeSubmitPrompt": "prompt", "afterAgentResponse": "response", "afterAgentThought": "thought"}
SPECIFIC = {"afterShellExecution", "afterMCPExecution"}
GENERIC = {"postToolUse", "postToolUseFailure"}

REFUSALS = {"deny": DENIED_BY, "would_deny": MONITORED}


class Metric(NamedTuple):
    """One amount counted for a record."""

    kind: str
    name: str
    amount: int


def build_metrics(record: Record) -> list[Metric]:
    """Return all metrics of a record."""
    found = (*_count_decisions(record), *_count_work(record))
    return [Metric(kind, clean_text(name), _clamp_amount(amount)) for kind, name, amount in found]


def _count_decisions(record: Record) -> Iterator[tuple[str, str, Any]]:
    """Yield the metrics of verdicts and responses.

    Hooks are named by their configured line, which is in the detail; the record itself has only their ids.
    """
    verdict = record.effective_verdict
    for author in record.decider_names if verdict in REFUSALS else ():
        yield REFUSALS[verdict], author, 1
    for loss in record.losses:
        yield LOST, loss.part, 1
    yield TOOK, EVERY_CALL, record.micros
    for response in record.responses:
        author = record.name_author(response.author)
        if response.micros:  # alarms take no time
            yield TOOK, author, response.micros
        if response.failure:
            yield BROKEN, f"{author}: {response.failure}", 1
            yield OPEN, f"{author}: {response.failure}", verdict != "deny"


def _count_work(record: Record) -> Iterator[tuple[str, str, Any]]:
    measures = record.detail_or_empty.measures
    if record.event in TEXTS:
        yield LENGTH, TEXTS[record.event], measures.get("characters")
    elif record.event == "stop" and measures.get("characters") and not record.sends_paired_events:
        yield LENGTH, "response", measures["characters"]
    if _is_command(record):
        yield COMMAND, SHELL, 1
    for planned in record.planned_edits:
        yield PLANNED, planned.path, planned.added
    for edit in record.edits:
        author = EDIT_AUTHORS.get(record.event, "agent")
        yield EDIT, edit.path, 1
        if record.creates_file:
            yield CREATED, edit.path, 1
        if edit.added or edit.removed:
            yield f"{author}_{ADDED}", edit.path, edit.added
            yield f"{author}_{REMOVED}", edit.path, edit.removed
    yield from _count_tool_calls(record, measures)


def _is_command(record: Record) -> bool:
    """Check whether the record is the one to count for a shell command.

    With paired events a command has both events, except when it was denied at the first, `preToolUse`.
    """
    if record.event == "preToolUse" and record.tool == SHELL:
        return not record.sends_paired_events or record.effective_verdict == "deny"
    return record.event == "beforeShellExecution"


def _count_tool_calls(record: Record, measures: dict[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the metrics of a tool call, counting each call once.

    Some agents send two events for commands and MCP calls. The second one has the outcome of a command, the first one
    that of an MCP call.
    """
    event = record.event
    if event not in SPECIFIC | GENERIC or measures.get("failure_type") == PERMISSION_DENIED:
        return
    tool = _get_full_tool_name(record)
    server, server_tool = split_mcp_name(tool)
    is_mcp = bool(server_tool) or tool.startswith("mcp__")
    is_second_event = event == "postToolUse" and record.sends_paired_events and (tool == SHELL or is_mcp)
    failed = event == "postToolUseFailure" or bool(measures.get("exit")) or bool(measures.get("failed"))
    kinds = [(CALLED, FAILED, LASTED, tool)]
    if server_tool:
        kinds.append((SERVED, UNSERVED, SERVING, server or NOT_NAMED))
    for called, unsuccessful, lasted, name in kinds:
        if failed and not (is_second_event and is_mcp):
            yield unsuccessful, name, 1
        if is_second_event:
            continue
        yield called, name, measures.get("output_bytes")
        if measures.get("duration_ms"):
            yield lasted, name, measures["duration_ms"]


def _get_full_tool_name(record: Record) -> str:
    if record.event == "afterShellExecution":
        return SHELL
    if record.event == "afterMCPExecution":
        server = record.detail_or_empty.measures.get("mcp_server_name") or guess_server(record.payload)
        return f"MCP:{server}:{record.tool}" if server else f"MCP:{record.tool}"
    return record.tool or "unnamed"


def _clamp_amount(amount: Any) -> int:
    """Limit an amount to a valid range; anything but a number is 0, so that a malformed record does no harm."""
    known = isinstance(amount, int) or (isinstance(amount, float) and not isnan(amount))
    return int(max(0, min(amount, MAX_AMOUNT))) if known else 0
