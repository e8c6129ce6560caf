"""Claude Code as Cursor sees it: the names in its settings files and the shape of its replies, as data.

Cursor loads Claude Code's hooks and translates both ways; these are the maps it publishes (cursor-protocol.md 7).
"""

from typing import Any

from trotline.hooks import Vocabulary

EVENT_MAP = {
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "Stop": "stop",
    "SubagentStop": "subagentStop",
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "PreCompact": "preCompact",
}

OTHER_EVENTS = frozenset(
    {
        "ConfigChange",
        "CwdChanged",
        "Elicitation",
        "ElicitationResult",
        "FileChanged",
        "InstructionsLoaded",
        "MessageDisplay",
        "Notification",
        "PermissionDenied",
        "PermissionRequest",
        "PostCompact",
        "PostToolBatch",
        "PostToolUseFailure",
        "Setup",
        "StopFailure",
        "SubagentStart",
        "TaskCompleted",
        "TaskCreated",
        "TeammateIdle",
        "UserPromptExpansion",
        "WorktreeCreate",
        "WorktreeRemove",
    }
)
"""Events of Claude Code that Cursor does not take from its files."""

TOOL_MAP = {
    "Bash": "Shell",
    "Read": "Read",
    "Write": "Write",
    "Edit": "Write",
    "Grep": "Grep",
    "Task": "Task",
    "WebFetch": "WebFetch",
    "WebSearch": "WebSearch",
}

UNMAPPED_TOOLS = frozenset({"Glob", "MultiEdit", "NotebookEdit", "LS", "TodoWrite", "KillShell", "BashOutput"})

VOCABULARY = Vocabulary(
    tools={ours: tuple(theirs for theirs, mapped in TOOL_MAP.items() if mapped == ours) for ours in TOOL_MAP.values()},
    mcp_prefix="mcp__",
)

PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-,| ")


def plain_names(matcher: str) -> tuple[str, ...]:
    """The exact names that a matcher without any special character lists; empty when it is a pattern."""
    if not matcher or not set(matcher) <= PLAIN:
        return ()
    return tuple(name.strip() for name in matcher.replace(",", "|").split("|") if name.strip())


DECISIONS = {"block": "deny", "deny": "deny", "approve": "allow", "allow": "allow", "ask": "ask"}


def to_cursor(reply: dict[str, Any], event: str) -> dict[str, Any]:
    """A reply in Claude Code's words, flat or nested, in Cursor's; what is already Cursor's stays as it is."""
    nested = reply.get("hookSpecificOutput")
    words = {**reply, **nested} if isinstance(nested, dict) else dict(reply)
    if event in {"stop", "subagentStop"}:
        return _stop(words)
    renamed = {
        "permission": words.get("permissionDecision"),
        "user_message": words.get("permissionDecisionReason"),
        "updated_input": words.get("updatedInput"),
        "additional_context": words.get("additionalContext"),
    }
    kept = {key: value for key, value in words.items() if key not in CLAUDE_KEYS}
    return {**{key: value for key, value in renamed.items() if value is not None}, **kept}


def _stop(words: dict[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in words.items() if key not in CLAUDE_KEYS | {"decision", "reason"}}
    if DECISIONS.get(str(words.get("decision"))) == "deny" and "followup_message" not in kept:
        return {**kept, "followup_message": words.get("reason") or "The stop hook asks to go on."}
    return kept


CLAUDE_KEYS = frozenset(
    {
        "hookSpecificOutput",
        "hookEventName",
        "permissionDecision",
        "permissionDecisionReason",
        "updatedInput",
        "additionalContext",
        "suppressOutput",
        "systemMessage",
    }
)
