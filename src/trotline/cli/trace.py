"""trotline trace: the last calls that hosts made, and what they were answered."""

import time
from datetime import UTC, datetime
from typing import Any

import click

from trotline.audit.spool import Spool
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import as_json as json_line
from trotline.cli.output import bold, dim, envelope, paint, plural, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity

HELP = """The last calls that hosts made, and what Trotline answered: event, handlers, verdict, losses, timing.

Commands, paths and messages are not in it: nothing that an agent wrote is kept before it can be redacted.

\b
  trotline trace              the last twenty
  trotline trace -n 100 --event beforeShellExecution
  trotline trace --follow     as they happen
"""

LOOKS = 0.2
"""Seconds between two looks at the spool."""


@click.command("trace", help=HELP)
@click.option("-n", "number", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--event", help="Only this event.")
@click.option("--host", help="Only this host.")
@click.option("--follow", is_flag=True, help="Go on and show calls as they come.")
@json_option
@roots_options
def command(number: int, event: str | None, host: str | None, follow: bool, as_json: bool, roots: Roots) -> int:
    spool = Spool(roots.state / "spool")
    read = spool.read()
    found = [record for record in read.records if _wanted(record, event, host)]
    if as_json and not follow:
        data = {"records": found[-number:], "torn": read.torn}
        click.echo(envelope("trotline.trace/1", ok=read.torn == 0, data=data, problems=[]))
        return 0
    _show(found[-number:], as_json=as_json)
    if not found and not follow:
        click.echo("no host has called yet; `trotline hook` is the line that they run")
    if read.torn:
        click.echo(paint(f"{plural(read.torn, 'record')} in the spool cannot be read", Severity.WARNING), err=True)
    seen = {record["id"] for record in read.records}
    while follow:
        time.sleep(LOOKS)
        news = [record for record in spool.read().records if record["id"] not in seen]
        seen |= {record["id"] for record in news}
        _show([record for record in news if _wanted(record, event, host)], as_json=as_json)
    return 0


def _wanted(record: dict[str, Any], event: str | None, host: str | None) -> bool:
    return (event is None or record.get("event") == event) and (host is None or record.get("host") == host)


def _show(records: list[dict[str, Any]], *, as_json: bool) -> None:
    for record in records:
        click.echo(json_line(record).replace("\n", "") if as_json else "\n".join(_lines(record)))


def _lines(record: dict[str, Any]) -> list[str]:
    at = datetime.fromtimestamp(record["at_us"] / 1_000_000, UTC).isoformat(timespec="milliseconds")
    tool = f"  {record['tool']}" if record.get("tool") else ""
    head = f"{dim(at)} {record['host']} {bold(record['event'])}{printable(tool)}: {record['asked']}"
    lines = [f"{head}  {dim(str(record['micros'] / 1000) + ' ms')}"]
    for voice in record["voices"]:
        said = f"failed, {voice['failure']}" if voice["failure"] else voice["said"]
        if said != "silent":
            lines.append(f"  {printable(voice['author'])}: {said}, {voice['micros'] / 1000:g} ms")
    lines += [paint(f"  lost: {what}: {printable(why)}", Severity.WARNING) for what, why in record["losses"]]
    return lines
