"""trotline trace: the last calls that hosts made, and what they were answered."""

import time
from collections.abc import Iterator
from typing import Any

import click

from trotline.audit import trail
from trotline.audit.columns import subject_of
from trotline.audit.export import when
from trotline.audit.own import is_our_own
from trotline.audit.query import Query
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import as_json as json_line
from trotline.cli.output import bold, dim, envelope, paint, plural, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.machine import clock

HELP = """The last calls that hosts made, and what Trotline answered: subject, voices, verdict, losses, timing.

What an agent wrote is kept without the secrets and personal data in it: what was found is named by its kind.

\b
  trotline trace              the last twenty
  trotline trace -n 100 --event beforeShellExecution
  trotline trace --follow     as they happen
  trotline trace --full -n 1  with the payload, the effects and the reply
  trotline trace --all        also what `doctor` and `prove` called
"""

LOOKS = 0.2
"""Seconds between two looks at the spool."""

AT_ONCE = Query(own=True, limit=500)
"""Records that may come between two looks, and be drained by the second."""

PATIENCE_US = 1_500_000
WIDTH = 200


@click.command("trace", help=HELP)
@click.option("-n", "number", type=click.IntRange(1, 1_000_000_000), default=20, show_default=True, help="How many.")
@click.option("--event", help="Only this event.")
@click.option("--host", help="Only this host.")
@click.option("--all", "everything", is_flag=True, help="Also calls that were made to try the lines.")
@click.option("--follow", is_flag=True, help="Go on and show calls as they come.")
@click.option("--full", is_flag=True, help="With the payload, the effects and the reply.")
@json_option
@roots_options
def command(
    number: int,
    event: str | None,
    host: str | None,
    everything: bool,
    follow: bool,
    full: bool,
    as_json: bool,
    roots: Roots,
) -> int:
    asked = Query(event=event or "", host=host or "", own=everything, limit=number)
    before = trail.read(roots.state, AT_ONCE).records
    read = trail.read(roots.state, asked)
    found = [record for record in read.records if _answers(record, asked)][-number:]
    if as_json and not follow:
        data = {"records": found, "torn": read.torn}
        click.echo(envelope("trotline.trace/1", ok=read.torn == 0, data=data, problems=[]))
        return 0
    _show(found, as_json=as_json, full=full)
    if not found and not follow:
        none = "no host has called yet; `trotline hook` is the line that they run"
        click.echo("no call answers to that" if event or host else none)
    if not everything and any(map(is_our_own, before)):
        click.echo(dim("calls of `doctor` and `prove` are left out; --all shows them"), err=True)
    if read.torn:
        click.echo(paint(f"{plural(read.torn, 'record')} cannot be read", Severity.WARNING), err=True)
    for news in _following(roots, {record["id"] for record in (*before, *read.records)}) if follow else ():
        _show([record for record in news if _answers(record, asked)], as_json=as_json, full=full)
    return 0


def _answers(record: dict[str, Any], asked: Query) -> bool:
    """What the store was asked, of one that waits for it."""
    named = asked.event in {"", record.get("event")} and asked.host in {"", record.get("host")}
    return named and (asked.own or not is_our_own(record))


def _following(roots: Roots, seen: set[str]) -> Iterator[list[dict[str, Any]]]:
    while True:
        time.sleep(LOOKS)
        read = trail.read(roots.state, AT_ONCE).records
        news = [record for record in read if record["id"] not in seen and _is_whole(record)]
        seen |= {record["id"] for record in news}
        yield news


def _is_whole(record: dict[str, Any]) -> bool:
    """Its words come a moment after it; after that moment it is shown without them."""
    return "detail" in record or clock() - record["at_us"] > PATIENCE_US


def _show(records: list[dict[str, Any]], *, as_json: bool, full: bool) -> None:
    for record in records:
        if as_json:
            click.echo(json_line(record).replace("\n", ""))
            continue
        click.echo("\n".join(_lines(record)))
        if full:
            click.echo(json_line(record.get("detail", "nothing was kept of what was said")))


def _lines(record: dict[str, Any]) -> list[str]:
    at = when(record["at_us"]).isoformat(timespec="milliseconds")
    tool = f"  {record['tool']}" if record.get("tool") else ""
    withheld = record.get("withheld", [])
    asked = f"would {record['asked']}" if record["asked"] in withheld else record["asked"]
    host, event, tool, asked = map(printable, (record["host"], record["event"], tool, asked))
    head = f"{dim(at)} {host} {bold(event)}{tool}: {asked}"
    lines = [f"{head}  {dim(str(record.get('micros', 0) / 1000) + ' ms')}"]
    detail = record.get("detail", {})
    subject = " ".join(printable(subject_of(record)).split())[:WIDTH]
    lines += [f"  {dim('about')} {subject}"] if subject else []
    lines += [f"  {printable(detail['missing'])}"] if "missing" in detail else []
    reasons = {author: said for author, said, *_ in detail.get("reasons", ())}
    hooks = detail.get("hooks", {})
    for voice in record.get("voices", ()):
        said = f"failed, {voice['failure']}" if voice.get("failure") else voice["said"]
        if said != "silent" or voice.get("noted"):
            reason = reasons.get(voice["author"], said)
            name = str(hooks.get(voice["author"], voice["author"]))
            lines.append(f"  {printable(name)}: {printable(reason)}, {voice['micros'] / 1000:g} ms")
    losses = [loss[:2] for loss in record.get("losses", ())]
    changes = [what for what in withheld if what != record["asked"]]
    lines += [f"  monitor mode, not sent: {', '.join(changes)}"] if changes else []
    lines += [paint(f"  lost: {printable(what)}: {printable(why)}", Severity.WARNING) for what, why in losses]
    return lines
