"""What the hosts share that took Claude Code's hooks for a model: fields, tools and powers, as tables to start from."""

from trotline.hosts.host import Power, Tool

FIELDS: dict[str, dict[str, str]] = {
    "*": {
        "conversation_id": "session_id",
        "generation_id": "turn_id|prompt_id",
        "transcript_path": "transcript_path",
        "cwd": "cwd",
        "model": "model",
        "tool_name": "tool_name",
        "tool_input": "tool_input",
        "tool_use_id": "tool_use_id",
    },
    "beforeSubmitPrompt": {"prompt": "prompt"},
    "stop": {"last_assistant_message": "last_assistant_message"},
    "postToolUse": {"tool_output": "tool_response", "duration": "duration_ms"},
    "postToolUseFailure": {"error_message": "error", "is_interrupt": "is_interrupt", "duration": "duration_ms"},
    "sessionEnd": {"reason": "reason"},
    "preCompact": {"trigger": "trigger"},
    "subagentStart": {"subagent_id": "agent_id", "subagent_type": "agent_type"},
    "subagentStop": {"subagent_id": "agent_id", "subagent_type": "agent_type", "summary": "last_assistant_message"},
}

PROMPTED: dict[str, dict[str, str]] = {**FIELDS, "*": {**FIELDS["*"], "generation_id": "prompt_id|turn_id"}}
"""Of those who name the turn by its prompt."""

DEFAULTS: dict[str, dict[str, str]] = {"subagentStart": {"subagent_type": ""}, "subagentStop": {"subagent_type": ""}}
"""Older ones do not say which kind of sub-agent it was."""

READ = {"file_path": "file_path"}
WRITE = {"file_path": "file_path", "content": "content"}
EDIT = {"file_path": "file_path", "old_string": "old_string", "new_string": "new_string"}

TOOLS: tuple[Tool, ...] = (
    Tool("Bash", "Shell"),
    Tool("Read", "Read", READ),
    Tool("Write", "Write", WRITE),
    Tool("Edit", "Write", EDIT),
    Tool("MultiEdit", "Write", {"file_path": "file_path", "edits": "edits"}),
    Tool("NotebookEdit", "Write", {"file_path": "notebook_path", "content": "new_source"}),
    Tool("Grep", "Grep"),
    Tool("LS", "LS", {"file_path": "path"}),
    Tool("Agent", "Task"),  # since Claude Code 2.1.63
    Tool("Task", "Task"),
)

POWERS: dict[str, frozenset[Power]] = {
    "sessionStart": frozenset({Power.CONTEXT}),
    "beforeSubmitPrompt": frozenset({Power.DENY, Power.CONTEXT}),
    "preToolUse": frozenset({Power.DENY, Power.ASK, Power.ALLOW, Power.EDIT, Power.CONTEXT}),
    "postToolUse": frozenset({Power.CONTEXT}),
    "stop": frozenset({Power.FOLLOW_UP}),
    "subagentStop": frozenset({Power.FOLLOW_UP}),
}


def powers(**changed: set[Power]) -> dict[str, frozenset[Power]]:
    """The same, with these events heard otherwise."""
    return {**POWERS, **{event: frozenset(heard) for event, heard in changed.items()}}
