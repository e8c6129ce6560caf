"""Cline: exit codes mean nothing, and a refusal ends the whole task (hosts.md 1 and 4, measured on 3.0.65)."""

from trotline.hosts.forms import cancelling
from trotline.hosts.host import Host, Power, Tool

HOST = Host(
    name="cline",
    title="Cline",
    events={
        "tool_call": "preToolUse",
        "tool_result": "postToolUse",
        "agent_start": "sessionStart",
        "agent_end": "stop",
        "session_shutdown": "sessionEnd",
        "user_prompt_submit": "beforeSubmitPrompt",
        "pre_compact": "preCompact",
        "PreToolUse": "preToolUse",
        "PostToolUse": "postToolUse",
        "TaskStart": "sessionStart",
        "TaskComplete": "stop",
        "SessionShutdown": "sessionEnd",
        "UserPromptSubmit": "beforeSubmitPrompt",
        "PreCompact": "preCompact",
    },
    powers={
        "preToolUse": frozenset({Power.DENY, Power.EDIT, Power.CONTEXT}),
        "postToolUse": frozenset({Power.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Power.DENY, Power.CONTEXT}),
    },
    form=cancelling,
    fields={
        "*": {"conversation_id": "taskId", "workspace_roots": "workspaceRoots"},
        "preToolUse": {"tool_name": "tool_call.name", "tool_input": "tool_call.input", "tool_use_id": "tool_call.id"},
        "postToolUse": {
            "tool_name": "tool_result.name",
            "tool_input": "tool_result.input",
            "tool_use_id": "tool_result.id",
            "tool_output": "tool_result.output",
            "duration": "tool_result.durationMs",
        },
        "beforeSubmitPrompt": {"prompt": "userPromptSubmit.prompt"},
        "stop": {"status": "turn.status"},
    },
    tools=(
        Tool("run_commands", "Shell", {"command": "commands"}),
        Tool("editor", "Write", {"file_path": "path", "content": "new_text"}),
        Tool("editor", "Write", {"file_path": "path", "old_string": "old_text", "new_string": "new_text"}),
        Tool("read_files", "Read", {"file_path": "files"}),
    ),
    event_key="hookName",
    marks=("clineVersion", "hookName"),
    why_not={Power.ASK: "Cline asks for a review that does nothing without a person"},
)
