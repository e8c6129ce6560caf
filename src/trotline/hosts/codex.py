"""OpenAI's Codex CLI: Claude Code's shape, read strictly. Any unknown field, `ask`, or a refusal without a reason, and
the command runs (hosts.md 1 and 4, measured on 0.166.0)."""

from trotline.hosts.claude_shape import DEFAULTS, FIELDS, TOOLS, powers
from trotline.hosts.forms import nested
from trotline.hosts.host import Host, Power, Tool
from trotline.hosts.wiring import Wiring

EVENTS = {
    "SessionStart": "sessionStart",
    "SessionEnd": "sessionEnd",
    "UserPromptSubmit": "beforeSubmitPrompt",
    "PreToolUse": "preToolUse",
    "PostToolUse": "postToolUse",
    "PreCompact": "preCompact",
    "SubagentStart": "subagentStart",
    "SubagentStop": "subagentStop",
    "Stop": "stop",
}

HOST = Host(
    name="codex",
    title="Codex CLI",
    events=EVENTS,
    powers=powers(preToolUse={Power.DENY, Power.EDIT, Power.CONTEXT}),
    form=nested,
    fields=FIELDS,
    constants=DEFAULTS,
    tools=(TOOLS[0], Tool("apply_patch", "Write", {"patch": "command"})),
    mcp="mcp__{server}__{tool}",
    texts=("content", "text"),
    marks=("turn_id", "model permission_mode !prompt_id !timestamp", "transcript_path=/.codex/"),
    why_not={
        Power.ASK: "Codex CLI runs what it is told to ask about",
        Power.ALLOW: "Codex CLI takes an allow only together with a changed input",
    },
    edit_is_allow=True,
    untold=frozenset({"tool"}),  # a patch through the shell has no PostToolUse (hosts.md 1, measured on 0.166.0)
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
