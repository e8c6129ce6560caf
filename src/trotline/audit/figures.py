"""What a record counts: who took how long, who refused and failed, which tool brought how much, how many lines a file
gained, how much was said. Each is a kind, a name and an amount, so that a store adds them up without reading a record.
"""

from collections.abc import Iterator
from math import isnan
from typing import Any, NamedTuple

from trotline.audit.actions import verdict_of
from trotline.audit.deeds import REFUSED, payload_of
from trotline.audit.edits import BY, creates, edited_in, planned_in, raises_both
from trotline.audit.server_names import server_at
from trotline.audit.shapes import dict_of, list_of, text_of
from trotline.hooks import mcp_parts

DENIED, LOST, BROKEN, OPEN = "denied", "lost", "broken", "open"
MONITORED = "would_be_denied"
CALLED, FAILED = "called", "failed"
SERVED, UNSERVED = "server_called", "server_failed"
ADDED, REMOVED = "added", "removed"
SUMMED = (
    DENIED,
    MONITORED,
    LOST,
    BROKEN,
    OPEN,
    CALLED,
    FAILED,
    SERVED,
    UNSERVED,
    *(f"{by}_{way}" for by in BY.values() for way in (ADDED, REMOVED)),
)
"""Kinds of which the sum is asked for; open: the call went on although somebody failed."""

TOOK, LASTED, SERVING, SAID = "took", "lasted", "server_lasted", "said"
SPREAD = (TOOK, LASTED, SERVING, SAID)
"""Kinds of which it is asked what most do not exceed: micros, milliseconds, characters."""

COMMAND, EDIT = "command", "edit"
"""Kinds that are counted for each conversation."""

CREATED, PLANNED = "created", "planned"
"""A file that was not there before, and lines that are to be written into one: an event each, which only together say
how many lines a new file has."""

EVERY_CALL = "every call"
UNTOLD = "not told"
SHELL = "Shell"
GREATEST = 1 << 40
"""The sum of millions of them is still a number that a database knows."""

TEXTS = {"beforeSubmitPrompt": "prompt", "afterAgentResponse": "response", "afterAgentThought": "thought"}
SPECIFIC = {"afterShellExecution", "afterMCPExecution"}
GENERIC = {"postToolUse", "postToolUseFailure"}

REFUSALS = {"deny": DENIED, "would_deny": MONITORED}


class Figure(NamedTuple):
    kind: str
    name: str
    amount: int


def figures_of(record: dict[str, Any]) -> list[Figure]:
    found = (*_judged(record), *_worked(record))
    return [Figure(kind, text_of(name), _bounded(amount)) for kind, name, amount in found]


def _judged(record: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Hooks by the line that people wrote; a record itself has only their ids."""
    hooks = dict_of(dict_of(record.get("detail")).get("hooks"))
    verdict = verdict_of(record)
    for author in list_of(record.get("deciders")) if verdict in REFUSALS else ():
        yield REFUSALS[verdict], hooks.get(str(author), author), 1
    for loss in list_of(record.get("losses")):
        yield LOST, (list_of(loss) or [loss])[0], 1
    yield TOOK, EVERY_CALL, record.get("micros")
    for voice in map(dict_of, list_of(record.get("voices"))):
        who = hooks.get(str(voice.get("author")), voice.get("author"))
        if voice.get("micros"):  # an alarm takes no time, and of guards it was not always measured
            yield TOOK, who, voice["micros"]
        if voice.get("failure"):
            yield BROKEN, f"{who}: {voice['failure']}", 1
            yield OPEN, f"{who}: {voice['failure']}", verdict != "deny"


def _worked(record: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    event, measures = str(record.get("event")), dict_of(dict_of(record.get("detail")).get("measures"))
    if event in TEXTS:
        yield SAID, TEXTS[event], measures.get("characters")
    elif event == "stop" and measures.get("characters") and not raises_both(record):
        yield SAID, "response", measures["characters"]
    if _is_command(record, event):
        yield COMMAND, SHELL, 1
    for planned in planned_in(record):
        yield PLANNED, planned.path, planned.added
    for edited in edited_in(record):
        by = BY.get(event, "agent")
        yield EDIT, edited.path, 1
        if creates(record):
            yield CREATED, edited.path, 1
        if edited.added or edited.removed:
            yield f"{by}_{ADDED}", edited.path, edited.added
            yield f"{by}_{REMOVED}", edited.path, edited.removed
    yield from _called(record, event, measures)


def _is_command(record: dict[str, Any], event: str) -> bool:
    """One that an agent wanted to run, once: what is refused at the event of any tool has no event of its own."""
    if event == "preToolUse" and record.get("tool") == SHELL:
        return not raises_both(record) or verdict_of(record) == "deny"
    return event == "beforeShellExecution"


def _called(record: dict[str, Any], event: str, measures: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    """Each call once: some hosts tell of commands and of servers twice. Of a command the second time says how it ended,
    of a server's answer the first."""
    if event not in SPECIFIC | GENERIC or measures.get("failure_type") == REFUSED:
        return
    tool = _tool(record, event, measures)
    server, served = mcp_parts(tool)
    is_served = bool(served) or tool.startswith("mcp__")
    is_told_again = event == "postToolUse" and raises_both(record) and (tool == SHELL or is_served)
    failed = event == "postToolUseFailure" or bool(measures.get("exit")) or bool(measures.get("failed"))
    kinds = ((CALLED, FAILED, LASTED, tool), *([(SERVED, UNSERVED, SERVING, server or UNTOLD)] if served else []))
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
        server = measures.get("mcp_server_name") or server_at(payload_of(record))
        return f"MCP:{server}:{tool}" if server else f"MCP:{tool}"
    return tool or "unnamed"


def _bounded(amount: Any) -> int:
    """What is no number, or more than anybody counts, has an odd record behind it, and stops nobody."""
    known = isinstance(amount, int) or (isinstance(amount, float) and not isnan(amount))
    return int(max(0, min(amount, GREATEST))) if known else 0
