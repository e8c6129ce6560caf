"""Factory's Droid: Claude Code's shape, other tools. Of two answers the first in its file wins, and exit 3 ends the
turn (hosts.md 1 and 4, measured on 0.225.2)."""

from trotline.hosts.claude_shape import DEFAULTS, FIELDS, READ, WRITE, powers
from trotline.hosts.forms import nested
from trotline.hosts.host import Host, Power, Tool
from trotline.hosts.wiring import Wiring

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
    fields={**FIELDS, "sessionEnd": {"reason": "reason", "duration_ms": "session_duration_ms"}},
    unsent=frozenset({"generation_id", "model", "tool_use_id", "duration"}),
    constants=DEFAULTS,
    tools=(
        Tool("Execute", "Shell"),
        Tool("Create", "Write", WRITE),
        Tool("Edit", "Write", {"file_path": "file_path", "old_string": "old_str", "new_string": "new_str"}),
        Tool("ApplyPatch", "Write"),
        Tool("Read", "Read", READ),
        Tool("Grep", "Grep"),
        Tool("LS", "LS"),
        Tool("Task", "Task"),
    ),
    mcp="{server}___{tool}",
    texts=("content", "text"),
    tells=("FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"),
    marks=("transcript_path=/.factory/",),
    why_not={
        Power.ASK: "Droid runs what it is told to ask about",
        Power.ALLOW: "Droid lets an earlier allow beat a later refusal",
        Power.CONTEXT: "Droid delivers context at the start, with a prompt and after a tool only",
    },
    untold=frozenset({"tool"}),  # a command that failed has no PostToolUse (hosts.md 1, measured on 0.225.2)
    wiring=Wiring(
        files={"user": ".factory/settings.json", "project": ".factory/settings.json"},
        events=tuple(EVENTS),
        grouped=True,
        entry={"type": "command"},
        programs=("droid",),
        directories=(".factory",),
    ),
)
