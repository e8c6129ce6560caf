"""Finding: what one check saw. A note is worth knowing, and nothing to put right."""

from collections.abc import Iterable
from enum import StrEnum
from typing import NamedTuple


class State(StrEnum):
    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


class Finding(NamedTuple):
    state: State
    what: str
    detail: str
    next: str = ""  # the one command, or step, that puts it right


def ok(what: str, detail: str) -> Finding:
    return Finding(State.OK, what, detail)


def note(what: str, detail: str, step: str = "") -> Finding:
    return Finding(State.NOTE, what, detail, step)


def warn(what: str, detail: str, step: str = "") -> Finding:
    return Finding(State.WARN, what, detail, step)


def fail(what: str, detail: str, step: str = "") -> Finding:
    return Finding(State.FAIL, what, detail, step)


def next_step(findings: Iterable[Finding]) -> str:
    """What to do first: whatever is broken comes before what is only doubtful, and that before what is only new."""
    listed = list(findings)
    ranked = (State.FAIL, State.WARN, State.NOTE)
    worst = [one for state in ranked for one in listed if one.state is state and one.next]
    return worst[0].next if worst else ""
