"""Report what hooks can prevent, only detect, or never see under an agent."""

from enum import StrEnum

from trotline.agents.agent import Agent, Capability, VersionQuirk


class Coverage(StrEnum):
    """The most that hooks can do about an action of an agent."""

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
"""Action of an agent -> the events before it, and the events after it."""


def get_coverage(agent: Agent, action: str) -> Coverage:
    """Return what hooks can do about an action."""
    before, after = ACTIONS[action]
    raised = set(agent.events.values())
    says_no = {Capability.DENY, Capability.FOLLOW_UP}
    if any(event in raised and agent.capabilities.get(event, frozenset()) & says_no for event in before):
        return Coverage.PREVENTED
    return Coverage.DETECTED if raised & {*before, *after} else Coverage.INVISIBLE


def list_capability_changes(agent: Agent, old: str, new: str) -> list[tuple[str, Capability, bool, str]]:
    """Return the differences of two versions: event, capability, whether the new one supports it, and why."""
    before, now = agent.at(old), agent.at(new)
    found = []
    for event in sorted({*before.capabilities, *now.capabilities}):
        differing = before.capabilities.get(event, frozenset()) ^ now.capabilities.get(event, frozenset())
        found += [
            (event, power, now.supports(event, power), _explain_change(agent, event, power))
            for power in sorted(differing)
        ]
    return found


def _explain_change(agent: Agent, event: str, power: Capability) -> str:
    rows: list[VersionQuirk] = [quirk for quirk in agent.version_quirks if (quirk.event, quirk.power) == (event, power)]
    return f"{rows[-1].what} ({rows[-1].source})" if rows else ""
