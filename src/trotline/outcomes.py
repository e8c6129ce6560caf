"""All that happened when an event was raised: who was called, what each said or how it failed, what was decided.

A failure is a value. What it decides is one pure function of the event, the hook and the edition.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import msgspec

from trotline.contracts import Contract
from trotline.editions import Edition
from trotline.effects import Effect
from trotline.events import Event
from trotline.findings import Finding
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
    UNREAD = "unreadable call"
    MISFIT = "output of the wrong shape"
    TOO_MUCH = "too much output"
    UNAVAILABLE = "not available"


BAD_OUTPUT = frozenset({FailureKind.UNREADABLE, FailureKind.MISFIT, FailureKind.TOO_MUCH})


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """How a run failed, in the words that the person and the agent will read."""

    kind: FailureKind
    detail: str = ""
    code: int | None = None


MOST_PAYLOAD = 64_000_000
"""Bytes of a call that anybody reads."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """Everything an answer may depend on; warm and cold build the same one."""

    id: str
    argv: tuple[str, ...] = ()
    cwd: str = ""
    cwd_identity: tuple[int, int] = (0, 0)  # device and inode: a service may not see the same directory
    environ: dict[str, str] = {}
    payload: bytes = b""
    received_us: int = 0


GIVEN = {
    "edited_input": "changes the input",
    "replaced_output": "replaces the output",
    "context": "gives context",
    "follow_up": "wants it to go on",
    "env": "sets variables",
    "plugin_paths": "names plugins",
}
"""What a verdict may hold beside its permission, in words."""


class Voice(msgspec.Struct, frozen=True, kw_only=True):
    """What one hook, guard or rule said, or how it failed."""

    author: str
    layer: str = ""
    rank: int = 0
    verdict: Verdict = SILENCE
    failure: Failure | None = None
    micros: int = 0
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # what is only written down: for the trail, not for the host
    fail_closed: bool = False

    @property
    def name(self) -> str:
        """What a person knows the author by."""
        return self.author

    @property
    def said(self) -> str:
        if self.failure is not None:
            return f"failed, {self.failure.kind}"
        reason = self.verdict.user_message or self.verdict.agent_message
        given = [words for field, words in GIVEN.items() if getattr(self.verdict, field)]
        word = self.verdict.permission.word if self.verdict.permission or not (given or self.notes) else ""
        parts = [word.replace("silent", "no opinion"), reason, *given, *self.notes]
        return ", ".join(part for part in parts if part)


class Heard(NamedTuple):
    """What guards say about one event."""

    voices: tuple[Voice, ...] = ()
    effects: tuple[Effect, ...] = ()
    findings: tuple[Finding, ...] = ()
    told: tuple[str, ...] = ()  # what the person should know although it goes on


UNHEARD = Heard()

Guarding = Callable[[Event, Call], Heard]
"""All guards with what they need to know; the seat only asks, about what can be refused and about what has texts."""


class Run(Voice, frozen=True, kw_only=True):
    """A voice with a process behind it."""

    hook: Hook

    @property
    def name(self) -> str:
        return self.hook.line

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
    findings: tuple[Finding, ...] = ()  # what stands in its texts
    losses: tuple[Loss, ...] = ()
    alarms: tuple[str, ...] = ()  # what a person should hear of at once
    monitored: bool = False  # whether what was decided was only to be written down
    withheld: tuple[str, ...] = ()  # what was decided and, for that reason, not sent
    sent: dict[str, Any] = {}

    @property
    def denied(self) -> bool:
        return self.decision.permission is Permission.DENY

    @property
    def asks(self) -> bool:
        return self.decision.permission is Permission.ASK

    @property
    def user_message(self) -> str:
        """What the person should read."""
        return self.decision.verdict.user_message

    @property
    def agent_message(self) -> str:
        """What the model should read; a refusal without one of its own has the person's."""
        return self.decision.verdict.agent_message or self.decision.verdict.user_message

    @property
    def edited_input(self) -> dict[str, Any] | None:
        return self.decision.verdict.edited_input

    @property
    def replaced_output(self) -> dict[str, Any] | None:
        return self.decision.verdict.replaced_output

    @property
    def context(self) -> str:
        return self.decision.verdict.context

    @property
    def follow_up(self) -> str:
        return self.decision.verdict.follow_up

    @property
    def plugin_paths(self) -> tuple[str, ...]:
        return self.decision.verdict.plugin_paths

    @property
    def env(self) -> dict[str, str]:
        return self.decision.verdict.env

    def explain(self) -> str:
        """Who said what, who did not run and why, and what came of it: one line each."""
        lines = [f"{self.event.wire_name}: {self.decision.permission.word}"]
        lines += [f"  {voice.layer or 'function'} {voice.name}: {voice.said}" for voice in self.voices]
        lines += [f"  {entry.hook.layer.kind} {entry.hook.line}: not run, {entry.why}" for entry in self.not_run]
        lines += [f"  lost: {loss.what}, {loss.why}" for loss in self.losses]
        lines += [f"  not sent, because this is monitor mode: {', '.join(self.withheld)}"] if self.withheld else []
        return "\n".join([*lines, *(f"  alarm: {alarm}" for alarm in self.alarms)])


class Judge(Protocol):
    """Something that has an opinion on events."""

    def __call__(self, event: Event) -> Verdict: ...


class Sink(Protocol):
    """Something that keeps what happened, and how long it took; what comes back says why it could not, or nothing."""

    def __call__(self, outcome: Outcome, micros: int) -> str: ...


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
FOR_SAFETY = ". The command was blocked for safety."


def verdict_of(voice: Voice, contract: Contract, edition: Edition) -> Verdict:
    """The voice's own verdict, or the one that its failure amounts to."""
    if voice.failure is None:
        return voice.verdict
    if not refuses_on_failure(contract, fail_closed=voice.fail_closed, failure=voice.failure, edition=edition):
        return SILENCE
    detail = voice.failure.detail
    reason = FAIL_CLOSED + detail if voice.fail_closed else detail.removesuffix(".") + FOR_SAFETY
    return Verdict(permission=Permission.DENY, user_message=reason, agent_message=reason)


def decide(contract: Contract, voices: Iterable[Voice], edition: Edition) -> Decision:
    """Many voices, in configured order, one decision."""
    spoken = [Spoken(voice.author, voice.rank, verdict_of(voice, contract, edition)) for voice in voices]
    refusable = edition.refuses(contract.name, refusable=contract.refusable)
    return merge(spoken, rule=edition.merge_rule, refusable=refusable)
