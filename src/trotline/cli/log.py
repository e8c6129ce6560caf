"""trotline log: the trail, asked. What happened, who refused it, how long it took, and whether it can be believed."""

import sys
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
from trotline.cli.following import Follower
from trotline.cli.following import follow as follow_on
from trotline.cli.keeping import anchor, forget
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, lasted, paint, plural, printable
from trotline.cli.patience import opened_trail
from trotline.cli.questions import number_option, query_options, understood
from trotline.cli.showing import alarms, alarms_about, line_of, show, tell_alarms, tell_unread
from trotline.cli.verifying import verify
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

MOST_ALARMS = 5


@click.group("log", help=HELP, invoke_without_command=True)
@query_options
@number_option
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
    if follow and (count or by):
        raise click.UsageError("--follow shows calls as they come: it does not go with --count and --by", context)
    sender = Sender(roots)
    sender.set_off(clock())
    with opened_trail(roots.state) as store:
        query = understood(store, query)
        if count or by:
            _tell_counts(list(store.search(replace(query, by=by or "all"))), total=not by, as_json=as_json)
            return 0
        if follow:
            follower = Follower(store, query, clock(), as_json=as_json)
            follower.begin(store, number, MOST_ALARMS)
        else:
            _tell(store, replace(query, limit=number), as_json=as_json)
        _tend(store, roots)
    if follow:
        follow_on(follower, roots, sender)
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


def _tell(store: SqliteStore, query: Query, *, as_json: bool) -> None:
    found = list(store.search(query))
    alarms = alarms_about(store, query)
    if as_json:
        records = list(store.with_observed(found))
        data = {"records": records, "unread": len(store.unread()), "alarms": [alarm._asdict() for alarm in alarms]}
        click.echo(envelope("trotline.log/1", ok=True, data=data, problems=[]))
        return
    if found and sys.stdout.isatty():
        from trotline.cli import drawing

        drawing.draw_list(drawing.OF_RECORDS, found)
    else:
        click.echo("\n".join(map(line_of, found)) or "nothing in the trail answers to that")
    tell_alarms(alarms, MOST_ALARMS)
    tell_unread(store)


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
@number_option
@json_option
@roots_options
def conversations(query: Query, number: int, as_json: bool, roots: Roots) -> int:
    """Each with its length, its calls, commands and edits, and how it ended."""
    import msgspec

    from trotline.audit.statistics import conversations as taken_together

    with opened_trail(roots.state) as store:
        query = understood(store, query)
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
        told = [plural(one.calls, "call"), plural(one.commands, "command"), plural(one.edits, "edit")]
        told += [f"{one.denied} denied", lasted(one.last_us - one.first_us)]
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

    said = read_settings(roots)
    for problem in said.problems:
        told = f"warning: {printable(str(problem.place))}: {printable(problem.message)}"
        click.echo(paint(told, Severity.WARNING), err=True)
    with opened_trail(roots.state) as store:
        query = understood(store, query)
        found = statistics(store, query, costs_of(said.costs))
        kinds = Counter(alarm.kind for alarm in among(store, query, store.alarms()))
        found["alarms"] = dict(kinds.most_common())
    if as_json:
        click.echo(envelope("trotline.log.stats/1", ok=True, data=found, problems=[]))
        return 0
    tables.tell(tallies.statistics(found))
    return 0


for word in (show, alarms, verify, anchor, forget, export, send):
    command.add_command(word)
