"""What `trotline log` shows on a terminal: tables as wide as it is, colours for what was refused.

Only commands that a person called on a terminal load this: rich takes longer to load than a question takes. What an
agent wrote is text and never markup, and nothing in it talks to the terminal.
"""

from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple

from rich.console import Console, RenderableType
from rich.table import Table as Grid
from rich.text import Text

from trotline.audit.actions import WOULD, verdict_of
from trotline.audit.columns import columns_of, subject_of
from trotline.audit.export import when
from trotline.audit.query import SAID
from trotline.audit.shapes import dict_of, list_of
from trotline.audit.statistics import Conversation
from trotline.cli.output import lasted, printable
from trotline.cli.questions import SHORTEST
from trotline.cli.showing import missing_of
from trotline.cli.tables import Table

STYLES = {"deny": "bold red", "ask": "bold yellow", "allow": "green", "silent": "dim"}
SHORT = "%m-%d %H:%M:%S"
"""The year of what one looks at on a terminal is no news."""

SHORTER = "%m-%d %H:%M"
"""Nor are seconds, where there is no room."""

WIDE = 110
"""Characters in a line from which on everything has a place in it."""

LONGEST_NAMES = 30


def console() -> Console:
    return Console(highlight=False, markup=False, emoji=False)


def show(*what: RenderableType) -> None:
    console().print(*what, sep="\n")


def text(value: Any, style: str = "") -> Text:
    return Text(printable(str(value)), style=style)


def moment(micros: int, form: str = SHORT) -> str:
    return when(micros).strftime(form)


def title(words: str) -> Text:
    """Above a table, and not a part of it: rich would fold it to the width of a narrow one."""
    return Text("\n") + text(words, "bold")


def grid(*, is_headed: bool = True, fills: bool = False, apart: int = 2) -> Grid:
    return Grid(
        box=None,
        show_header=is_headed,
        header_style="dim",
        pad_edge=False,
        padding=(0, apart, 0, 0),
        expand=fills,  # the long column gets what the others leave, and none of these is cut
    )


def draw_tables(tables: Iterable[Table]) -> None:
    for table in tables:
        drawn = grid(is_headed=any(table.numbers))
        for name in table.numbers:
            drawn.add_column(name, justify="right", no_wrap=True)
        drawn.add_column(table.of, overflow="fold")
        for *numbers, name in table.rows:
            shown = (f"{number:,}" if isinstance(number, int) else str(number) for number in numbers)
            drawn.add_row(*shown, text(name))
        show(*([title(table.title)] if table.title else []), drawn)


def _about(record: dict[str, Any]) -> Text:
    about = text(" ".join(subject_of(record).split()) or record.get("tool", ""))
    if missing := missing_of(record):
        about.append_text(text(f" [{missing}]", "yellow"))
    return about


def _by(record: dict[str, Any]) -> Text:
    by = text(", ".join(names(record, list_of(record.get("deciders")))), "dim")
    by.truncate(LONGEST_NAMES, overflow="ellipsis")
    return by


def verdict(record: dict[str, Any]) -> Text:
    word = verdict_of(record)
    return text(SAID.get(word, word), STYLES.get(word.removeprefix(WOULD), ""))


def names(record: dict[str, Any], authors: Iterable[Any]) -> list[str]:
    """Hooks by the line that people wrote."""
    hooks = dict_of(dict_of(record.get("detail")).get("hooks"))
    return [str(hooks.get(str(author), author)) for author in authors]


class Column(NamedTuple):
    """What it shows of a thing; a long one gets what the others leave."""

    name: str
    of: Callable[[Any], Text]
    is_number: bool = False
    is_long: bool = False


class Columns(NamedTuple):
    """What stands in a line of a terminal, and the same in fewer characters where it is narrow: nothing that people
    came for is left out without a word, and what is longest to say is said short."""

    wide: tuple[Column, ...]
    narrow: tuple[Column, ...]


def _number(name: str, of: Callable[[Any], int]) -> Column:
    return Column(name, lambda thing: text(f"{of(thing):,}"), is_number=True)


def _denied(talk: Conversation) -> Text:
    return text(talk.denied, STYLES["deny" if talk.denied else "silent"])


SEQ = Column("number", lambda record: text(record["seq"]), is_number=True)
HOST = Column("host", lambda record: text(columns_of(record).host))
EVENT = Column("event", lambda record: text(columns_of(record).event))
ABOUT = Column("about", _about, is_long=True)
OF_RECORDS = Columns(
    wide=(
        SEQ,
        Column("time, UTC", lambda record: text(moment(columns_of(record).at_us))),
        HOST,
        EVENT,
        Column("verdict", verdict),
        ABOUT,
        Column("by", _by),
    ),
    narrow=(
        SEQ._replace(name="no."),
        Column("UTC", lambda record: text(moment(columns_of(record).at_us, SHORTER))),
        HOST,
        EVENT,
        Column("verdict", verdict),
        ABOUT,
    ),
)

TALKED = Column("host", lambda talk: text(talk.host))
LASTED = Column("lasted", lambda talk: text(lasted(talk.last_us - talk.first_us)), is_number=True)
CALLS = _number("calls", lambda talk: talk.calls)
COMMANDS = _number("commands", lambda talk: talk.commands)
EDITS = _number("edits", lambda talk: talk.edits)
DENIED = Column("denied", _denied, is_number=True)
OF_CONVERSATIONS = Columns(
    wide=(
        Column("begun, UTC", lambda talk: text(moment(talk.first_us))),
        TALKED,
        Column("conversation", lambda talk: text(talk.id or "none"), is_long=True),
        LASTED,
        CALLS,
        COMMANDS,
        EDITS,
        DENIED,
        Column("stopped", lambda talk: text(talk.status)),
        Column("ended", lambda talk: text(talk.reason)),
    ),
    narrow=(
        Column("begun, UTC", lambda talk: text(moment(talk.first_us, SHORTER))),
        TALKED,
        Column("id", lambda talk: text(talk.id[:SHORTEST] or "none")),
        LASTED,
        CALLS,
        COMMANDS._replace(name="cmds"),
        EDITS,
        DENIED,
        Column("ended", lambda talk: text(talk.reason or talk.status), is_long=True),
    ),
)


def draw_list(columns: Columns, things: Iterable[Any]) -> None:
    """A line for each, however much there is to say of it."""
    is_wide = console().width >= WIDE
    shown = columns.wide if is_wide else columns.narrow
    drawn = grid(fills=True, apart=2 if is_wide else 1)
    for name, _, is_number, is_long in shown:
        justify: Literal["left", "right"] = "right" if is_number else "left"
        drawn.add_column(name, justify=justify, no_wrap=True, overflow="ellipsis", ratio=1 if is_long else None)
    for thing in things:
        drawn.add_row(*(column.of(thing) for column in shown))
    show(drawn)
