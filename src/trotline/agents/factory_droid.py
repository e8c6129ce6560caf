"""Factory's Droid. It uses Claude Code's form with other tools. The first of two replies wins, and exit code 3 ends the
turn (hosts.md 1 and 4, measured on 0.225.2)."""

from trotline.agents.agent import Agent, Capability, CommandLine, Tool, Wiring
from trotline.agents.claude_shape import DEFAULTS, FIELDS, READ, WRITE, build_capabilities, select_events
from trotline.agents.reply_forms import write_nested

EVENTS = select_events("SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PreCompact SubagentStop Stop")

AGENT = Agent(
    name="factory-droid",
    title="Factory Droid",
    events=EVENTS,
    capabilities=build_capabilities(preToolUse={Capability.DENY, Capability.EDIT}),
    reply_form=write_nested,
    fields={**FIELDS, "sessionEnd": {"reason": "reason", "duration_ms": "session_duration_ms"}},
    missing_fields=frozenset({"generation_id", "model", "tool_use_id", "duration"}),
    constants=DEFAULTS,
    tools=(
        Tool("Execute", "Shell"),
        Tool("Create", "Write", WRITE),
        Tool("Edit", "Write", {"file_path": "file_path", "old_string": "old_str", "new_string": "new_str"}),
        Tool("ApplyPatch", "Write"),
        Tool("Read", "Read", READ),
        Tool("Grep", "Grep"),
        Tool("LS", "LS"),
        Tool("Task", "Task"),
    ),
    mcp="{server}___{tool}",
    text_keys=("content", "text"),
    variables=("FACTORY_PROJECT_DIR", "DROID_PROJECT_DIR"),
    payload_marks=("transcript_path=/.factory/",),
    unsupported_reasons={
        Capability.ASK: "Droid runs what it is told to ask about",
        Capability.ALLOW: "Droid lets an earlier allow beat a later refusal",
        Capability.CONTEXT: "Droid delivers context at the start, with a prompt and after a tool only",
    },
    unreported_actions=frozenset(
        {"tool"}
    ),  # a command that failed has no PostToolUse (hosts.md 1, measured on 0.225.2)
    control=(".factory/settings*.json", ".factory/hooks/*", ".factory/mcp.json"),
    instructions=(".factory/commands/*", ".factory/droids/*"),
    mcp_files={"user": {".factory/mcp.json": "mcpServers"}, "project": {".factory/mcp.json": "mcpServers"}},
    command_line=CommandLine(
        names="droid",
        unattended="+skip-permissions-unsafe; +auto=high",
        options_with_value="auto m model f file",
    ),
    wiring=Wiring(
        files={"user": ".factory/settings.json", "project": ".factory/settings.json"},
        events=tuple(EVENTS),
        grouped=True,
        entry={"type": "command"},
        programs=("droid",),
        directories=(".factory",),
    ),
)
