"""Google's Gemini CLI: events and tools of its own, a decision at the top, output looked at before the exit code
(hosts.md 1 and 4, measured on 0.61.0)."""

from trotline.hosts.claude_shape import EDIT, FIELDS, READ, WRITE
from trotline.hosts.forms import flat
from trotline.hosts.host import Host, Power, Tool
from trotline.hosts.wiring import Wiring

EVENTS = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "BeforeAgent": "beforeSubmitPrompt",
    "AfterAgent": "stop",
    "BeforeTool": "preToolUse",
    "AfterTool": "postToolUse",
    "PreCompress": "preCompact",
}

HOST = Host(
    name="gemini-cli",
    title="Gemini CLI",
    events=EVENTS,
    powers={
        "sessionStart": frozenset({Power.CONTEXT}),
        "beforeSubmitPrompt": frozenset({Power.DENY, Power.CONTEXT}),
        "preToolUse": frozenset({Power.DENY, Power.ALLOW, Power.EDIT}),
        "postToolUse": frozenset({Power.CONTEXT}),
        "stop": frozenset({Power.FOLLOW_UP}),
    },
    form=flat,
    fields={
        **FIELDS,
        "postToolUse": {"tool_output": "tool_response"},
        "stop": {"last_assistant_message": "prompt_response"},
    },
    unsent=frozenset({"generation_id", "model", "tool_use_id"}),
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
    texts=("llmContent", "text"),
    tells=("GEMINI_SESSION_ID",),
    marks=("timestamp transcript_path !permission_mode !prompt_id", "transcript_path=/.gemini/"),
    why_not={Power.ASK: "Gemini CLI knows no ask, and would go on"},
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
