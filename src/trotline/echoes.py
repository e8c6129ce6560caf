"""The second event of one action: some hosts raise a generic one, and at once the specific one.

Who was asked about an action is not asked again by the event that follows. Only by that: after any other event the disk
may be another, and what was harmless then need not be so now. A process of its own for each call has no last event; it
judges again, because to write down what was judged takes longer than to judge. It comes to the same: what the first
event left in the memory of the conversation is of the action itself, and the second is judged by what was before.
"""

import json
from typing import Any, NamedTuple

import msgspec

from trotline.analysis.scene import World
from trotline.events import BeforeMCP, BeforeShell, Event, PreToolUse
from trotline.guards.policy import Policy
from trotline.hosts.specific import specifics
from trotline.memory import Memory, mark
from trotline.outcomes import Heard


class Action(NamedTuple):
    """What makes two events one action; where something is judged that only one of them shows, they are two."""

    conversation: str
    generation: str
    what: Any
    world: World
    policy: Policy


class Echo:
    """The action of the last event, if it may come again."""

    def __init__(self) -> None:
        self._last: tuple[Action, Heard] | None = None

    def of(self, event: Event, world: World, policy: Policy) -> Heard | None:
        """What was said about the action of this event, when the last one was its other."""
        last, self._last = self._last, None
        if last is None or isinstance(event, PreToolUse):
            return None
        return last[1] if action_of(event, world, policy) == last[0] else None

    def keep(self, event: Event, world: World, policy: Policy, heard: Heard) -> None:
        if isinstance(event, PreToolUse) and (action := action_of(event, world, policy)) is not None:
            self._last = (action, heard)


def action_of(event: Event, world: World, policy: Policy) -> Action | None:
    """Of commands and calls of servers; a read shows its file only in the specific event. Rules may ask for names."""
    named = event.conversation_id and event.generation_id
    meant = specifics(event) if isinstance(event, PreToolUse) else (event,)
    if not named or policy.rules or len(meant) != 1:
        return None
    what = _what(meant[0])
    return Action(event.conversation_id, event.generation_id, what, world, policy) if what else None


def memory_before(event: Event, memory: Memory) -> Memory:
    """What there was before the action: for its second event, without what its first has left."""
    if memory.earlier is None or isinstance(event, PreToolUse) or memory.mark != _mark(event):
        return memory
    return memory.earlier


def marked(event: Event, before: Memory, after: Memory) -> Memory:
    """The memory after an event, with what its other will need."""
    plain, new = _unmarked(before), _unmarked(after)
    if new == plain:
        return before  # nothing to write
    key = _mark(event) if isinstance(event, PreToolUse) else ""
    return msgspec.structs.replace(new, mark=key, earlier=plain) if key else new


def _unmarked(memory: Memory) -> Memory:
    return msgspec.structs.replace(memory, mark="", earlier=None) if memory.mark else memory


def _mark(event: Event) -> str:
    meant = specifics(event) if isinstance(event, PreToolUse) else (event,)
    what = _what(meant[0]) if len(meant) == 1 and event.generation_id else ()
    return mark(event.conversation_id, event.generation_id, json.dumps(what, sort_keys=True)) if what else ""


def _what(event: Event) -> tuple[Any, ...]:
    """Nothing of a call whose server is not named: before the second event that is no harm, and then it is."""
    if isinstance(event, BeforeShell):
        return (event.command,)
    if isinstance(event, BeforeMCP) and event.mcp_server_name and not (event.url or event.command):
        return event.mcp_server_name, event.tool_name, event.tool_input
    return ()
