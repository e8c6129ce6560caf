"""Qwen Code. It uses Claude Code's form with Gemini's tools. An explicit allow cancels the refusal of another hook, so
Trotline never sends one (hosts.md 1 and 4, measured on 0.24.4)."""

from trotline.agents.agent import Agent, Capability, CommandLine, Tool, Wiring
from trotline.agents.claude_shape import DEFAULTS, EDIT, EVENTS, FIELDS_BY_PROMPT, READ, WRITE, build_capabilities
from trotline.agents.reply_forms import write_nested

AGENT = Agent(
    name="qwen-code",
    title="Qwen Code",
    events=EVENTS,
    capabilities=build_capabilities(preToolUse={Capability.DENY, Capability.ASK}),
    reply_form=write_nested,
    fields=FIELDS_BY_PROMPT,
    missing_fields=frozenset({"model"}),
    constants=DEFAULTS,
    tools=(
        Tool("run_shell_command", "Shell"),
        Tool("write_file", "Write", WRITE),
        Tool("edit", "Write", EDIT),
        Tool("replace", "Write", EDIT),  # its older name
        Tool("read_file", "Read", READ),
        Tool("grep_search", "Grep"),
        Tool("list_directory", "LS", {"file_path": "path"}),
        Tool("agent", "Task"),
        Tool("task", "Task"),  # its older name
    ),
    mcp="mcp__{server}__{tool}",
    text_keys=("llmContent", "text"),
    variables=("QWEN_PROJECT_DIR",),
    payload_marks=("timestamp permission_mode", "timestamp prompt_id", "transcript_path=/.qwen/"),
    unsupported_reasons={
        Capability.ALLOW: "Qwen Code lets an allow cancel another hook's refusal",
        Capability.EDIT: "Qwen Code does not apply a changed input",
        Capability.CONTEXT: "Qwen Code delivers context at the start, with a prompt and after a tool only",
    },
    loop_limit=8,
    instructions=("qwen.md",),
    mcp_files={"user": {".qwen/settings.json": "mcpServers"}, "project": {".qwen/settings.json": "mcpServers"}},
    command_line=CommandLine(
        names="qwen qwen-code",
        unattended="+yolo|y; +approval-mode=yolo",
        options_with_value="approval-mode p prompt m model i prompt-interactive e extensions",
        settings="mcp add; extensions install",
    ),
    wiring=Wiring(
        files={"user": ".qwen/settings.json", "project": ".qwen/settings.json"},
        events=tuple(EVENTS),
        grouped=True,
        entry={"type": "command", "name": "trotline"},
        programs=("qwen",),
        directories=(".qwen",),
    ),
)
