"""Cursor as a host that spawns us: what it hears in which version, and the answer it wants.

The reason goes into both messages, because which of them the model reads depends on the version; an allow is said out
loud, because some versions block on silence (cursor-protocol.md 9 and C3, C5).
"""

from typing import Any

import msgspec

from trotline.contracts import Ask, Contract
from trotline.events import EVENTS
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.hosts.cursor_replies import write_reply
from trotline.hosts.host import FIRST_DATED, Answer, Host, Power, Quirk
from trotline.hosts.spelling import spelled
from trotline.hosts.wiring import Wiring
from trotline.outcomes import Loss
from trotline.verdicts import Permission, Verdict

FIRST_EVENTS = frozenset(
    "beforeSubmitPrompt beforeShellExecution beforeMCPExecution beforeReadFile afterFileEdit stop".split()
)
"""Of 1.7 (cursor-protocol.md C16). Later ones are dated by their documents, and versions by those that they name."""

POWER_OF_KEY = {
    "updated_input": Power.EDIT,
    "additional_context": Power.CONTEXT,
    "updated_mcp_tool_output": Power.REPLACE,
    "env": Power.ENV,
    "followup_message": Power.FOLLOW_UP,
    "pluginPaths": Power.PLUGINS,
}


ASK_IS_BROKEN = (
    "`ask` is a deny in 2.x, an allow in 3.x, blocks unasked in 3.9.16, runs unasked in Auto-review of 3.21.16"
)

EVERY_DATED = f"{FIRST_DATED}.01.01"

QUIRKS = (
    Quirk(
        "beforeShellExecution", Power.ASK, False, ASK_IS_BROKEN, "seeds/004; ROS; LAB", since="2.4.21", date="2026-10"
    ),
    Quirk("beforeMCPExecution", Power.ASK, False, ASK_IS_BROKEN, "seeds/004", since="2.4.21", date="2026-10"),
    Quirk("beforeShellExecution", Power.ASK, False, ASK_IS_BROKEN, "LAB", since=EVERY_DATED, date="2026-10"),
    Quirk("beforeMCPExecution", Power.ASK, False, ASK_IS_BROKEN, "LAB", since=EVERY_DATED, date="2026-10"),
    Quirk(
        "beforeSubmitPrompt",
        Power.CONTEXT,
        True,
        "context on a prompt is delivered, although no document says so",
        "EXO 3.9.16, PT 3.20.17",
        since="3.9.16",
        date="2026-09",
    ),
    Quirk(
        "beforeSubmitPrompt",
        Power.CONTEXT,
        True,
        "the command line takes context on a prompt",
        "DJ",
        since="2026.07.01",
        date="2026-09",
    ),
)


def _powers() -> dict[str, frozenset[Power]]:
    """What the newest documents say that Cursor hears; what only some versions were seen to hear, the quirks say."""
    contract = edition(NEWEST)
    heard = {
        name: {POWER_OF_KEY[key] for key in keys if key in POWER_OF_KEY} for name, keys in contract.reply_keys.items()
    }
    for name, cls in EVENTS.items():
        gate = heard.setdefault(name, set())
        if cls.contract.refusable:
            gate |= {Power.DENY, Power.ALLOW}
        if cls.contract.ask is Ask.ASKED:
            gate.add(Power.ASK)
    seen = {(quirk.event, quirk.power) for quirk in QUIRKS if quirk.works}
    return {name: frozenset(one for one in powers if (name, one) not in seen) for name, powers in heard.items()}


def spoken(host: Host, _theirs: str, ours: str, verdict: Verdict) -> Answer:
    """JSON with exit 0, whatever was decided."""
    if ours not in EVENTS:
        return Answer()
    contract = EVENTS[ours].contract
    if verdict.permission is Permission.DENY:
        verdict = _both(verdict, contract)
    body, losses, _ = write_reply(contract, verdict, edition(NEWEST))
    if verdict.context and ours == "beforeSubmitPrompt":
        body["additional_context"] = verdict.context
    if verdict.permission is Permission.SILENT:
        body = {**SILENCE.get(ours, {}), **body}
    return Answer(
        spelled(body), losses=(*(losses if verdict.permission > Permission.ALLOW else ()), *_unread(host, verdict))
    )


def _unread(host: Host, verdict: Verdict) -> list[Loss]:
    """What the person cannot be told beside a follow-up."""
    lost = verdict.follow_up and verdict.user_message not in {"", verdict.follow_up}
    return [Loss(host.name, "user_message", f"a follow-up of {host.title} has one text")] if lost else []


def _both(verdict: Verdict, contract: Contract) -> Verdict:
    """Both messages of a refusal, and where there is one key only, both in it."""
    user = verdict.user_message or verdict.agent_message
    agent = verdict.agent_message or verdict.user_message
    if "agent_message" not in contract.answers:
        user, agent = "\n\n".join(dict.fromkeys(filter(None, (user, agent)))), ""
    return msgspec.structs.replace(verdict, user_message=user, agent_message=agent)


SILENCE: dict[str, dict[str, Any]] = {
    **{name: {"permission": "allow"} for name, cls in EVENTS.items() if "permission" in cls.contract.answers},
    "beforeSubmitPrompt": {"continue": True},
}
"""What no opinion is called where silence is not understood."""

HOST = Host(
    name="cursor",
    title="Cursor",
    events={name: name for name in EVENTS},
    powers=_powers(),
    form=spoken,
    fields={name: {field: field for field in cls.__struct_fields__ if field != "raw"} for name, cls in EVENTS.items()},
    tells=("CURSOR_VERSION",),
    marks=("cursor_version",),
    why_not={Power.ASK: 'Cursor\'s `ask` is not reliable in this version (ask_fallback = "ask" believes in it)'},
    unshown="Cursor shows the messages of refusals only",
    doubts={"sessionStart": "Cursor's editor starts a session whatever is said; its command line does not"},
    loop_limit=5,
    quirks=QUIRKS,
    both=True,
    wiring=Wiring(
        files={
            "user": ".cursor/hooks.json",
            "project": ".cursor/hooks.json",
            "enterprise": "etc/cursor/hooks.json",
        },
        events=tuple(EVENTS),
        since=(
            ("1.7", FIRST_EVENTS),
            ("2.0", edition("2025-11").events),
            ("2.4", edition("2026-02").events),
            ("3.0", edition("2026-09").events),
        ),
        version=1,
        matchers={"preToolUse": "^(?!Shell$|Read$|MCP)"},  # these have events of their own
        fail_closed={"failClosed": True},
        programs=("cursor", "cursor-agent"),
        directories=(".cursor",),
        graphical=True,
    ),
)
