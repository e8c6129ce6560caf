"""What the hosts share that took Claude Code's hooks for a model: fields, tools and powers, as tables to start from."""

from trotline.hosts.host import Power, Tool

FIELDS: dict[str, dict[str, str]] = {
    "*": {
        "conversation_id": "session_id",
        "generation_id": "turn_id",
        "transcript_path": "transcript_path",
        "cwd": "cwd",
        "model": "model",
        "tool_name": "tool_name",
        "tool_input": "tool_input",
        "tool_use_id": "tool_use_id",
    },
    "beforeSubmitPrompt": {"prompt": "prompt"},
    "postToolUse": {"tool_output": "tool_response", "duration": "duration_ms"},
    "postToolUseFailure": {"error_message": "error", "is_interrupt": "is_interrupt", "duration": "duration_ms"},
    "sessionEnd": {"reason": "reason"},
    "preCompact": {"trigger": "trigger"},
    "subagentStart": {"subagent_id": "agent_id", "subagent_type": "agent_type"},
    "subagentStop": {"subagent_id": "agent_id", "subagent_type": "agent_type", "summary": "last_assistant_message"},
}

TOOLS: tuple[Tool, ...] = (
    Tool("Bash", "Shell"),
    Tool("Read", "Read"),
    Tool("Write", "Write", {"content": "content"}),
    Tool("Edit", "Write", {"old_string": "old_string", "new_string": "new_string"}),
    Tool("Grep", "Grep"),
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
