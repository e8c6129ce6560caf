"""trotline install: put our line into the hooks of the agents on this machine, without a scratch."""

from pathlib import Path

import click

from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, problem_data
from trotline.config.installation import Done, Installed
from trotline.config.places import Roots
from trotline.config.problems import Problem, Severity
from trotline.config.wires import TIMEOUT, Wired, entries, found, installation, wired
from trotline.errors import UsageError
from trotline.hosts import HOSTS, host_named
from trotline.machine import clock, machine_roots
from trotline.service.line import installed_line, is_ours

HELP = """Put Trotline's line into the hooks of these agents, or of all that are found on this machine.

Nothing else in their files moves by a byte: comments, order, other tools' entries, line endings. What was there is kept
as a backup, and `trotline uninstall` gives it back. Doing it again changes nothing.

\b
  trotline install                     every agent found here, for you
  trotline install cursor --dry-run    what would change, as a diff
  trotline install codex --layer user --fail-closed
"""


@click.command("install", help=HELP)
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@click.option("--layer", type=click.Choice(["user", "project", "enterprise"]), default="user", show_default=True)
@click.option("--fail-closed", is_flag=True, help="Have the host block when our line fails, where it can.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
@json_option
@roots_options
def command(
    hosts: tuple[str, ...],
    layer: str,
    fail_closed: bool,
    dry_run: bool,
    yes: bool,
    as_json: bool,
    roots: Roots,
) -> int:
    wires = [wired(host_named(name), layer, roots) for name in _named(hosts, roots)]
    if not wires:
        raise UsageError("no agent was found on this machine", hint=f"name one: {', '.join(HOSTS)}")
    planned = [_install(wire, roots, fail_closed=fail_closed, dry_run=True) for wire in wires]
    asks = not (dry_run or yes or as_json)
    if asks and any(one.done is Done.WRITTEN for one in planned):
        click.echo("\n".join(one.difference for one in planned if one.difference))
        asks = not click.confirm("Write this?")
        if asks:
            return 1
    done = planned if dry_run else [_install(wire, roots, fail_closed=fail_closed, dry_run=False) for wire in wires]
    click.echo(_as_json(wires, done) if as_json else report(wires, done, dry_run=dry_run))
    return 1 if any(one.done is Done.REFUSED for one in done) else 0


def _named(hosts: tuple[str, ...], roots: Roots) -> list[str]:
    return list(dict.fromkeys(hosts)) or [host.name for host in found(roots)]


def _install(wire: Wired, roots: Roots, *, fail_closed: bool, dry_run: bool) -> Installed:
    moved = roots.home if roots.home != machine_roots().home else None

    def line(event: str) -> str:
        return installed_line(wire.host.name, event, home=moved, timeout=TIMEOUT)

    wanted = entries(wire, line, fail_closed=fail_closed)
    return installation(wire, roots, is_ours).install(wanted, clock(), dry_run=dry_run)


def planned_for(wire: Wired, roots: Roots) -> Installed:
    """What installing would change; nothing, if our entries are current, failing closed or not."""
    either = [_install(wire, roots, fail_closed=closed, dry_run=True) for closed in (False, True)]
    return next((one for one in either if one.done is Done.NOTHING), either[0])


def report(wires: list[Wired], done: list[Installed], *, dry_run: bool) -> str:
    """What was done to which file, and what a person should know."""
    lines = []
    for wire, one in zip(wires, done, strict=True):
        would = "would be " if dry_run and one.done is not Done.NOTHING else ""
        lines.append(f"{bold(wire.host.title)}  {printable(str(one.path))}: {would}{one.done}")
        lines += [f"  {line}" for line in one.difference.splitlines()] if dry_run else []
        lines += [_problem(problem) for problem in one.problems]
        lines += [dim(f"  what was there is kept as {_shown(one.backup)}")] if one.backup else []
        lines += [f"  {wire.wiring.note}"] if wire.wiring.note and one.done is Done.WRITTEN else []
    return "\n".join([*lines, dim(f"{plural(len(done), 'file')} looked at")])


def _problem(problem: Problem) -> str:
    return paint(f"  {problem.code} {printable(str(problem.place))}: {problem.message}", Severity.WARNING)


def _shown(path: Path) -> str:
    return printable(str(path))


def _as_json(wires: list[Wired], done: list[Installed]) -> str:
    data = [
        {
            "host": wire.host.name,
            "layer": wire.layer,
            "file": str(one.path),
            "done": one.done,
            "difference": one.difference,
            "backup": str(one.backup) if one.backup else None,
        }
        for wire, one in zip(wires, done, strict=True)
    ]
    problems = [problem_data(problem) for one in done for problem in one.problems]
    ok = all(one.done is not Done.REFUSED for one in done)
    return envelope("trotline.install/1", ok=ok, data=data, problems=problems)
