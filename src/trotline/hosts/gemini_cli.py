"""Google's Gemini CLI: events and tools of its own, a decision at the top, output looked at before the exit code
(hosts.md 1 and 4, measured on 0.61.0)."""

from trotline.hosts.claude_shape import FIELDS
from trotline.hosts.forms import flat
from trotline.hosts.host import Host, Power, Tool

EVENTS = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "BeforeAgent": "beforeSubmitPrompt",
    "AfterAgent": "stop",
    "BeforeTool": "preToolUse",
    "AfterTool": "postToolUse",
    "PreCompress": "preCompact",
}

HOST = Host(
    name="gemini-cli",
    title="Gemini CLI",
    events=EVENTS,
    powers={
        "sessionStart": frozenset({Power.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Power.DENY, Power.CONTEXT}),
        "preToolUse": frozenset({Power.DENY, Power.ALLOW, Power.EDIT}),
        "postToolUse": frozenset({Power.CONTEXT}),
        "stop": frozenset({Power.FOLLOW_UP}),
    },
    form=flat,
    fields=FIELDS,
    tools=(
        Tool("run_shell_command", "Shell"),
        Tool("write_file", "Write", {"content": "content"}),
        Tool("replace", "Write", {"old_string": "old_string", "new_string": "new_string"}),
        Tool("read_file", "Read"),
        Tool("search_file_content", "Grep"),
        Tool("list_directory", "LS"),
    ),
    mcp="mcp_{server}_{tool}",
    tells=("GEMINI_SESSION_ID",),
    why_not={Power.ASK: "Gemini CLI knows no ask, and would run the tool"},
)
