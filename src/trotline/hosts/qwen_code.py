"""Qwen Code: Claude Code's shape with Gemini's tools. An explicit allow cancels another hook's refusal, so it is never
said (hosts.md 1 and 4, measured on 0.24.4)."""

from trotline.hosts.claude_shape import FIELDS, powers
from trotline.hosts.forms import nested
from trotline.hosts.host import Host, Power, Tool

EVENTS = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "PostToolUseFailure": "postToolUseFailure",
    "PreCompact": "preCompact",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "Stop": "stop",
}

HOST = Host(
    name="qwen-code",
    title="Qwen Code",
    events=EVENTS,
    powers=powers(preToolUse={Power.DENY, Power.ASK}),
    form=nested,
    fields=FIELDS,
    tools=(
        Tool("run_shell_command", "Shell"),
        Tool("write_file", "Write", {"content": "content"}),
        Tool("edit", "Write", {"old_string": "old_string", "new_string": "new_string"}),
        Tool("read_file", "Read"),
    ),
    mcp="mcp__{server}__{tool}",
    tells=("QWEN_PROJECT_DIR",),
    why_not={
        Power.ALLOW: "Qwen Code lets an allow cancel another hook's refusal",
        Power.EDIT: "Qwen Code does not apply a changed input",
        Power.CONTEXT: "Qwen Code does not deliver context before a tool",
    },
    loop_limit=8,
)
