"""A process that ended becomes a Run: a verdict by the host's contract, or a Failure in the host's words."""

import signal

import msgspec

from trotline.contracts import Contract
from trotline.editions import Edition
from trotline.engine.processes import Ended, Stopped
from trotline.events import Event, PostToolUse, SubagentStop
from trotline.hooks import Hook
from trotline.hosts.cursor_replies import Answer, Heard, read_reply
from trotline.outcomes import Failure, FailureKind, Run

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""What a shell exits with when it could not start what it was given."""

SHELL_SAYS_KILLED = 128

KINDS = {
    Stopped.NOT_FOUND: FailureKind.NOT_FOUND,
    Stopped.NOT_EXECUTABLE: FailureKind.NOT_EXECUTABLE,
    Stopped.NOT_STARTED: FailureKind.UNAVAILABLE,
}


def run_of(hook: Hook, ended: Ended, event: Event, edition: Edition, run_id: str) -> Run:
    """What this run amounts to."""
    heard = heeded(_failed(hook, ended) or _heard(hook, ended, event.contract, edition), event)
    warnings = [*heard.warnings]
    if ended.left_behind:
        warnings.append("it left a background process behind, which was let live")
    if ended.cut:
        warnings.append("its standard error was longer than what is kept")
    return Run(
        id=run_id,
        author=hook.id,
        layer=hook.layer.kind,
        rank=hook.layer.kind.rank,
        hook=hook,
        fail_closed=hook.fail_closed,
        verdict=heard.verdict,
        failure=heard.failure,
        micros=ended.micros,
        warnings=tuple(warnings),
        exit_code=ended.exit_code,
        stdout=ended.stdout,
        stderr=ended.stderr,
    )


def heeded(heard: Heard, event: Event) -> Heard:
    """Without what this event takes in general, and not as it stands."""
    verdict, warnings = heard.verdict, [*heard.warnings]
    if isinstance(event, PostToolUse) and verdict.replaced_output is not None and not event.tool_name.startswith("MCP"):
        verdict = msgspec.structs.replace(verdict, replaced_output=None)
        warnings.append("`updated_mcp_tool_output` is taken for MCP tools only")
    if isinstance(event, SubagentStop) and verdict.follow_up and event.status != "completed":
        verdict = msgspec.structs.replace(verdict, follow_up="")
        warnings.append(f"a follow-up is taken only when the sub-agent completed; it ended with `{event.status}`")
    return Heard(verdict, heard.failure, tuple(warnings))


def _failed(hook: Hook, ended: Ended) -> Heard | None:
    """How the process failed before its answer could be read; None when there is an answer."""
    if ended.stopped is Stopped.TIME:
        milliseconds = round(hook.timeout * 1000)
        why = f"execution failed: Hook script timed out after {milliseconds}ms"
        return _failure(hook, FailureKind.TIMED_OUT, why)
    if ended.stopped is Stopped.OUTPUT:
        return _failure(hook, FailureKind.TOO_MUCH, "was stopped: it printed more than is read")
    if ended.stopped is not Stopped.NO:
        return _failure(hook, KINDS[ended.stopped], f"could not be started: {ended.detail}")
    if ended.exit_code is None:
        return _failure(hook, FailureKind.KILLED, "ended without an exit code that could be read")
    number = _signal(ended.exit_code)
    if number:
        return _failure(hook, FailureKind.KILLED, f"was killed by {_signal_name(number)}", ended.exit_code)
    return None


def _signal(exit_code: int) -> int:
    """The signal that ended it; a shell says 128 and the signal when its child was killed. Zero if none did."""
    if exit_code < 0:
        return -exit_code
    return exit_code - SHELL_SAYS_KILLED if SHELL_SAYS_KILLED < exit_code <= SHELL_SAYS_KILLED + 64 else 0


def _failure(hook: Hook, kind: FailureKind, why: str, code: int | None = None) -> Heard:
    return Heard(failure=Failure(kind=kind, detail=f'Hook "{hook.line}" {why}', code=code))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _heard(hook: Hook, ended: Ended, contract: Contract, edition: Edition) -> Heard:
    answer = Answer(ended.exit_code or 0, ended.stdout, ended.stderr)
    heard = read_reply(
        contract,
        answer,
        edition,
        command=hook.line,
        fail_closed=hook.fail_closed,
        from_claude=hook.layer.kind.from_claude,
    )
    named = {NOT_FOUND: FailureKind.NOT_FOUND, NOT_EXECUTABLE: FailureKind.NOT_EXECUTABLE}.get(answer.exit_code)
    if named and heard.failure:
        return heard._replace(failure=Failure(kind=named, detail=heard.failure.detail, code=answer.exit_code))
    return heard
