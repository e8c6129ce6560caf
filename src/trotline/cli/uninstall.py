"""trotline uninstall: take our line out of the hooks of agents."""

import click

from trotline.agents import AGENTS, get_agent
from trotline.cli.command import check_home, declare, may_ask
from trotline.cli.install import LAYERS, build_file_data, format_files
from trotline.cli.output import Exit, Result
from trotline.config.install.hook_entries import build_installation, list_hook_files
from trotline.config.install.installation import InstallOutcome
from trotline.config.paths import Roots
from trotline.doctor.hook_lines import build_line
from trotline.machine import read_clock
from trotline.service.line import is_hook_line

HELP = """Take Trotline's line out of the hooks of these agents, or of all.

A file that nobody touched since has its old bytes back; from one that was edited, only our entries go. A file that was
ours alone goes, unless it was edited: then it stays, and this says so.

\b
  trotline uninstall
  trotline uninstall cursor --dry-run
"""


@declare("uninstall", "trotline.uninstall/1", help=HELP)
@click.argument("agents", nargs=-1, metavar="[AGENT]...")
@click.option("--layer", type=click.Choice(LAYERS), default="user", show_default=True)
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask; where nobody can be asked, it is not asked in any case.")
def command(agents: tuple[str, ...], layer: str, dry_run: bool, yes: bool, roots: Roots) -> Result:
    named = [get_agent(name) for name in agents or AGENTS]
    here = [agent for agent in named if agent.wiring is not None and (agents or layer in agent.wiring.files)]
    targets = [
        target for agent in here for target in reversed(list_hook_files(agent, layer, roots))
    ]  # our own directories go last
    targets = [target for target in targets if agents or target.file.exists()]
    files = [build_installation(target, roots, is_hook_line, build_line(target, roots)) for target in targets]
    asks = may_ask(yes=yes, dry_run=dry_run)
    if targets and layer == "user" and not dry_run:
        check_home(roots, asks=asks)
    if asks:
        planned = [file.uninstall(read_clock(), dry_run=True) for file in files]
        click.echo("\n".join(format_files(targets, planned, dry_run=True)))
        if any(file.difference for file in planned) and not click.confirm("Take them out?", default=True):
            return Result(ok=False, exit_code=Exit.FINDINGS)
    done = [file.uninstall(read_clock(), dry_run=dry_run) for file in files]
    data = [
        {"agent": target.agent.name, "layer": target.layer, **build_file_data(file)}
        for target, file in zip(targets, done, strict=True)
    ]
    problems = [problem for file in done for problem in file.problems]
    is_ok = all(file.outcome is not InstallOutcome.REFUSED for file in done)
    return Result(data, format_files(targets, done, dry_run=dry_run), problems, ok=is_ok)
