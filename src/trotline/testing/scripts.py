"""Conversations written down: events in order, and what the agent would do when one is refused or followed up.

TOML with `[[steps]]`, or one JSON object a line. A step names its `event`, with the fields of its payload beside it:

    event         the event to raise
    then          steps that follow only if it was not refused
    on_deny       steps that the agent takes instead
    on_ask        what the person answers: "yes" or "no", which is the default
    on_follow_up  steps for the next message, or "again": raise the same event until nobody has more to say
    expect        the permission that should come of it, or "follow-up"; otherwise the simulation fails
    say           a line for the story
"""

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from trotline.errors import UsageError
from trotline.events import EVENTS
from trotline.verdicts import Permission

BRANCHES = ("then", "on_deny", "on_follow_up")
OWN = frozenset({"event", "on_ask", "expect", "say", *BRANCHES})
EXPECTED = frozenset({*(permission.word for permission in Permission), "follow-up"})
DEEPEST = 20


class Step(NamedTuple):
    """One event, and what comes of it."""

    event: str
    fields: dict[str, Any]
    then: tuple["Step", ...] = ()
    on_deny: tuple["Step", ...] = ()
    on_follow_up: tuple["Step", ...] = ()
    again: bool = False
    asked: bool = False  # whether the person says yes when asked
    expect: str = ""
    say: str = ""


def read_script(path: Path) -> tuple[Step, ...]:
    """The steps of a file; what is wrong with it is said with the step it stands in."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read: {error}") from None
    return tuple(_step(body, where, 0) for where, body in _bodies(path, text))


def _bodies(path: Path, text: str) -> list[tuple[str, Any]]:
    if path.suffix in {".jsonl", ".ndjson", ".json"}:
        return [(f"{path}:{number}", _json(line, path, number)) for number, line in _lines(text)]
    try:
        steps = tomllib.loads(text).get("steps")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"{path} is not TOML: {error}", hint="a file of JSON lines is named *.jsonl") from None
    if not isinstance(steps, list) or not steps:
        raise UsageError(f"{path} has no [[steps]]", hint='begin with `[[steps]]` and `event = "sessionStart"`')
    return [(f"{path}, step {number}", body) for number, body in enumerate(steps, 1)]


def _lines(text: str) -> list[tuple[int, str]]:
    return [(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()]


def _json(line: str, path: Path, number: int) -> Any:
    try:
        return json.loads(line)
    except ValueError as error:
        raise UsageError(f"{path}:{number} is not JSON: {error}", hint="one object a line") from None


def _step(body: Any, where: str, depth: int) -> Step:
    if not isinstance(body, dict) or body.get("event") not in EVENTS:
        named = f"`{body.get('event')}`" if isinstance(body, dict) else "something else than a table"
        raise UsageError(f"{where}: {named} is no event", hint="`trotline events` lists them")
    if depth > DEEPEST:
        raise UsageError(f"{where}: steps within steps within steps end somewhere")
    name = str(body["event"])
    fields = {key: value for key, value in body.items() if key not in OWN}
    stray = [key for key in fields if key not in EVENTS[name].__struct_fields__ or key == "raw"]
    if stray:
        raise UsageError(f"{where}: {name} has no field `{stray[0]}`", hint=f"`trotline events {name}` shows them")
    if body.get("expect", "deny") not in EXPECTED:
        raise UsageError(f"{where}: nothing can be expected to be `{body['expect']}`", hint=", ".join(sorted(EXPECTED)))
    branches = {key: _branch(body.get(key, []), f"{where}, {key}", depth) for key in BRANCHES}
    return Step(
        event=name,
        fields=fields,
        again=body.get("on_follow_up") == "again",
        asked=body.get("on_ask") in {"yes", True},
        expect=body.get("expect", ""),
        say=str(body.get("say", "")),
        **branches,
    )


def _branch(body: Any, where: str, depth: int) -> tuple[Step, ...]:
    if body == "again":
        return ()
    if not isinstance(body, list):
        raise UsageError(f"{where}: this must be a list of steps")
    return tuple(_step(one, f"{where} {number}", depth + 1) for number, one in enumerate(body, 1))
