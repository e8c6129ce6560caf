"""trotline init: find the agents on this machine, propose, ask, install, and see that it holds."""

import os
import sys
from typing import Any

import click

from trotline.canary import WORD
from trotline.checkup.agents import Agent, agents
from trotline.checkup.examination import by_hand_text
from trotline.checkup.monitoring import monitor_line
from trotline.checkup.setup import Plan, Result, Terms, allowed_mode, carry_out, fails_closed, overall, plan, user_place
from trotline.checkup.validity import check_command
from trotline.cli.homes import doubt_about_home, make_sure_of_home
from trotline.cli.install import NOBODY, report
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, envelope, paint, plural, printable, problem_data
from trotline.cli.prove import told
from trotline.config.installation import Done, Installed
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.config.settings import MONITOR, read_settings
from trotline.config.wires import place_of
from trotline.errors import UsageError
from trotline.hosts import HOSTS
from trotline.hosts.host import Host

HELP = """Begin here: find the agents on this machine, put our line into their hooks, and see that refusals arrive.

You are shown what would be written and asked for every agent. Nothing else in their files moves by a byte, and
`trotline uninstall` gives them back. Doing it again changes nothing, or brings our lines up to date.

\b
  trotline init                 every agent found here
  trotline init cursor codex    only these
  trotline init --dry-run       what would change, as a diff
  trotline init --monitor       write down what would be refused, and refuse nothing yet
  trotline init --enforce       from now on, refuse
"""

FAIL_CLOSED = "If Trotline itself breaks, shall the agent's action be blocked (fail closed)?"
MODES = {
    "enforce": "enforce: what is to be refused is refused",
    MONITOR: "monitor: what would be refused is written down, and nothing is refused",
}
END_MONITORING = "Monitor mode is on: nothing is refused. Refuse from now on?"


@click.command("init", help=HELP)
@click.argument("hosts", nargs=-1, type=click.Choice(list(HOSTS)), metavar="[HOST]...")
@click.option("--monitor", "mode", flag_value=MONITOR, help="Judge and write down, and refuse nothing.")
@click.option("--enforce", "mode", flag_value="enforce", help="Refuse what is to be refused; ends monitor mode.")
@click.option("--fail-closed/--fail-open", default=None, help="Whether an action is blocked when our line breaks.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@roots_options
def command(
    hosts: tuple[str, ...],
    mode: str | None,
    fail_closed: bool | None,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    roots: Roots,
) -> int:
    here = agents(roots, hosts)
    unwired = [agent.host for agent in here if agent.host.wiring is None]
    here = [agent for agent in here if agent.host.wiring is not None]
    if not here and not unwired:
        raise UsageError("no agent was found on this machine", hint=f"name one: {', '.join(HOSTS)}")
    if not as_json:
        click.echo(_found(here, unwired, roots))
    asks = not (yes or dry_run or as_json) and sys.stdin.isatty()
    can_close = any(agent.host.wiring and agent.host.wiring.fail_closed for agent in here)
    terms = _terms(mode, fail_closed, roots, asks=asks, can_close=can_close)
    plans = [plan(agent, roots, terms) for agent in here]
    if not as_json:
        click.echo(_proposal(plans, terms))
    if yes and not dry_run:
        make_sure_of_home(roots, asks=False)
    if not (yes or dry_run or asks):
        raise UsageError(NOBODY, hint="--yes does it, --dry-run shows the diff")
    chosen = [one for one in plans if not one.why and (not asks or _agreed(one))]
    result = carry_out(chosen, roots, terms, dry_run=dry_run)
    click.echo(_as_json(result, plans, unwired, terms) if as_json else _told(result, roots, dry_run=dry_run))
    return 0 if result.holds and not any(one.why for one in plans) else 1


def _terms(mode: str | None, fail_closed: bool | None, roots: Roots, *, asks: bool, can_close: bool) -> Terms:
    """What was said on the command line, and what a person answers about the rest."""
    if mode is None:
        mode = read_settings(roots).mode
        if mode == MONITOR and asks and click.confirm(END_MONITORING, default=True):
            mode = "enforce"
    closed = fails_closed(fail_closed, mode=allowed_mode(mode, roots), in_ci=os.environ.get("CI") == "true")
    if closed is None:
        closed = click.confirm(FAIL_CLOSED, default=True) if asks and can_close else True
    return Terms(mode, closed)


def _found(here: list[Agent], unwired: list[Host], roots: Roots) -> str:
    lines = [bold("Found here")]
    for agent in here:
        version = agent.version or "version unknown"
        lines.append(f"  {agent.host.title:<20} {printable(version):<20} {printable(str(user_place(agent, roots)))}")
    lines += [f"  {by_hand_text(host)}" for host in unwired]
    if doubt := doubt_about_home(roots):
        lines += [paint(f"  {doubt}: agents were looked for there; --home names another", Severity.WARNING)]
    return "\n".join(lines)


def _proposal(plans: list[Plan], terms: Terms) -> str:
    """What is to be done about it."""
    rows = [f"  {one.agent.host.title:<20} {_change(one, terms)}" for one in plans]
    return "\n".join(["", bold("To be done"), *rows, f"  {'Mode':<20} {MODES[terms.mode]}", ""])


def _change(one: Plan, terms: Terms) -> str:
    wiring = one.wires[0].wiring
    events = plural(len(wiring.events), "event")
    if one.why:
        return paint(f"cannot be done: {printable(one.why)}", Severity.ERROR)
    if one.done is Done.REFUSED:
        return paint(f"refused: {_refusal(one)}", Severity.ERROR)
    if one.done is Done.NOTHING:
        return f"nothing to do: our line is at all of its {events}"
    if wiring.own:
        return f"{plural(len(one.wires), 'file')} of our own for {events}, failing closed"
    if not wiring.fail_closed:
        return f"our line at {events}; it has no setting that makes a broken hook block"
    return f"our line at {events}, failing {'closed' if terms.fail_closed else 'open'}"


def _refusal(one: Plan) -> str:
    said = [problem.message for file in one.planned if file.done is Done.REFUSED for problem in file.problems]
    return printable(said[0]) if said and one.wires[0].wiring.own else "the file cannot be read"


def _agreed(one: Plan) -> bool:
    """Whether the person wants it; nobody is asked about a file that stays as it is."""
    if all(file.done is not Done.WRITTEN for file in one.planned):
        return True
    return click.confirm(f"Write this into {printable(str(place_of(one.wires)))}?", default=True)


def _told(result: Result, roots: Roots, *, dry_run: bool) -> str:
    lines = []
    if result.settings.done is Done.WRITTEN:
        lines.append(f"{bold('Settings')}  {printable(str(result.settings.path))}: {'would be ' * dry_run}written")
        lines += [f"  {line}" for line in result.settings.difference.splitlines()] if dry_run else []
    wires = [wire for one in result.plans for wire in one.wires]
    lines.append(report(wires, [file for files in result.done for file in files], dry_run=dry_run))
    if dry_run:
        return "\n".join(lines)
    lines += ["", *(line for proven in result.proofs if proven is not None for line in told(proven))]
    if monitors := monitor_line(roots):
        lines.append(paint(monitors, Severity.WARNING))
    return "\n".join([*lines, "", f"next: {_next(result, roots)}"])


def _next(result: Result, roots: Roots) -> str:
    void = [one.file for one in result.proofs if one is not None and one.void]
    if void:
        return check_command(void[0])
    if not result.done:
        return "trotline init, and say yes to one of them"
    if not result.holds:
        return "trotline doctor"
    if read_settings(roots).monitors:
        return "work as usual; `trotline doctor` then says what enforcing would have stopped"
    titles = [one.agent.host.title for one in result.plans]
    who = titles[0] if len(titles) == 1 else "these agents"
    return f"start {who} anew and ask for `echo {WORD}`: it must be refused. `trotline uninstall` takes all back"


def _as_json(result: Result, plans: list[Plan], unwired: list[Host], terms: Terms) -> str:
    proofs = result.proofs or [None] * len(result.plans)
    data: dict[str, Any] = {
        "agents": [
            {
                "host": one.agent.host.name,
                "version": one.agent.version,
                "done": overall(files),
                "files": [_file(file) for file in files],
                "proof": proven._asdict() if proven else None,
                "note": one.wires[0].wiring.note,
            }
            for one, files, proven in zip(result.plans, result.done, proofs, strict=True)
        ],
        "blocked": [{"host": one.agent.host.name, "why": one.why} for one in plans if one.why],
        "by_hand": [host.name for host in unwired],
        "mode": terms.mode,
        "fail_closed": terms.fail_closed,
        "settings": {"file": str(result.settings.path), "done": result.settings.done},
    }
    problems = [problem_data(problem) for files in result.done for file in files for problem in file.problems]
    return envelope("trotline.init/1", ok=result.holds and not data["blocked"], data=data, problems=problems)


def _file(file: Installed) -> dict[str, Any]:
    return {
        "file": str(file.path),
        "done": file.done,
        "difference": file.difference,
        "backup": str(file.backup) if file.backup else None,
    }
