"""Qwen Code: Claude Code's shape with Gemini's tools. An explicit allow cancels another hook's refusal, so it is never
said (hosts.md 1 and 4, measured on 0.24.4)."""

from trotline.hosts.claude_shape import DEFAULTS, EDIT, PROMPTED, READ, WRITE, powers
from trotline.hosts.forms import nested
from trotline.hosts.host import Host, Power, Tool
from trotline.hosts.wiring import Wiring

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
    fields=PROMPTED,
    unsent=frozenset({"model"}),
    constants=DEFAULTS,
    tools=(
        Tool("run_shell_command", "Shell"),
        Tool("write_file", "Write", WRITE),
        Tool("edit", "Write", EDIT),
        Tool("replace", "Write", EDIT),  # its older name
        Tool("read_file", "Read", READ),
        Tool("grep_search", "Grep"),
        Tool("list_directory", "LS", {"file_path": "path"}),
        Tool("agent", "Task"),
        Tool("task", "Task"),  # its older name
    ),
    mcp="mcp__{server}__{tool}",
    texts=("llmContent", "text"),
    tells=("QWEN_PROJECT_DIR",),
    marks=("timestamp permission_mode", "timestamp prompt_id", "transcript_path=/.qwen/"),
    why_not={
        Power.ALLOW: "Qwen Code lets an allow cancel another hook's refusal",
        Power.EDIT: "Qwen Code does not apply a changed input",
        Power.CONTEXT: "Qwen Code delivers context at the start, with a prompt and after a tool only",
    },
    loop_limit=8,
    wiring=Wiring(
        files={"user": ".qwen/settings.json", "project": ".qwen/settings.json"},
        events=tuple(EVENTS),
        grouped=True,
        entry={"type": "command", "name": "trotline"},
        programs=("qwen",),
        directories=(".qwen",),
    ),
)
