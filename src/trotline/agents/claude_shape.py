"""Events, fields, tools and capabilities of agents that copied Claude Code's hooks."""

from trotline.agents.agent import Capability, Tool

EVENTS = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "PostToolUseFailure": "postToolUseFailure",
    "PreCompact": "preCompact",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "Stop": "stop",
}


def select_events(names: str) -> dict[str, str]:
    """Return these events of EVENTS; `names` are separated by spaces."""
    return {name: EVENTS[name] for name in names.split()}


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

FIELDS_BY_PROMPT: dict[str, dict[str, str]] = {**FIELDS, "*": {**FIELDS["*"], "generation_id": "prompt_id|turn_id"}}
"""Fields of agents that identify a turn by its prompt."""

DEFAULTS: dict[str, dict[str, str]] = {"subagentStart": {"subagent_type": ""}, "subagentStop": {"subagent_type": ""}}
"""Older versions do not send the kind of sub-agent."""

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

CAPABILITIES: dict[str, frozenset[Capability]] = {
    "sessionStart": frozenset({Capability.CONTEXT}),
    "beforeSubmitPrompt": frozenset({Capability.DENY, Capability.CONTEXT}),
    "preToolUse": frozenset({Capability.DENY, Capability.ASK, Capability.ALLOW, Capability.EDIT, Capability.CONTEXT}),
    "postToolUse": frozenset({Capability.CONTEXT}),
    "stop": frozenset({Capability.FOLLOW_UP}),
    "subagentStop": frozenset({Capability.FOLLOW_UP}),
}


def build_capabilities(**changed: set[Capability]) -> dict[str, frozenset[Capability]]:
    """Return CAPABILITIES with other capabilities for some events."""
    return {**CAPABILITIES, **{event: frozenset(capabilities) for event, capabilities in changed.items()}}
