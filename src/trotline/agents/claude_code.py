"""Claude Code as an agent, and the maps by which Cursor loads Claude Code's hooks and translates both ways.

Cursor publishes the maps (cursor-protocol.md 7); the behaviour of the agent was measured (hosts.md 1 to 5).
"""

from typing import Any

from trotline.agents.agent import Agent, CommandLine, Wiring
from trotline.agents.claude_shape import CAPABILITIES, DEFAULTS, FIELDS_BY_PROMPT, TOOLS
from trotline.agents.reply_forms import write_nested
from trotline.domain.hooks import Vocabulary

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
"""Events of Claude Code that Cursor does not load from its files."""

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

_PLAIN_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-,| ")


def list_plain_names(matcher: str) -> tuple[str, ...]:
    """Return the names in a matcher without special characters, or () if it is a pattern."""
    if not matcher or not set(matcher) <= _PLAIN_CHARACTERS:
        return ()
    return tuple(name.strip() for name in matcher.replace(",", "|").split("|") if name.strip())


DECISIONS = {"block": "deny", "deny": "deny", "approve": "allow", "allow": "allow", "ask": "ask"}


def translate_reply(reply: dict[str, Any], event: str) -> dict[str, Any]:
    """Return a reply of Claude Code, flat or nested, with Cursor's keys.

    If a reply has both permission keys, both are kept, so that the stricter one counts.
    """
    nested = reply.get("hookSpecificOutput")
    words = {**reply, **nested} if isinstance(nested, dict) else dict(reply)
    words = {key: value for key, value in words.items() if value is not None and key not in WRAPPER_KEYS}
    if event in {"stop", "subagentStop"}:
        return _translate_stop(words)
    renamed = {
        RENAMED_REPLY_KEYS.get(key, key): value
        for key, value in words.items()
        if RENAMED_REPLY_KEYS.get(key, key) not in words
    }
    decision = {"decision": words["permissionDecision"]} if {"permission", "permissionDecision"} <= words.keys() else {}
    native = {key: value for key, value in words.items() if key not in RENAMED_REPLY_KEYS}
    return {**renamed, **native, **decision}


RENAMED_REPLY_KEYS = {
    "permissionDecision": "permission",
    "permissionDecisionReason": "user_message",
    "updatedInput": "updated_input",
    "additionalContext": "additional_context",
}
WRAPPER_KEYS = frozenset({"hookSpecificOutput", "hookEventName"})


def _translate_stop(words: dict[str, Any]) -> dict[str, Any]:
    """Return the follow-up of a stop: Claude Code calls it blocking the stop."""
    if DECISIONS.get(str(words.get("decision"))) != "deny" or "followup_message" in words:
        return words
    others = {key: value for key, value in words.items() if key not in {"decision", "reason"}}
    return {**others, "followup_message": words.get("reason") or "The stop hook asks to go on."}


AGENT = Agent(
    name="claude-code",
    title="Claude Code",
    events={**EVENT_MAP, "PostToolUseFailure": "postToolUseFailure", "SubagentStart": "subagentStart"},
    capabilities=CAPABILITIES,
    reply_form=write_nested,
    fields=FIELDS_BY_PROMPT,
    missing_fields=frozenset({"model"}),
    constants=DEFAULTS,
    tools=TOOLS,
    mcp="mcp__{server}__{tool}",
    server=("mcp_server.name", ""),
    text_keys=("stdout", "stderr", "text"),
    variables=("CLAUDECODE", "CLAUDE_CODE_SESSION_ID"),
    payload_marks=("prompt_id !timestamp", "transcript_path=/.claude/"),
    loop_limit=8,
    control=(
        ".claude/settings*.json",
        ".claude/hooks/*",
        ".claude.json",
        "claude_desktop_config.json",
        ".mcp.json",
        "/etc/claude-code/*",
    ),
    credentials=(".claude/.credentials.json",),
    instructions=(
        "claude.md",
        "claude.local.md",
        ".claude/commands/*",
        ".claude/agents/*",
        ".claude/skills/*",
        ".claude/rules/*",
        ".claude/output-styles/*",
    ),
    mcp_files={"user": {".claude.json": "mcpServers"}, "project": {".mcp.json": "mcpServers"}},
    other_events=dict.fromkeys(OTHER_EVENTS, ""),
    command_line=CommandLine(
        names="claude claude-code",
        unattended="+dangerously-skip-permissions|allow-dangerously-skip-permissions; "
        "+permission-mode=bypasspermissions",
        options_with_value="permission-mode model settings allowedTools add-dir append-system-prompt mcp-config",
        settings="mcp add|add-json|add-from-claude-desktop; config set|add; plugin install|enable",
    ),
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
