"""trotline prove: send a canary through the exact lines that are installed, and say what that proves and what not."""

import click

from trotline.checkup.agents import version_of
from trotline.checkup.monitoring import monitor_line
from trotline.checkup.proof import SLOW, Proof, proof
from trotline.checkup.validity import check_command
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.config.wires import wired
from trotline.hosts import HOSTS, host_named

HELP = """Send a canary through each installed line: a shell command that must be refused.

One line for each agent: whether its file is valid and our entries in it are current, whether the line ran, whether it
refused. What this cannot prove is said as well: that the agent has loaded the file, and does what it is answered.

\b
  trotline prove
  trotline prove --layer project
"""


@click.command("prove", help=HELP)
@click.argument("hosts", nargs=-1, type=click.Choice(list(HOSTS)))
@click.option("--layer", type=click.Choice(["user", "project", "enterprise"]), default="user", show_default=True)
@json_option
@roots_options
def command(hosts: tuple[str, ...], layer: str, as_json: bool, roots: Roots) -> int:
    known = [host_named(name) for name in hosts or HOSTS]
    here = [host for host in known if host.wiring is not None and layer in host.wiring.files]
    proofs = [
        proven
        for host in here
        if (proven := proof(wired(host, layer, roots, version_of(host, roots)), roots)) is not None
    ]
    if as_json:
        ok = bool(proofs) and all(proven.holds for proven in proofs)
        click.echo(envelope("trotline.prove/1", ok=ok, data=[proven._asdict() for proven in proofs], problems=[]))
    else:
        click.echo("\n".join(line for proven in proofs for line in told(proven)) or "nothing of ours is installed here")
        click.echo(
            dim("Not proven: that the agent has loaded the file, and does what it is answered.") if proofs else ""
        )
    if monitors := monitor_line(roots):
        click.echo(paint(monitors, Severity.WARNING), err=True)
    return 0 if proofs and all(proven.holds for proven in proofs) else 1


def told(proven: Proof) -> list[str]:
    """One line about one line, and what it said if it did not refuse."""
    words = [f"NOT loaded: {printable(proven.void)}" if proven.void else "valid"]
    words[0] += "" if proven.current else ", not current: run `trotline install`"
    words.append("executed" if proven.executed else "not executed")
    words.append("refused" if proven.refused else "NOT refused")
    severity = Severity.NOTE if proven.holds else Severity.ERROR
    lines = [f"{bold(proven.title)}  {paint(' / '.join(words), severity)}  {dim(f'{proven.seconds * 1000:.0f} ms')}"]
    lines += [f"  `{check_command(proven.file)}` shows where"] if proven.void else []
    lines += [] if proven.executed and proven.refused else [f"  {printable(proven.said)[:300]}"]
    return lines + ([f"  slower than {SLOW * 1000:.0f} ms, as a first call may be"] if proven.seconds > SLOW else [])
