"""What a record counts: who took how long, who refused and failed, which tool brought how much, how many lines a file
gained, how much was said. Each is a kind, a name and an amount, so that a store adds them up without reading a record.
"""

from collections.abc import Iterator
from math import isnan
from typing import Any, NamedTuple

from trotline.audit.actions import verdict_of
from trotline.audit.columns import subject_of
from trotline.audit.shapes import dict_of, list_of, text_of
from trotline.hosts import HOSTS, host_named

DENIED, LOST, BROKEN, OPEN = "denied", "lost", "broken", "open"
CALLED, FAILED = "called", "failed"
ADDED, REMOVED = "added", "removed"
SUMMED = (
    DENIED,
    LOST,
    BROKEN,
    OPEN,
    CALLED,
    FAILED,
    *(f"{by}_{way}" for by in ("agent", "tab") for way in (ADDED, REMOVED)),
)
"""Kinds of which the sum is asked for; open: the call went on although somebody failed."""

TOOK, LASTED, SAID = "took", "lasted", "said"
SPREAD = (TOOK, LASTED, SAID)
"""Kinds of which it is asked what most do not exceed: micros, milliseconds, characters."""

EVERY_CALL = "every call"
UNKEPT = "(not kept)"
GREATEST = 1 << 40
"""The sum of millions of them is still a number that a database knows."""

EDITS = {"afterFileEdit": "agent", "afterTabFileEdit": "tab"}
TEXTS = {"beforeSubmitPrompt": "prompt", "afterAgentResponse": "response", "afterAgentThought": "thought"}
SPECIFIC = {"afterShellExecution", "afterMCPExecution"}
GENERIC = {"postToolUse", "postToolUseFailure"}


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
    denied = verdict_of(record) == "deny"
    for author in list_of(record.get("deciders")) if denied else ():
        yield DENIED, hooks.get(str(author), author), 1
    for loss in list_of(record.get("losses")):
        yield LOST, (list_of(loss) or [loss])[0], 1
    yield TOOK, EVERY_CALL, record.get("micros")
    for voice in map(dict_of, list_of(record.get("voices"))):
        who = hooks.get(str(voice.get("author")), voice.get("author"))
        yield TOOK, who, voice.get("micros")
        if voice.get("failure"):
            yield BROKEN, f"{who}: {voice['failure']}", 1
            yield OPEN, f"{who}: {voice['failure']}", not denied


def _worked(record: dict[str, Any]) -> Iterator[tuple[str, Any, Any]]:
    event, measures = str(record.get("event")), dict_of(dict_of(record.get("detail")).get("measures"))
    if event in TEXTS:
        yield SAID, TEXTS[event], measures.get("characters")
    if {"lines_added", "lines_removed"} & measures.keys() and (event in EDITS or not _raises_both(record)):
        by, file = EDITS.get(event, "agent"), subject_of(record) or UNKEPT
        yield f"{by}_{ADDED}", file, measures.get("lines_added")
        yield f"{by}_{REMOVED}", file, measures.get("lines_removed")
    if _tells_of_a_call(record, event):
        tool = _tool(record, event, measures)
        yield CALLED, tool, measures.get("output_bytes")
        if event == "postToolUseFailure" or measures.get("exit"):
            yield FAILED, tool, 1
        if measures.get("duration_ms"):
            yield LASTED, tool, measures["duration_ms"]


def _tells_of_a_call(record: dict[str, Any], event: str) -> bool:
    """Once for each call: some hosts tell of commands and of servers twice."""
    if event in SPECIFIC:
        return True
    tool = str(record.get("tool") or "")
    twice = _raises_both(record) and (tool == "Shell" or tool.startswith(("MCP:", "mcp__")))
    return event in GENERIC and not (twice and event == "postToolUse")


def _raises_both(record: dict[str, Any]) -> bool:
    name = str(record.get("host"))
    return name not in HOSTS or host_named(name).both


def _tool(record: dict[str, Any], event: str, measures: dict[str, Any]) -> str:
    tool = str(record.get("tool") or "")
    if event == "afterShellExecution":
        return "Shell"
    if event == "afterMCPExecution":
        server = measures.get("mcp_server_name")
        return f"MCP:{server}:{tool}" if server else f"MCP:{tool}"
    return tool or "unnamed"


def _bounded(amount: Any) -> int:
    """What is no number, or more than anybody counts, has an odd record behind it, and stops nobody."""
    if isinstance(amount, float) and isnan(amount):
        return 0
    return int(max(0, min(amount, GREATEST))) if isinstance(amount, (int, float)) else 0
