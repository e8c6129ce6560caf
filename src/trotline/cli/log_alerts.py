"""trotline log alerts: list alerts and their delivery, and send a sample."""

import os
from collections.abc import Iterator
from typing import Any

import click
import msgspec

from trotline.audit.export.export_formats import format_time
from trotline.audit.export.export_progress import EXPORT_DIRECTORY, read_progress
from trotline.audit.record.record import Record, RecordedFinding, RecordedResponse
from trotline.audit.record.record_builder import HOOK_SIDE
from trotline.cli.command import declare, declare_group
from trotline.cli.output import Result, bold, dim, format_problems, paint, plural, printable
from trotline.config.alerts_file import OCCASIONS, Alert, read_alerts
from trotline.config.paths import CONFIG_FILE, Roots
from trotline.config.problems import Severity
from trotline.delivery.alerts import (
    ALERTS_STATE_FILE,
    AlertMessage,
    AlertState,
    AlertStatus,
    ChannelContext,
    deliver_message,
)
from trotline.domain.errors import TrotlineError, UsageError
from trotline.machine import read_clock

HELP = """Of which records somebody is told: on the desktop, by a command, by a webhook. Nobody is, by default.

`[[alert]]` in ~/.config/trotline/trotline.toml says it, or that of the owner of the machine; a project cannot.

\b
  trotline log alerts                 every alert: when it was sent last, and what went wrong
  trotline log alerts test NAME       send a sample now
  trotline log alerts occasions       what an alert may be on
"""


@declare_group("alerts", "trotline.log.alerts/1", help=HELP)
def alerts(roots: Roots) -> Result:
    read = read_alerts(roots)
    fired = read_progress(roots.state / EXPORT_DIRECTORY / ALERTS_STATE_FILE, AlertState).fired
    found = [(alert, fired.get(alert.name, AlertStatus())) for alert in read.alerts]
    data = {"alerts": [_build_data(*entry) for entry in found]}
    lines = [*format_problems(read.problems), *(line for entry in found for line in _format_alert(*entry))]
    if not found and not read.problems:
        lines = [f"nobody is told anything; `[[alert]]` in {roots.config / CONFIG_FILE} would say of what"]
    is_ok = not read.problems and not any(state.trouble for _, state in found)
    return Result(data, lines, read.problems, ok=is_ok)


def _build_data(alert: Alert, fired: AlertStatus) -> dict[str, Any]:
    named = {"name": alert.name, "on": alert.on, "way": alert.channel, "layer": alert.layer, "details": alert.details}
    return {**named, **msgspec.to_builtins(fired)}


def _format_alert(alert: Alert, fired: AlertStatus) -> Iterator[str]:
    shown = {"webhook_file": "webhook", "command": alert.command[0] if alert.command else ""}
    way = shown.get(alert.channel, alert.channel)
    when = f"sent {plural(fired.count, 'time')}, last {format_time(fired.last_us)}" if fired.count else "never sent"
    yield f"{bold(alert.name)} on {alert.on}, to {printable(way)} ({alert.layer}): {when}"
    if fired.suppressed:
        yield dim(f"  {fired.suppressed} more, of which nobody was told yet")
    if fired.trouble:
        trouble = f"  {format_time(fired.trouble.at_us)} it did not arrive: {printable(fired.trouble.why)}"
        yield paint(trouble, Severity.ERROR)


@declare("test", "trotline.log.alerts.test/1", parent=alerts)
@click.argument("name")
def send_sample(name: str, roots: Roots) -> Result:
    """Send a sample of an alert now."""
    known = {alert.name: alert for alert in read_alerts(roots).alerts}
    if name not in known:
        hint = f"there are: {', '.join(known)}" if known else f"`trotline check` reads {CONFIG_FILE}"
        raise UsageError(f"there is no alert `{printable(name)[:80]}` that is in force", hint=hint)
    message = AlertMessage(known[name], _build_sample(), sample=True)
    failure = deliver_message(message, ChannelContext(os.environ, read_clock))
    if failure:
        raise TrotlineError(f"the sample did not arrive: {failure}", hint=f"look at `{name}` in {CONFIG_FILE}")
    return Result(message.body, [f"sent: {message.text}"])


@declare("occasions", "trotline.log.alerts.occasions/1", parent=alerts, roots=False)
def list_occasions() -> Result:
    """List the triggers that an alert can have."""
    return Result(OCCASIONS, [f"{bold(name)}: {meaning}" for name, meaning in OCCASIONS.items()])


def _build_sample() -> Record:
    """Return a record of a denied call."""
    return Record(
        id="sample",
        seq=1,
        at_us=read_clock(),
        side=HOOK_SIDE,
        agent="sample",
        event="beforeShellExecution",
        conversation="sample",
        decided="deny",
        sent="deny",
        deciders=["sample"],
        responses=[RecordedResponse(author="sample", permission="deny", failure="timed-out", micros=1)],
        findings=[RecordedFinding("secrets", "sample", "known", "", 1)],
        micros=1,
    )
