"""A recorded call as an example: the least that an agent of a test has to raise for the same Outcome.

Every trial is played as the test will play it: an agent that is not there, Trotline's guards, a policy. So what is
written holds, or nothing is written.
"""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trotline.analysis.shell.parser import parsed
from trotline.config.policies import parsed as parsed_policy
from trotline.errors import TrotlineError
from trotline.events import Event
from trotline.hosts.cursor import write_event
from trotline.replay.abroad import event_of
from trotline.replay.recalled import ASIDE, Recalled
from trotline.replay.removal import moved, whole
from trotline.replay.shrinking import at, put, shortest, smallest, texts_in
from trotline.testing.agent import Agent, HookFailed

MOST_TRIALS = 1_500
"""Of one example; what is left after them is small enough."""

ENVELOPE = ASIDE | {"workspace_roots", "cursor_version", "model", "model_id", "model_params", "raw"}
ASKED_BY_RULES = ("user_email", "model")
BLOCKS = re.compile(r"^(?=\[)", re.MULTILINE)

HOST = re.compile(r"(?<![.\w'\"])host\b")
REPLAY = "`trotline replay {seq}` says whether it would be decided otherwise by now"

Fields = dict[str, Any]


class Raised(NamedTuple):
    """An event of an example: its name, and the fields that matter."""

    event: str
    fields: Fields


class Wanted(NamedTuple):
    """What must come of it: a permission, and who is named in the message."""

    permission: str
    named: tuple[str, ...] = ()


class Example(NamedTuple):
    """What happens first, what happens then, under which policies; and how much was left out."""

    before: tuple[Raised, ...]
    raised: Raised
    policies: Mapping[str, str]
    wanted: Wanted
    left_out: str = ""


class Stage:
    """Plays trials, each in a conversation of its own."""

    def __init__(self, directory: Path, wanted: Wanted) -> None:
        self.agent = Agent(directory, {})
        self.directory = directory
        self.wanted = wanted
        self.trials = 0
        self._policies: Mapping[str, str] | None = None

    def holds(self, events: Sequence[Raised], policies: Mapping[str, str]) -> bool:
        """Whether the last of these gets what is wanted."""
        self.trials += 1
        if self.trials > MOST_TRIALS or not events:
            return False
        try:
            self._under(policies)
            self.agent.conversation_id = f"trial-{self.trials}"
            outcomes = [self.agent.fire(one.event, **one.fields) for one in events]
        except (HookFailed, TrotlineError):
            return False
        said = outcomes[-1].user_message
        return outcomes[-1].decision.permission.word == self.wanted.permission and all(
            name in said for name in self.wanted.named
        )

    def _under(self, policies: Mapping[str, str]) -> None:
        if policies != self._policies:
            for file in self.directory.rglob("policy.toml"):
                file.unlink()
            self.agent.guards(**policies)
            self._policies = dict(policies)


def reduced(calls: Sequence[Recalled], stage: Stage, homes: Mapping[str, str], policies: Mapping[str, str]) -> Example:
    """The example of the last of these calls; the others came before it in its conversation."""
    lean, full = ([_raised(one, homes, full=full) for one in calls] for full in (False, True))
    events = next((some for some in (lean[-1:], full[-1:], lean, full) if stage.holds(some, policies)), None)
    if events is None:
        hint = _asks_for_host(stage.wanted, policies) or REPLAY.format(seq=calls[-1].seq)
        raise TrotlineError(f"an agent of a test does not get the same to record {calls[-1].seq}", hint=hint)
    made = Reducing(stage, events, policies)
    if stage.wanted.named:  # what nobody minds is an example as a whole: any other would be none of anything
        made.reduce()
    *before, raised = made.events
    left = f"{len(raised.fields)} of {len(full[-1].fields)} fields, {_size(raised)} of {_size(full[-1])} words"
    return Example(tuple(before), raised, made.policies, stage.wanted, left)


def _asks_for_host(wanted: Wanted, policies: Mapping[str, str]) -> str:
    """Why the same cannot come of it, whatever is raised: a rule that decided is about the host."""
    wishes = [parsed_policy(layer, layer, text.encode("utf-8", "replace"))[0] for layer, text in policies.items()]
    decided = [rule for wish in wishes for rule in wish.rules if f"rule {rule.name}" in wanted.named]
    asking = next((rule.name for rule in decided if HOST.search(rule.when)), "")
    return f"the rule `{asking}` asks for `host`, and tests have no host" if asking else ""


class Reducing:
    """An example while it gets smaller."""

    def __init__(self, stage: Stage, events: Sequence[Raised], policies: Mapping[str, str]) -> None:
        self.stage = stage
        self.events = list(events)
        self.policies = dict(policies)

    def reduce(self) -> None:
        self._fewer_layers()
        for layer in list(self.policies):
            self._fewer_tables(layer)
        self._fewer_events()
        for index in reversed(range(len(self.events))):
            self._fewer_fields(index)
            for path in _inner(self.events[index].fields):
                self._without(index, path)
            for path in texts_in(self.events[index].fields):
                self._fewer_words(index, path)

    def _fewer_layers(self) -> None:
        def holds(some: list[tuple[str, str]]) -> bool:
            return self.stage.holds(self.events, dict(some))

        self.policies = dict(smallest(list(self.policies.items()), holds))

    def _fewer_tables(self, layer: str) -> None:
        def holds(some: list[str]) -> bool:
            return self.stage.holds(self.events, {**self.policies, layer: "".join(some)})

        self.policies[layer] = "".join(smallest(BLOCKS.split(self.policies[layer]), holds))

    def _fewer_events(self) -> None:
        *before, last = self.events

        def holds(some: list[Raised]) -> bool:
            return self.stage.holds([*some, last], self.policies)

        self.events = [*smallest(before, holds), last]

    def _fewer_fields(self, index: int) -> None:
        fields = self.events[index].fields

        def holds(names: list[str]) -> bool:
            return self._holds(index, {name: fields[name] for name in names})

        self._take(index, {name: fields[name] for name in smallest(list(fields), holds)})

    def _without(self, index: int, path: tuple[str, str]) -> None:
        """Without a field of a tool's input."""
        name, key = path
        fields = self.events[index].fields
        fewer = {**fields, name: {one: value for one, value in fields[name].items() if one != key}}
        if self._holds(index, fewer):
            self._take(index, fewer)

    def _fewer_words(self, index: int, path: tuple[Any, ...]) -> None:
        fields = self.events[index].fields

        def holds(text: str) -> bool:
            return _reads(text, path) and self._holds(index, put(fields, path, text))

        self._take(index, put(fields, path, shortest(str(at(fields, path)), holds)))

    def _holds(self, index: int, fields: Fields) -> bool:
        events = list(self.events)
        events[index] = events[index]._replace(fields=fields)
        return self.stage.holds(events, self.policies)

    def _take(self, index: int, fields: Fields) -> None:
        self.events[index] = self.events[index]._replace(fields=fields)


def wanted_of(record: dict[str, Any]) -> Wanted:
    """What was decided, and the words by which the message names who did."""
    deciders = [str(one) for one in record.get("deciders", ())]
    names = [one if one.startswith(("rule ", "list ")) else f"guard {one}" for one in deciders]
    permission = str(record.get("asked"))
    return Wanted(permission, tuple(names) if permission in {"ask", "deny"} else ())


def _raised(one: Recalled, homes: Mapping[str, str], *, full: bool) -> Raised:
    """Its event with the fields that say something, in the home and the workspace of the agent of a test."""
    event = event_of(one)
    body = json.loads(write_event(event))
    known = {field.name: field for field in msgspec.structs.fields(type(event))}
    kept = ENVELOPE - (set(ASKED_BY_RULES) if full else set())
    fields = {
        name: moved(body[name], _places(event, homes))
        for name, field in known.items()
        if name in body and name not in kept and (field.required or getattr(event, name) != field.default)
    }
    return Raised(event.wire_name, fields)


def _places(event: Event, homes: Mapping[str, str]) -> dict[str, str]:
    roots = {place: homes[WORKSPACE] for root in event.workspace_roots if (place := whole(root))}
    return {**{place: moved for place, moved in homes.items() if place != WORKSPACE}, **roots}


WORKSPACE = ""
"""The key under which the workspace of the agent of a test is known."""


def _reads(text: str, path: tuple[Any, ...]) -> bool:
    """A command that no shell would read is an example of nothing."""
    return path[-1] != "command" or not parsed(text).fault


def _inner(fields: Fields) -> list[tuple[str, str]]:
    return [(name, key) for name, value in fields.items() if isinstance(value, dict) for key in value]


def _size(one: Raised) -> int:
    return sum(len(str(at(one.fields, path)).split()) for path in texts_in(one.fields))
