"""OpenCode: no command hooks. A plugin of ours inside it sends these payloads and does what is answered
(hosts.md 1, measured on 1.18.33)."""

from trotline.hosts.forms import bridged
from trotline.hosts.host import Host, Power, Tool

HOST = Host(
    name="opencode",
    title="OpenCode",
    events={
        "tool.execute.before": "preToolUse",
        "tool.execute.after": "postToolUse",
        "chat.message": "beforeSubmitPrompt",
        "session.created": "sessionStart",
        "session.idle": "stop",
        "experimental.session.compacting": "preCompact",
        "experimental.text.complete": "afterAgentResponse",
    },
    powers={
        "preToolUse": frozenset({Power.DENY, Power.EDIT}),
        "beforeSubmitPrompt": frozenset({Power.DENY}),
    },
    form=bridged,
    fields={
        "*": {"conversation_id": "input.sessionID", "cwd": "directory"},
        "preToolUse": {"tool_name": "input.tool", "tool_input": "output.args", "tool_use_id": "input.callID"},
        "postToolUse": {
            "tool_name": "input.tool",
            "tool_input": "input.args",
            "tool_use_id": "input.callID",
            "tool_output": "output.output",
        },
        "beforeSubmitPrompt": {"prompt": "prompt"},
        "afterAgentResponse": {"text": "output.text"},
    },
    tools=(
        Tool("bash", "Shell"),
        Tool("write", "Write", {"file_path": "filePath", "content": "content"}),
        Tool("edit", "Write", {"file_path": "filePath", "old_string": "oldString", "new_string": "newString"}),
        Tool("read", "Read", {"file_path": "filePath"}),
    ),
    mcp="{server}_{tool}",
    event_key="hook",
    marks=("hook",),
    why_not={Power.ASK: "OpenCode declares a way to ask and never calls it"},
)
