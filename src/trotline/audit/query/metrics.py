"""Metrics of a record: durations, denials, failures, tool output, lines added to files, text lengths.

Each metric is a kind, a name and an amount, so that a store can add them up without reading the records.
"""

from collections.abc import Iterator
from math import isnan
from typing import Any, NamedTuple

from trotline.audit.record.record_reader import (
    EDIT_AUTHORS,
    PERMISSION_DENIED,
    as_dict,
    as_list,
    clean_text,
    creates_file,
    get_payload,
    get_verdict,
    guess_server,
    list_edits,
    list_planned_edits,
    sends_paired_events,
)
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

TOOK, LASTED, SERVING, SAID = "took", "lasted", "server_lasted", "said"
PERCENTILE_KINDS = (TOOK, LASTED, SERVING, SAID)
"""Kinds with percentiles: microseconds (`took`), milliseconds (`lasted`, `server_lasted`), characters (`said`)."""

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


def build_metrics(record: dict[str, Any]) -> list[Metric]:
    """Return all metrics of a record."""
    found = (*_count_decisions(record), *_count_work(record))
    return [Metric(kind, clean_text(name), _clamp_amount(amount)) for kind, name, amount in found]


def _count_decisions(record: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the metrics of verdicts and responses.

    Hooks are named by their configured line, which is in the detail; the record itself has only their ids.
    """
    hooks = as_dict(as_dict(record.get("detail")).get("hooks"))
    verdict = get_verdict(record)
    for author in as_list(record.get("deciders")) if verdict in REFUSALS else ():
        yield REFUSALS[verdict], hooks.get(str(author), author), 1
    for loss in as_list(record.get("losses")):
        yield LOST, (as_list(loss) or [loss])[0], 1
    yield TOOK, EVERY_CALL, record.get("micros")
    for response in map(as_dict, as_list(record.get("responses"))):
        who = hooks.get(str(response.get("author")), response.get("author"))
        if response.get("micros"):  # alarms take no time, and older records have none for guards
            yield TOOK, who, response["micros"]
        if response.get("failure"):
            yield BROKEN, f"{who}: {response['failure']}", 1
            yield OPEN, f"{who}: {response['failure']}", verdict != "deny"


def _count_work(record: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    event, measures = str(record.get("event")), as_dict(as_dict(record.get("detail")).get("measures"))
    if event in TEXTS:
        yield SAID, TEXTS[event], measures.get("characters")
    elif event == "stop" and measures.get("characters") and not sends_paired_events(record):
        yield SAID, "response", measures["characters"]
    if _is_command(record, event):
        yield COMMAND, SHELL, 1
    for planned in list_planned_edits(record):
        yield PLANNED, planned.path, planned.added
    for edited in list_edits(record):
        by = EDIT_AUTHORS.get(event, "agent")
        yield EDIT, edited.path, 1
        if creates_file(record):
            yield CREATED, edited.path, 1
        if edited.added or edited.removed:
            yield f"{by}_{ADDED}", edited.path, edited.added
            yield f"{by}_{REMOVED}", edited.path, edited.removed
    yield from _count_tool_calls(record, event, measures)


def _is_command(record: dict[str, Any], event: str) -> bool:
    """Check whether the record is the one to count for a shell command.

    With paired events a command has both events, except when it was denied at the first, `preToolUse`.
    """
    if event == "preToolUse" and record.get("tool") == SHELL:
        return not sends_paired_events(record) or get_verdict(record) == "deny"
    return event == "beforeShellExecution"


def _count_tool_calls(record: dict[str, Any], event: str, measures: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Yield the metrics of a tool call, counting each call once.

    Some agents send two events for commands and MCP calls. The second one has the outcome of a command, the first one
    that of an MCP call.
    """
    if event not in SPECIFIC | GENERIC or measures.get("failure_type") == PERMISSION_DENIED:
        return
    tool = _tool(record, event, measures)
    server, served = split_mcp_name(tool)
    is_served = bool(served) or tool.startswith("mcp__")
    is_told_again = event == "postToolUse" and sends_paired_events(record) and (tool == SHELL or is_served)
    failed = event == "postToolUseFailure" or bool(measures.get("exit")) or bool(measures.get("failed"))
    kinds = ((CALLED, FAILED, LASTED, tool), *([(SERVED, UNSERVED, SERVING, server or NOT_NAMED)] if served else []))
    for called, unsuccessful, lasted, name in kinds:
        if failed and not (is_told_again and is_served):
            yield unsuccessful, name, 1
        if is_told_again:
            continue
        yield called, name, measures.get("output_bytes")
        if measures.get("duration_ms"):
            yield lasted, name, measures["duration_ms"]


def _tool(record: dict[str, Any], event: str, measures: dict[str, Any]) -> str:
    tool = str(record.get("tool") or "")
    if event == "afterShellExecution":
        return SHELL
    if event == "afterMCPExecution":
        server = measures.get("mcp_server_name") or guess_server(get_payload(record))
        return f"MCP:{server}:{tool}" if server else f"MCP:{tool}"
    return tool or "unnamed"


def _clamp_amount(amount: Any) -> int:
    """Limit an amount to a valid range; anything but a number is 0, so that a malformed record does no harm."""
    known = isinstance(amount, int) or (isinstance(amount, float) and not isnan(amount))
    return int(max(0, min(amount, MAX_AMOUNT))) if known else 0
