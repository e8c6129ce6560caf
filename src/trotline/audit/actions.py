"""One action in two events: it was to be done, and it was done. What records say of either is a Step.

An event before is paired with one after of the same family: by the host's own id of the tool call, else by what is to
be done, in the order in which it came.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trotline.audit.shapes import list_of
from trotline.events import Event, OtherEvent
from trotline.scanners.finding import digest_of


class Side(NamedTuple):
    """Which actions an event speaks of, from which side, and by which fields two of them are the same."""

    family: str
    before: bool
    fields: tuple[str, ...]


SIDES: dict[str, Side] = {
    "beforeShellExecution": Side("shell", before=True, fields=("command",)),
    "afterShellExecution": Side("shell", before=False, fields=("command",)),
    "beforeMCPExecution": Side("mcp", before=True, fields=("tool_name", "tool_input")),
    "afterMCPExecution": Side("mcp", before=False, fields=("tool_name", "tool_input")),
    "preToolUse": Side("tool", before=True, fields=("tool_name", "tool_input")),
    "postToolUse": Side("tool", before=False, fields=("tool_name", "tool_input")),
}
"""A failure after a tool is not here: it is also how some hosts say that they heard the refusal."""

REFUSED, LET, RAN, UNKNOWN, ENDED = "refused", "let", "ran", "unknown", "ended"
STEPS = (REFUSED, LET, RAN, UNKNOWN, ENDED)

BEGINS = frozenset({"sessionStart", "beforeSubmitPrompt"})
ENDS = frozenset({"stop", "sessionEnd"})
FAILS = "postToolUseFailure"
TURNS = BEGINS | ENDS | {FAILS}
"""Events that speak of no action, and of all that are under way."""


class Step(NamedTuple):
    """What one record says of one action, or that a turn began, ended, or had a failure in it."""

    seq: int
    id: str
    talk: tuple[str, str]  # host and conversation
    event: str
    kind: str = ""
    action: str = ""  # of an end: how
    asks: bool = False  # whether a person was to be asked

    @property
    def family(self) -> str:
        side = SIDES.get(self.event)
        return side.family if side else ""


def action_of(event: Event, key: bytes) -> str:
    """The action's name, from which nobody learns what it is; empty for an event that speaks of none."""
    side = SIDES.get(event.wire_name)
    if side is None or isinstance(event, OtherEvent):  # one that could not be read has a name and nothing else
        return ""
    named = getattr(event, "tool_use_id", "")
    what = [named] if named else [getattr(event, field) for field in side.fields]
    text = json.dumps([side.family, event.conversation_id, event.generation_id, *what], sort_keys=True, default=str)
    return digest_of(text.encode(), key)[:32]


def verdict_of(record: dict[str, Any]) -> str:
    """What became of it. A question that the host cannot ask was told to it as a refusal, and is one."""
    return "deny" if record.get("sent") == "deny" else str(record.get("asked"))


def step_of(record: dict[str, Any]) -> tuple[str, str] | None:
    """What a record says of its action, and which one; none if it speaks of none."""
    event, detail = str(record.get("event")), record.get("detail")
    told: dict[str, Any] = detail if isinstance(detail, dict) else {}
    if event in ENDS:
        return _end_of(told)
    side, action = SIDES.get(event), told.get("action")
    if side is None:
        return None
    if not isinstance(action, str) or not action or (side.before and record.get("edited")):
        return (UNKNOWN, "before") if side.before else None  # input that a hook rewrote is done under another name
    if not side.before:
        return RAN, action
    refused = verdict_of(record) == "deny" and "deny" not in list_of(record.get("withheld"))
    return REFUSED if refused else LET, action


def _end_of(told: dict[str, Any]) -> tuple[str, str] | None:
    measures = told.get("measures")
    how = (measures.get("status") or measures.get("reason")) if isinstance(measures, dict) else None
    return (ENDED, str(how)) if how else None


def steps_in(records: Iterable[dict[str, Any]]) -> Iterator[Step]:
    for record in records:
        step, event = step_of(record), str(record.get("event"))
        if step is not None or event in TURNS:
            talk = str(record.get("host")), str(record.get("conversation"))
            kind, action = step or ("", "")
            asks = verdict_of(record) == "ask"
            yield Step(int(record.get("seq", 0)), str(record["id"]), talk, event, kind, action, asks)
