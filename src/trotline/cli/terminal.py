"""Tables and records on a terminal, drawn with rich: as wide as the terminal, with colours.

Loaded only if standard output is a terminal, because rich takes longer to load than a query takes. Text of agents is
never markup, and its control characters are replaced.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal, NamedTuple

from msgspec import UNSET
from msgspec.structs import asdict, astuple
from rich.console import Console, RenderableType
from rich.highlighter import JSONHighlighter
from rich.padding import Padding
from rich.table import Table as Grid
from rich.text import Text

from trotline.audit.export.export_formats import to_datetime
from trotline.audit.query.query import VERDICT_LABELS
from trotline.audit.query.statistics import ConversationSummary
from trotline.audit.record.record import WOULD_PREFIX, Record, RecordedEffect
from trotline.cli.log_query import MIN_PREFIX
from trotline.cli.log_view import DIFF_COLOURS, MAX_SUBJECT, describe_missing
from trotline.cli.output import Table, format_duration, format_printable_json, printable

STYLES = {"deny": "bold red", "ask": "bold yellow", "allow": "green", "none": "dim"}
TIME = "%m-%d %H:%M:%S"
SHORT_TIME = "%m-%d %H:%M"
MIN_WIDE = 110
"""Characters of a terminal from which on the wide columns are used."""

MAX_AUTHORS = 30
INDENT = (0, 0, 0, 2)


def build_console() -> Console:
    """Return a console that prints texts unchanged."""
    return Console(highlight=False, markup=False, emoji=False)


def draw(*parts: RenderableType) -> None:
    """Print these parts, one below the other."""
    build_console().print(*parts, sep="\n")


def build_text(value: Any, style: str = "") -> Text:
    """Return a value as text without control characters."""
    return Text(printable(str(value)), style=style)


def format_time(micros: int, form: str = TIME) -> str:
    """Return a time in UTC."""
    return to_datetime(micros).strftime(form)


def build_title(title: str) -> Text:
    """Return the title of a table. It is no part of the table: rich would fold it to the width of a narrow one."""
    return Text("\n") + build_text(title, "bold")


def build_grid(*, has_header: bool = True, expand: bool = False, gap: int = 2) -> Grid:
    """Return a table without borders."""
    return Grid(
        box=None,
        show_header=has_header,
        header_style="dim",
        pad_edge=False,
        padding=(0, gap, 0, 0),
        expand=expand,  # the long column gets the space that the others leave, and none of these is cut
    )


def draw_table(table: Table) -> None:
    """Draw a table with its title."""
    grid = build_grid(has_header=any(table.number_titles))
    for name in table.number_titles:
        grid.add_column(name, justify="right", no_wrap=True)
    grid.add_column(table.name_title, overflow="fold")
    for *numbers, name in table.rows:
        shown = (f"{number:,}" if isinstance(number, int) else str(number) for number in numbers)
        grid.add_row(*shown, build_text(name))
    draw(*([build_title(table.title)] if table.title else []), grid)


def _build_subject(record: Record) -> Text:
    subject = build_text(" ".join(record.subject.split()) or record.tool)
    if missing := describe_missing(record):
        subject.append_text(build_text(f" [{missing}]", "yellow"))
    return subject


def _build_authors(record: Record) -> Text:
    authors = build_text(", ".join(record.decider_names), "dim")
    authors.truncate(MAX_AUTHORS, overflow="ellipsis")
    return authors


def build_verdict(record: Record) -> Text:
    """Return the verdict of a record in its colour."""
    verdict = record.effective_verdict
    return build_text(VERDICT_LABELS.get(verdict, verdict), STYLES.get(verdict.removeprefix(WOULD_PREFIX), ""))


class Column(NamedTuple):
    """A column of a list; a long one gets the space that the others leave."""

    name: str
    build: Callable[[Any], Text]
    is_number: bool = False
    is_long: bool = False


def build_record_columns(*, is_wide: bool) -> list[Column]:
    """Return the columns of records on a wide or a narrow terminal."""
    form = TIME if is_wide else SHORT_TIME
    columns = [
        Column("number" if is_wide else "no.", lambda record: build_text(record.seq), is_number=True),
        Column(
            "time, UTC" if is_wide else "UTC",
            lambda record: build_text(format_time(record.at_us, form)),
        ),
        Column("agent", lambda record: build_text(record.agent)),
        Column("event", lambda record: build_text(record.event)),
        Column("verdict", build_verdict),
        Column("about", _build_subject, is_long=True),
    ]
    return [*columns, Column("by", _build_authors)] if is_wide else columns


def build_conversation_columns(*, is_wide: bool) -> list[Column]:
    """Return the columns of conversations on a wide or a narrow terminal."""
    form = TIME if is_wide else SHORT_TIME
    start = Column("begun, UTC", lambda summary: build_text(format_time(summary.first_us, form)))
    agent = Column("agent", lambda summary: build_text(summary.agent))
    numbers = [
        Column(
            "lasted", lambda summary: build_text(format_duration(summary.last_us - summary.first_us)), is_number=True
        ),
        _build_count("calls", lambda summary: summary.calls),
        _build_count("commands" if is_wide else "cmds", lambda summary: summary.commands),
        _build_count("edits", lambda summary: summary.edits),
        Column("denied", _build_denied, is_number=True),
    ]
    if is_wide:
        name = Column("conversation", lambda summary: build_text(summary.id or "none"), is_long=True)
        status = Column("stopped", lambda summary: build_text(summary.status))
        return [start, agent, name, *numbers, status, Column("ended", lambda summary: build_text(summary.reason))]
    name = Column("id", lambda summary: build_text(summary.id[:MIN_PREFIX] or "none"))
    end = Column("ended", lambda summary: build_text(summary.reason or summary.status), is_long=True)
    return [start, agent, name, *numbers, end]


def _build_count(name: str, count: Callable[[ConversationSummary], int]) -> Column:
    return Column(name, lambda summary: build_text(f"{count(summary):,}"), is_number=True)


def _build_denied(summary: ConversationSummary) -> Text:
    return build_text(summary.denied, STYLES["deny" if summary.denied else "none"])


def draw_list(build_list_columns: Callable[..., list[Column]], rows: Iterable[Any]) -> None:
    """Draw one line for each row."""
    is_wide = build_console().width >= MIN_WIDE
    columns = build_list_columns(is_wide=is_wide)
    grid = build_grid(expand=True, gap=2 if is_wide else 1)
    for column in columns:
        justify: Literal["left", "right"] = "right" if column.is_number else "left"
        ratio = 1 if column.is_long else None
        grid.add_column(column.name, justify=justify, no_wrap=True, overflow="ellipsis", ratio=ratio)
    for row in rows:
        grid.add_row(*(column.build(row) for column in columns))
    draw(grid)


# One record


def draw_record(record: Record) -> None:
    """Draw everything about a record."""
    draw(*_build_parts(record))


def _build_parts(record: Record) -> Iterator[RenderableType]:
    detail = record.detail_or_empty
    yield (
        build_text(f"{record.event} ", "bold")
        + build_verdict(record)
        + build_text(f"  {_format_subject(record.subject)}")
    )
    yield _build_pairs(_list_facts(record))
    yield from _build_rows("said by", ("who", "layer", "said", "ms", "exit", "why"), _list_responses(record))
    yield from _build_rows("would do", ("what", "how", "to", "and"), map(_list_effect, detail.effects))
    findings = map(astuple, record.findings)
    yield from _build_rows("found", ("by", "kind", "certainty", "digest", "line"), findings)
    yield from _build_rows("the agent could not hear", ("what", "why"), map(astuple, record.losses))
    yield from _build_rows("not run", ("hook", "line", "why"), map(astuple, detail.not_run))
    yield from _build_rows("warnings", ("",), ([warning] for warning in detail.warnings))
    yield from _build_rows("attached", ("type", "path"), map(astuple, detail.attachments))
    sizes = ([name, *(size if isinstance(size, list) else ())] for name, size in detail.sizes.items())
    yield from _build_rows("texts", ("name", "characters", "digest"), sizes)
    for diff in detail.diffs:
        yield build_title(diff.path or "a file")
        lines = diff.text.split("\n")
        yield from (Padding(build_text(line, DIFF_COLOURS.get(line[:1], "")), INDENT) for line in lines)
    if detail.payload is not UNSET:
        yield build_title("asked with")
        yield Padding(JSONHighlighter()(format_printable_json(detail.payload)), INDENT)
    if detail.reply:
        yield build_title("answered with")
        yield Padding(build_text(detail.reply), INDENT)


def _format_subject(subject: str) -> str:
    """Return the beginning of a long subject; the payload below has the whole."""
    line = " ".join(subject.split())
    return line if len(line) <= MAX_SUBJECT else f"{line[: MAX_SUBJECT - 1]}\N{HORIZONTAL ELLIPSIS}"


def _list_facts(record: Record) -> Iterator[tuple[str, Any]]:
    detail = record.detail_or_empty
    yield "number, id", f"{record.seq}, {record.id}"
    yield "time", format_time(record.at_us, "%Y-%m-%d %H:%M:%S.%f UTC")
    yield "agent", f"{record.agent} {detail.version}".strip()
    yield "conversation", record.conversation
    yield "turn", record.generation
    yield "tool", record.tool
    yield "machine, user", ", ".join(filter(None, (detail.machine, detail.user)))
    yield "decided, sent", f"{record.decided}, {record.sent}"
    yield "observed", f"done, says {', '.join(map(str, record.observed))}" if record.observed else ""
    yield "took", f"{record.micros / 1000:g} ms"
    yield "redacted", ", ".join(detail.redacted)
    yield "missing", describe_missing(record)
    for name, measure in detail.measures.items():
        yield name.replace("_", " "), measure


def _list_responses(record: Record) -> Iterator[tuple[Any, ...]]:
    reasons = {reason.author: reason.text for reason in record.detail_or_empty.reasons}
    for response in record.responses:
        verdict = f"failed, {response.failure}" if response.failure else response.permission
        why = reasons.get(response.author, "only noted" if response.has_notes else "")
        name, took = record.name_author(response.author), f"{response.micros / 1000:g}"
        yield name, response.layer, verdict, took, response.exit, why


def _list_effect(effect: RecordedEffect) -> tuple[Any, ...]:
    """Return the columns of an effect; the last one has all other fields."""
    fields = asdict(effect.more).items()
    more = (name if value is True else f"{name} {value}" for name, value in fields if value and value != effect.object)
    return effect.kind, effect.verb, effect.object, ", ".join(more)


def _build_pairs(facts: Iterable[tuple[str, Any]]) -> Grid:
    table = build_grid(has_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in facts:
        if value not in ("", None):
            table.add_row(build_text(name), build_text(value))
    return table


def _build_rows(name: str, columns: tuple[str, ...], rows: Iterable[Any]) -> Iterator[RenderableType]:
    table = build_grid(has_header=any(columns))
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(build_text("" if cell is None else cell) for cell in list(row)[: len(columns)]))
    if table.row_count:
        yield build_title(name)
        yield table
