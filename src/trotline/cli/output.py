"""The result of a command, and its output: one JSON envelope for programs, text or rich tables for a terminal."""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, Protocol

import click
import msgspec

from trotline.config.problems import Problem, Severity
from trotline.domain.verdicts import Permission

COLOURS = {Severity.FATAL: "red", Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}
MAX_PROBLEMS = 10
NUMBER_WIDTH = 8


class Exit(IntEnum):
    """The exit codes of all commands except `hook`, which uses the codes of its agent."""

    OK = 0
    FINDINGS = 1
    ASK = 10
    DENY = 20
    USAGE = 64
    BUG = 70
    RETRY = 75
    INTERRUPTED = 130
    BROKEN_PIPE = 141


PERMISSION_EXITS = {
    Permission.NONE: Exit.OK,
    Permission.ALLOW: Exit.OK,
    Permission.ASK: Exit.ASK,
    Permission.DENY: Exit.DENY,
}


class View(Protocol):
    """A part of the output that looks different on a terminal."""

    def format_lines(self) -> Iterable[str]:
        """Return plain lines, for pipes and files."""

    def draw(self) -> None:
        """Draw it on the terminal with rich."""


class Result(NamedTuple):
    """The result of a command: data for --json, lines of text, problems, and whether it succeeded."""

    data: Any = None
    lines: Iterable["str | View"] = ()
    problems: Sequence[Problem] = ()
    ok: bool = True
    exit_code: int | None = None  # None: 0 if ok, else 1
    warnings: Sequence[str] = ()  # for standard error
    schema: str = ""  # of the envelope, if it differs from the command's


def show_result(result: Result, schema: str, *, as_json: bool) -> int:
    """Print a result and return the exit code."""
    if as_json:
        problems = [build_problem_data(problem) for problem in result.problems]
        click.echo(build_envelope(result.schema or schema, ok=result.ok, data=result.data, problems=problems))
    else:
        for part in result.lines:
            show(part)
    for warning in result.warnings:
        click.echo(warning, err=True)
    return result.exit_code if result.exit_code is not None else Exit.OK if result.ok else Exit.FINDINGS


def show(part: "str | View") -> None:
    """Print a line or a view."""
    if isinstance(part, str):
        click.echo(part)
    elif sys.stdout.isatty():
        part.draw()
    else:
        for line in part.format_lines():
            click.echo(line)


def build_envelope(schema: str, *, ok: bool, data: Any, problems: list[dict[str, Any]]) -> str:
    """Return the JSON text with which every command answers --json."""
    return format_printable_json({"schema": schema, "ok": ok, "data": data, "problems": problems})


def format_printable_json(body: Any) -> str:
    """Return JSON in which characters that are not printable are escaped; all others stay as they are."""
    text = json.dumps(body, ensure_ascii=False, indent=2)
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def build_problem_data(problem: Problem) -> dict[str, Any]:
    """Return the data of a problem for --json."""
    return {**msgspec.to_builtins(problem), "docs": problem.docs}


def format_problems(problems: Sequence[Problem], limit: int = MAX_PROBLEMS) -> Iterator[str]:
    """Yield one line for each problem, and its hint."""
    for problem in problems[:limit]:
        severity = paint(problem.severity, problem.severity)
        yield f"{printable(str(problem.place))}: {severity} {printable(problem.message)}"
        if problem.hint:
            yield f"    hint: {problem.hint}"
    if len(problems) > limit:
        yield f"and {len(problems) - limit} more"


class Table(NamedTuple):
    """Rows of numbers, each followed by a name. Columns without titles have no header."""

    title: str
    rows: list[tuple[Any, ...]]
    number_titles: tuple[str, ...] = ("",)
    name_title: str = ""

    def format_lines(self) -> Iterator[str]:
        """Yield the title, the header and the rows."""
        if self.title:
            yield bold(self.title)
        if any(self.number_titles):
            yield dim(_format_row(self.number_titles, self.name_title))
        yield from (_format_row(numbers, printable(str(name))) for *numbers, name in self.rows)

    def draw(self) -> None:
        """Draw it on the terminal with rich."""
        from trotline.cli import terminal

        terminal.draw_table(self)


def _format_row(numbers: Iterable[Any], name: str) -> str:
    return f"{' '.join(f'{number!s:>{NUMBER_WIDTH}}' for number in numbers)}  {name}".rstrip()


def paint(text: str, severity: Severity) -> str:
    """Return the text in the colour of a severity."""
    return click.style(text, fg=COLOURS[severity], bold=severity is not Severity.NOTE)


def warn(text: str) -> None:
    """Print a warning to standard error."""
    click.echo(paint(text, Severity.WARNING), err=True)


def dim(text: str) -> str:
    """Return dim text."""
    return click.style(text, dim=True)


def bold(text: str) -> str:
    """Return bold text."""
    return click.style(text, bold=True)


def plural(count: int, noun: str) -> str:
    """Return a count with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_duration(micros: int) -> str:
    """Return `45 s`, `12 min`, `3 h 05` or `2 d 4 h`."""
    seconds = max(0, micros) // 1_000_000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60:02}"
    return f"{minutes} min" if minutes else f"{seconds} s"


def shorten(text: str, limit: int = 90) -> str:
    """Return the text on one line, cut to a length."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 3] + "..."


def printable(text: str) -> str:
    """Replace the control characters of a text, which could change the terminal."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
