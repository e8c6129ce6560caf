"""GitHub Copilot CLI. The spelling of the event name selects the payload: its own spelling (the payload lacks the event
name, so the installed line has it), Claude Code's, or VS Code's (hosts.md 1 and 4, measured on 1.0.102)."""

from trotline.agents import claude_shape
from trotline.agents.agent import Agent, PersonChannel, Tool, Wiring
from trotline.agents.reply_forms import write_copilot

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

AGENT = Agent(
    name="copilot",
    title="GitHub Copilot CLI",
    events={**EVENTS, **claude_shape.EVENTS},
    capabilities=claude_shape.CAPABILITIES,
    reply_form=write_copilot,
    missing_fields=frozenset({"tool_use_id"}),
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
    constants=claude_shape.DEFAULTS,
    tools=(
        Tool("bash", "Shell"),
        Tool("powershell", "Shell"),
        Tool("create", "Write", {"file_path": "path", "content": "file_text"}),
        Tool("edit", "Write", {"file_path": "path", "old_string": "old_str", "new_string": "new_str"}),
        Tool("view", "Read", {"file_path": "path"}),
        Tool("grep", "Grep"),
        Tool("task", "Task"),
        *claude_shape.TOOLS,
        Tool("Write", "Write", {"file_path": "path", "content": "file_text"}),
        Tool("Edit", "Write", {"file_path": "path", "old_string": "old_str", "new_string": "new_str"}),
        Tool("Read", "Read", {"file_path": "path"}),
    ),
    mcp="{server}-{tool}",
    text_keys=("text",),
    event_key="|hook_event_name|hookEventName",
    variables=("COPILOT_CLI",),
    payload_marks=("sessionId", "hook_event_name timestamp !transcript_path", "transcript_path=/.copilot/"),
    person_channel=PersonChannel.NEVER,
    loop_limit=8,
    control=(".github/hooks/*", ".copilot/*"),
    instructions=(
        "copilot-instructions.md",
        ".github/instructions/*",
        ".github/prompts/*",
        ".github/chatmodes/*",
        ".github/agents/*",
    ),
    mcp_files={"project": {".vscode/mcp.json": "servers"}},
    other_events={"errorOccurred": "", "permissionRequest": "preToolUse", "notification": ""},
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
