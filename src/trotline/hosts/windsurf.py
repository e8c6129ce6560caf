"""Windsurf, now Devin Desktop: the event is the class of the tool, and exit 2 is all that a hook can say
(hosts.md 1, by its documentation)."""

from trotline.hosts.forms import by_exit_code
from trotline.hosts.host import Host, Power, Told
from trotline.hosts.wiring import Wiring

REFUSABLE = ("beforeShellExecution", "beforeReadFile", "beforeMCPExecution", "preToolUse", "beforeSubmitPrompt")

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

HOST = Host(
    name="windsurf",
    title="Windsurf",
    events=EVENTS,
    powers={event: frozenset({Power.DENY}) for event in REFUSABLE},
    form=by_exit_code,
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
    marks=("agent_action_name",),
    constants={"preToolUse": {"tool_name": "Write"}, "postToolUse": {"tool_name": "Read"}},
    why_not={Power.ASK: "Windsurf knows no ask"},
    person=Told.ALONG,
    silence="",
    unpaired=frozenset({"tool"}),  # before it is writing, after it is reading
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
