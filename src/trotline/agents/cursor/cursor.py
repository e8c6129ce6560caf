"""Cursor: its capabilities by version, and its replies.

A reason goes into both messages, because the version decides which of them the model reads. An allow is explicit,
because some versions block without one (cursor-protocol.md 9 and C3, C5).
"""

from typing import Any

import msgspec

from trotline.agents.agent import FIRST_DATED, Agent, AgentReply, Capability, CommandLine, VersionQuirk, Wiring
from trotline.agents.agent_json import dump_json
from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.agents.cursor.replies import write_reply
from trotline.domain.contracts import Ask, Contract
from trotline.domain.events import EVENTS
from trotline.domain.outcomes import Loss
from trotline.domain.verdicts import Permission, Verdict

FIRST_EVENTS = frozenset(
    "beforeSubmitPrompt beforeShellExecution beforeMCPExecution beforeReadFile afterFileEdit stop".split()
)
"""Events of 1.7 (cursor-protocol.md C16). Documentation dates the later ones."""

CAPABILITY_BY_KEY = {
    "updated_input": Capability.EDIT,
    "additional_context": Capability.CONTEXT,
    "updated_mcp_tool_output": Capability.REPLACE,
    "env": Capability.ENV,
    "followup_message": Capability.FOLLOW_UP,
    "pluginPaths": Capability.PLUGINS,
}


ASK_IS_BROKEN = (
    "`ask` is a deny in 2.x, an allow in 3.x, blocks unasked in 3.9.16, runs unasked in Auto-review of 3.21.16"
)

FIRST_DATED_VERSION = f"{FIRST_DATED}.01.01"

QUIRKS = (
    *(
        VersionQuirk(event, Capability.ASK, False, ASK_IS_BROKEN, source, since=since, date="2026-10")
        for event, since, source in (
            ("beforeShellExecution", "2.4.21", "seeds/004; ROS; LAB"),
            ("beforeMCPExecution", "2.4.21", "seeds/004"),
            ("beforeShellExecution", FIRST_DATED_VERSION, "LAB"),
            ("beforeMCPExecution", FIRST_DATED_VERSION, "LAB"),
        )
    ),
    VersionQuirk(
        "beforeSubmitPrompt",
        Capability.CONTEXT,
        True,
        "context on a prompt is delivered, although no document says so",
        "EXO 3.9.16, PT 3.20.17",
        since="3.9.16",
        date="2026-09",
    ),
    VersionQuirk(
        "beforeSubmitPrompt",
        Capability.CONTEXT,
        True,
        "the command line takes context on a prompt",
        "DJ",
        since="2026.07.01",
        date="2026-09",
    ),
)


def _list_capabilities() -> dict[str, frozenset[Capability]]:
    """Return the capabilities in the newest documentation; QUIRKS has those of single versions."""
    contract = get_edition(NEWEST_EDITION)
    capabilities = {
        name: {CAPABILITY_BY_KEY[key] for key in keys if key in CAPABILITY_BY_KEY}
        for name, keys in contract.reply_keys.items()
    }
    for name, cls in EVENTS.items():
        gate = capabilities.setdefault(name, set())
        if cls.contract.refusable:
            gate |= {Capability.DENY, Capability.ALLOW}
        if cls.contract.ask is Ask.ASKED:
            gate.add(Capability.ASK)
    seen = {(quirk.event, quirk.capability) for quirk in QUIRKS if quirk.works}
    return {
        name: frozenset(capability for capability in known if (name, capability) not in seen)
        for name, known in capabilities.items()
    }


def write_cursor_reply(agent: Agent, _theirs: str, ours: str, verdict: Verdict) -> AgentReply:
    """Write JSON with exit code 0 for every decision."""
    if ours not in EVENTS:
        return AgentReply()
    contract = EVENTS[ours].contract
    if verdict.permission is Permission.DENY:
        verdict = _fill_both_messages(verdict, contract)
    body, losses, _ = write_reply(contract, verdict, get_edition(NEWEST_EDITION))
    if verdict.context and ours == "beforeSubmitPrompt":
        body["additional_context"] = verdict.context
    if verdict.permission is Permission.NONE:
        body = {**NO_OPINION_REPLIES.get(ours, {}), **body}
    return AgentReply(
        dump_json(body),
        losses=(*(losses if verdict.permission > Permission.ALLOW else ()), *_find_lost_message(agent, verdict)),
    )


def _find_lost_message(agent: Agent, verdict: Verdict) -> list[Loss]:
    """Return the loss of a message to the person that a follow-up cannot carry."""
    lost = verdict.follow_up and verdict.user_message not in {"", verdict.follow_up}
    return [Loss(agent.name, "user_message", f"a follow-up of {agent.title} has one text")] if lost else []


def _fill_both_messages(verdict: Verdict, contract: Contract) -> Verdict:
    """Return a refusal with both messages, joined if the event has one key only."""
    user = verdict.user_message or verdict.agent_message
    agent = verdict.agent_message or verdict.user_message
    if "agent_message" not in contract.answers:
        user, agent = "\n\n".join(dict.fromkeys(filter(None, (user, agent)))), ""
    return msgspec.structs.replace(verdict, user_message=user, agent_message=agent)


NO_OPINION_REPLIES: dict[str, dict[str, Any]] = {
    **{name: {"permission": "allow"} for name, cls in EVENTS.items() if "permission" in cls.contract.answers},
    "beforeSubmitPrompt": {"continue": True},
}
"""Replies for no opinion at events where Cursor does not accept an empty reply."""

AGENT = Agent(
    name="cursor",
    title="Cursor",
    events={name: name for name in EVENTS},
    capabilities=_list_capabilities(),
    reply_form=write_cursor_reply,
    fields={name: {field: field for field in cls.__struct_fields__ if field != "raw"} for name, cls in EVENTS.items()},
    variables=("CURSOR_VERSION",),
    payload_marks=("cursor_version",),
    unsupported_reasons={
        Capability.ASK: 'Cursor\'s `ask` is not reliable in this version (ask_fallback = "ask" believes in it)'
    },
    hidden_message_reason="Cursor shows the messages of refusals only",
    unreliable_denials={"sessionStart": "Cursor's editor starts a session whatever is said; its command line does not"},
    loop_limit=5,
    version_quirks=QUIRKS,
    raises_paired_events=True,
    control=(
        ".cursor/hooks/*",
        ".cursor/mcp.json",
        ".cursor/cli.json",
        ".cursor/cli-config.json",
        ".cursor/permissions.json",
        ".cursor/sandbox.json",
        "/etc/cursor/*",
        "application?support/cursor/hooks.json",
    ),
    instructions=(
        ".cursorrules",
        ".cursor/rules/*",
        ".cursor/commands/*",
        ".cursor/skills/*",
        ".cursor/agents/*",
        ".cursorignore",
        ".cursorindexingignore",
    ),
    mcp_files={"user": {".cursor/mcp.json": "mcpServers"}, "project": {".cursor/mcp.json": "mcpServers"}},
    command_line=CommandLine(
        names="cursor-agent",
        unattended="+force|f|yolo",
        options_with_value="model output-format resume",
        settings="mcp enable",
    ),
    wiring=Wiring(
        files={
            "user": ".cursor/hooks.json",
            "project": ".cursor/hooks.json",
            "enterprise": "etc/cursor/hooks.json",
        },
        events=tuple(EVENTS),
        since=(
            ("1.7", FIRST_EVENTS),
            ("2.0", get_edition("2025-11").events),
            ("2.4", get_edition("2026-02").events),
            ("3.0", get_edition("2026-09").events),
        ),
        version=1,
        matchers={"preToolUse": "^(?!Shell$|Read$|MCP)"},  # these have events of their own
        fail_closed={"failClosed": True},
        programs=("cursor", "cursor-agent"),
        directories=(".cursor",),
        graphical=True,
    ),
)
