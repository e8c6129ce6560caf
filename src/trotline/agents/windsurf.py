"""Windsurf, now Devin Desktop. It has one event per kind of tool, and exit code 2 is the only reply
(hosts.md 1, by its documentation)."""

from trotline.agents.agent import Agent, Capability, PersonChannel, Wiring
from trotline.agents.reply_forms import write_exit_code

REFUSABLE_EVENTS = ("beforeShellExecution", "beforeReadFile", "beforeMCPExecution", "preToolUse", "beforeSubmitPrompt")

EVENTS = {
    "pre_run_command": "beforeShellExecution",
    "post_run_command": "afterShellExecution",
    "pre_read_code": "beforeReadFile",
    "post_read_code": "postToolUse",
    "pre_write_code": "preToolUse",
    "post_write_code": "afterFileEdit",
    "pre_mcp_tool_use": "beforeMCPExecution",
    "post_mcp_tool_use": "afterMCPExecution",
    "pre_user_prompt": "beforeSubmitPrompt",
    "post_cascade_response": "afterAgentResponse",
}

AGENT = Agent(
    name="windsurf",
    title="Windsurf",
    events=EVENTS,
    capabilities={event: frozenset({Capability.DENY}) for event in REFUSABLE_EVENTS},
    reply_form=write_exit_code,
    fields={
        "*": {"conversation_id": "trajectory_id", "generation_id": "execution_id", "cwd": "tool_info.cwd"},
        "beforeShellExecution": {"command": "tool_info.command_line"},
        "afterShellExecution": {"command": "tool_info.command_line"},
        "beforeReadFile": {"file_path": "tool_info.file_path"},
        "afterFileEdit": {"file_path": "tool_info.file_path", "edits": "tool_info.edits"},
        "preToolUse": {"tool_input": "tool_info"},
        "postToolUse": {"tool_input": "tool_info"},
        "beforeMCPExecution": {
            "tool_name": "tool_info.mcp_tool_name",
            "tool_input": "tool_info.mcp_tool_arguments",
            "mcp_server_name": "tool_info.mcp_server_name",
        },
        "afterMCPExecution": {
            "tool_name": "tool_info.mcp_tool_name",
            "tool_input": "tool_info.mcp_tool_arguments",
            "mcp_server_name": "tool_info.mcp_server_name",
            "result_json": "tool_info.mcp_result",
        },
        "beforeSubmitPrompt": {"prompt": "tool_info.user_prompt"},
        "afterAgentResponse": {"text": "tool_info.response"},
    },
    event_key="agent_action_name",
    payload_marks=("agent_action_name",),
    constants={"preToolUse": {"tool_name": "Write"}, "postToolUse": {"tool_name": "Read"}},
    unsupported_reasons={Capability.ASK: "Windsurf knows no ask"},
    person_channel=PersonChannel.WITH_REFUSAL,
    empty_reply="",
    unpaired_actions=frozenset({"tool"}),  # before it is writing, after it is reading
    control=(
        ".windsurf/",
        ".codeium/windsurf/*",
    ),
    instructions=(".windsurfrules", ".windsurf/rules/*", ".windsurf/workflows/*", ".codeiumignore"),
    mcp_files={"user": {".codeium/windsurf/mcp_config.json": "mcpServers"}},
    wiring=Wiring(
        files={
            "user": ".codeium/windsurf/hooks.json",
            "project": ".windsurf/hooks.json",
            "enterprise": "etc/windsurf/hooks.json",
        },
        events=tuple(EVENTS),
        entry={"show_output": True},
        timeout_key="",
        programs=("windsurf",),
        directories=(".codeium/windsurf",),
        graphical=True,
    ),
)
