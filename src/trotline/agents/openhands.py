"""OpenHands. Replies are flat, and a refusal is `deny`, never `block`. MCP tools are named without their server
(hosts.md 1 and 4, measured on 1.58.0)."""

from trotline.agents.agent import Agent, Capability, PersonChannel, Tool, Wiring
from trotline.agents.claude_shape import select_events
from trotline.agents.reply_forms import write_top_level

EVENTS = select_events("SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse Stop")

AGENT = Agent(
    name="openhands",
    title="OpenHands",
    events=EVENTS,
    capabilities={
        "sessionStart": frozenset({Capability.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Capability.DENY, Capability.CONTEXT}),
        "preToolUse": frozenset({Capability.DENY, Capability.ALLOW}),
        "stop": frozenset({Capability.FOLLOW_UP}),
    },
    reply_form=write_top_level,
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
        Tool("file_editor", "Write", {"file_path": "path"}),  # insert, undo_edit and commands of later versions
        Tool("*", "MCP:*", {}, ("kind", "MCPToolAction"), inside="data"),
    ),
    text_keys=("content", "text"),
    event_key="event_type",
    variables=("OPENHANDS_EVENT_TYPE",),
    payload_marks=("event_type",),
    unsupported_reasons={Capability.ASK: "OpenHands knows no ask, and would go on"},
    person_channel=PersonChannel.NEVER,
    control=(".openhands/hooks/*",),
    instructions=(".openhands/microagents/*", ".openhands/skills/*"),
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
