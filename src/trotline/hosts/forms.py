"""The ways in which hosts want to be answered. A form gets a settled verdict: all that is in it can be heard.

Answers are ASCII: half an emoji in a reason has no UTF-8, and an answer that cannot be written is a lost refusal.
"""

import json
from typing import Any

from trotline.hosts.host import Answer, Host, reason_of
from trotline.hosts.spelling import spelled
from trotline.outcomes import Loss
from trotline.verdicts import Permission, Verdict

BEFORE_TOOL = "preToolUse"
BLOCKED_EXIT = 2


def as_json(body: dict[str, Any]) -> Answer:
    return Answer(spelled(body))


def nested(host: Host, theirs: str, ours: str, verdict: Verdict) -> Answer:
    """Claude Code's: what is specific to an event stands in `hookSpecificOutput`, which names the event."""
    body: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    said = ""
    if ours == BEFORE_TOOL and verdict.permission:
        specific["permissionDecision"] = verdict.permission.word
        if verdict.permission is not Permission.ALLOW or verdict.agent_message or verdict.user_message:
            said = specific["permissionDecisionReason"] = reason_of(verdict)
    elif _refuses(verdict):
        said = verdict.follow_up or reason_of(verdict)
        body |= {"decision": "block", "reason": said}
    if verdict.edited_input is not None:
        if host.edit_is_allow:
            specific.setdefault("permissionDecision", "allow")
        specific["updatedInput"] = verdict.edited_input
    if verdict.context:
        specific["additionalContext"] = verdict.context
    if specific:
        body["hookSpecificOutput"] = {"hookEventName": theirs, **specific}
    return as_json(body | _to_person(verdict, said))


def flat(_host: Host, theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """Gemini CLI's: one decision at the top, whatever the event; what changes something is nested."""
    body = _decided(verdict)
    specific: dict[str, Any] = {}
    if verdict.edited_input is not None:
        specific["tool_input"] = verdict.edited_input
    if verdict.context:
        specific["additionalContext"] = verdict.context
    if specific:
        body["hookSpecificOutput"] = {"hookEventName": theirs, **specific}
    return as_json(body | _to_person(verdict, body.get("reason", "")))


def top_level(_host: Host, _theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """OpenHands': everything at the top, `deny` and never `block`."""
    body = _decided(verdict)
    if verdict.context:
        body["additionalContext"] = verdict.context
    return as_json(body)


def copilots(host: Host, theirs: str, ours: str, verdict: Verdict) -> Answer:
    """GitHub Copilot's: `permissionDecision` at the top before a tool, `decision` elsewhere; in Claude Code's spelling
    of an event it is Claude Code's answer, of which context is taken before a tool only."""
    if theirs[:1].isupper():
        return _claudes(host, theirs, ours, verdict)
    body: dict[str, Any] = {}
    if ours == BEFORE_TOOL and verdict.permission:
        body["permissionDecision"] = verdict.permission.word
        if verdict.permission is not Permission.ALLOW:
            body["permissionDecisionReason"] = reason_of(verdict)
    elif _refuses(verdict):
        body |= {"decision": "block", "reason": verdict.follow_up or reason_of(verdict)}
    if verdict.edited_input is not None:
        body["modifiedArgs"] = verdict.edited_input
    if verdict.context:
        body["additionalContext"] = verdict.context
    return as_json(body)


def _claudes(host: Host, theirs: str, ours: str, verdict: Verdict) -> Answer:
    answer = nested(host, theirs, ours, verdict)
    if not verdict.context or ours == BEFORE_TOOL:
        return answer
    body = json.loads(answer.stdout)
    del body["hookSpecificOutput"]
    why = f"{host.title} takes no context at {theirs}; under the name of its own spelling it does"
    return as_json(body)._replace(losses=(Loss(host.name, "context", why),))


def cancelling(_host: Host, _theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """Cline's: a refusal cancels the whole task, and exit codes mean nothing."""
    body: dict[str, Any] = {}
    if verdict.permission is Permission.DENY:
        body |= {"cancel": True, "errorMessage": _for_both(verdict)}
    if verdict.edited_input is not None:
        body["overrideInput"] = verdict.edited_input
    if verdict.context:
        body["contextModification"] = verdict.context
    return as_json(body)


def bridged(_host: Host, _theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """For hosts without command hooks: what our plugin inside them understands."""
    body: dict[str, Any] = {}
    if verdict.permission is Permission.DENY:
        body |= {"deny": True, "reason": reason_of(verdict)}
    if verdict.edited_input is not None:
        body["args"] = verdict.edited_input
    if verdict.context:
        body["context"] = verdict.context
    return as_json(body)


def by_exit_code(host: Host, _theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """Exit 2 and a reason on stderr: what nearly every host takes for a refusal."""
    if verdict.permission is Permission.DENY:
        return Answer("", BLOCKED_EXIT, _for_both(verdict))
    return Answer(host.silence)


def _refuses(verdict: Verdict) -> bool:
    return verdict.permission is Permission.DENY or bool(verdict.follow_up)


def _decided(verdict: Verdict) -> dict[str, Any]:
    if _refuses(verdict):
        return {"decision": "deny", "reason": verdict.follow_up or reason_of(verdict)}
    return {"decision": "allow"} if verdict.permission is Permission.ALLOW else {}


def _to_person(verdict: Verdict, said: str) -> dict[str, Any]:
    """What the person reads, unless the model reads the same."""
    return {"systemMessage": verdict.user_message} if verdict.user_message not in {"", said} else {}


def _for_both(verdict: Verdict) -> str:
    """One text for the person and for the model."""
    texts = dict.fromkeys(text for text in (verdict.user_message, verdict.agent_message) if text.strip())
    return "\n\n".join(texts) or reason_of(verdict)
