"""How commands speak: data on stdout, everything else on stderr, colour only on a terminal, one JSON envelope."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import click
import msgspec

from trotline.config.problems import Problem, Severity

COLOURS = {Severity.VOID: "red", Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.NOTE: "blue"}


def envelope(schema: str, *, ok: bool, data: Any, problems: list[dict[str, Any]]) -> str:
    """The one shape in which every command answers to --json."""
    return as_json({"schema": schema, "ok": ok, "data": data, "problems": problems})


def as_json(body: Any) -> str:
    """JSON that a terminal can be shown: what does not print is escaped, the rest stays readable."""
    text = json.dumps(body, ensure_ascii=False, indent=2)
    return "".join(char if char.isprintable() or char == "\n" else json.dumps(char)[1:-1] for char in text)


def problem_data(problem: Problem) -> dict[str, Any]:
    return {**msgspec.to_builtins(problem), "docs": problem.docs}


MOST_PROBLEMS = 10


def tell_status(
    schema: str, data: Any, lines: Iterable[str], problems: Sequence[Problem], *, ok: bool, as_json: bool
) -> int:
    """How something stands: an envelope, or what is wrong and then one line after the other; and the exit code."""
    if as_json:
        click.echo(envelope(schema, ok=ok, data=data, problems=[problem_data(problem) for problem in problems]))
    else:
        for line in (*_lines_of(problems), *lines):
            click.echo(line)
    return 0 if ok else 1


def _lines_of(problems: Sequence[Problem]) -> Iterator[str]:
    for problem in problems[:MOST_PROBLEMS]:
        severity = paint(problem.severity, problem.severity)
        yield f"{printable(str(problem.place))}: {severity} {printable(problem.message)}"
        if problem.hint:
            yield f"    hint: {problem.hint}"
    if len(problems) > MOST_PROBLEMS:
        yield f"and {len(problems) - MOST_PROBLEMS} more"


def paint(text: str, severity: Severity) -> str:
    return click.style(text, fg=COLOURS[severity], bold=severity is not Severity.NOTE)


def dim(text: str) -> str:
    return click.style(text, dim=True)


def bold(text: str) -> str:
    return click.style(text, bold=True)


def plural(count: int, noun: str) -> str:
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def lasted(micros: int) -> str:
    """`45 s`, `12 min`, `3 h 05`, `2 d 4 h`: what one wants to know of a length."""
    seconds = max(0, micros) // 1_000_000
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86_400
    if days:
        return f"{days} d {hours % 24} h"
    if hours:
        return f"{hours} h {minutes % 60:02}"
    return f"{minutes} min" if minutes else f"{seconds} s"


def printable(text: str) -> str:
    """Text from a file, without the control characters that would talk to the terminal."""
    return "".join(char if char.isprintable() or char == "\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
