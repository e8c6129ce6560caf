"""OpenCode. It has no command hooks: Trotline's plugin sends these payloads and obeys the replies
(hosts.md 1, measured on 1.18.33)."""

from trotline.agents.agent import Agent, Capability, CommandLine, PersonChannel, Tool, Wiring
from trotline.agents.reply_forms import write_bridged

EVENTS = {
    "tool.execute.before": "preToolUse",
    "tool.execute.after": "postToolUse",
    "chat.message": "beforeSubmitPrompt",
    "session.created": "sessionStart",
    "session.idle": "stop",
    "experimental.session.compacting": "preCompact",
    "experimental.text.complete": "afterAgentResponse",
}

AGENT = Agent(
    name="opencode",
    title="OpenCode",
    events=EVENTS,
    capabilities={
        "preToolUse": frozenset({Capability.DENY, Capability.EDIT}),
        "beforeSubmitPrompt": frozenset({Capability.DENY}),
    },
    reply_form=write_bridged,
    fields={
        "*": {
            "conversation_id": "input.sessionID|properties.sessionID",
            "cwd": "directory|properties.info.directory",
        },
        "preToolUse": {"tool_name": "input.tool", "tool_input": "output.args", "tool_use_id": "input.callID"},
        "postToolUse": {
            "tool_name": "input.tool",
            "tool_input": "input.args",
            "tool_use_id": "input.callID",
            "tool_output": "output.output|output",
        },
        "beforeSubmitPrompt": {"prompt": "prompt|output.parts", "model": "output.message.model.modelID"},
        "afterAgentResponse": {"text": "output.text"},
    },
    tools=(
        Tool("bash", "Shell"),
        Tool("write", "Write", {"file_path": "filePath", "content": "content"}),
        Tool("edit", "Write", {"file_path": "filePath", "old_string": "oldString", "new_string": "newString"}),
        Tool("apply_patch", "Write", {"patch": "patchText"}),
        Tool("read", "Read", {"file_path": "filePath"}),
        Tool("grep", "Grep"),
        Tool("list", "LS", {"file_path": "path"}),
        Tool("task", "Task"),
        *(Tool(name, name) for name in ("plan_enter", "plan_exit")),  # no servers `plan`
    ),
    mcp="{server}_{tool}",
    text_keys=("content", "text"),
    event_key="hook|type",
    payload_marks=("hook input", "type properties"),
    unsupported_reasons={Capability.ASK: "OpenCode declares a way to ask and never calls it"},
    person_channel=PersonChannel.NEVER,
    control=(".opencode/", ".opencode/plugin*/*", "opencode.json", "opencode.jsonc", ".config/opencode/*"),
    instructions=(".opencode/agent*/*", ".opencode/command*/*"),
    command_line=CommandLine(
        names="opencode opencode-ai",
        unattended="+dangerously-skip-permissions",
        options_with_value="m model",
    ),
    wiring=Wiring(
        files={"user": ".config/opencode/plugin/trotline.js", "project": ".opencode/plugin/trotline.js"},
        events=tuple(EVENTS),
        owns_file=True,
        plugin=True,
        programs=("opencode",),
        directories=(".config/opencode",),
        conflict_hint="call yours something else; OpenCode loads every plugin in the directory",
        note="OpenCode loads plugins when it starts.",
    ),
)
