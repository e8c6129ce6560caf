"""A model's answer becomes a Run: `{"ok": ..., "reason": ...}` and nothing else, or a Failure."""

import json
from typing import Any, NamedTuple

from trotline.contracts import Contract
from trotline.engine.answers import heeded
from trotline.events import Event
from trotline.hooks import Hook
from trotline.hosts.cursor_replies import Heard
from trotline.outcomes import Failure, FailureKind, Run
from trotline.verdicts import Permission, Verdict

LONGEST_REASON = 4000


class Opinion(NamedTuple):
    """What a model said, or how asking it failed."""

    text: str = ""
    failure: Failure | None = None
    micros: int = 0
    remembered: bool = False


def run_of_opinion(hook: Hook, opinion: Opinion, event: Event, run_id: str) -> Run:
    heard = heeded(_heard(hook, opinion, event.contract), event)
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


def understood(text: str) -> tuple[bool, str] | Failure:
    """Exactly the structure: one object, `ok` true or false, perhaps `reason`, nothing around it."""
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
    return answer["ok"], _cut(reason.strip(), LONGEST_REASON)


def _heard(hook: Hook, opinion: Opinion, contract: Contract) -> Heard:
    said = opinion.failure or understood(opinion.text)
    if isinstance(said, Failure):
        return Heard(failure=Failure(kind=said.kind, detail=f'Hook "{hook.line}": {said.detail}', code=said.code))
    ok, reason = said
    if ok:
        return Heard()  # no objection is not an approval: what would have been asked is still asked
    why = reason or f'Hook "{hook.line}" said no and gave no reason.'
    if contract.refusable:
        return Heard(Verdict(permission=Permission.DENY, user_message=why, agent_message=why))
    if "followup_message" in contract.answers:
        return Heard(Verdict(follow_up=why))
    return Heard(warnings=(f"it said no, which {contract.name} cannot act on: {why}",))


def _unambiguous(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    if len(dict(pairs)) != len(pairs):
        raise ValueError("a key stands twice")
    return dict(pairs)


def _short(text: str) -> str:
    line = " ".join(text.split())
    return f"`{_cut(line, 117)}...`" if len(line) > 120 else f"`{line}`"


def _cut(text: str, most: int) -> str:
    """Between two words: half of a secret is one that nobody recognises and takes out."""
    return text if len(text) <= most else text[: most + 1].rpartition(" ")[0]
