"""A conversation played against an engine: every step with its Outcome, as they happen."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from trotline.engine.engine import Engine
from trotline.hosts.cursor import read_event
from trotline.outcomes import Outcome
from trotline.testing.payloads import payload
from trotline.testing.scripts import Step

MOST_AGAIN = 50
"""A hook without a loop limit would have the last word forever."""


class Played(NamedTuple):
    """A step, what came of it, and what the agent made of that."""

    step: Step
    depth: int
    outcome: Outcome
    refused: bool
    note: str = ""

    @property
    def disappointed(self) -> str:
        """How it differs from what was expected; empty when it does not."""
        expected, seen = self.step.expect, self.outcome.decision.permission.word
        if expected == "follow-up":
            return "" if self.outcome.follow_up else "a follow-up was expected, and nobody had one"
        return f"{expected} was expected, and it was {seen}" if expected and expected != seen else ""


class Simulation:
    """One conversation."""

    def __init__(self, engine: Engine, conversation_id: str) -> None:
        self.engine = engine
        self.common = {
            "conversation_id": conversation_id,
            "workspace_roots": [str(root) for root in engine.roots.projects],
        }

    def play(self, steps: Sequence[Step], depth: int = 0) -> Iterator[Played]:
        """Raise the events in order, and go where their Outcomes lead."""
        for step in steps:
            played = self._raise(step, depth)
            yield played
            yield from self.play(step.on_deny if played.refused else step.then, depth + 1)
            if played.outcome.follow_up:
                yield from self._follow(step, depth)

    def _follow(self, step: Step, depth: int) -> Iterator[Played]:
        yield from self.play(step.on_follow_up, depth + 1)
        for _ in range(MOST_AGAIN if step.again else 0):
            played = self._raise(step._replace(expect="", say=""), depth)
            yield played
            if not played.outcome.follow_up:
                return

    def _raise(self, step: Step, depth: int) -> Played:
        own = {key: value for key, value in self.common.items() if key not in step.fields}
        body = payload(step.event, self.engine.edition.name, **own, **step.fields)
        outcome = self.engine.dispatch(read_event(json.dumps(body)))
        asked_and_no = outcome.asks and not step.asked
        note = f"the person says {'yes' if step.asked else 'no'}" if outcome.asks else ""
        return Played(step, depth, outcome, refused=outcome.denied or asked_and_no, note=note)


def told(outcome: Outcome) -> dict[str, Any]:
    """What reached the agent, without what is empty."""
    parts = {
        "to the person": outcome.user_message,
        "to the agent": outcome.agent_message if outcome.agent_message != outcome.user_message else "",
        "context": outcome.context,
        "follow-up": outcome.follow_up,
        "env": outcome.env,
        "input becomes": outcome.edited_input,
        "output becomes": outcome.replaced_output,
    }
    return {name: value for name, value in parts.items() if value}
