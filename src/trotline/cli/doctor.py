"""trotline doctor: check every agent on this machine and name the next step."""

from collections.abc import Iterator
from typing import Any

import click

from trotline.agents import AGENTS
from trotline.cli.command import declare
from trotline.cli.output import Result, bold, dim, paint, printable
from trotline.config.paths import Roots
from trotline.config.problems import Severity
from trotline.doctor.checks import CheckResult, CheckState, MachineState, find_next_step
from trotline.doctor.examination import check_agent, check_machine
from trotline.doctor.installed_agents import InstalledAgent, find_installed_agents

HELP = """Look at every agent on this machine: its files, our lines in them, and what happens when they are called.

Every line of ours is run as the agent runs it, with a sample of its event; nothing is changed. Exit 0 when there is
nothing to put right, 1 when there is.

\b
  trotline doctor
  trotline doctor --agent cursor
  trotline doctor --json | jq .data.next
"""

SEVERITIES = {
    CheckState.NOTE: Severity.NOTE,
    CheckState.WARN: Severity.WARNING,
    CheckState.FAIL: Severity.ERROR,
}
NO_AGENT = "no agent was found on this machine; `trotline agents` lists those that are known"


@declare("doctor", "trotline.doctor/1", help=HELP)
@click.option(
    "--agent", "names", type=click.Choice(list(AGENTS)), multiple=True, help="Only this one; may be repeated."
)
def command(names: tuple[str, ...], roots: Roots) -> Result:
    machine = MachineState(roots)
    agents = [(installed, check_agent(installed, machine)) for installed in find_installed_agents(roots, names)]
    machine_results = check_machine(machine)
    results = [*(result for _, agent_results in agents for result in agent_results), *machine_results]
    is_ok = bool(agents) and all(result.state not in {CheckState.WARN, CheckState.FAIL} for result in results)
    step = find_next_step(results) or ("" if agents else "trotline install --help")
    data = {
        "agents": [_build_data(*examined) for examined in agents],
        "machine": _build_results(machine_results),
        "next": step,
    }
    lines = [
        line
        for installed, agent_results in agents
        for line in _format_section(installed.agent.title, installed.version or "version unknown", agent_results)
    ]
    lines += _format_section("This machine", "", machine_results)
    lines.append(NO_AGENT if not agents else f"next: {step}" if step else "nothing to put right")
    return Result(data, lines, ok=is_ok)


def _format_section(title: str, version: str, results: list[CheckResult]) -> Iterator[str]:
    yield f"{bold(title)}  {dim(printable(version))}" if version else bold(title)
    for result in results:
        state = f"{result.state:<5}"
        shown = paint(state, SEVERITIES[result.state]) if result.state in SEVERITIES else state
        yield f"  {shown} {result.check:<10}  {printable(result.detail)}"
    yield ""


def _build_data(installed: InstalledAgent, results: list[CheckResult]) -> dict[str, Any]:
    return {
        "agent": installed.agent.name,
        "title": installed.agent.title,
        "version": installed.version,
        "findings": _build_results(results),
    }


def _build_results(results: list[CheckResult]) -> list[dict[str, str]]:
    return [
        {"state": result.state.value, "check": result.check, "detail": result.detail, "next": result.next}
        for result in results
    ]
