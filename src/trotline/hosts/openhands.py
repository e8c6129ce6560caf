"""OpenHands: everything at the top of the answer, and `deny`, never `block`. Tools of MCP servers come without their
server (hosts.md 1 and 4, measured on 1.58.0)."""

from trotline.hosts.forms import top_level
from trotline.hosts.host import Host, Power, Told, Tool
from trotline.hosts.wiring import Wiring

EVENTS = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "Stop": "stop",
}

HOST = Host(
    name="openhands",
    title="OpenHands",
    events=EVENTS,
    powers={
        "sessionStart": frozenset({Power.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Power.DENY, Power.CONTEXT}),
        "preToolUse": frozenset({Power.DENY, Power.ALLOW}),
        "stop": frozenset({Power.FOLLOW_UP}),
    },
    form=top_level,
    fields={
        "*": {
            "conversation_id": "session_id",
            "cwd": "working_dir",
            "tool_name": "tool_name",
            "tool_input": "tool_input",
        },
        "beforeSubmitPrompt": {"prompt": "message"},
        "postToolUse": {"tool_output": "tool_response"},
    },
    tools=(
        Tool("terminal", "Shell"),
        Tool("file_editor", "Read", {"file_path": "path"}, ("command", "view")),
        Tool("file_editor", "Write", {"file_path": "path", "content": "file_text"}, ("command", "create")),
        Tool(
            "file_editor",
            "Write",
            {"file_path": "path", "old_string": "old_str", "new_string": "new_str"},
            ("command", "str_replace"),
        ),
        Tool("file_editor", "Write", {"file_path": "path"}),  # insert, undo_edit, and what it may learn yet
        Tool("*", "MCP:*", {}, ("kind", "MCPToolAction"), inside="data"),
    ),
    texts=("content", "text"),
    event_key="event_type",
    tells=("OPENHANDS_EVENT_TYPE",),
    marks=("event_type",),
    why_not={Power.ASK: "OpenHands knows no ask, and would go on"},
    person=Told.NEVER,
    wiring=Wiring(
        files={"user": ".openhands/hooks.json", "project": ".openhands/hooks.json"},
        events=tuple(EVENTS),
        grouped=True,
        matchers=dict.fromkeys(EVENTS, "*"),
        entry={"type": "command"},
        programs=("openhands",),
        directories=(".openhands",),
    ),
)
