"""Cursor as a host that spawns us: what it hears in which version, and the answer it wants.

The reason goes into both messages, because which of them the model reads depends on the version; an allow is said out
loud, because some versions block on silence (cursor-protocol.md 9 and C3, C5).
"""

import json
from typing import Any

from trotline.events import EVENTS
from trotline.hosts.cursor_editions import NEWEST, edition
from trotline.hosts.cursor_replies import write_reply
from trotline.hosts.host import Answer, Host, Power, Quirk
from trotline.verdicts import Permission, Verdict

POWER_OF_KEY = {
    "updated_input": Power.EDIT,
    "additional_context": Power.CONTEXT,
    "updated_mcp_tool_output": Power.REPLACE,
    "env": Power.ENV,
    "followup_message": Power.FOLLOW_UP,
    "pluginPaths": Power.PLUGINS,
}


def _powers() -> dict[str, frozenset[Power]]:
    """What the newest documents say that Cursor hears."""
    contract = edition(NEWEST)
    heard = {
        name: {POWER_OF_KEY[key] for key in keys if key in POWER_OF_KEY} for name, keys in contract.reply_keys.items()
    }
    for name, cls in EVENTS.items():
        gate = heard.setdefault(name, set())
        if cls.contract.refusable and name != "sessionStart":
            gate |= {Power.DENY, Power.ALLOW}
        if cls.contract.ask.name == "ASKED":
            gate.add(Power.ASK)
    return {name: frozenset(powers) for name, powers in heard.items()}


ASK_IS_BROKEN = (
    "`ask` is a deny in 2.x, an allow in 3.x, blocks unasked in 3.9.16, runs unasked in Auto-review of 3.21.16"
)

QUIRKS = (
    Quirk(
        "beforeShellExecution", Power.ASK, False, ASK_IS_BROKEN, "seeds/004; ROS; LAB", since="2.4.21", date="2026-10"
    ),
    Quirk("beforeMCPExecution", Power.ASK, False, ASK_IS_BROKEN, "seeds/004", since="2.4.21", date="2026-10"),
    Quirk("beforeShellExecution", Power.ASK, False, ASK_IS_BROKEN, "LAB", since="2026.01.01", date="2026-10"),
    Quirk("beforeMCPExecution", Power.ASK, False, ASK_IS_BROKEN, "LAB", since="2026.01.01", date="2026-10"),
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
    Quirk("preToolUse", Power.EDIT, False, "there was no preToolUse yet", "D1", until="2.4", date="2025-11"),
)


def spoken(_host: Host, _theirs: str, ours: str, verdict: Verdict) -> Answer:
    """JSON with exit 0, whatever was decided."""
    if ours not in EVENTS:
        return Answer()
    reason = verdict.agent_message or verdict.user_message
    if verdict.permission is Permission.DENY and reason:
        verdict = _both(verdict)
    body: dict[str, Any] = write_reply(EVENTS[ours].contract, verdict, edition(NEWEST)).body
    if verdict.context and ours == "beforeSubmitPrompt":
        body["additional_context"] = verdict.context
    if verdict.permission is Permission.SILENT:
        body = {**SILENCE.get(ours, {}), **body}
    return Answer(json.dumps(body, ensure_ascii=False))


def _both(verdict: Verdict) -> Verdict:
    import msgspec  # noqa: PLC0415 - for one copy

    user = verdict.user_message or verdict.agent_message
    agent = verdict.agent_message or verdict.user_message
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
    loop_limit=5,
    quirks=QUIRKS,
    both=True,
)
