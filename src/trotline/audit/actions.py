"""One action in two events: it was to be done, and it was done. What records say of either is a Step.

An event before is paired with one after of the same family: by the host's own id of the tool call, else by what is to
be done, in the order in which it came. Some events are about another action besides: a tool that writes is about an
edit of its file, and whatever is done in a turn is about the prompt that began it.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trotline.audit.shapes import dict_of, list_of
from trotline.events import (
    AfterAgentResponse,
    AfterFileEdit,
    AfterShell,
    BeforeSubmitPrompt,
    Event,
    OtherEvent,
    PostToolUse,
    SubagentStart,
    SubagentStop,
)
from trotline.hosts import HOSTS, host_named
from trotline.hosts.specific import edited
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

EDIT, SUBAGENT, PROMPT = "edit", "subagent", "prompt"
LOOSE = frozenset({EDIT, SUBAGENT, PROMPT})
"""Families of what an event is about besides. Nobody can say how often one is told of, or whether it is at all: that it
was refused, and never let through, and done is all that counts."""

BEFORE = frozenset({"preToolUse", "beforeSubmitPrompt", "subagentStart"})
BY_ID = "call"
"""What stands before the name of an action of a tool that the host itself has named."""

REFUSED, LET, RAN, UNKNOWN, ENDED, FAILED = "refused", "let", "ran", "unknown", "ended", "failed"
ELSEWHERE = "elsewhere"
"""Done, by a tool of which our line is asked at another event, if at all."""

DONE = (RAN, ELSEWHERE)
STEPS = (REFUSED, LET, *DONE, UNKNOWN, ENDED, FAILED)

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
        prefix = self.action.partition(":")[0]
        side = FAILURE if self.event == FAILS else SIDES.get(self.event)
        return prefix if prefix in LOOSE else side.family if side else ""

    @property
    def name(self) -> tuple[str, str]:
        """Of what is done: its family, and which of them."""
        return self.family, self.action.rpartition(":")[2]

    @property
    def is_named(self) -> bool:
        """Whether the host itself has a name for it, so that none has another."""
        return self.action.startswith(f"{BY_ID}:")


FAILURE = SIDES["postToolUse"]


def action_of(event: Event, key: bytes) -> str:
    """The action's name, from which nobody learns what it is; empty for an event that speaks of none."""
    side = FAILURE if event.wire_name == FAILS else SIDES.get(event.wire_name)
    if side is None or isinstance(event, OtherEvent):  # one that could not be read has a name and nothing else
        return ""
    named = getattr(event, "tool_use_id", "")
    what = [named] if named else [getattr(event, field) for field in side.fields]
    digest = _digest(event, key, side.family, event.generation_id, *what)
    return f"{BY_ID}:{digest}" if named else digest


def also_of(event: Event, key: bytes) -> list[str]:
    """The names of other actions that the event is about: edits, a subagent, the prompt that it comes from."""
    if isinstance(event, OtherEvent):
        return []
    turn = event.generation_id
    found = [f"{EDIT}:{_digest(event, key, EDIT, turn, path)}" for path in dict.fromkeys(edited(event))]
    if isinstance(event, SubagentStart | SubagentStop) and event.subagent_id:
        works = isinstance(event, SubagentStart) or event.tool_call_count > 0
        found += [f"{SUBAGENT}:{_digest(event, key, SUBAGENT, event.subagent_id)}"] if works else []
    if turn and isinstance(event, BeforeSubmitPrompt | AfterAgentResponse | AfterFileEdit | AfterShell | PostToolUse):
        found.append(f"{PROMPT}:{_digest(event, key, PROMPT, turn)}")
    return found[:MOST_BESIDES]


MOST_BESIDES = 20


def _digest(event: Event, key: bytes, family: str, *what: Any) -> str:
    text = json.dumps([family, event.conversation_id, *what], sort_keys=True, default=str)
    return digest_of(text.encode(), key)[:32]


def verdict_of(record: dict[str, Any]) -> str:
    """What became of it. A question that the host cannot ask was told to it as a refusal, and is one. What was decided
    and only written down, because this is monitor mode, went through, and has a word of its own."""
    asked = str(record.get("asked"))
    if record.get("sent") == "deny":
        return "deny"
    return f"{WOULD}{asked}" if asked in list_of(record.get("withheld")) else asked


WOULD = "would_"


def step_of(record: dict[str, Any]) -> tuple[str, str] | None:
    """What a record says of its action, and which one; none if it speaks of none."""
    event, detail = str(record.get("event")), record.get("detail")
    told: dict[str, Any] = detail if isinstance(detail, dict) else {}
    if event in ENDS:
        return _end_of(told)
    side, action = SIDES.get(event), told.get("action")
    if event == FAILS and isinstance(action, str) and action:
        return FAILED, action
    if side is None:
        return None
    if not isinstance(action, str) or not action or (side.before and record.get("edited")):
        return (UNKNOWN, "before") if side.before else None  # input that a hook rewrote is done under another name
    if not side.before:
        return RAN if _is_asked_about(record) else ELSEWHERE, action
    return REFUSED if _is_refused(record) else LET, action


def steps_of(record: dict[str, Any]) -> list[tuple[str, str]]:
    """All that a record says: of its action, and of others that it is about besides."""
    step = step_of(record)
    names = [name for name in list_of(dict_of(record.get("detail")).get("also")) if isinstance(name, str)]
    before = str(record.get("event")) in BEFORE
    if before and record.get("edited"):
        names = []  # it is done to something else
    heard = record.get("sent", "deny") == "deny"  # a host that was not told has nothing to obey
    kind = (REFUSED if heard and _is_refused(record) else LET) if before else RAN
    return [*([step] if step else []), *((kind, name) for name in names)]


def _is_refused(record: dict[str, Any]) -> bool:
    return verdict_of(record) == "deny"


def _is_asked_about(record: dict[str, Any]) -> bool:
    """Whether the event before this tool has a line of ours: some tools have events of their own, and are left out."""
    name, tool = str(record.get("host")), str(record.get("tool") or "")
    host = host_named(name) if name in HOSTS else None
    if host is None or host.wiring is None or record.get("event") != "postToolUse":
        return True
    before = [theirs for theirs, ours in host.events.items() if ours == "preToolUse"]
    return any(host.wiring.calls_for(theirs, tool) for theirs in before)


def _end_of(told: dict[str, Any]) -> tuple[str, str] | None:
    measures = told.get("measures")
    how = (measures.get("status") or measures.get("reason")) if isinstance(measures, dict) else None
    return (ENDED, str(how)) if how else None


def steps_in(records: Iterable[dict[str, Any]]) -> Iterator[Step]:
    for record in records:
        event = str(record.get("event"))
        for kind, action in steps_of(record) or ([("", "")] if event in TURNS else []):
            talk = str(record.get("host")), str(record.get("conversation"))
            asks = verdict_of(record) == "ask"
            yield Step(int(record.get("seq", 0)), str(record["id"]), talk, event, kind, action, asks)
