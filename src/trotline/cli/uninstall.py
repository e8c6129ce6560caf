"""trotline uninstall: take our line out again; the files are as they were."""

import sys

import click

from trotline.checkup.lines import line_of
from trotline.cli.homes import make_sure_of_home
from trotline.cli.install import as_data, report
from trotline.cli.options import json_option, roots_options
from trotline.config.installation import Done
from trotline.config.places import Roots
from trotline.config.wires import installation, wired
from trotline.hosts import HOSTS, host_named
from trotline.machine import clock
from trotline.service.line import is_ours

HELP = """Take Trotline's line out of the hooks of these agents, or of all.

A file that nobody touched since has its old bytes back; from one that was edited, only our entries go. A file that was
ours alone goes, unless it was edited: then it stays, and this says so.

\b
  trotline uninstall
  trotline uninstall cursor --dry-run
"""


@click.command("uninstall", help=HELP)
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@click.option("--layer", type=click.Choice(["user", "project", "enterprise"]), default="user", show_default=True)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask; where nobody can be asked, it is not asked in any case.")
@json_option
@roots_options
def command(hosts: tuple[str, ...], layer: str, dry_run: bool, yes: bool, as_json: bool, roots: Roots) -> int:
    named = [host_named(name) for name in hosts or HOSTS]
    here = [host for host in named if host.wiring is not None and (hosts or layer in host.wiring.files)]
    wires = [wire for host in here for wire in reversed(wired(host, layer, roots))]  # directories that we made go last
    wires = [wire for wire in wires if hosts or wire.file.exists()]
    files = [installation(wire, roots, is_ours, line_of(wire, roots)) for wire in wires]
    asks = not (dry_run or yes or as_json) and sys.stdin.isatty()
    if wires and layer == "user" and not dry_run:
        make_sure_of_home(roots, asks=asks)
    if asks:
        planned = [file.uninstall(clock(), dry_run=True) for file in files]
        click.echo(report(wires, planned, dry_run=True))
        if any(one.difference for one in planned) and not click.confirm("Take them out?", default=True):
            return 1
    done = [file.uninstall(clock(), dry_run=dry_run) for file in files]
    said = as_data("trotline.uninstall/1", wires, done) if as_json else report(wires, done, dry_run=dry_run)
    click.echo(said)
    return 1 if any(one.done is Done.REFUSED for one in done) else 0
