"""trotline log: the trail, asked. What happened, who refused it, how long it took, and whether it can be believed."""

import sys
import time
from typing import Any

import click
from click.core import ParameterSource

from trotline.audit import trail
from trotline.audit.export import moment
from trotline.audit.query import Query
from trotline.audit.sqlite_store import SqliteStore
from trotline.audit.statistics import Conversation
from trotline.cli import tables, tallies
from trotline.cli.exporting import export, send
from trotline.cli.keeping import anchor, forget, verify
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import as_json as json_text
from trotline.cli.output import bold, dim, envelope, paint, plural, printable
from trotline.cli.patience import opened_trail
from trotline.cli.questions import query_options, unheard_of
from trotline.cli.showing import alarms, line_of, show, tell_alarms
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import TrotlineError
from trotline.machine import clock
from trotline.outward import Sender

HELP = """What agents did under Trotline, newest first: asked by time, event, host, verdict, path, command or words.

\b
  trotline log --since 2h --verdict denied
  trotline log --path 'src/**' --effect write
  trotline log --command 'npm *' --count
  trotline log --text 'force push' --by host
  trotline log --follow            as it happens
  trotline log show 12             everything about one, by its number or its id
  trotline log conversations       each with its length, commands, edits and end
  trotline log stats               verdicts, who refuses, who is slow, what is lost
  trotline log alarms              what was done against a refusal, or without being asked
  trotline log verify              whether it is what was written
  trotline log anchor --file /mnt/elsewhere/heads   its head noted where the agent cannot write
  trotline log forget --before 90d                 or --keep 500MB, or --conversation ID
  trotline log export --format csv  also jsonl, ocsf, otlp
  trotline log send                what export.toml and alerts.toml ask for, now
"""

LOOKS = 0.2
PATIENCE_US = 1_500_000
"""How long a call that is followed waits for its words."""

MOST_ALARMS = 5


@click.group("log", help=HELP, invoke_without_command=True)
@query_options
@click.option("-n", "number", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@click.option("--count", is_flag=True, help="How many there are; piped, the number alone.")
@click.option("--by", type=click.Choice(["hour", "host", "guard"]), help="How many for each.")
@click.option("--follow", is_flag=True, help="Go on and show calls as they come.")
@json_option
@roots_options
@click.pass_context
def command(
    context: click.Context,
    query: Query,
    number: int,
    count: bool,
    by: str | None,
    follow: bool,
    as_json: bool,
    roots: Roots,
) -> int:
    from msgspec.structs import replace

    if context.invoked_subcommand is not None:
        _refuse_options_before(context)
        return 0
    sender = Sender(roots)
    sender.set_off(clock())
    with opened_trail(roots.state) as store:
        if count or by:
            _tell_counts(list(store.search(replace(query, by=by or "all"))), total=not by, as_json=as_json)
            return 0
        found = list(store.search(replace(query, limit=number)))
        if as_json and not follow:
            alarms = [alarm._asdict() for alarm in store.alarms()]
            data = {"records": found, "unread": len(store.unread()), "alarms": alarms}
            click.echo(envelope("trotline.log/1", ok=True, data=data, problems=[]))
            return 0
        _tell(found[::-1] if follow else found, as_json=as_json, drawn=sys.stdout.isatty() and not follow)
        tell_alarms(store.alarms(), MOST_ALARMS)
        _tell_doubts(store, found=bool(found) or follow)
        for doubt in () if found else unheard_of(query):
            click.echo(paint(printable(doubt), Severity.WARNING), err=True)
        last = store.head().seq
        _tend(store, roots)
    while follow:
        time.sleep(LOOKS)
        sender.set_off(clock())
        last = _tell_news(roots, replace(query, after_seq=last), as_json=as_json)
    return 0


def _tend(store: SqliteStore, roots: Roots) -> None:
    """What settings want done with the trail; where there is no service, people who ask are the ones that do it."""
    try:
        trail.tend(store, roots, clock())
    except TrotlineError as error:
        click.echo(paint(f"warning: {error.message}", Severity.WARNING), err=True)


def _refuse_options_before(context: click.Context) -> None:
    """What stands before the word would not be heard by it, and `--home` least of all."""
    given = [name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE]
    if given:
        word = context.invoked_subcommand
        raise click.UsageError(f"options come after the word: `trotline log {word} --...`", context)


def _tell_news(roots: Roots, query: Query, *, as_json: bool) -> int:
    """Up to where calls were shown: one whose words have not come yet is waited for a little."""
    last = query.after_seq
    with opened_trail(roots.state) as store:
        for record in list(store.search(query))[::-1]:
            if "detail" not in record and clock() - record["at_us"] < PATIENCE_US:
                break
            _tell([record], as_json=as_json, drawn=False)
            last = record["seq"]
    return last


def _tell(records: list[dict[str, Any]], *, as_json: bool, drawn: bool) -> None:
    if drawn and records:
        from trotline.cli import drawing

        drawing.draw_list(drawing.OF_RECORDS, records)
        return
    for record in records:
        click.echo(json_text(record).replace("\n", "") if as_json else line_of(record))


def _tell_doubts(store: SqliteStore, *, found: bool) -> None:
    if not found:
        click.echo("nothing in the trail answers to that")
    unread = store.unread()
    if unread:
        said = f"{plural(len(unread), 'line')} of the spool could not be read ({unread[-1].why}); they are kept"
        click.echo(paint(said, Severity.WARNING), err=True)


def _tell_counts(counts: list[dict[str, Any]], *, total: bool, as_json: bool) -> None:
    if as_json:
        click.echo(envelope("trotline.log.count/1", ok=True, data={"counts": counts}, problems=[]))
    elif total:
        number = counts[0]["count"]
        click.echo(plural(number, "call") if sys.stdout.isatty() else str(number))
    else:
        tables.tell([tallies.counts(counts)])


@command.command("conversations")
@query_options
@click.option("-n", "number", type=click.IntRange(1), default=20, show_default=True, help="How many.")
@json_option
@roots_options
def conversations(query: Query, number: int, as_json: bool, roots: Roots) -> int:
    """Each with its length, its calls, commands and edits, and how it ended."""
    import msgspec

    from trotline.audit.statistics import conversations as taken_together

    with opened_trail(roots.state) as store:
        found = taken_together(store, msgspec.structs.replace(query, limit=number))
    if as_json:
        click.echo(envelope("trotline.log.conversations/1", ok=True, data=msgspec.to_builtins(found), problems=[]))
        return 0
    _tell_conversations(found)
    if not found:
        click.echo("nothing in the trail answers to that")
    return 0


def _tell_conversations(found: list[Conversation]) -> None:
    if found and sys.stdout.isatty():
        from trotline.cli import drawing

        drawing.draw_list(drawing.OF_CONVERSATIONS, found)
        return
    for one in found:
        seconds = (one.last_us - one.first_us) // 1_000_000
        told = [plural(one.calls, "call"), plural(one.commands, "command"), plural(one.edits, "edit")]
        told += [f"{one.denied} denied", f"{seconds} s"]
        ends = (("stopped", one.status), ("ended", one.reason))
        ended = "".join(f"; {word}: {printable(said)}" for word, said in ends if said)
        name = bold(printable(one.id) or "no conversation")
        click.echo(f"{dim(moment(one.first_us))} {one.host} {name}: {', '.join(told)}{ended}")


@command.command("stats")
@query_options
@json_option
@roots_options
def stats(query: Query, as_json: bool, roots: Roots) -> int:
    """Verdicts, who refuses, who is slow, what hosts could not hear, what failed; files, tools and what they cost."""
    from collections import Counter

    from trotline.audit.statistics import among, costs_of, statistics
    from trotline.config.settings import read_settings

    with opened_trail(roots.state) as store:
        found = statistics(store, query, costs_of(read_settings(roots).costs))
        kinds = Counter(alarm.kind for alarm in among(store, query, store.alarms()))
        found["alarms"] = dict(kinds.most_common())
    if as_json:
        click.echo(envelope("trotline.log.stats/1", ok=True, data=found, problems=[]))
        return 0
    tables.tell(tallies.statistics(found))
    return 0


for word in (show, alarms, verify, anchor, forget, export, send):
    command.add_command(word)
