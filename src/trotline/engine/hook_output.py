"""Convert the result of a process to a Run: a verdict by the contract of the event, or a Failure."""

import signal

import msgspec

from trotline.agents.cursor.replies import HookOutput, ParsedReply, read_reply
from trotline.domain.contracts import Contract
from trotline.domain.editions import Edition
from trotline.domain.events import Event, PostToolUse, SubagentStop
from trotline.domain.hooks import Hook
from trotline.domain.outcomes import Failure, FailureKind, Run
from trotline.system.processes import ProcessResult, StopReason

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit codes of a shell that could not start the command."""

SHELL_SAYS_KILLED = 128

KINDS = {
    StopReason.NOT_FOUND: FailureKind.NOT_FOUND,
    StopReason.NOT_EXECUTABLE: FailureKind.NOT_EXECUTABLE,
    StopReason.NOT_STARTED: FailureKind.UNAVAILABLE,
}


def build_run(hook: Hook, ended: ProcessResult, event: Event, edition: Edition, run_id: str) -> Run:
    """Return the run of a hook whose process ended."""
    heard = drop_unsupported(_build_failure(hook, ended) or _parse_output(hook, ended, event.contract, edition), event)
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


def drop_unsupported(heard: ParsedReply, event: Event) -> ParsedReply:
    """Drop fields that this kind of event supports but this event does not, and add a warning for each."""
    verdict, warnings = heard.verdict, [*heard.warnings]
    if isinstance(event, PostToolUse) and verdict.replaced_output is not None and not event.tool_name.startswith("MCP"):
        verdict = msgspec.structs.replace(verdict, replaced_output=None)
        warnings.append("`updated_mcp_tool_output` is taken for MCP tools only")
    if isinstance(event, SubagentStop) and verdict.follow_up and event.status != "completed":
        verdict = msgspec.structs.replace(verdict, follow_up="")
        warnings.append(f"a follow-up is taken only when the sub-agent completed; it ended with `{event.status}`")
    return ParsedReply(verdict, heard.failure, tuple(warnings))


def _build_failure(hook: Hook, ended: ProcessResult) -> ParsedReply | None:
    """Return the failure of the process; None if its output can be read."""
    if ended.stopped is StopReason.TIME:
        milliseconds = round(hook.timeout * 1000)
        why = f"execution failed: Hook script timed out after {milliseconds}ms"
        return _failure(hook, FailureKind.TIMED_OUT, why)
    if ended.stopped is StopReason.OUTPUT:
        return _failure(hook, FailureKind.TOO_MUCH, "was stopped: it printed more than is read")
    if ended.stopped is not StopReason.NO:
        return _failure(hook, KINDS[ended.stopped], f"could not be started: {ended.detail}")
    if ended.exit_code is None:
        return _failure(hook, FailureKind.KILLED, "ended without an exit code that could be read")
    number = _signal(ended.exit_code)
    if number:
        return _failure(hook, FailureKind.KILLED, f"was killed by {_signal_name(number)}", ended.exit_code)
    return None


def _signal(exit_code: int) -> int:
    """Return the signal that ended the process, or 0. A shell adds 128 to the signal that killed its child."""
    if exit_code < 0:
        return -exit_code
    return exit_code - SHELL_SAYS_KILLED if SHELL_SAYS_KILLED < exit_code <= SHELL_SAYS_KILLED + 64 else 0


def _failure(hook: Hook, kind: FailureKind, why: str, code: int | None = None) -> ParsedReply:
    return ParsedReply(failure=Failure(kind=kind, detail=f'Hook "{hook.line}" {why}', code=code))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _parse_output(hook: Hook, ended: ProcessResult, contract: Contract, edition: Edition) -> ParsedReply:
    answer = HookOutput(ended.exit_code or 0, ended.stdout, ended.stderr)
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
