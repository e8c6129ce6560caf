"""All that happened when an event was raised: who was called, what each said or how it failed, what was decided.

A failure is a value. What it decides is one pure function of the event, the hook and the edition.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Protocol

import msgspec

from trotline.contracts import Contract
from trotline.editions import Edition
from trotline.effects import Effect
from trotline.events import Event
from trotline.hooks import Hook
from trotline.verdicts import SILENCE, Decision, Permission, Spoken, Verdict, merge


class FailureKind(StrEnum):
    """Why a run gave no verdict."""

    NOT_FOUND = "not found"
    NOT_EXECUTABLE = "not executable"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    KILLED = "killed"
    EMPTY = "no output"
    UNREADABLE = "unreadable output"
    MISFIT = "output of the wrong shape"
    TOO_MUCH = "too much output"
    UNAVAILABLE = "not available"


BAD_OUTPUT = frozenset({FailureKind.UNREADABLE, FailureKind.MISFIT})


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """How a run failed, in the words that the person and the agent will read."""

    kind: FailureKind
    detail: str = ""
    code: int | None = None


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Everything an answer may depend on; warm and cold build the same one."""

    id: str
    argv: tuple[str, ...] = ()
    cwd: str = ""
    cwd_identity: tuple[int, int] = (0, 0)  # device and inode: a service may not see the same directory
    environ: dict[str, str] = {}
    payload: bytes = b""
    received_us: int = 0


class Voice(msgspec.Struct, frozen=True, kw_only=True):
    """What one hook, guard or rule said, or how it failed."""

    author: str
    layer: str = ""
    rank: int = 0
    verdict: Verdict = SILENCE
    failure: Failure | None = None
    micros: int = 0
    warnings: tuple[str, ...] = ()


class Run(Voice, frozen=True, kw_only=True):
    """A voice with a process behind it."""

    hook: Hook
    id: str = ""
    exit_code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""


class Loss(msgspec.Struct, frozen=True):
    """Something that a verdict said and this host cannot hear."""

    host: str
    what: str
    why: str


class NotRun(msgspec.Struct, frozen=True):
    """A hook that was configured for the event and did not run, and why."""

    hook: Hook
    why: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one event, as the trail will remember it."""

    call: Call
    event: Event
    decision: Decision
    voices: tuple[Voice, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    effects: tuple[Effect, ...] = ()
    losses: tuple[Loss, ...] = ()
    alarms: tuple[str, ...] = ()  # what a person should hear of at once
    sent: dict[str, Any] = {}


class Judge(Protocol):
    """Something that has an opinion on events."""

    def __call__(self, event: Event) -> Verdict: ...


class Sink(Protocol):
    """Something that wants to know what happened."""

    def __call__(self, outcome: Outcome) -> None: ...


def refuses_on_failure(contract: Contract, *, fail_closed: bool, failure: Failure, edition: Edition) -> bool:
    """What a failure decides: to refuse, or to let the action go on."""
    if not edition.refuses(contract.name, refusable=contract.refusable):
        return False
    if fail_closed:
        return True
    if failure.kind in BAD_OUTPUT and contract.name in edition.bad_output_blocks:
        return True
    return contract.name in edition.closed_by_default


FAIL_CLOSED = "Tool blocked because this hook is configured to fail closed (block when it fails). "
FOR_SAFETY = " The command was blocked for safety."


def verdict_of(voice: Voice, contract: Contract, edition: Edition) -> Verdict:
    """The voice's own verdict, or the one that its failure amounts to."""
    if voice.failure is None:
        return voice.verdict
    fail_closed = isinstance(voice, Run) and voice.hook.fail_closed
    if not refuses_on_failure(contract, fail_closed=fail_closed, failure=voice.failure, edition=edition):
        return SILENCE
    reason = FAIL_CLOSED + voice.failure.detail if fail_closed else voice.failure.detail + FOR_SAFETY
    return Verdict(permission=Permission.DENY, user_message=reason, agent_message=reason)


def decide(contract: Contract, voices: Iterable[Voice], edition: Edition) -> Decision:
    """Many voices, in configured order, one decision."""
    spoken = [Spoken(voice.author, voice.rank, verdict_of(voice, contract, edition)) for voice in voices]
    refusable = edition.refuses(contract.name, refusable=contract.refusable)
    return merge(spoken, rule=edition.merge_rule, refusable=refusable)
