"""Records, alarms and statistics of the audit log as lines and tables."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import click

from trotline.audit.export.export_formats import format_time
from trotline.audit.query.alarms import UNEXPECTED_KINDS, Alarm, select_alarms
from trotline.audit.query.metrics import EVERY_CALL
from trotline.audit.query.query import VERDICT_LABELS, Query
from trotline.audit.query.statistics import ConversationSummary
from trotline.audit.record.record_reader import WOULD_PREFIX, get_verdict
from trotline.audit.store.record_index import get_subject
from trotline.audit.store.sqlite_store import RECENT_FOR_ALARMS, SqliteStore
from trotline.cli.output import Table, bold, dim, format_duration, format_json, paint, plural, printable, warn
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


def format_record(record: dict[str, Any]) -> str:
    """Return one line about a record."""
    verdict = get_verdict(record)
    word = VERDICT_LABELS.get(verdict, printable(verdict))
    severity = SEVERITIES.get(verdict.removeprefix(WOULD_PREFIX))
    shown = paint(word, severity) if severity else word
    subject = " ".join(get_subject(record).split()) or str(record.get("tool", ""))
    about = f" {printable(subject)[:MAX_SUBJECT]}" if subject else ""
    if missing := describe_missing(record):
        about += paint(f" [{printable(missing)}]", Severity.WARNING)
    hooks = record.get("detail", {}).get("hooks") or {}
    by = ", ".join(str(hooks.get(name, name)) for name in record.get("deciders", ()))
    authors = dim(f" ({printable(by)})") if by else ""
    agent, event = printable(str(record["agent"])), printable(record["event"])
    return f"{record['seq']:>6} {dim(format_time(record['at_us']))} {agent} {event} {shown}:{about}{authors}"


def describe_missing(record: dict[str, Any]) -> str:
    """Return why a record has no detail, or nothing: the process that writes details may have been killed."""
    return str(record["detail"].get("missing") or "") if "detail" in record else "its words have not come"


class RecordList(NamedTuple):
    """Records, one line each."""

    records: list[dict[str, Any]]

    def format_lines(self) -> Iterator[str]:
        return map(format_record, self.records)

    def draw(self) -> None:
        from trotline.cli import terminal

        terminal.draw_list(terminal.build_record_columns, self.records)


class RecordSheet(NamedTuple):
    """Everything about one record."""

    record: dict[str, Any]
    observed: list[int]
    alarms: list[Alarm]

    def format_lines(self) -> Iterator[str]:
        yield format_record(self.record)
        yield from format_alarms(self.alarms, len(self.alarms))
        yield from _format_responses(self.record)
        if self.observed:
            yield f"  observed: done, says {', '.join(map(str, self.observed))}"
        detail = self.record.get("detail", {})
        for path, text, *_ in detail.get("diffs", ()):
            yield bold(f"  {printable(path) or 'a file'}")
            yield from (click.style(f"  {printable(line)}", fg=DIFF_COLOURS.get(line[:1])) for line in text.split("\n"))
        rest = {name: value for name, value in detail.items() if name != "diffs"}
        yield format_json({**self.record, "detail": rest} if "diffs" in detail else self.record)

    def draw(self) -> None:
        from trotline.cli import terminal

        terminal.draw_record(self.record, self.observed)
        for line in format_alarms(self.alarms, len(self.alarms)):
            click.echo(line)


def _format_responses(record: dict[str, Any]) -> Iterator[str]:
    hooks = record.get("detail", {}).get("hooks") or {}
    for response in record.get("responses", ()):
        said = f"failed, {response['failure']}" if response.get("failure") else response["said"]
        said = f"{said}, and something that is only noted" if response.get("noted") else said
        ended = f", exit {response['exit']}" if response.get("exit") is not None else ""
        name = printable(str(hooks.get(response["author"], response["author"])))
        yield f"  {name}: {printable(said)}, {response['micros'] / 1000:g} ms{ended}"


class ConversationList(NamedTuple):
    """Conversations, one line each."""

    conversations: list[ConversationSummary]

    def format_lines(self) -> Iterator[str]:
        for talk in self.conversations:
            parts = [plural(talk.calls, "call"), plural(talk.commands, "command"), plural(talk.edits, "edit")]
            parts += [f"{talk.denied} denied", format_duration(talk.last_us - talk.first_us)]
            ends = (("stopped", talk.status), ("ended", talk.reason))
            ended = "".join(f"; {word}: {printable(value)}" for word, value in ends if value)
            name = bold(printable(talk.id) or "no conversation")
            yield f"{dim(format_time(talk.first_us))} {talk.agent} {name}: {', '.join(parts)}{ended}"

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
    asked = Query(conversation=query.conversation, after_seq=found[0].seq - 1, own=True)
    seqs = {record["seq"] for record in store.search(asked)}
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
    return table._replace(rows=[*table.rows[:most], (*("" for _ in table.numbers), f"and {more} more")])


def _build_counters(found: dict[str, Any]) -> Iterator[Table]:
    for key, title in COUNTERS.items():
        yield Table(title, [(number, name) for name, number in found[key].items()])
    slowest = [
        (author["calls"], *(f"{author[share] / 1000:.1f}" for share in PERCENTILES), author["who"])
        for author in found["slowest"]
    ]
    yield Table("slowest, in ms", slowest, ("calls", *PERCENTILES), "who")


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
