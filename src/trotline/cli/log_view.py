"""Records, alarms and statistics of the audit log as lines and tables."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from trotline.audit.export.export_formats import format_time
from trotline.audit.query.alarms import UNEXPECTED_KINDS, Alarm, select_alarms
from trotline.audit.query.metrics import EVERY_CALL
from trotline.audit.query.query import VERDICT_LABELS, Query
from trotline.audit.query.statistics import ConversationSummary
from trotline.audit.record.record import WOULD_PREFIX, Record
from trotline.audit.store.sqlite_store import RECENT_FOR_ALARMS, SqliteStore
from trotline.cli.output import Table, bold, dim, format_duration, format_printable_json, paint, plural, printable, warn
from trotline.config.problems import Severity

MAX_SUBJECT = 160
MAX_ROWS = 10
"""Rows of a table for people; --json has all."""

SEVERITIES = {"deny": Severity.ERROR, "ask": Severity.WARNING}
DIFF_COLOURS = {"+": "green", "-": "red", "@": "cyan"}
COUNTERS = {
    "denied_by": "denied by",
    "would_be_denied_by": "would be denied by",
    "losses": "lost",
    "failures": "failed",
    "failed_open": "failed, and the call went on",
    "alarms": f"alarms, of the newest {RECENT_FOR_ALARMS:,} entries",
}
PERCENTILES = ("p50", "p95", "p99")
WORK_COLUMNS = ("calls", "p50_ms", "p95_ms", "failed", "bytes", "cost")
FILE_COLUMNS = ("agent_added", "agent_removed", "tab_added", "tab_removed")


# Records


def format_record(record: Record) -> str:
    """Return one line about a record."""
    verdict = record.effective_verdict
    label = VERDICT_LABELS.get(verdict, printable(verdict))
    severity = SEVERITIES.get(verdict.removeprefix(WOULD_PREFIX))
    shown = paint(label, severity) if severity else label
    subject = " ".join(record.subject.split()) or record.tool
    summary = f" {printable(subject)[:MAX_SUBJECT]}" if subject else ""
    if missing := describe_missing(record):
        summary += paint(f" [{printable(missing)}]", Severity.WARNING)
    deciders = dim(f" ({printable(', '.join(record.decider_names))})") if record.deciders else ""
    agent, event = printable(record.agent), printable(record.event)
    return f"{record.seq:>6} {dim(format_time(record.at_us))} {agent} {event} {shown}:{summary}{deciders}"


def describe_missing(record: Record) -> str:
    """Return why a record has no detail, or nothing: the process that writes details may have been killed."""
    return record.detail_or_empty.missing if record.has_detail else "its detail is not written yet"


class RecordList(NamedTuple):
    """Records, one line each."""

    records: list[Record]

    def format_lines(self) -> Iterator[str]:
        return map(format_record, self.records)

    def draw(self) -> None:
        from trotline.cli import terminal

        terminal.draw_list(terminal.build_record_columns, self.records)


class RecordSheet(NamedTuple):
    """Everything about one record."""

    record: Record
    alarms: list[Alarm]

    def format_lines(self) -> Iterator[str]:
        record = self.record
        yield format_record(record)
        yield from format_alarms(self.alarms, len(self.alarms))
        yield from _format_responses(record)
        if record.observed:
            yield f"  observed: done, says {', '.join(map(str, record.observed))}"
        for diff in record.detail_or_empty.diffs:
            yield bold(f"  {printable(diff.path) or 'a file'}")
            yield from (
                click.style(f"  {printable(line)}", fg=DIFF_COLOURS.get(line[:1])) for line in diff.text.split("\n")
            )
        body = record.to_dict()
        if record.detail_or_empty.diffs:
            body["detail"] = {name: value for name, value in body["detail"].items() if name != "diffs"}
        yield format_printable_json(body)

    def draw(self) -> None:
        from trotline.cli import terminal

        terminal.draw_record(self.record)
        for line in format_alarms(self.alarms, len(self.alarms)):
            click.echo(line)


def _format_responses(record: Record) -> Iterator[str]:
    for response in record.responses:
        verdict = f"failed, {response.failure}" if response.failure else response.permission
        notes = ", and something that is only noted" if response.has_notes else ""
        ended = "" if response.exit is None else f", exit {response.exit}"
        name = printable(record.name_author(response.author))
        yield f"  {name}: {printable(verdict + notes)}, {response.micros / 1000:g} ms{ended}"


class ConversationList(NamedTuple):
    """Conversations, one line each."""

    conversations: list[ConversationSummary]

    def format_lines(self) -> Iterator[str]:
        for conversation in self.conversations:
            parts = [
                plural(conversation.calls, "call"),
                plural(conversation.commands, "command"),
                plural(conversation.edits, "edit"),
            ]
            parts += [f"{conversation.denied} denied", format_duration(conversation.last_us - conversation.first_us)]
            ends = (("stopped", conversation.status), ("ended", conversation.reason))
            ended = "".join(f"; {word}: {printable(value)}" for word, value in ends if value)
            name = bold(printable(conversation.id) or "no conversation")
            yield f"{dim(format_time(conversation.first_us))} {conversation.agent} {name}: {', '.join(parts)}{ended}"

    def draw(self) -> None:
        from trotline.cli import terminal

        terminal.draw_list(terminal.build_conversation_columns, self.conversations)


# Alarms


def format_alarms(alarms: list[Alarm], most: int) -> Iterator[str]:
    """Yield the most important alarms; those that are never intended are errors."""
    for alarm in select_alarms(alarms, most):
        severity = Severity.ERROR if alarm.kind in UNEXPECTED_KINDS else Severity.WARNING
        yield paint(f"alarm: {printable(alarm.sentence)}", severity)
    if len(alarms) > most:
        yield f"and {len(alarms) - most} more: trotline log alarms"


def show_alarms(alarms: list[Alarm], most: int) -> None:
    """Print alarms to standard error."""
    for line in format_alarms(alarms, most):
        click.echo(line, err=True)


def find_alarms(store: SqliteStore, query: Query) -> list[Alarm]:
    """Return the alarms of the agent and the conversation of a query. Other conditions select single calls, and an
    alarm is about more than one call."""
    found = [alarm for alarm in store.alarms() if query.agent in {"", alarm.agent}]
    if not found or not query.conversation:
        return found
    query = Query(conversation=query.conversation, after_seq=found[0].seq - 1, include_self_tests=True)
    seqs = {record.seq for record in store.search(query)}
    return [alarm for alarm in found if alarm.seq in seqs]


def warn_of_unread(store: SqliteStore) -> None:
    """Warn of spool lines that could not be read."""
    unread = store.unread()
    if unread:
        warn(f"{plural(len(unread), 'line')} of the spool could not be read ({unread[-1].why}); they are kept")


# Statistics


def build_statistics(found: dict[str, Any]) -> Iterator[Table]:
    """Yield the tables of `trotline log stats`; tables without rows are left out."""
    verdicts = [(number, VERDICT_LABELS.get(word, word)) for word, number in found["verdicts"].items()]
    yield Table(plural(found["calls"], "call"), verdicts)
    tables = (*_build_counters(found), *_build_work(found))
    yield from (_cut_rows(table) for table in tables if table.rows)


def _cut_rows(table: Table) -> Table:
    """Keep the first rows, and say how many there are more; a row about all calls does not count."""
    most = MAX_ROWS + (table.rows[0][-1] == EVERY_CALL)
    more = len(table.rows) - most
    if more <= 0:
        return table
    return table._replace(rows=[*table.rows[:most], (*("" for _ in table.number_titles), f"and {more} more")])


def _build_counters(found: dict[str, Any]) -> Iterator[Table]:
    for key, title in COUNTERS.items():
        yield Table(title, [(number, name) for name, number in found[key].items()])
    slowest = [
        (author["calls"], *(f"{author[share] / 1000:.1f}" for share in PERCENTILES), author["author"])
        for author in found["slowest"]
    ]
    yield Table("slowest, in ms", slowest, ("calls", *PERCENTILES), "author")


def _build_work(found: dict[str, Any]) -> Iterator[Table]:
    for of, title in (("tool", "tools, in ms"), ("server", "MCP servers, in ms")):
        rows = [(*(row.get(name, "") for name in WORK_COLUMNS), row[of]) for row in found[f"{of}s"]]
        yield Table(title, rows, ("calls", "p50", "p95", "failed", "bytes", "cost"), of)
    files = [(*(row.get(name, 0) for name in FILE_COLUMNS), row["file"]) for row in found["files"]]
    yield Table("lines", files, ("agent +", "agent -", "tab +", "tab -"), "file")
    lengths = [
        (sizes["calls"], *(sizes[share] for share in PERCENTILES), name) for name, sizes in found["lengths"].items()
    ]
    yield Table("characters", lengths, ("texts", *PERCENTILES), "of a")
