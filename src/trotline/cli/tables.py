"""Tables as data. On a terminal they are drawn, as wide as it is; piped, they are lines of plain text."""

import sys
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import click

from trotline.cli.output import bold, dim, printable

WIDTH = 8


class Table(NamedTuple):
    """Numbers, and what they are of: that stands last, because it may be long. Numbers without a name have no head."""

    title: str
    rows: list[tuple[Any, ...]]
    numbers: tuple[str, ...] = ("",)
    of: str = ""
    is_whole: bool = False  # without a row as well


def tell(tables: Iterable[Table]) -> None:
    """Those that have rows, and a title that says enough by itself."""
    shown = [table for table in tables if table.rows or table.is_whole]
    if sys.stdout.isatty():
        from trotline.cli import drawing  # rich takes its time to load, and only a terminal needs it

        drawing.draw_tables(shown)
        return
    for table in shown:
        for line in _lines(table):
            click.echo(line)


def _lines(table: Table) -> Iterator[str]:
    if table.title:
        yield bold(table.title)
    if any(table.numbers):
        yield dim(_line(table.numbers, table.of))
    yield from (_line(numbers, printable(str(name))) for *numbers, name in table.rows)


def _line(numbers: Iterable[Any], name: str) -> str:
    return f"{' '.join(f'{number!s:>{WIDTH}}' for number in numbers)}  {name}".rstrip()
