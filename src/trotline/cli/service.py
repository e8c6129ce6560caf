"""trotline service: status of the service that answers `trotline hook`; stop it, or run it in this terminal."""

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from typing import Any

import click

from trotline.cli.command import declare
from trotline.cli.output import Result, bold, dim, paint, plural, printable
from trotline.config.paths import Roots
from trotline.config.problems import Severity
from trotline.domain.errors import TryAgain
from trotline.service.directory import RunDirectory, get_service_roots

HELP = """The service that answers agents without starting Python for every call.

The first call starts it, and it ends when nobody has called for a quarter of an hour. Nothing depends on it: with or
without it, stopped or killed, every call gets the same answer.

\b
  trotline service status         is it there, and what has it done
  trotline service stop           end it; the next call starts another
  trotline service run            serve in this terminal
"""

MAX_STOP_SECONDS = 5.0


@click.group("service", help=HELP)
def command() -> None:
    pass


@declare("status", "trotline.service/1", parent=command)
def show_status(roots: Roots) -> Result:
    """Show whether it runs, whether it is current, and how many calls it has answered."""
    from trotline.service.start import CODE
    from trotline.service.watch import CodeWatch
    from trotline.service.wire import ask_status

    directory = RunDirectory(roots.state / "run")
    holder = directory.read_service_facts()
    facts: dict[str, Any] = {"running": holder is not None, "went_cold": directory.count_cold_calls()}
    if holder is not None:
        is_ours = holder.get("code") == CODE
        current = holder.get("digest") == CodeWatch(get_service_roots(roots.home)).digest if is_ours else None
        facts |= {**holder, "current": current, "counts": ask_status(directory.socket)}
    return Result(facts, _format_status(facts), ok=holder is not None)


def _format_status(facts: dict[str, Any]) -> Iterator[str]:
    if not facts["running"]:
        yield "no service is running; the next call starts one"
    else:
        yield f"{bold('running')}  process {facts.get('pid', 'unknown')}, digest {facts.get('digest', 'unknown')}"
        counts = facts["counts"]
        if counts is None:
            yield paint("  it does not answer", Severity.WARNING)
        else:
            sent_away = counts["cold"] + counts["busy"]
            yield f"  {plural(counts['answered'], 'call')} answered, {sent_away} sent away"
        if facts["current"] is None:
            yield dim(f"  it is of another installation: {printable(str(facts.get('code', 'unknown')))}")
        elif not facts["current"]:
            yield dim("  code or configuration has changed since; the next call ends it")
    for reason, count in facts["went_cold"].items():
        yield paint(f"  {plural(count, 'call')} went cold: {reason}", Severity.WARNING)


@declare("stop", "trotline.service.stop/1", parent=command)
def stop(roots: Roots) -> Result:
    """End it; a call that it has begun is answered all the same."""
    directory = RunDirectory(roots.state / "run")
    if directory.read_service_facts() is None:
        return Result({"stopped": False}, ["no service is running"])
    signalled = None
    until = time.monotonic() + MAX_STOP_SECONDS
    while (holder := directory.read_service_facts()) is not None:
        pid = holder.get("pid")  # a service that has just started has not written it yet
        if isinstance(pid, int) and pid != signalled:
            signalled = pid
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        if time.monotonic() > until:
            raise TryAgain("the service has not ended yet", hint=f"its process is {signalled or 'unknown'}")
        time.sleep(0.01)
    directory.log("stopped", "by `trotline service stop`")
    return Result({"stopped": True}, ["stopped"])


@declare("run", "trotline.service.run/1", parent=command)
@click.option("--idle", type=click.FloatRange(0), help="Seconds without a call before it ends; 0 for never.")
def run(idle: float | None, roots: Roots) -> Result:
    """Serve in this terminal."""
    from trotline.service.start import serve

    lock = RunDirectory(roots.state / "run").lock()
    if lock is None:
        raise TryAgain("a service is running already", hint="`trotline service stop` ends it")
    reason = serve(roots.home, lock, idle)
    return Result({"ended": reason}, warnings=[reason])
