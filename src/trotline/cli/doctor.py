"""trotline doctor: look at everything between an agent and a refusal, and name the next step."""

from typing import Any

import click

from trotline.checkup.agents import Agent, agents
from trotline.checkup.examination import examine, examine_machine
from trotline.checkup.examined import Machine
from trotline.checkup.finding import Finding, State, next_step
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.hosts import HOSTS

HELP = """Look at every agent on this machine: its files, our lines in them, and what happens when they are called.

Every line of ours is run as the agent runs it, with a sample of its event; nothing is changed. Exit 0 when there is
nothing to put right, 1 when there is.

\b
  trotline doctor
  trotline doctor --host cursor
  trotline doctor --json | jq .data.next
"""

SEVERITIES = {State.NOTE: Severity.NOTE, State.WARN: Severity.WARNING, State.FAIL: Severity.ERROR}
NOBODY = "no agent was found on this machine; `trotline hosts` lists those that are known"


@click.command("doctor", help=HELP)
@click.option("--host", "names", type=click.Choice(list(HOSTS)), multiple=True, help="Only this one; may be repeated.")
@json_option
@roots_options
def command(names: tuple[str, ...], as_json: bool, roots: Roots) -> int:
    machine = Machine(roots)
    examined = [(agent, examine(agent, machine)) for agent in agents(roots, names)]
    about = examine_machine(machine)
    findings = [*(finding for _, found in examined for finding in found), *about]
    bad = [finding for finding in findings if finding.state in {State.WARN, State.FAIL}]
    step = next_step(findings) or ("" if examined else "trotline init --help")
    if as_json:
        data = {"agents": [_data(*one) for one in examined], "machine": [_plain(one) for one in about], "next": step}
        click.echo(envelope("trotline.doctor/1", ok=bool(examined) and not bad, data=data, problems=[]))
        return 1 if bad or not examined else 0
    for agent, found in examined:
        _section(agent.host.title, agent.version or "version unknown", found)
    _section("This machine", "", about)
    click.echo(NOBODY if not examined else f"next: {step}" if step else "nothing to put right")
    return 1 if bad or not examined else 0


def _section(title: str, about: str, found: list[Finding]) -> None:
    click.echo(f"{bold(title)}  {dim(printable(about))}" if about else bold(title))
    for one in found:
        state = f"{one.state:<5}"
        shown = paint(state, SEVERITIES[one.state]) if one.state in SEVERITIES else state
        click.echo(f"  {shown} {one.what:<10}  {printable(one.detail)}")
    click.echo()


def _data(agent: Agent, found: list[Finding]) -> dict[str, Any]:
    return {
        "host": agent.host.name,
        "title": agent.host.title,
        "version": agent.version,
        "findings": [_plain(one) for one in found],
    }


def _plain(finding: Finding) -> dict[str, str]:
    return {**finding._asdict(), "state": finding.state.value}
