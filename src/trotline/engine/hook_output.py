"""Convert the output of a hook to a Run: a verdict by the contract of the event, or a Failure.

The output comes from a process or, for a prompt hook, from a model.
"""

import json
import signal
from typing import Any, NamedTuple

import msgspec

from trotline.agents.cursor.replies import HookOutput, ParsedReply, read_reply
from trotline.domain.contracts import Contract
from trotline.domain.editions import Edition
from trotline.domain.events import Event, PostToolUse, SubagentStop
from trotline.domain.hooks import Hook
from trotline.domain.outcomes import Failure, FailureKind, Run
from trotline.domain.verdicts import Permission, Verdict
from trotline.system.processes import ProcessResult, StopReason

NOT_EXECUTABLE, NOT_FOUND = 126, 127
"""Exit codes of a shell that could not start the command."""

SIGNAL_BASE = 128
"""A shell adds this to the signal that killed its child."""

MAX_REASON_LENGTH = 4000
"""The limit of a model's reason, in characters."""

KINDS = {
    StopReason.NOT_FOUND: FailureKind.NOT_FOUND,
    StopReason.NOT_EXECUTABLE: FailureKind.NOT_EXECUTABLE,
    StopReason.NOT_STARTED: FailureKind.UNAVAILABLE,
}


def build_run(hook: Hook, result: ProcessResult, event: Event, edition: Edition, run_id: str) -> Run:
    """Return the run of a hook whose process ended."""
    reply = _find_process_failure(hook, result) or _parse_output(hook, result, event.contract, edition)
    reply = _drop_unsupported(reply, event)
    warnings = [*reply.warnings]
    if result.left_behind:
        warnings.append("it left a background process behind, which was let live")
    if result.cut:
        warnings.append("its standard error was longer than what is kept")
    output = {"exit_code": result.exit_code, "stdout": result.stdout, "stderr": result.stderr}
    return _build_run(hook, reply._replace(warnings=tuple(warnings)), id=run_id, micros=result.micros, **output)


def _build_run(hook: Hook, reply: ParsedReply, **fields: Any) -> Run:
    return Run(
        author=hook.id,
        layer=hook.layer.kind,
        rank=hook.layer.kind.rank,
        hook=hook,
        fail_closed=hook.fail_closed,
        verdict=reply.verdict,
        failure=reply.failure,
        warnings=reply.warnings,
        **fields,
    )


def _drop_unsupported(reply: ParsedReply, event: Event) -> ParsedReply:
    """Drop fields that this kind of event supports but this event does not, and add a warning for each."""
    verdict, warnings = reply.verdict, [*reply.warnings]
    if isinstance(event, PostToolUse) and verdict.replaced_output is not None and not event.tool_name.startswith("MCP"):
        verdict = msgspec.structs.replace(verdict, replaced_output=None)
        warnings.append("`updated_mcp_tool_output` is taken for MCP tools only")
    if isinstance(event, SubagentStop) and verdict.follow_up and event.status != "completed":
        verdict = msgspec.structs.replace(verdict, follow_up="")
        warnings.append(f"a follow-up is taken only when the sub-agent completed; it ended with `{event.status}`")
    return ParsedReply(verdict, reply.failure, tuple(warnings))


def _find_process_failure(hook: Hook, result: ProcessResult) -> ParsedReply | None:
    """Return the failure of the process; None if its output can be read."""
    if result.stopped is StopReason.TIME:
        milliseconds = round(hook.timeout * 1000)
        why = f"execution failed: Hook script timed out after {milliseconds}ms"
        return _build_failed_reply(hook, FailureKind.TIMED_OUT, why)
    if result.stopped is StopReason.OUTPUT:
        return _build_failed_reply(hook, FailureKind.TOO_MUCH, "was stopped: it printed more than is read")
    if result.stopped is not StopReason.NONE:
        return _build_failed_reply(hook, KINDS[result.stopped], f"could not be started: {result.detail}")
    if result.exit_code is None:
        return _build_failed_reply(hook, FailureKind.KILLED, "ended without an exit code that could be read")
    number = _find_signal(result.exit_code)
    if number:
        return _build_failed_reply(
            hook, FailureKind.KILLED, f"was killed by {_get_signal_name(number)}", result.exit_code
        )
    return None


def _find_signal(exit_code: int) -> int:
    """Return the signal that ended the process, or 0."""
    if exit_code < 0:
        return -exit_code
    return exit_code - SIGNAL_BASE if SIGNAL_BASE < exit_code <= SIGNAL_BASE + 64 else 0


def _build_failed_reply(hook: Hook, kind: FailureKind, why: str, code: int | None = None) -> ParsedReply:
    return ParsedReply(failure=Failure(kind=kind, detail=f'Hook "{hook.label}" {why}', code=code))


def _get_signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _parse_output(hook: Hook, result: ProcessResult, contract: Contract, edition: Edition) -> ParsedReply:
    answer = HookOutput(result.exit_code or 0, result.stdout, result.stderr)
    reply = read_reply(
        contract,
        answer,
        edition,
        command=hook.label,
        fail_closed=hook.fail_closed,
        from_claude=hook.layer.kind.from_claude,
    )
    kind = {NOT_FOUND: FailureKind.NOT_FOUND, NOT_EXECUTABLE: FailureKind.NOT_EXECUTABLE}.get(answer.exit_code)
    if kind and reply.failure:
        return reply._replace(failure=Failure(kind=kind, detail=reply.failure.detail, code=answer.exit_code))
    return reply


# Prompt hooks


class Opinion(NamedTuple):
    """The answer of a model, or the failure to get one."""

    text: str = ""
    failure: Failure | None = None
    micros: int = 0
    is_cached: bool = False


def build_prompt_run(hook: Hook, opinion: Opinion, event: Event, run_id: str) -> Run:
    """Return the run of a prompt hook."""
    reply = _drop_unsupported(_read_opinion(hook, opinion, event.contract), event)
    if opinion.is_cached:
        warning = "an equal question was answered before; that answer was taken"
        reply = reply._replace(warnings=(*reply.warnings, warning))
    stdout = opinion.text.encode("utf-8", "replace")
    return _build_run(hook, reply, id=run_id, micros=opinion.micros, stdout=stdout)


def parse_opinion(text: str) -> tuple[bool, str] | Failure:
    """Parse an answer strictly: one object with a boolean `ok` and an optional `reason`, and nothing around it."""
    try:
        answer = json.loads(text, object_pairs_hook=_build_object)
    except (ValueError, RecursionError):
        return Failure(
            kind=FailureKind.UNREADABLE_OUTPUT, detail=f"answered with something else than one object: {_quote(text)}"
        )
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool) or set(answer) - {"ok", "reason"}:
        return Failure(kind=FailureKind.MISFIT, detail=f"did not answer with `ok` and `reason`: {_quote(text)}")
    reason = answer.get("reason") or ""
    if not isinstance(reason, str):
        return Failure(kind=FailureKind.MISFIT, detail=f"gave a reason that is no text: {_quote(text)}")
    return answer["ok"], _shorten(reason.strip(), MAX_REASON_LENGTH)


def _read_opinion(hook: Hook, opinion: Opinion, contract: Contract) -> ParsedReply:
    answer = opinion.failure or parse_opinion(opinion.text)
    if isinstance(answer, Failure):
        detail = f'Hook "{hook.label}": {answer.detail}'
        return ParsedReply(failure=msgspec.structs.replace(answer, detail=detail))
    is_ok, reason = answer
    if is_ok:
        return ParsedReply()  # not an approval: the agent still asks the person where it would have asked
    why = reason or f'Hook "{hook.label}" said no and gave no reason.'
    if contract.refusable:
        return ParsedReply(Verdict(permission=Permission.DENY, user_message=why, agent_message=why))
    if "followup_message" in contract.answers:
        return ParsedReply(Verdict(follow_up=why))
    return ParsedReply(warnings=(f"it said no, which {contract.name} cannot act on: {why}",))


def _build_object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _quote(text: str) -> str:
    line = " ".join(text.split())
    return f"`{_shorten(line, 117)}...`" if len(line) > 120 else f"`{line}`"


def _shorten(text: str, limit: int) -> str:
    """Cut a text between two words: scanners would not recognise half of a secret."""
    return text if len(text) <= limit else text[: limit + 1].rpartition(" ")[0]
