"""GitHub Copilot CLI: the spelling of an event's name chooses the payload. In its own spelling the payload does not
name the event, so the installed line does; in Claude Code's it does, and VS Code's is a third (hosts.md 1 and 4,
measured on 1.0.102)."""

from trotline.hosts.claude_shape import DEFAULTS, TOOLS
from trotline.hosts.forms import copilots
from trotline.hosts.host import Host, Power, Told, Tool
from trotline.hosts.wiring import Wiring

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

CLAUDES = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "PostToolUseFailure": "postToolUseFailure",
    "Stop": "stop",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "PreCompact": "preCompact",
}

HOST = Host(
    name="copilot",
    title="GitHub Copilot CLI",
    events={**EVENTS, **CLAUDES},
    powers={
        "sessionStart": frozenset({Power.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Power.DENY, Power.CONTEXT}),
        "preToolUse": frozenset({Power.DENY, Power.ASK, Power.ALLOW, Power.EDIT, Power.CONTEXT}),
        "postToolUse": frozenset({Power.CONTEXT}),
        "stop": frozenset({Power.FOLLOW_UP}),
        "subagentStop": frozenset({Power.FOLLOW_UP}),
    },
    form=copilots,
    unsent=frozenset({"tool_use_id"}),
    fields={
        "*": {
            "conversation_id": "sessionId|session_id",
            "cwd": "cwd",
            "tool_name": "toolName|tool_name",
            "tool_input": "toolArgs|tool_input",
            "tool_use_id": "toolUseId|tool_use_id",
            "transcript_path": "transcriptPath|transcript_path",
        },
        "beforeSubmitPrompt": {"prompt": "prompt"},
        "postToolUse": {
            "tool_output": "toolResult.textResultForLlm|tool_result.text_result_for_llm|tool_response",
        },
        "postToolUseFailure": {"error_message": "error"},
        "sessionEnd": {"reason": "reason"},
        "subagentStart": {"subagent_type": "agentName|agent_name|agent_type"},
        "subagentStop": {"subagent_type": "agentName|agent_name|agent_type"},
    },
    constants=DEFAULTS,
    tools=(
        Tool("bash", "Shell"),
        Tool("powershell", "Shell"),
        Tool("create", "Write", {"file_path": "path", "content": "file_text"}),
        Tool("edit", "Write", {"file_path": "path", "old_string": "old_str", "new_string": "new_str"}),
        Tool("view", "Read", {"file_path": "path"}),
        Tool("grep", "Grep"),
        Tool("task", "Task"),
        *TOOLS,
        Tool("Write", "Write", {"file_path": "path", "content": "file_text"}),
        Tool("Edit", "Write", {"file_path": "path", "old_string": "old_str", "new_string": "new_str"}),
        Tool("Read", "Read", {"file_path": "path"}),
    ),
    mcp="{server}-{tool}",
    texts=("text",),
    event_key="|hook_event_name|hookEventName",
    tells=("COPILOT_CLI",),
    marks=("sessionId", "hook_event_name timestamp !transcript_path", "transcript_path=/.copilot/"),
    person=Told.NEVER,
    loop_limit=8,
    wiring=Wiring(
        files={"user": ".copilot/hooks/trotline.json", "project": ".github/hooks/trotline.json"},
        events=tuple(EVENTS),
        version=1,
        entry={"type": "command"},
        command_key="bash",
        timeout_key="timeoutSec",
        programs=("copilot",),
        directories=(".copilot",),
        note="Copilot skips the hooks of a repository, without a word, unless its folder is trusted",
    ),
)
