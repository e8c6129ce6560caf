"""trotline service: the warm half of `trotline hook`; is it there, stop it, what did it log, run it here."""

import contextlib
import os
import signal
import time
from pathlib import Path
from typing import Any

import click

from trotline.cli.options import DIRECTORY, json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import TryAgain
from trotline.service.directory import RunDirectory, roots_of

HELP = """The service that answers hosts without starting Python for every call.

The first call starts it, and it ends when nobody has called for a quarter of an hour. Nothing depends on it: with or
without it, stopped or killed, every call gets the same answer.

\b
  trotline service status         is it there, and what has it done
  trotline service logs           what it said about itself
  trotline service stop           end it; the next call starts another
  trotline service run            serve in this terminal
  trotline service unit --systemd a unit file, for those who want it always
"""

SECONDS_TO_STOP = 5.0


@click.group("service", help=HELP)
def command() -> None:
    pass


@command.command("status")
@json_option
@roots_options
def status(as_json: bool, roots: Roots) -> int:
    """Is it there, is it current, and what has it done."""
    from trotline.service.beginning import CODE
    from trotline.service.question import asked
    from trotline.service.watch import Watch

    directory = RunDirectory(roots.state / "run")
    holder = directory.holder()
    facts: dict[str, Any] = {"running": holder is not None, "went_cold": directory.went_cold()}
    if holder is not None:
        ours = holder.get("code") == CODE
        current = holder.get("digest") == Watch(roots_of(roots.home)).digest if ours else None
        facts |= {**holder, "current": current, "counts": asked(directory.socket)}
    if as_json:
        click.echo(envelope("trotline.service/1", ok=holder is not None, data=facts, problems=[]))
    else:
        _tell(facts)
    return 0 if holder is not None else 1


def _tell(facts: dict[str, Any]) -> None:
    if not facts["running"]:
        click.echo("no service is running; the next call starts one")
    else:
        click.echo(f"{bold('running')}  process {facts.get('pid', 'unknown')}, digest {facts.get('digest', 'unknown')}")
        counts = facts["counts"]
        if counts is None:
            click.echo(paint("  it does not answer", Severity.WARNING))
        else:
            sent_away = counts["cold"] + counts["busy"]
            click.echo(f"  {plural(counts['answered'], 'call')} answered, {sent_away} sent away")
        if facts["current"] is None:
            click.echo(dim(f"  it is of another installation: {printable(str(facts.get('code', 'unknown')))}"))
        elif not facts["current"]:
            click.echo(dim("  code or configuration has changed since; the next call ends it"))
    for word, count in facts["went_cold"].items():
        click.echo(paint(f"  {plural(count, 'call')} went cold: {word}", Severity.WARNING))


@command.command("stop")
@roots_options
def stop(roots: Roots) -> int:
    """End it; a call that it has begun is answered all the same."""
    directory = RunDirectory(roots.state / "run")
    if directory.holder() is None:
        click.echo("no service is running")
        return 0
    told = None
    until = time.monotonic() + SECONDS_TO_STOP
    while (holder := directory.holder()) is not None:
        pid = holder.get("pid")  # one that has only just been started has not written it down yet
        if isinstance(pid, int) and pid != told:
            told = pid
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        if time.monotonic() > until:
            raise TryAgain("the service has not ended yet", hint=f"its process is {told or 'unknown'}")
        time.sleep(0.01)
    directory.log("stopped", "by `trotline service stop`")
    click.echo("stopped")
    return 0


@command.command("logs")
@click.option(
    "-n", "number", type=click.IntRange(1, 1_000_000_000), default=20, show_default=True, help="How many lines."
)
@roots_options
def logs(number: int, roots: Roots) -> int:
    """What it said about itself; nothing that a host or an agent said is in it."""
    lines = RunDirectory(roots.state / "run").log_lines()
    for line in lines[-number:]:
        click.echo(printable(line))
    if not lines:
        click.echo("nothing is logged")
    return 0


@command.command("run")
@click.option("--idle", type=click.FloatRange(0), help="Seconds without a call before it ends; 0 for never.")
@roots_options
def run(idle: float | None, roots: Roots) -> int:
    """Serve in this terminal."""
    from trotline.service.beginning import serve

    lock = RunDirectory(roots.state / "run").lock()
    if lock is None:
        raise TryAgain("a service is running already", hint="`trotline service stop` ends it")
    click.echo(serve(roots.home, lock, idle), err=True)
    return 0


@command.command("unit")
@click.option("--systemd", "kind", flag_value="systemd", default="systemd", help="A user unit of systemd. [default]")
@click.option("--launchd", "kind", flag_value="launchd", help="An agent of launchd.")
@click.option("--home", type=DIRECTORY, help="Another home directory.")
def unit(kind: str, home: Path | None) -> int:
    """Print a file with which the system keeps it running."""
    from trotline.service.units import launchd_plist, systemd_unit

    click.echo(systemd_unit(home) if kind == "systemd" else launchd_plist(home), nl=False)
    return 0
