"""One record as people see it: in a line, and as a whole."""

import sys
from collections.abc import Iterator
from typing import Any

import click

from trotline.audit.actions import WOULD, verdict_of
from trotline.audit.alarms import UNEXPECTED, Alarm
from trotline.audit.columns import subject_of
from trotline.audit.export import moment
from trotline.audit.inspection import NUMBER, forgotten_at
from trotline.audit.precedence import foremost
from trotline.audit.query import SAID, Query
from trotline.audit.shapes import list_of
from trotline.audit.sqlite_store import SqliteStore
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import as_json as json_text
from trotline.cli.output import bold, dim, envelope, paint, plural, printable
from trotline.cli.patience import opened_trail, said_if_slow
from trotline.cli.questions import the_only
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import TrotlineError

WIDTH = 160
SHOWN = {"deny": Severity.ERROR, "ask": Severity.WARNING}
COLOURS = {"+": "green", "-": "red", "@": "cyan"}


def line_of(record: dict[str, Any]) -> str:
    verdict = verdict_of(record)
    said = SAID.get(verdict, printable(verdict))
    severity = SHOWN.get(verdict.removeprefix(WOULD))
    shown = paint(said, severity) if severity else said
    subject = " ".join(subject_of(record).split()) or str(record.get("tool", ""))
    about = f" {printable(subject)[:WIDTH]}" if subject else ""
    if missing := missing_of(record):
        about += paint(f" [{printable(missing)}]", Severity.WARNING)
    hooks = record.get("detail", {}).get("hooks") or {}
    by = ", ".join(str(hooks.get(name, name)) for name in record.get("deciders", ()))
    who = dim(f" ({printable(by)})") if by else ""
    at = dim(moment(record["at_us"]))
    return f"{record['seq']:>6} {at} {printable(str(record['host']))} {printable(record['event'])} {shown}:{about}{who}"


def missing_of(record: dict[str, Any]) -> str:
    """Why there are no words beside a record, if there are none: whoever was to write them may have been killed."""
    return str(record["detail"].get("missing") or "") if "detail" in record else "its words have not come"


@click.command("show")
@click.argument("name", metavar="ID")
@json_option
@roots_options
def show(name: str, as_json: bool, roots: Roots) -> int:
    """Everything about one call, by its number or its id; what an edit changes is shown if it was kept."""
    with opened_trail(roots.state) as store:
        (record,) = store.with_observed([record_named(store, name)])
        about = store.alarms_about(record)
    observed = list_of(record.get("observed"))
    if as_json:
        told = {"alarms_about": [{**one._asdict(), "sentence": one.sentence} for one in about]}
        click.echo(envelope("trotline.log.record/1", ok=True, data={**record, **told}, problems=[]))
        return 0
    if sys.stdout.isatty():
        from trotline.cli.sheet import draw_record

        draw_record(record, observed)
        tell_alarms(about, len(about), err=False)
        return 0
    click.echo(line_of(record))
    tell_alarms(about, len(about), err=False)
    for line in _voices(record):
        click.echo(line)
    if observed:
        click.echo(f"  observed: done, says {', '.join(map(str, observed))}")
    for line in _diffs(record):
        click.echo(line)
    click.echo(json_text(_without_diffs(record)))
    return 0


@click.command("alarms")
@json_option
@roots_options
def alarms(as_json: bool, roots: Roots) -> int:
    """What does not fit together in the whole trail: deeds that were refused, or that nobody asked about; leave that
    nobody used."""
    with opened_trail(roots.state) as store, said_if_slow("the whole trail is read"):
        found = store.alarms(0)
    if as_json:
        data = {"alarms": [{**alarm._asdict(), "sentence": alarm.sentence} for alarm in found]}
        click.echo(envelope("trotline.log.alarms/1", ok=not found, data=data, problems=[]))
    elif found:
        tell_alarms(found, len(found), err=False)
    else:
        click.echo("everything in the trail fits together")
    return 1 if any(alarm.kind in UNEXPECTED for alarm in found) else 0


def tell_alarms(found: list[Alarm], most: int, *, err: bool = True) -> None:
    """The foremost of them, as sentences; those that nobody can have meant come as errors."""
    for alarm in foremost(found, most):
        severity = Severity.ERROR if alarm.kind in UNEXPECTED else Severity.WARNING
        click.echo(paint(f"alarm: {printable(alarm.sentence)}", severity), err=err)
    if len(found) > most:
        click.echo(f"and {len(found) - most} more: trotline log alarms", err=err)


def alarms_about(store: SqliteStore, query: Query) -> list[Alarm]:
    """Those of the host and of the conversation that are asked for. What else is asked chooses calls, and an alarm is
    about more than the one that shows it."""
    found = [alarm for alarm in store.alarms() if query.host in {"", alarm.host}]
    if not found or not query.conversation:
        return found
    asked = Query(conversation=query.conversation, after_seq=found[0].seq - 1, own=True)
    seqs = {record["seq"] for record in store.search(asked)}
    return [alarm for alarm in found if alarm.seq in seqs]


def tell_unread(store: SqliteStore) -> None:
    unread = store.unread()
    if unread:
        said = f"{plural(len(unread), 'line')} of the spool could not be read ({unread[-1].why}); they are kept"
        click.echo(paint(said, Severity.WARNING), err=True)


def _voices(record: dict[str, Any]) -> Iterator[str]:
    hooks = record.get("detail", {}).get("hooks") or {}
    for voice in record.get("voices", ()):
        said = f"failed, {voice['failure']}" if voice.get("failure") else voice["said"]
        said = f"{said}, and something that is only noted" if voice.get("noted") else said
        ended = f", exit {voice['exit']}" if voice.get("exit") is not None else ""
        name = printable(str(hooks.get(voice["author"], voice["author"])))
        yield f"  {name}: {printable(said)}, {voice['micros'] / 1000:g} ms{ended}"


def _diffs(record: dict[str, Any]) -> Iterator[str]:
    for path, text, *_ in record.get("detail", {}).get("diffs", ()):
        yield bold(f"  {printable(path) or 'a file'}")
        for line in text.split("\n"):
            yield click.style(f"  {printable(line)}", fg=COLOURS.get(line[:1]))


def _without_diffs(record: dict[str, Any]) -> dict[str, Any]:
    """They were shown in a form that can be read."""
    if "diffs" not in record.get("detail", {}):
        return record
    return {**record, "detail": {name: value for name, value in record["detail"].items() if name != "diffs"}}


def record_named(store: SqliteStore, name: str) -> dict[str, Any]:
    """By its number, its id, or the beginning of an id that no other has."""
    number = NUMBER.fullmatch(name)
    asked = Query(after_seq=int(name) - 1, until_seq=int(name) + 1, own=True) if number else None
    found = next(store.search(asked), None) if asked else store.fetch(name)
    if found is None:
        whole = the_only(store, "id", name)
        found = store.fetch(whole) if whole else None
    if found is None:
        _say_if_forgotten(store, name)
        hint = "`trotline log` lists them; the number stands first"
        raise TrotlineError(f"the trail has no record `{printable(name)[:80]}`", hint=hint)
    return found


def _say_if_forgotten(store: SqliteStore, name: str) -> None:
    with store.looked_over() as db:
        when = forgotten_at(db, name)
    if when is not None:
        at = f" at {moment(when)}" if when else ""
        raise TrotlineError(f"record `{printable(name)[:80]}` was forgotten{at}", hint="its link in the chain is left")
