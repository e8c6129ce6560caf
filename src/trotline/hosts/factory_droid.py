"""Factory's Droid: Claude Code's shape, other tools. Of two answers the first in its file wins, and exit 3 ends the
turn (hosts.md 1 and 4, measured on 0.225.2)."""

from trotline.hosts.claude_shape import FIELDS, powers
from trotline.hosts.forms import nested
from trotline.hosts.host import Host, Power, Tool

EVENTS = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "PreCompact": "preCompact",
    "SubagentStop": "subagentStop",
    "Stop": "stop",
}

HOST = Host(
    name="factory-droid",
    title="Factory Droid",
    events=EVENTS,
    powers=powers(preToolUse={Power.DENY, Power.EDIT}),
    form=nested,
    fields=FIELDS,
    tools=(
        Tool("Execute", "Shell"),
        Tool("Create", "Write", {"content": "content"}),
        Tool("Edit", "Write", {"old_string": "old_str", "new_string": "new_str"}),
        Tool("Read", "Read"),
    ),
    mcp="{server}___{tool}",
    tells=("FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"),
    why_not={
        Power.ASK: "Droid runs a command that it is told to ask about",
        Power.ALLOW: "Droid lets an earlier allow beat a later refusal",
        Power.CONTEXT: "Droid does not deliver context before a tool",
    },
)
