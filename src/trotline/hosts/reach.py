"""How far hooks reach under a host: what can be prevented there, what is only detected, and what nobody sees."""

from enum import StrEnum

from trotline.hosts.host import Host, Power, Quirk


class Reach(StrEnum):
    PREVENTED = "prevented"
    DETECTED = "detected"
    INVISIBLE = "invisible"


ACTIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "shell": (("beforeShellExecution", "preToolUse"), ("afterShellExecution", "postToolUse")),
    "read": (("beforeReadFile", "preToolUse"), ("postToolUse",)),
    "write": (("preToolUse",), ("afterFileEdit", "postToolUse")),
    "MCP": (("beforeMCPExecution", "preToolUse"), ("afterMCPExecution", "postToolUse")),
    "prompt": (("beforeSubmitPrompt",), ()),
    "sub-agent": (("subagentStart", "preToolUse"), ("subagentStop",)),
    "Tab read": (("beforeTabFileRead",), ()),
    "Tab edit": ((), ("afterTabFileEdit",)),
    "stop": (("stop",), ()),
}
"""What an agent does -> the events before it, and those after it."""


def reach(host: Host, action: str) -> Reach:
    before, after = ACTIONS[action]
    raised = set(host.events.values())
    says_no = {Power.DENY, Power.FOLLOW_UP}
    if any(event in raised and host.powers.get(event, frozenset()) & says_no for event in before):
        return Reach.PREVENTED
    return Reach.DETECTED if raised & {*before, *after} else Reach.INVISIBLE


def changes(host: Host, old: str, new: str) -> list[tuple[str, Power, bool, str]]:
    """What one version hears and the other does not: event, power, whether it is heard now, and why."""
    before, now = host.at(old), host.at(new)
    found = []
    for event in sorted({*before.powers, *now.powers}):
        differing = before.powers.get(event, frozenset()) ^ now.powers.get(event, frozenset())
        found += [(event, power, now.hears(event, power), _why(host, event, power)) for power in sorted(differing)]
    return found


def _why(host: Host, event: str, power: Power) -> str:
    rows: list[Quirk] = [quirk for quirk in host.quirks if (quirk.event, quirk.power) == (event, power)]
    return f"{rows[-1].what} ({rows[-1].source})" if rows else ""
