"""trotline log: search, follow and count the audit log; its subcommands are in the log_*.py files."""

import time
from collections import Counter
from typing import Any

import click
import msgspec
from msgspec.structs import replace

from trotline.audit.export.export_formats import format_jsonl
from trotline.audit.query.alarms import UNEXPECTED_KINDS, Alarm
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.store.audit_log import ARRIVAL_BATCH, read_arrived
from trotline.audit.store.sqlite_store import RECENT_FOR_ALARMS, SqliteStore
from trotline.audit.store.store import ForgetRequest
from trotline.cli.command import announce_if_slow, declare, declare_group, number_option, wants_json
from trotline.cli.log_alerts import alerts
from trotline.cli.log_export import export, send
from trotline.cli.log_mcp import mcp
from trotline.cli.log_query import (
    complete_conversation,
    complete_query,
    find_record,
    open_log,
    query_options,
    redact_conversation,
)
from trotline.cli.log_verify import anchor, prune, verify
from trotline.cli.log_view import (
    ConversationList,
    RecordList,
    RecordSheet,
    build_statistics,
    find_alarms,
    format_alarms,
    format_record,
    show_alarms,
    warn_of_unread,
)
from trotline.cli.output import Exit, Result, Table, plural, printable, warn
from trotline.config.paths import Roots
from trotline.conversation.sessions import Sessions
from trotline.delivery.delivery_process import DeliveryStarter
from trotline.domain.errors import TrotlineError
from trotline.machine import read_clock

HELP = """What agents did under Trotline, newest first: asked by time, event, agent, verdict, path, command or words.

\b
  trotline log --since 2h --verdict denied
  trotline log --path 'src/**' --effect write
  trotline log --command 'npm *' --count
  trotline log --text 'force push' --by agent
  trotline log --follow            as it happens
  trotline log show 12             everything about one, by its number or its id
  trotline log conversations       each with its length, commands, edits and end
  trotline log conversations --clear ID            remove one, with its saved variables and follow-up counts
  trotline log stats               verdicts, who refuses, who is slow, what is lost
  trotline log alarms              actions done despite a denial or without a hook call; permissions not used
  trotline log mcp                 the MCP servers and tools that were called, and those that are configured
  trotline log alerts              of which records somebody is told, and whether that arrives
  trotline log verify              whether it is what was written
  trotline log anchor --file /mnt/elsewhere/heads   its head noted where the agent cannot write
  trotline log prune --before 90d                  or --keep 500MB
  trotline log export --format csv  also jsonl, ocsf, otlp
  trotline log send                what trotline.toml asks for, now
"""

MAX_ALARMS = 5
NO_MATCH = "no matching records"
FOLLOW_SECONDS = 0.2
MAX_DETAIL_WAIT_US = 1_500_000
"""Time that a followed record waits for its detail; later records wait with it, so that the order stays."""


@declare_group("log", "trotline.log/1", help=HELP)
@query_options
@number_option
@click.option("--count", is_flag=True, help="How many there are; piped, the number alone.")
@click.option("--by", type=click.Choice(["hour", "agent", "guard"]), help="How many for each.")
@click.option("--follow", is_flag=True, help="Go on and show calls as they come.")
def command(query: Query, number: int, count: bool, by: str | None, follow: bool, roots: Roots) -> Result:
    if follow and (count or by):
        raise click.UsageError("--follow shows calls as they come: it does not go with --count and --by")
    sender = DeliveryStarter(roots)
    sender.start(read_clock())
    with open_log(roots.state) as store:
        query = complete_query(store, query)
        if count or by:
            return _count(list(store.aggregate(replace(query, by=by or "all"))), total=not by)
        if not follow:
            result = _list_records(store, replace(query, limit=number))
            _maintain(store, roots)
            return result
        follower = Follower(store, query, read_clock(), as_json=wants_json())
        follower.begin(store, number, MAX_ALARMS)
        _maintain(store, roots)
    _follow(follower, roots, sender)
    return Result()


def _maintain(store: SqliteStore, roots: Roots) -> None:
    """Apply retention and anchors of the settings; without a service, `trotline log` is the one that does it."""
    try:
        audit_log.maintain(store, roots, read_clock())
    except TrotlineError as error:
        warn(f"warning: {error.message}")


def _list_records(store: SqliteStore, query: Query) -> Result:
    found = list(store.search(query))
    alarms = find_alarms(store, query)
    records = list(store.with_observed(found)) if wants_json() else []
    data: dict[str, Any] = {"records": [record.to_dict() for record in records]}
    data |= {"unread": len(store.unread()), "alarms": [alarm._asdict() for alarm in alarms]}
    if not wants_json():
        warn_of_unread(store)
    warnings = [] if wants_json() else list(format_alarms(alarms, MAX_ALARMS))
    return Result(data, [RecordList(found)] if found else [NO_MATCH], warnings=warnings)


class CallCount(msgspec.Struct):
    """The number of calls: with a noun on a terminal, alone in a pipe."""

    number: int

    def format_lines(self) -> list[str]:
        return [str(self.number)]

    def draw(self) -> None:
        click.echo(plural(self.number, "call"))


def _count(counts: list[dict[str, Any]], *, total: bool) -> Result:
    shown = CallCount(counts[0]["count"]) if total else Table("", [(row["count"], row["name"]) for row in counts])
    lines = [shown] if total or counts else []
    return Result({"counts": counts}, lines, schema="trotline.log.count/1")


class Follower:
    """Shows new records and alarms of the audit log; remembers which were shown."""

    def __init__(self, store: SqliteStore, query: Query, now_us: int, *, as_json: bool) -> None:
        self._query = query
        self._as_json = as_json
        self._head = store.head().seq
        self._shown_seq = self._find_complete(store, max(0, self._head - ARRIVAL_BATCH), now_us)
        self._shown_alarms: set[Alarm] = set()

    def begin(self, store: SqliteStore, number: int, most_alarms: int) -> None:
        """Show the newest records that have their detail, and all alarms."""
        self._show(store, replace(self._query, until_seq=self._shown_seq + 1, limit=number))
        alarms = find_alarms(store, self._query)
        show_alarms(alarms, most_alarms)
        self._shown_alarms.update(alarms)
        warn_of_unread(store)

    def look(self, store: SqliteStore, now_us: int) -> None:
        """Show what is new since the last look."""
        head = store.head().seq
        if head < self._shown_seq:
            warn("another audit log is in its place: from its beginning")
            self._shown_seq = 0
            self._shown_alarms.clear()
        complete = self._find_complete(store, self._shown_seq, now_us)
        if complete > self._shown_seq:
            self._show(store, replace(self._query, after_seq=self._shown_seq, until_seq=complete + 1))
            self._shown_seq = complete
        if head != self._head:  # a late detail may raise an alarm, too
            self._head = head
            self._show_new_alarms(store)

    def _show(self, store: SqliteStore, query: Query) -> None:
        found = list(store.search(query))[::-1]
        for line in format_jsonl(found) if self._as_json else map(format_record, found):
            click.echo(line)

    def _show_new_alarms(self, store: SqliteStore) -> None:
        """Ignore the older half of the window: what explains an action there may just have left the window."""
        oldest = self._head - RECENT_FOR_ALARMS // 2
        alarms = find_alarms(store, self._query)
        new = [alarm for alarm in alarms if alarm.seq > oldest and alarm not in self._shown_alarms]
        show_alarms(new, len(new))
        self._shown_alarms.update(new)

    @staticmethod
    def _find_complete(store: SqliteStore, after_seq: int, now_us: int) -> int:
        """Return up to which record all have their detail, or have waited long enough for it."""
        found = read_arrived(store, after_seq, now_us, patience_us=MAX_DETAIL_WAIT_US, include_self_tests=True)
        seqs = [record.seq for record in found]
        return seqs[-1] if seqs else after_seq


def _follow(follower: Follower, roots: Roots, sender: DeliveryStarter) -> None:
    while True:
        time.sleep(FOLLOW_SECONDS)
        sender.start(read_clock())
        with open_log(roots.state) as store:
            follower.look(store, read_clock())


@declare("show", "trotline.log.record/1", parent=command)
@click.argument("name", metavar="ID")
def show_record(name: str, roots: Roots) -> Result:
    """Everything about one call, by its number or its id; what an edit changes is shown if it was kept."""
    with open_log(roots.state) as store:
        (record,) = store.with_observed([find_record(store, name)])
        about = store.related_alarms(record)
    alarms = [{**alarm._asdict(), "sentence": alarm.sentence} for alarm in about]
    return Result({**record.to_dict(), "related_alarms": alarms}, [RecordSheet(record, about)])


@declare("alarms", "trotline.log.alarms/1", parent=command)
def list_alarms(roots: Roots) -> Result:
    """List contradictions in the whole audit log: actions done despite a denial or without a hook call, and
    permissions not used."""
    with open_log(roots.state) as store, announce_if_slow("the whole audit log is read"):
        found = store.alarms(0)
    data = {"alarms": [{**alarm._asdict(), "sentence": alarm.sentence} for alarm in found]}
    lines = list(format_alarms(found, len(found))) or ["everything in the audit log fits together"]
    is_unexpected = any(alarm.kind in UNEXPECTED_KINDS for alarm in found)
    return Result(data, lines, ok=not found, exit_code=Exit.FINDINGS if is_unexpected else Exit.OK)


@declare("conversations", "trotline.log.conversations/1", parent=command)
@query_options
@number_option
@click.option("--clear", metavar="ID", help="Remove this conversation: its records, saved variables, follow-up counts.")
def show_conversations(query: Query, number: int, clear: str | None, roots: Roots) -> Result:
    """Each with its length, its calls, commands and edits, and how it ended."""
    from trotline.audit.query.statistics import list_conversations

    if clear is not None:
        return _clear_conversation(clear, roots)
    with open_log(roots.state) as store:
        query = complete_query(store, query)
        found = list_conversations(store, replace(query, limit=number))
    return Result(msgspec.to_builtins(found), [ConversationList(found)] if found else [NO_MATCH])


def _clear_conversation(conversation: str, roots: Roots) -> Result:
    """Remove the records of a conversation and what hooks saved for it."""
    if not conversation.strip():
        raise click.UsageError("--clear has no word in it")
    with open_log(roots.state) as store, announce_if_slow("records are taken out of the audit log"):
        name, before = complete_conversation(store, redact_conversation(conversation, roots)), store.head()
        count = store.forget(ForgetRequest(conversation=name), now_us=read_clock())
        is_found = store.head() != before
    sessions = Sessions(roots.state / "sessions")
    cleared = sum(sessions.clear(known) for known in dict.fromkeys((name, conversation)))
    if not is_found and not cleared:
        hint = "`trotline log conversations` lists those that are there; eight characters of a name are enough"
        raise TrotlineError(f"the audit log has no conversation `{printable(conversation)[:80]}`", hint=hint)
    lines = [
        f"{plural(count, 'record')} forgotten",
        *["saved variables and follow-up counts forgotten"][: bool(cleared)],
    ]
    return Result({"forgotten": count, "sessions": cleared}, lines, schema="trotline.log.clear/1")


@declare("stats", "trotline.log.stats/1", parent=command)
@query_options
def show_statistics(query: Query, roots: Roots) -> Result:
    """Verdicts, who refuses, who is slow, what agents could not hear, what failed; files, tools and what they cost."""
    from trotline.audit.query.statistics import compute_statistics, filter_alarms, parse_costs
    from trotline.config.settings import read_settings

    settings = read_settings(roots)
    for problem in settings.problems:
        warn(f"warning: {printable(str(problem.place))}: {printable(problem.message)}")
    with open_log(roots.state) as store:
        query = complete_query(store, query)
        found = compute_statistics(store, query, parse_costs(settings.costs))
        kinds = Counter(alarm.kind for alarm in filter_alarms(store, query, store.alarms()))
        found["alarms"] = dict(kinds.most_common())
    return Result(found, build_statistics(found))


for subcommand in (mcp, alerts, verify, anchor, prune, export, send):
    command.add_command(subcommand)
