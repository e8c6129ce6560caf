"""OpenAI's Codex CLI. It reads Claude Code's form strictly: after an unknown field, an `ask` or a refusal without a
reason the command runs (hosts.md 1 and 4, measured on 0.166.0)."""

from trotline.agents.agent import Agent, Capability, CommandLine, Tool, Wiring
from trotline.agents.claude_shape import DEFAULTS, FIELDS, TOOLS, build_capabilities, select_events
from trotline.agents.reply_forms import write_nested

EVENTS = select_events(
    "SessionStart SessionEnd UserPromptSubmit PreToolUse PostToolUse PreCompact SubagentStart SubagentStop Stop"
)

AGENT = Agent(
    name="codex",
    title="Codex CLI",
    events=EVENTS,
    capabilities=build_capabilities(preToolUse={Capability.DENY, Capability.EDIT, Capability.CONTEXT}),
    reply_form=write_nested,
    fields=FIELDS,
    constants=DEFAULTS,
    tools=(TOOLS[0], Tool("apply_patch", "Write", {"patch": "command"})),
    mcp="mcp__{server}__{tool}",
    text_keys=("content", "text"),
    payload_marks=("turn_id", "model permission_mode !prompt_id !timestamp", "transcript_path=/.codex/"),
    unsupported_reasons={
        Capability.ASK: "Codex CLI runs what it is told to ask about",
        Capability.ALLOW: "Codex CLI takes an allow only together with a changed input",
    },
    edit_implies_allow=True,
    unreported_actions=frozenset(
        {"tool"}
    ),  # a patch through the shell has no PostToolUse (hosts.md 1, measured on 0.166.0)
    control=(".codex/*", "/etc/codex/*"),
    credentials=(".codex/auth.json",),
    instructions=("agents.md", "agents.override.md"),
    other_events={"postCompact": ""},
    command_line=CommandLine(
        names="codex codex-exec",
        unattended="+yolo|dangerously-bypass-hook-trust|dangerously-bypass-"
        "approvals-and-sandbox; "  # in two parts: our own scanner takes the whole for an instruction
        "+sandbox|s=danger-full-access",
        options_with_value="sandbox s c config m model p profile a ask-for-approval C cd i image",
    ),
    wiring=Wiring(
        files={"user": ".codex/hooks.json", "project": ".codex/hooks.json"},
        events=tuple(EVENTS),
        grouped=True,
        entry={"type": "command"},
        programs=("codex",),
        directories=(".codex",),
        note="Codex skips hooks that were not reviewed, without a word: start it once and review them",
    ),
)
