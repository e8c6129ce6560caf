"""Convert the answer of a model, `{"ok": ..., "reason": ...}`, to a Run. Any other answer is a Failure."""

import json
from typing import Any, NamedTuple

from trotline.agents.cursor.replies import ParsedReply
from trotline.domain.contracts import Contract
from trotline.domain.events import Event
from trotline.domain.hooks import Hook
from trotline.domain.outcomes import Failure, FailureKind, Run
from trotline.domain.verdicts import Permission, Verdict
from trotline.engine.hook_output import drop_unsupported

MAX_REASON_LENGTH = 4000


class Opinion(NamedTuple):
    """The answer of a model, or the failure to get one."""

    text: str = ""
    failure: Failure | None = None
    micros: int = 0
    remembered: bool = False


def build_prompt_run(hook: Hook, opinion: Opinion, event: Event, run_id: str) -> Run:
    """Return the run of a prompt hook."""
    heard = drop_unsupported(_parse_output(hook, opinion, event.contract), event)
    warnings = (*heard.warnings, "an equal question was answered before; that answer was taken")
    return Run(
        id=run_id,
        author=hook.id,
        layer=hook.layer.kind,
        rank=hook.layer.kind.rank,
        hook=hook,
        fail_closed=hook.fail_closed,
        verdict=heard.verdict,
        failure=heard.failure,
        micros=opinion.micros,
        warnings=warnings if opinion.remembered else heard.warnings,
        stdout=opinion.text.encode("utf-8", "replace"),
    )


def parse_opinion(text: str) -> tuple[bool, str] | Failure:
    """Parse an answer strictly: one object with a boolean `ok` and an optional `reason`, and nothing around it."""
    try:
        answer = json.loads(text, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError):
        return Failure(
            kind=FailureKind.UNREADABLE, detail=f"answered with something else than one object: {_short(text)}"
        )
    if not isinstance(answer, dict) or not isinstance(answer.get("ok"), bool) or set(answer) - {"ok", "reason"}:
        return Failure(kind=FailureKind.MISFIT, detail=f"did not answer with `ok` and `reason`: {_short(text)}")
    reason = answer.get("reason") or ""
    if not isinstance(reason, str):
        return Failure(kind=FailureKind.MISFIT, detail=f"gave a reason that is no text: {_short(text)}")
    return answer["ok"], _cut(reason.strip(), MAX_REASON_LENGTH)


def _parse_output(hook: Hook, opinion: Opinion, contract: Contract) -> ParsedReply:
    said = opinion.failure or parse_opinion(opinion.text)
    if isinstance(said, Failure):
        return ParsedReply(failure=Failure(kind=said.kind, detail=f'Hook "{hook.line}": {said.detail}', code=said.code))
    ok, reason = said
    if ok:
        return ParsedReply()  # not an approval: the agent still asks the person where it would have asked
    why = reason or f'Hook "{hook.line}" said no and gave no reason.'
    if contract.refusable:
        return ParsedReply(Verdict(permission=Permission.DENY, user_message=why, agent_message=why))
    if "followup_message" in contract.answers:
        return ParsedReply(Verdict(follow_up=why))
    return ParsedReply(warnings=(f"it said no, which {contract.name} cannot act on: {why}",))


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"`{_cut(line, 117)}...`" if len(line) > 120 else f"`{line}`"


def _cut(text: str, most: int) -> str:
    """Cut a text between two words: scanners would not recognise half of a secret."""
    return text if len(text) <= most else text[: most + 1].rpartition(" ")[0]
