"""Steps of actions: records of the events before and after one action.

An event before an action is paired with one after it of the same family: by the agent's own tool call id, otherwise by
the input, in order of arrival. Some events also concern a related action: a tool that writes concerns an edit of its
file, and everything done in a turn concerns the prompt that started it.
"""

import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trotline.agents import AGENTS, get_agent
from trotline.agents.derived_events import list_file_edits
from trotline.audit.record.record import Record
from trotline.domain.events import (
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
from trotline.scanners.spans import compute_digest


class EventSide(NamedTuple):
    """The family of an event's action, whether the event precedes it, and the fields that identify it."""

    family: str
    before: bool
    fields: tuple[str, ...]


EVENT_SIDES: dict[str, EventSide] = {
    "beforeShellExecution": EventSide("shell", before=True, fields=("command",)),
    "afterShellExecution": EventSide("shell", before=False, fields=("command",)),
    "beforeMCPExecution": EventSide("mcp", before=True, fields=("tool_name", "tool_input")),
    "afterMCPExecution": EventSide("mcp", before=False, fields=("tool_name", "tool_input")),
    "preToolUse": EventSide("tool", before=True, fields=("tool_name", "tool_input")),
    "postToolUse": EventSide("tool", before=False, fields=("tool_name", "tool_input")),
}
"""Events that announce or report an action.

postToolUseFailure is left out: some agents also send it to report that they obeyed a denial.
"""

EDIT, SUBAGENT, PROMPT = "edit", "subagent", "prompt"
LOOSE_FAMILIES = frozenset({EDIT, SUBAGENT, PROMPT})
"""Families of related actions.

Agents may report such an action any number of times, or never. The only thing that counts is that it was denied, never
permitted, and still done.
"""

ANNOUNCING_EVENTS = frozenset({"preToolUse", "beforeSubmitPrompt", "subagentStart"})
CALL_PREFIX = "call"
"""Prefix of action ids that are derived from the agent's own tool call id."""

DENIED, PERMITTED, RAN, UNKNOWN, ENDED, FAILED = "denied", "permitted", "ran", "unknown", "ended", "failed"
ELSEWHERE = "elsewhere"
"""Kind of a step done by a tool for which the agent calls our hook at another event, if at all."""

DONE = (RAN, ELSEWHERE)
STEP_KINDS = (DENIED, PERMITTED, *DONE, UNKNOWN, ENDED, FAILED)

START_EVENTS = frozenset({"sessionStart", "beforeSubmitPrompt"})
END_EVENTS = frozenset({"stop", "sessionEnd"})
FAILURE_EVENT = "postToolUseFailure"
TURN_EVENTS = START_EVENTS | END_EVENTS | {FAILURE_EVENT}
"""Events that are a step even if they name no action: they concern all actions under way."""


class ActionStep(NamedTuple):
    """A record's statement about one action, or about the start, end or a failure of a turn."""

    seq: int
    id: str
    conversation: tuple[str, str]  # agent and id
    event: str
    kind: str = ""
    action: str = ""  # for an end: how the turn ended
    asks: bool = False  # the verdict was to ask the user

    @property
    def agent(self) -> str:
        """The name of the agent that made the call."""
        return self.conversation[0]

    @property
    def family(self) -> str:
        """The family of the action, such as `shell` or `edit`; empty for the start or end of a turn."""
        prefix = self.action.partition(":")[0]
        side = FAILURE_SIDE if self.event == FAILURE_EVENT else EVENT_SIDES.get(self.event)
        return prefix if prefix in LOOSE_FAMILIES else side.family if side else ""

    @property
    def name(self) -> tuple[str, str]:
        """Family and digest of the action."""
        return self.family, self.action.rpartition(":")[2]

    @property
    def is_named(self) -> bool:
        """True if the id is derived from the agent's own tool call id."""
        return self.action.startswith(f"{CALL_PREFIX}:")


FAILURE_SIDE = EVENT_SIDES["postToolUse"]


def get_action_id(event: Event, key: bytes) -> str:
    """Return the id of the event's action, or an empty string if it has none.

    The id is a keyed digest, so it does not reveal the action.
    """
    name = event.wire_name
    side = FAILURE_SIDE if name == FAILURE_EVENT else EVENT_SIDES.get(name)
    if side is None or isinstance(event, OtherEvent):  # an unreadable event has only a name
        return ""
    call_id = getattr(event, "tool_use_id", "")
    values = [call_id] if call_id else [getattr(event, field) for field in side.fields]
    digest = _compute_id(event, key, side.family, event.generation_id, *values)
    return f"{CALL_PREFIX}:{digest}" if call_id else digest


def get_related_ids(event: Event, key: bytes) -> list[str]:
    """Return the ids of related actions: edits, a subagent, and the prompt of the turn."""
    if isinstance(event, OtherEvent):
        return []
    turn = event.generation_id
    ids = [f"{EDIT}:{_compute_id(event, key, EDIT, turn, path)}" for path in dict.fromkeys(list_file_edits(event))]
    if isinstance(event, SubagentStart | SubagentStop) and event.subagent_id:
        works = isinstance(event, SubagentStart) or event.tool_call_count > 0
        ids += [f"{SUBAGENT}:{_compute_id(event, key, SUBAGENT, event.subagent_id)}"] if works else []
    if turn and isinstance(event, BeforeSubmitPrompt | AfterAgentResponse | AfterFileEdit | AfterShell | PostToolUse):
        ids.append(f"{PROMPT}:{_compute_id(event, key, PROMPT, turn)}")
    return ids[:MAX_RELATED_IDS]


MAX_RELATED_IDS = 20


def _compute_id(event: Event, key: bytes, family: str, *values: Any) -> str:
    text = json.dumps([family, event.conversation_id, *values], sort_keys=True, default=str)
    return compute_digest(text.encode(), key)[:32]


def find_step(record: Record) -> tuple[str, str] | None:
    """Return the kind and the action id of a record's own step, or None if it has none.

    For an end, the second item is how the turn ended.
    """
    action = record.detail_or_empty.action
    if record.event in END_EVENTS:
        return _read_end(record)
    if record.event == FAILURE_EVENT and action:
        return FAILED, action
    side = EVENT_SIDES.get(record.event)
    if side is None:
        return None
    if not action or (side.before and record.edited):
        return (UNKNOWN, "before") if side.before else None  # input that a hook rewrote runs under another id
    if not side.before:
        return RAN if _has_before_call(record) else ELSEWHERE, action
    return DENIED if record.effective_verdict == "deny" else PERMITTED, action


def list_steps(record: Record) -> list[tuple[str, str]]:
    """Return kind and action id of all steps of a record: its own, and those of related actions."""
    step = find_step(record)
    before = record.event in ANNOUNCING_EVENTS
    names = (
        [] if before and record.edited else record.detail_or_empty.related
    )  # rewritten input may concern other actions
    is_refused = record.effective_verdict == "deny" and record.sent in (
        "",
        "deny",
    )  # an agent cannot obey a denial not sent
    kind = (DENIED if is_refused else PERMITTED) if before else RAN
    return [*([step] if step else []), *((kind, name) for name in names)]


def _has_before_call(record: Record) -> bool:
    """Check whether our hook runs before this tool: matchers leave out tools that have specific events."""
    agent = get_agent(record.agent) if record.agent in AGENTS else None
    if agent is None or agent.wiring is None or record.event != "postToolUse":
        return True
    names = [name for name, event in agent.events.items() if event == "preToolUse"]
    return any(agent.wiring.is_called_for(name, record.tool) for name in names)


def _read_end(record: Record) -> tuple[str, str] | None:
    measures = record.detail_or_empty.measures
    status = measures.get("status") or measures.get("reason")
    return (ENDED, str(status)) if status else None


def collect_steps(records: Iterable[Record]) -> Iterator[ActionStep]:
    """Yield the steps of records in their order."""
    for record in records:
        conversation = record.agent, record.conversation
        for kind, action in list_steps(record) or ([("", "")] if record.event in TURN_EVENTS else []):
            asks = record.effective_verdict == "ask"
            yield ActionStep(record.seq, record.id, conversation, record.event, kind, action, asks)
