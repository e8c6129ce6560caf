"""trotline install: put our line into the hooks of the agents on this machine, without a scratch."""

import sys
from pathlib import Path

import click

from trotline.checkup.agents import version_of
from trotline.checkup.lines import install
from trotline.cli.homes import make_sure_of_home
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, problem_data
from trotline.config.installation import Done, Installed
from trotline.config.places import Roots
from trotline.config.problems import Problem, Severity
from trotline.config.wires import Wired, found, wired
from trotline.errors import UsageError
from trotline.hosts import HOSTS, host_named

HELP = """Put Trotline's line into the hooks of these agents, or of all that are found on this machine.

Nothing else in their files moves by a byte: comments, order, other tools' entries, line endings. What was there is kept
as a backup, and `trotline uninstall` gives it back. Doing it again changes nothing.

\b
  trotline install                     every agent found here, for you
  trotline install cursor --dry-run    what would change, as a diff
  trotline install codex --layer user --fail-closed
"""

NOBODY = "nobody can be asked here, so nothing was written"


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
    wires = [wire for name in _named(hosts, roots) for wire in _wired(name, layer, roots)]
    if not wires:
        raise UsageError("no agent was found on this machine", hint=f"name one: {', '.join(HOSTS)}")
    planned = install(wires, roots, fail_closed=fail_closed, dry_run=True)
    if layer == "user" and not dry_run and any(one.done is Done.WRITTEN for one in planned):
        make_sure_of_home(roots, asks=not yes)
    if not (dry_run or yes) and any(one.done is Done.WRITTEN for one in planned) and not _agreed(planned, as_json):
        return 1
    done = planned if dry_run else install(wires, roots, fail_closed=fail_closed, dry_run=False)
    click.echo(as_data("trotline.install/1", wires, done) if as_json else report(wires, done, dry_run=dry_run))
    return 1 if any(one.done is Done.REFUSED for one in done) else 0


def _agreed(planned: list[Installed], as_json: bool) -> bool:
    if as_json or not sys.stdin.isatty():
        raise UsageError(NOBODY, hint="--yes does it, --dry-run shows the diff")
    click.echo("\n".join(one.difference for one in planned if one.difference))
    return click.confirm("Write this?")


def _wired(name: str, layer: str, roots: Roots) -> list[Wired]:
    host = host_named(name)
    return wired(host, layer, roots, version_of(host, roots))


def _named(hosts: tuple[str, ...], roots: Roots) -> list[str]:
    return list(dict.fromkeys(hosts)) or [host.name for host in found(roots)]


def report(wires: list[Wired], done: list[Installed], *, dry_run: bool) -> str:
    """What was done to which file, and what a person should know."""
    lines = []
    for wire, one in zip(wires, done, strict=True):
        would = "would be " if dry_run and one.done is not Done.NOTHING else ""
        lines.append(f"{bold(wire.host.title)}  {printable(str(one.path))}: {would}{one.done}")
        lines += [f"  {line}" for line in one.difference.splitlines()] if dry_run else []
        lines += [line for problem in one.problems for line in _problem(problem)]
        lines += [dim(f"  what was there is kept as {_shown(one.backup)}")] if one.backup else []
        lines += [f"  {wire.wiring.note}"] if wire.wiring.note and one.done is Done.WRITTEN else []
    return "\n".join([*lines, dim(f"{plural(len(done), 'file')} looked at")])


def _problem(problem: Problem) -> list[str]:
    told = paint(f"  {problem.code} {printable(str(problem.place))}: {problem.message}", Severity.WARNING)
    return [told, f"    hint: {problem.hint}"] if problem.hint else [told]


def _shown(path: Path) -> str:
    return printable(str(path))


def as_data(schema: str, wires: list[Wired], done: list[Installed]) -> str:
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
    return envelope(schema, ok=ok, data=data, problems=problems)
