"""The outcome of an event: the call, the responses or failures, and the decision.

A failure is a value. Its effect on the decision is a pure function of the event, the hook and the edition.
"""

from collections.abc import Callable, Iterable
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

import msgspec

from trotline.domain.contracts import Contract
from trotline.domain.editions import Edition
from trotline.domain.effects import Effect
from trotline.domain.events import Event
from trotline.domain.findings import Finding
from trotline.domain.hooks import Hook
from trotline.domain.verdicts import NO_DECISION, NO_OPINION, Decision, Permission, RankedVerdict, Verdict, merge


class FailureKind(StrEnum):
    """The reason why a run gave no verdict."""

    NOT_FOUND = "not found"
    NOT_EXECUTABLE = "not executable"
    CRASHED = "crashed"
    TIMED_OUT = "timed out"
    KILLED = "killed"
    EMPTY = "no output"
    UNREADABLE_OUTPUT = "unreadable output"
    UNREADABLE_CALL = "unreadable call"
    MISFIT = "output of the wrong shape"
    TOO_MUCH = "too much output"
    UNAVAILABLE = "not available"


BAD_OUTPUT = frozenset({FailureKind.UNREADABLE_OUTPUT, FailureKind.MISFIT, FailureKind.TOO_MUCH})


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """A failed run. `detail` is shown to the user and to the agent."""

    kind: FailureKind
    detail: str = ""
    code: int | None = None


MAX_PAYLOAD_BYTES = 64_000_000
"""The number of bytes that are read of a call."""


class Call(msgspec.Struct, frozen=True, kw_only=True):
    """A call of an agent: everything that the answer may depend on. Warm and cold paths build the same one."""

    id: str
    argv: tuple[str, ...] = ()
    cwd: str = ""
    cwd_identity: tuple[int, int] = (0, 0)  # device and inode: a service may see another directory at this path
    environ: dict[str, str] = {}
    payload: bytes = b""
    received_us: int = 0


SUMMARY_WORDS = {
    "edited_input": "changes the input",
    "replaced_output": "replaces the output",
    "context": "gives context",
    "follow_up": "wants it to go on",
    "env": "sets variables",
    "plugin_paths": "names plugins",
}
"""Descriptions of the fields of a verdict other than its permission."""


class Response(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict or the failure of one hook, guard or rule."""

    author: str
    layer: str = ""
    rank: int = 0
    verdict: Verdict = NO_OPINION
    failure: Failure | None = None
    micros: int = 0
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()  # for the audit log, not for the agent
    fail_closed: bool = False

    @property
    def name(self) -> str:
        """The name of the author that is shown to the user."""
        return self.author

    @property
    def summary(self) -> str:
        """The failure, or the permission, its reason and the other effects of the verdict, in one line."""
        if self.failure is not None:
            return f"failed, {self.failure.kind}"
        reason = self.verdict.user_message or self.verdict.agent_message
        changes = [summary for field, summary in SUMMARY_WORDS.items() if getattr(self.verdict, field)]
        word = self.verdict.permission.word if self.verdict.permission or not (changes or self.notes) else ""
        parts = [word.replace("none", "no opinion"), reason, *changes, *self.notes]
        return ", ".join(part for part in parts if part)


class GuardResult(NamedTuple):
    """The responses of all guards to one event."""

    responses: tuple[Response, ...] = ()
    effects: tuple[Effect, ...] = ()
    findings: tuple[Finding, ...] = ()
    warnings: tuple[str, ...] = ()  # for the user, about an action that is allowed


NO_GUARD_RESULT = GuardResult()

GuardPort = Callable[[Event, Call], GuardResult]
"""Evaluates all guards. The hook side calls it only for events that can be refused or that have texts."""


class Run(Response, frozen=True, kw_only=True):
    """The response of a configured hook, with its process output."""

    hook: Hook

    @property
    def name(self) -> str:
        return self.hook.label

    id: str = ""
    exit_code: int | None = None
    stdout: bytes = b""
    stderr: bytes = b""


class Loss(msgspec.Struct, frozen=True):
    """A part of a verdict that the agent does not support."""

    agent: str
    what: str
    why: str


class NotRun(msgspec.Struct, frozen=True):
    """A hook that is configured for the event and did not run."""

    hook: Hook
    why: str


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about one event, for the audit log."""

    call: Call
    event: Event
    decision: Decision
    responses: tuple[Response, ...] = ()
    not_run: tuple[NotRun, ...] = ()
    effects: tuple[Effect, ...] = ()
    findings: tuple[Finding, ...] = ()  # in the texts of the event
    losses: tuple[Loss, ...] = ()
    alarms: tuple[str, ...] = ()  # problems that a person should see at once
    monitored: bool = False  # the decision was only logged
    withheld: tuple[str, ...] = ()  # parts of the decision that monitor mode did not send
    sent: dict[str, Any] = {}

    @property
    def is_denied(self) -> bool:
        """True if the decision is to refuse the action, even if monitor mode did not send it."""
        return self.decision.permission is Permission.DENY

    @property
    def is_asked(self) -> bool:
        """True if the decision is to ask the user, even if monitor mode did not send it."""
        return self.decision.permission is Permission.ASK

    @property
    def user_message(self) -> str:
        """The message for the person."""
        return self.decision.verdict.user_message

    @property
    def agent_message(self) -> str:
        """The message for the model; defaults to the message for the person."""
        return self.decision.verdict.agent_message or self.decision.verdict.user_message

    @property
    def edited_input(self) -> dict[str, Any] | None:
        """The arguments that replace those of the tool call, or None."""
        return self.decision.verdict.edited_input

    @property
    def replaced_output(self) -> dict[str, Any] | None:
        """The output that replaces that of the tool, or None."""
        return self.decision.verdict.replaced_output

    @property
    def context(self) -> str:
        """The text that is added to the context of the model, or ""."""
        return self.decision.verdict.context

    @property
    def follow_up(self) -> str:
        """The message that the conversation continues with, or ""."""
        return self.decision.verdict.follow_up

    @property
    def plugin_paths(self) -> tuple[str, ...]:
        """The directories of plugins to load."""
        return self.decision.verdict.plugin_paths

    @property
    def env(self) -> dict[str, str]:
        """The environment variables for later hooks of the conversation."""
        return self.decision.verdict.env

    def explain(self) -> str:
        """Describe the decision, with one line for each response, skipped hook, loss and alarm."""
        lines = [f"{self.event.wire_name}: {self.decision.permission.word}"]
        lines += [f"  {each.layer or 'function'} {each.name}: {each.summary}" for each in self.responses]
        lines += [f"  {entry.hook.layer.kind} {entry.hook.label}: not run, {entry.why}" for entry in self.not_run]
        lines += [f"  lost: {loss.what}, {loss.why}" for loss in self.losses]
        lines += [f"  not sent, because this is monitor mode: {', '.join(self.withheld)}"] if self.withheld else []
        return "\n".join([*lines, *(f"  alarm: {alarm}" for alarm in self.alarms)])


class Sink(Protocol):
    """Stores an outcome and its duration. Returns why it could not be stored, or ""."""

    def __call__(self, outcome: Outcome, micros: int) -> str: ...


def refuses_on_failure(contract: Contract, *, fail_closed: bool, failure: Failure, edition: Edition) -> bool:
    """Return whether a failure refuses the action."""
    if not edition.refuses(contract.name, refusable=contract.refusable):
        return False
    if fail_closed:
        return True
    if failure.kind in BAD_OUTPUT and contract.name in edition.bad_output_blocks:
        return True
    return contract.name in edition.closed_by_default


FAIL_CLOSED = "Tool blocked because this hook is configured to fail closed (block when it fails). "
FOR_SAFETY = ". The command was blocked for safety."


def get_effective_verdict(response: Response, contract: Contract, edition: Edition) -> Verdict:
    """Return the verdict of a response; for a failure, a refusal or no opinion."""
    if response.failure is None:
        return response.verdict
    if not refuses_on_failure(contract, fail_closed=response.fail_closed, failure=response.failure, edition=edition):
        return NO_OPINION
    detail = response.failure.detail
    reason = FAIL_CLOSED + detail if response.fail_closed else detail.removesuffix(".") + FOR_SAFETY
    return Verdict(permission=Permission.DENY, user_message=reason, agent_message=reason)


def decide(contract: Contract, responses: Iterable[Response], edition: Edition) -> Decision:
    """Merge responses, given in configured order, into one decision."""
    verdicts = [
        RankedVerdict(response.author, response.rank, get_effective_verdict(response, contract, edition))
        for response in responses
    ]
    if all(ranked.verdict is NO_OPINION for ranked in verdicts):
        return NO_DECISION
    refusable = edition.refuses(contract.name, refusable=contract.refusable)
    return merge(verdicts, rule=edition.merge_rule, refusable=refusable)
