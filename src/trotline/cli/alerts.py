"""trotline alerts: of what somebody is told, when that was last, and whether it arrives."""

import os
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from trotline.alerts.delivery import Machine, delivered
from trotline.alerts.message import Message
from trotline.alerts.rounds import FILE, Fired, Rounds
from trotline.audit.export import moment
from trotline.audit.journal import DIRECTORY, noted
from trotline.audit.records import SCHEMA
from trotline.cli.options import accepts_roots, json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, tell_status
from trotline.config.alerts_file import NAME, OCCASIONS, Alert, read_alerts
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import TrotlineError, UsageError
from trotline.machine import clock

HELP = """Of which records somebody is told: on the desktop, by a command, by a webhook. Nobody is, by default.

alerts.toml in ~/.config/trotline says it, or that of the owner of the machine; a project cannot.

\b
  trotline alerts                 every alert: when it was sent last, and what went wrong
  trotline alerts test NAME       send a sample now
  trotline alerts occasions       what an alert may be on
"""


@click.group("alerts", help=HELP, invoke_without_command=True)
@json_option
@roots_options
@click.pass_context
def command(context: click.Context, as_json: bool, roots: Roots) -> int:
    if context.invoked_subcommand is not None:
        return 0
    read = read_alerts(roots)
    fired = noted(roots.state / DIRECTORY / FILE, Rounds).fired
    found = [(alert, fired.get(alert.name, Fired())) for alert in read.alerts]
    is_well = not read.problems and not any(one.trouble for _, one in found)
    data = {"alerts": [_facts(*one) for one in found]}
    lines = [line for one in found for line in _lines(*one)]
    if not found and not read.problems:
        lines = [f"nobody is told anything; {roots.config / NAME} would say of what"]
    return tell_status("trotline.alerts/1", data, lines, read.problems, ok=is_well, as_json=as_json)


def _facts(alert: Alert, fired: Fired) -> dict[str, Any]:
    named = {"name": alert.name, "on": alert.on, "way": alert.way, "layer": alert.layer, "words": alert.words}
    return {**named, **msgspec.to_builtins(fired)}


def _lines(alert: Alert, fired: Fired) -> Iterator[str]:
    way = {"webhook_file": "webhook", "command": alert.command[0] if alert.command else ""}.get(alert.way, alert.way)
    when = f"sent {plural(fired.count, 'time')}, last {moment(fired.last_us)}" if fired.count else "never sent"
    yield f"{bold(alert.name)} on {alert.on}, to {printable(way)} ({alert.layer}): {when}"
    if fired.held:
        yield dim(f"  {fired.held} more, of which nobody was told yet")
    if fired.trouble:
        said = f"  {moment(fired.trouble.at_us)} it did not arrive: {printable(fired.trouble.why)}"
        yield paint(said, Severity.ERROR)


@command.command("test")
@click.argument("name")
@json_option
@roots_options
def test(name: str, as_json: bool, roots: Roots) -> int:
    """Send a sample of an alert now."""
    alerts = {alert.name: alert for alert in read_alerts(roots).alerts}
    if name not in alerts:
        hint = f"there are: {', '.join(alerts)}" if alerts else f"`trotline check` reads {NAME}"
        raise UsageError(f"there is no alert `{printable(name)[:80]}` that is in force", hint=hint)
    message = Message(alerts[name], _sample(), sample=True)
    why = delivered(message, Machine(os.environ, clock))
    if why:
        raise TrotlineError(f"the sample did not arrive: {why}", hint=f"look at `{name}` in {NAME}")
    if as_json:
        click.echo(envelope("trotline.alerts.test/1", ok=True, data=message.body, problems=[]))
    else:
        click.echo(f"sent: {message.text}")
    return 0


@command.command("occasions")
@accepts_roots
def occasions() -> int:
    """What an alert may be on."""
    for name, meaning in OCCASIONS.items():
        click.echo(f"{bold(name)}: {meaning}")
    return 0


def _sample() -> dict[str, Any]:
    """A record such as a refusal leaves."""
    return {
        "schema": SCHEMA,
        "id": "sample",
        "seq": 1,
        "at_us": clock(),
        "host": "sample",
        "event": "beforeShellExecution",
        "conversation": "sample",
        "asked": "deny",
        "deciders": ["sample"],
        "voices": [{"author": "sample", "said": "deny", "failure": "timed-out", "micros": 1}],
        "findings": [["secrets", "sample", "known", "", 1]],
        "micros": 1,
    }
