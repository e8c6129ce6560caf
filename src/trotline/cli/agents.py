"""trotline agents: what hooks can do under each agent, which agents are installed, what changed between versions."""

from enum import StrEnum
from typing import Any

import click

from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import Agent, Capability
from trotline.cli.command import declare
from trotline.cli.output import Result, bold, dim, paint, printable
from trotline.config.install.hook_entries import EVENT, find_agents
from trotline.config.paths import Roots
from trotline.config.problems import Severity
from trotline.doctor.installed_agents import read_version
from trotline.doctor.monitoring import describe_monitor_mode

HELP = """What hooks can do under each agent: prevented, only detected, or invisible.

\b
  trotline agents                     all of them
  trotline agents codex               one: its events, and what it hears at each
  trotline agents --probe             those on this machine, with version and file
  trotline agents cursor --diff 2.4 3.21.16
"""


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
    stopping = {Capability.DENY, Capability.FOLLOW_UP}
    if any(event in raised and agent.capabilities.get(event, frozenset()) & stopping for event in before):
        return Coverage.PREVENTED
    return Coverage.DETECTED if raised & {*before, *after} else Coverage.INVISIBLE


def list_capability_changes(agent: Agent, old: str, new: str) -> list[tuple[str, Capability, bool, str]]:
    """Return the differences of two versions: event, capability, whether the new one supports it, and why."""
    before, now = agent.for_version(old), agent.for_version(new)
    changes = []
    for event in sorted({*before.capabilities, *now.capabilities}):
        differing = before.capabilities.get(event, frozenset()) ^ now.capabilities.get(event, frozenset())
        changes += [
            (event, capability, now.supports(event, capability), _explain_change(agent, event, capability))
            for capability in sorted(differing)
        ]
    return changes


def _explain_change(agent: Agent, event: str, capability: Capability) -> str:
    quirks = [quirk for quirk in agent.version_quirks if (quirk.event, quirk.capability) == (event, capability)]
    return f"{quirks[-1].description} ({quirks[-1].source})" if quirks else ""


@declare("agents", "trotline.agents/1", help=HELP)
@click.argument("name", required=False, type=click.Choice(list(AGENTS)))
@click.option("--probe", is_flag=True, help="Look at this machine.")
@click.option("--diff", "versions", nargs=2, metavar="OLD NEW", help="What changed between two versions of the agent.")
def command(name: str | None, probe: bool, versions: tuple[str, str] | None, roots: Roots) -> Result:
    agents = [get_agent(known) for known in ([name] if name else AGENTS)]
    if versions:
        data: Any = [_build_changes(agent, *versions) for agent in agents if agent.version_quirks]
        lines = [line for row in data for line in _format_changes(row, *versions)]
    elif probe:
        data = [_probe(agent, roots) for agent in find_agents(roots) if agent in agents]
        lines = [f"{bold(row['title'])}  {row['version'] or 'version unknown'}  {row['file']}" for row in data]
    elif name:
        data = _build_data(agents[0])
        lines = _format_agent(agents[0])
    else:
        data = {agent.name: {action: get_coverage(agent, action) for action in ACTIONS} for agent in agents}
        lines = _format_table(agents)
    monitors = describe_monitor_mode(roots)
    return Result(data, lines or ["none"], warnings=[paint(monitors, Severity.WARNING)] if monitors else [])


def _format_table(agents: list[Agent]) -> list[str]:
    head = f"{'':<16}" + "".join(f"{action:>11}" for action in ACTIONS)
    rows = [
        f"{agent.name:<16}" + "".join(f"{get_coverage(agent, action):>11}" for action in ACTIONS) for agent in agents
    ]
    return [bold(head), *rows]


def _build_data(agent: Agent) -> dict[str, Any]:
    return {
        "title": agent.title,
        "events": agent.events,
        "capabilities": {event: sorted(known) for event, known in agent.capabilities.items() if known},
        "quirks": [quirk._asdict() for quirk in agent.version_quirks],
        "loop_limit": agent.loop_limit,
    }


def _format_agent(agent: Agent) -> list[str]:
    lines = [bold(agent.title)]
    for theirs, ours in agent.events.items():
        capabilities = ", ".join(sorted(agent.capabilities.get(ours, frozenset()))) or "nothing: it is only told"
        lines.append(f"  {theirs:<32} {'' if theirs == ours else ours:<22} hears {capabilities}")
    lines += [f"  lost: {capability}: {why}" for capability, why in agent.unsupported_reasons.items()]
    lines += [
        dim(f"  {quirk.since or '-'} to {quirk.until or 'now'}: {quirk.description} ({quirk.source})")
        for quirk in agent.version_quirks
    ]
    limit = (
        f"{agent.loop_limit} follow-ups" if agent.loop_limit else "no limit of its own for follow-ups; ours is in force"
    )
    return [*lines, f"  {limit}"]


def _build_changes(agent: Agent, old: str, new: str) -> dict[str, Any]:
    rows = [
        {"event": event, "capability": capability, "supported": supported, "why": why}
        for event, capability, supported, why in list_capability_changes(agent, old, new)
    ]
    return {"agent": agent.name, "title": agent.title, "changes": rows}


def _format_changes(data: dict[str, Any], old: str, new: str) -> list[str]:
    lines = [f"{bold(data['title'])} {old} to {new}: {'no difference' if not data['changes'] else ''}".rstrip(": ")]
    for row in data["changes"]:
        lines.append(
            f"  {row['event']}: {row['capability']} is {'heard' if row['supported'] else 'not heard any more'}"
        )
        lines += [dim(f"    {row['why']}")] if row["why"] else []
    return lines


def _probe(agent: Agent, roots: Roots) -> dict[str, Any]:
    wiring = agent.wiring
    named = roots.home / wiring.files["user"] if wiring and "user" in wiring.files else None
    file = named.parent if named is not None and EVENT in named.name else named
    exists = file is not None and file.exists()
    shown = f"{printable(str(file))} {'is there' if exists else 'is not there yet'}" if file else "no file for the user"
    return {"agent": agent.name, "title": agent.title, "version": printable(read_version(agent, roots)), "file": shown}
