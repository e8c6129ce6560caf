"""Write replies in the form that each agent expects. The verdict has been reduced to what the agent supports.

Replies are ASCII: a lone surrogate has no UTF-8 encoding, and a reply that cannot be written is a lost refusal.
"""

import json
from typing import Any

from trotline.agents.agent import Agent, AgentReply, get_reason
from trotline.agents.agent_json import dump_json
from trotline.domain.outcomes import Loss
from trotline.domain.verdicts import Permission, Verdict

BEFORE_TOOL = "preToolUse"
BLOCKED_EXIT = 2


def build_json_reply(body: dict[str, Any]) -> AgentReply:
    """Return a reply with exit code 0 and a JSON body."""
    return AgentReply(dump_json(body))


def write_nested(agent: Agent, theirs: str, ours: str, verdict: Verdict) -> AgentReply:
    """Write Claude Code's form: `hookSpecificOutput` holds what is specific to an event."""
    body: dict[str, Any] = {}
    specific: dict[str, Any] = {}
    reason = ""
    if ours == BEFORE_TOOL and verdict.permission:
        specific["permissionDecision"] = verdict.permission.word
        if verdict.permission is not Permission.ALLOW or verdict.agent_message or verdict.user_message:
            reason = specific["permissionDecisionReason"] = get_reason(verdict)
    elif _is_refusal(verdict):
        reason = verdict.follow_up or get_reason(verdict)
        body |= {"decision": "block", "reason": reason}
    if verdict.edited_input is not None:
        if agent.edit_implies_allow:
            specific.setdefault("permissionDecision", "allow")
        specific["updatedInput"] = verdict.edited_input
    if verdict.context:
        specific["additionalContext"] = verdict.context
    if specific:
        body["hookSpecificOutput"] = {"hookEventName": theirs, **specific}
    return build_json_reply(body | _build_person_message(verdict, reason))


def write_flat(_agent: Agent, theirs: str, _ours: str, verdict: Verdict) -> AgentReply:
    """Write Gemini CLI's form: the decision is at the top level, changes are nested."""
    body = _build_decision(verdict)
    specific: dict[str, Any] = {}
    if verdict.edited_input is not None:
        specific["tool_input"] = verdict.edited_input
    if verdict.context:
        specific["additionalContext"] = verdict.context
    if specific:
        body["hookSpecificOutput"] = {"hookEventName": theirs, **specific}
    return build_json_reply(body | _build_person_message(verdict, body.get("reason", "")))


def write_top_level(_agent: Agent, _theirs: str, _ours: str, verdict: Verdict) -> AgentReply:
    """Write OpenHands' form: everything is at the top level, and a refusal is `deny`, never `block`."""
    body = _build_decision(verdict)
    if verdict.context:
        body["additionalContext"] = verdict.context
    return build_json_reply(body)


def write_copilot(agent: Agent, theirs: str, ours: str, verdict: Verdict) -> AgentReply:
    """Write GitHub Copilot's form: `permissionDecision` before a tool, `decision` elsewhere.

    For an event in Claude Code's spelling it is Claude Code's form, with context only before a tool.
    """
    if theirs[:1].isupper():
        return _write_claude_spelling(agent, theirs, ours, verdict)
    body: dict[str, Any] = {}
    if ours == BEFORE_TOOL and verdict.permission:
        body["permissionDecision"] = verdict.permission.word
        if verdict.permission is not Permission.ALLOW:
            body["permissionDecisionReason"] = get_reason(verdict)
    elif _is_refusal(verdict):
        body |= {"decision": "block", "reason": verdict.follow_up or get_reason(verdict)}
    return _write_changes(body, verdict, edit="modifiedArgs", context="additionalContext")


def _write_claude_spelling(agent: Agent, theirs: str, ours: str, verdict: Verdict) -> AgentReply:
    answer = write_nested(agent, theirs, ours, verdict)
    if not verdict.context or ours == BEFORE_TOOL:
        return answer
    body = json.loads(answer.stdout)
    del body["hookSpecificOutput"]
    why = f"{agent.title} takes no context at {theirs}; under the name of its own spelling it does"
    return build_json_reply(body)._replace(losses=(Loss(agent.name, "context", why),))


def write_cancelling(_agent: Agent, _theirs: str, _ours: str, verdict: Verdict) -> AgentReply:
    """Write Cline's form: a refusal cancels the whole task, and exit codes are ignored."""
    body: dict[str, Any] = {}
    if verdict.permission is Permission.DENY:
        body |= {"cancel": True, "errorMessage": _join_messages(verdict)}
    return _write_changes(body, verdict, edit="overrideInput", context="contextModification")


def write_bridged(_agent: Agent, _theirs: str, _ours: str, verdict: Verdict) -> AgentReply:
    """Write the form of Trotline's own plugin, for agents without command hooks."""
    body: dict[str, Any] = {}
    if verdict.permission is Permission.DENY:
        body |= {"deny": True, "reason": get_reason(verdict)}
    return _write_changes(body, verdict, edit="args", context="context")


def write_exit_code(agent: Agent, _theirs: str, _ours: str, verdict: Verdict) -> AgentReply:
    """Write exit code 2 with a reason on stderr, which nearly every agent takes for a refusal."""
    if verdict.permission is Permission.DENY:
        return AgentReply("", BLOCKED_EXIT, _join_messages(verdict))
    return AgentReply(agent.empty_reply)


def _write_changes(body: dict[str, Any], verdict: Verdict, *, edit: str, context: str) -> AgentReply:
    """Write the reply with the changed input and the context under these keys."""
    if verdict.edited_input is not None:
        body[edit] = verdict.edited_input
    if verdict.context:
        body[context] = verdict.context
    return build_json_reply(body)


def _is_refusal(verdict: Verdict) -> bool:
    return verdict.permission is Permission.DENY or bool(verdict.follow_up)


def _build_decision(verdict: Verdict) -> dict[str, Any]:
    if _is_refusal(verdict):
        return {"decision": "deny", "reason": verdict.follow_up or get_reason(verdict)}
    return {"decision": "allow"} if verdict.permission is Permission.ALLOW else {}


def _build_person_message(verdict: Verdict, reason: str) -> dict[str, Any]:
    """Return the message for the person, unless the model reads the same text."""
    return {"systemMessage": verdict.user_message} if verdict.user_message not in {"", reason} else {}


def _join_messages(verdict: Verdict) -> str:
    """Return one text for the person and the model."""
    texts = dict.fromkeys(text for text in (verdict.user_message, verdict.agent_message) if text.strip())
    return "\n\n".join(texts) or get_reason(verdict)
