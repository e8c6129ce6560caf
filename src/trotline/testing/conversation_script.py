"""Scripts of conversations, and a runner that plays them against an engine.

A script is TOML with `[[steps]]`, or one JSON object a line. A step names its `event`, with the fields of its payload:

    event         the event to fire
    then          steps that follow only if it was not refused
    on_deny       steps that the agent takes instead
    on_ask        what the person answers: "yes" or "no", which is the default
    on_follow_up  steps for the next message, or "again": fire the same event until no hook has a follow-up
    expect        the permission that should result, or "follow-up"; otherwise the run fails
    say           a line for the output
"""

import json
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from trotline.agents.cursor.payloads import read_event
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS
from trotline.domain.outcomes import Outcome
from trotline.domain.verdicts import Permission
from trotline.engine.dispatch import Dispatcher
from trotline.testing.sample_payloads import build_payload

BRANCHES = ("then", "on_deny", "on_follow_up")
STEP_KEYS = frozenset({"event", "on_ask", "expect", "say", *BRANCHES})
EXPECTATIONS = frozenset({*(permission.word for permission in Permission), "follow-up"})
MAX_DEPTH = 20
MAX_REPEATS = 50
"""Limit for firing an event with `again`: a hook without a loop limit would never end."""


class ScriptStep(NamedTuple):
    """An event of a script and the steps that depend on its outcome."""

    event: str
    fields: dict[str, Any]
    then: tuple["ScriptStep", ...] = ()
    on_deny: tuple["ScriptStep", ...] = ()
    on_follow_up: tuple["ScriptStep", ...] = ()
    is_repeated: bool = False
    is_approved: bool = False  # the person says yes when asked
    expect: str = ""
    say: str = ""


def read_script(path: Path) -> tuple[ScriptStep, ...]:
    """Read the steps of a script. Errors name the step."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return tuple(_parse_step(body, where, 0) for where, body in _parse_bodies(path, text))


def _parse_bodies(path: Path, text: str) -> list[tuple[str, Any]]:
    if path.suffix in {".jsonl", ".ndjson", ".json"}:
        return [(f"{path}:{number}", _parse_json(line, path, number)) for number, line in _number_lines(text)]
    try:
        steps = tomllib.loads(text).get("steps")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}", hint="a file of JSON lines is named *.jsonl") from None
    if not isinstance(steps, list) or not steps:
        raise UsageError(f"{path} has no [[steps]]", hint='begin with `[[steps]]` and `event = "sessionStart"`')
    return [(f"{path}, step {number}", body) for number, body in enumerate(steps, 1)]


def _number_lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _parse_json(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise UsageError(f"{path}:{number} is not JSON: {error}", hint="one object a line") from None


def _parse_step(body: Any, where: str, depth: int) -> ScriptStep:
    if not isinstance(body, dict) or body.get("event") not in EVENTS:
        shown = f"`{body.get('event')}`" if isinstance(body, dict) else "something else than a table"
        raise UsageError(f"{where}: {shown} is no event", hint="`trotline events` lists them")
    if depth > MAX_DEPTH:
        raise UsageError(f"{where}: steps within steps within steps end somewhere")
    name = str(body["event"])
    fields = {key: value for key, value in body.items() if key not in STEP_KEYS}
    unknown = [key for key in fields if key not in EVENTS[name].__struct_fields__ or key == "raw"]
    if unknown:
        raise UsageError(f"{where}: {name} has no field `{unknown[0]}`", hint=f"`trotline events {name}` shows them")
    if body.get("expect", "deny") not in EXPECTATIONS:
        raise UsageError(
            f"{where}: nothing can be expected to be `{body['expect']}`", hint=", ".join(sorted(EXPECTATIONS))
        )
    branches = {key: _parse_branch(body.get(key, []), f"{where}, {key}", depth) for key in BRANCHES}
    return ScriptStep(
        event=name,
        fields=fields,
        is_repeated=body.get("on_follow_up") == "again",
        is_approved=body.get("on_ask") in {"yes", True},
        expect=body.get("expect", ""),
        say=str(body.get("say", "")),
        **branches,
    )


def _parse_branch(body: Any, where: str, depth: int) -> tuple[ScriptStep, ...]:
    if body == "again":
        return ()
    if not isinstance(body, list):
        raise UsageError(f"{where}: this must be a list of steps")
    return tuple(_parse_step(step, f"{where} {number}", depth + 1) for number, step in enumerate(body, 1))


class StepResult(NamedTuple):
    """A step with its outcome."""

    step: ScriptStep
    depth: int
    outcome: Outcome
    is_refused: bool
    note: str = ""

    @property
    def mismatch(self) -> str:
        """The difference from the expected outcome; empty if there is none."""
        expected, actual = self.step.expect, self.outcome.decision.permission.word
        if expected == "follow-up":
            return "" if self.outcome.follow_up else "a follow-up was expected, and nobody had one"
        return f"{expected} was expected, and it was {actual}" if expected and expected != actual else ""


class ScriptRunner:
    """Plays a script as one conversation."""

    def __init__(self, engine: Dispatcher, conversation_id: str) -> None:
        self.engine = engine
        self.common = {
            "conversation_id": conversation_id,
            "workspace_roots": [str(root) for root in engine.roots.projects],
        }

    def run(self, steps: Sequence[ScriptStep], depth: int = 0) -> Iterator[StepResult]:
        """Fire the events in order and follow the branches of their outcomes."""
        for step in steps:
            result = self._fire(step, depth)
            yield result
            yield from self.run(step.on_deny if result.is_refused else step.then, depth + 1)
            if result.outcome.follow_up:
                yield from self._run_follow_up(step, depth)

    def _run_follow_up(self, step: ScriptStep, depth: int) -> Iterator[StepResult]:
        yield from self.run(step.on_follow_up, depth + 1)
        for _ in range(MAX_REPEATS if step.is_repeated else 0):
            result = self._fire(step._replace(expect="", say=""), depth)
            yield result
            if not result.outcome.follow_up:
                return

    def _fire(self, step: ScriptStep, depth: int) -> StepResult:
        common = {key: value for key, value in self.common.items() if key not in step.fields}
        body = build_payload(step.event, self.engine.edition.name, **common, **step.fields)
        outcome = self.engine.dispatch(read_event(json.dumps(body)))
        is_declined = outcome.is_asked and not step.is_approved
        note = f"the person says {'yes' if step.is_approved else 'no'}" if outcome.is_asked else ""
        return StepResult(step, depth, outcome, is_refused=outcome.is_denied or is_declined, note=note)


def describe_outcome(outcome: Outcome) -> dict[str, Any]:
    """Return the parts of an outcome that reach the agent or the person."""
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
