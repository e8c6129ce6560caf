"""Google's Gemini CLI. It has its own events and tools, and reads the output before the exit code
(hosts.md 1 and 4, measured on 0.61.0)."""

from trotline.agents.agent import Agent, Capability, CommandLine, Tool, Wiring
from trotline.agents.claude_shape import EDIT, FIELDS, READ, WRITE
from trotline.agents.reply_forms import write_flat

EVENTS = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "BeforeAgent": "beforeSubmitPrompt",
    "AfterAgent": "stop",
    "BeforeTool": "preToolUse",
    "AfterTool": "postToolUse",
    "PreCompress": "preCompact",
}

AGENT = Agent(
    name="gemini-cli",
    title="Gemini CLI",
    events=EVENTS,
    capabilities={
        "sessionStart": frozenset({Capability.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Capability.DENY, Capability.CONTEXT}),
        "preToolUse": frozenset({Capability.DENY, Capability.ALLOW, Capability.EDIT}),
        "postToolUse": frozenset({Capability.CONTEXT}),
        "stop": frozenset({Capability.FOLLOW_UP}),
    },
    reply_form=write_flat,
    fields={
        **FIELDS,
        "postToolUse": {"tool_output": "tool_response"},
        "stop": {"last_assistant_message": "prompt_response"},
    },
    missing_fields=frozenset({"generation_id", "model", "tool_use_id"}),
    tools=(
        Tool("run_shell_command", "Shell"),
        Tool("write_file", "Write", WRITE),
        Tool("replace", "Write", EDIT),
        Tool("read_file", "Read", READ),
        Tool("read_many_files", "Read", {"file_path": "include"}),
        Tool("grep_search", "Grep"),
        Tool("search_file_content", "Grep"),  # its older name
        Tool("list_directory", "LS", {"file_path": "dir_path"}),
    ),
    mcp="mcp_{server}_{tool}",
    server=("mcp_context.server_name", "mcp_context.tool_name"),
    text_keys=("llmContent", "text"),
    variables=("GEMINI_SESSION_ID",),
    payload_marks=("timestamp transcript_path !permission_mode !prompt_id", "transcript_path=/.gemini/"),
    unsupported_reasons={Capability.ASK: "Gemini CLI knows no ask, and would go on"},
    control=(".gemini/hooks/*", ".config/gemini/settings.json"),
    credentials=(".gemini/oauth_creds.json",),
    instructions=("gemini.md", ".gemini/commands/*", ".geminiignore"),
    mcp_files={"user": {".gemini/settings.json": "mcpServers"}, "project": {".gemini/settings.json": "mcpServers"}},
    other_events={"BeforeModel": "", "AfterModel": "afterAgentResponse"},
    command_line=CommandLine(
        names="gemini gemini-cli",
        unattended="+yolo|y; +approval-mode=yolo",
        options_with_value="approval-mode p prompt m model i prompt-interactive e extensions",
        settings="mcp add; extensions install",
    ),
    wiring=Wiring(
        files={
            "user": ".gemini/settings.json",
            "project": ".gemini/settings.json",
            "enterprise": "etc/gemini-cli/settings.json",
        },
        events=tuple(EVENTS),
        grouped=True,
        entry={"type": "command", "name": "trotline"},
        timeouts_per_second=1000,
        programs=("gemini",),
        directories=(".gemini",),
    ),
)
