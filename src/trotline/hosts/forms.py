"""The ways in which hosts want to be answered. A form gets a settled verdict: all that is in it can be heard."""

import json
from typing import Any

from trotline.hosts.host import Answer, Host, reason_of
from trotline.verdicts import Permission, Verdict

BEFORE_TOOL = "preToolUse"
BLOCKED_EXIT = 2


def as_json(body: dict[str, Any]) -> Answer:
    return Answer(json.dumps(body, ensure_ascii=False))


def nested(_host: Host, theirs: str, ours: str, verdict: Verdict) -> Answer:
    """Claude Code's: what is specific to an event stands in `hookSpecificOutput`, which names the event."""
    body: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    refused = verdict.permission is Permission.DENY
    if ours == BEFORE_TOOL and verdict.permission:
        specific["permissionDecision"] = verdict.permission.word
        if verdict.permission is not Permission.ALLOW or verdict.agent_message or verdict.user_message:
            specific["permissionDecisionReason"] = reason_of(verdict)
    elif refused or verdict.follow_up:
        body |= {"decision": "block", "reason": verdict.follow_up or reason_of(verdict)}
    if verdict.edited_input is not None and not refused:
        specific |= {
            "permissionDecision": specific.get("permissionDecision", "allow"),
            "updatedInput": verdict.edited_input,
        }
    if verdict.context:
        specific["additionalContext"] = verdict.context
    if specific:
        body["hookSpecificOutput"] = {"hookEventName": theirs, **specific}
    if verdict.user_message and verdict.user_message != verdict.agent_message and not refused:
        body["systemMessage"] = verdict.user_message
    return as_json(body)


def flat(_host: Host, theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """Gemini CLI's: one decision at the top, whatever the event; what changes something is nested."""
    body: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    if verdict.permission is Permission.DENY or verdict.follow_up:
        body |= {"decision": "deny", "reason": verdict.follow_up or reason_of(verdict)}
    elif verdict.permission is Permission.ALLOW:
        body["decision"] = "allow"
    if verdict.edited_input is not None:
        specific["tool_input"] = verdict.edited_input
    if verdict.context:
        specific["additionalContext"] = verdict.context
    if specific:
        body["hookSpecificOutput"] = {"hookEventName": theirs, **specific}
    return as_json(body)


def top_level(_host: Host, _theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """OpenHands': everything at the top, `deny` and never `block`."""
    body: dict[str, Any] = {}
    if verdict.permission is Permission.DENY or verdict.follow_up:
        body |= {"decision": "deny", "reason": verdict.follow_up or reason_of(verdict)}
    elif verdict.permission is Permission.ALLOW:
        body["decision"] = "allow"
    if verdict.context:
        body["additionalContext"] = verdict.context
    return as_json(body)


def copilots(_host: Host, _theirs: str, ours: str, verdict: Verdict) -> Answer:
    """GitHub Copilot's: `permissionDecision` at the top before a tool, `decision` elsewhere."""
    body: dict[str, Any] = {}
    if ours == BEFORE_TOOL and verdict.permission:
        body["permissionDecision"] = verdict.permission.word
        if verdict.permission is not Permission.ALLOW:
            body["permissionDecisionReason"] = reason_of(verdict)
    elif verdict.permission is Permission.DENY or verdict.follow_up:
        body |= {"decision": "block", "reason": verdict.follow_up or reason_of(verdict)}
    if verdict.edited_input is not None:
        body["modifiedArgs"] = verdict.edited_input
    if verdict.context:
        body["additionalContext"] = verdict.context
    return as_json(body)


def cancelling(_host: Host, _theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """Cline's: a refusal cancels the whole task, and exit codes mean nothing."""
    body: dict[str, Any] = {}
    if verdict.permission is Permission.DENY:
        body |= {"cancel": True, "errorMessage": reason_of(verdict)}
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


def by_exit_code(_host: Host, _theirs: str, _ours: str, verdict: Verdict) -> Answer:
    """Exit 2 and a reason on stderr: what nearly every host takes for a refusal."""
    if verdict.permission is Permission.DENY:
        return Answer("", BLOCKED_EXIT, reason_of(verdict))
    return Answer("")
