"""GitHub Copilot CLI: the spelling of an event's name chooses the payload. In its own spelling the payload does not
name the event, so the installed line does (hosts.md 1 and 4, measured on 1.0.102)."""

from trotline.hosts.forms import copilots
from trotline.hosts.host import Host, Power, Tool

EVENTS = {
    "sessionStart": "sessionStart",
    "sessionEnd": "sessionEnd",
    "userPromptSubmitted": "beforeSubmitPrompt",
    "preToolUse": "preToolUse",
    "postToolUse": "postToolUse",
    "postToolUseFailure": "postToolUseFailure",
    "agentStop": "stop",
    "subagentStart": "subagentStart",
    "subagentStop": "subagentStop",
    "preCompact": "preCompact",
}

HOST = Host(
    name="copilot",
    title="GitHub Copilot CLI",
    events=EVENTS,
    powers={
        "sessionStart": frozenset({Power.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Power.DENY, Power.CONTEXT}),
        "preToolUse": frozenset({Power.DENY, Power.ASK, Power.ALLOW, Power.EDIT, Power.CONTEXT}),
        "postToolUse": frozenset({Power.CONTEXT}),
        "stop": frozenset({Power.FOLLOW_UP}),
        "subagentStop": frozenset({Power.FOLLOW_UP}),
    },
    form=copilots,
    fields={
        "*": {
            "conversation_id": "sessionId",
            "cwd": "cwd",
            "tool_name": "toolName",
            "tool_input": "toolArgs",
            "transcript_path": "transcriptPath",
        },
        "beforeSubmitPrompt": {"prompt": "prompt"},
        "postToolUse": {"tool_output": "toolResult.textResultForLlm"},
        "postToolUseFailure": {"error_message": "error"},
        "sessionEnd": {"reason": "reason"},
        "subagentStart": {"subagent_type": "agentName"},
        "subagentStop": {"subagent_type": "agentName"},
    },
    tools=(
        Tool("bash", "Shell"),
        Tool("create", "Write", {"file_path": "path", "content": "file_text"}),
        Tool("edit", "Write", {"file_path": "path", "old_string": "old_str", "new_string": "new_str"}),
        Tool("view", "Read", {"file_path": "path"}),
    ),
    mcp="{server}-{tool}",
    event_key="",
    tells=("COPILOT_CLI",),
    marks=("toolArgs", "initialPrompt"),
    loop_limit=8,
)
