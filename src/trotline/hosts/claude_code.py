"""Claude Code: as a host, and as Cursor sees it, which loads its hooks and translates both ways.

The maps are those that Cursor publishes (cursor-protocol.md 7); what the host does was measured (hosts.md 1 to 5).
"""

from typing import Any

from trotline.hooks import Vocabulary
from trotline.hosts.claude_shape import DEFAULTS, POWERS, PROMPTED, TOOLS
from trotline.hosts.forms import nested
from trotline.hosts.host import Host
from trotline.hosts.wiring import Wiring

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
    """A reply in Claude Code's words, flat or nested, in Cursor's; what is already Cursor's stays as it is.

    A permission said twice is passed on twice, so that the stricter one counts.
    """
    nested = reply.get("hookSpecificOutput")
    words = {**reply, **nested} if isinstance(nested, dict) else dict(reply)
    words = {key: value for key, value in words.items() if value is not None and key not in WRAPPING}
    if event in {"stop", "subagentStop"}:
        return _stop(words)
    renamed = {RENAMED.get(key, key): value for key, value in words.items() if RENAMED.get(key, key) not in words}
    again = {"decision": words["permissionDecision"]} if {"permission", "permissionDecision"} <= words.keys() else {}
    native = {key: value for key, value in words.items() if key not in RENAMED}
    return {**renamed, **native, **again}


RENAMED = {
    "permissionDecision": "permission",
    "permissionDecisionReason": "user_message",
    "updatedInput": "updated_input",
    "additionalContext": "additional_context",
}
WRAPPING = frozenset({"hookSpecificOutput", "hookEventName"})


def _stop(words: dict[str, Any]) -> dict[str, Any]:
    """To go on after a stop is called blocking it there."""
    if DECISIONS.get(str(words.get("decision"))) != "deny" or "followup_message" in words:
        return words
    kept = {key: value for key, value in words.items() if key not in {"decision", "reason"}}
    return {**kept, "followup_message": words.get("reason") or "The stop hook asks to go on."}


HOST = Host(
    name="claude-code",
    title="Claude Code",
    events={**EVENT_MAP, "PostToolUseFailure": "postToolUseFailure", "SubagentStart": "subagentStart"},
    powers=POWERS,
    form=nested,
    fields=PROMPTED,
    unsent=frozenset({"model"}),
    constants=DEFAULTS,
    tools=TOOLS,
    mcp="mcp__{server}__{tool}",
    server=("mcp_server.name", ""),
    texts=("stdout", "stderr", "text"),
    tells=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    marks=("prompt_id !timestamp", "transcript_path=/.claude/"),
    loop_limit=8,
    wiring=Wiring(
        files={"user": ".claude/settings.json", "project": ".claude/settings.json"},
        events=(*EVENT_MAP, "PostToolUseFailure", "SubagentStart"),
        grouped=True,
        entry={"type": "command"},
        fail_closed={"onFailure": "block"},
        programs=("claude",),
        directories=(".claude",),
    ),
)
