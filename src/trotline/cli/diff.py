"""trotline diff: two states of hooks and policy, and what it would have meant."""

import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from trotline.cli import changes
from trotline.cli.options import json_option
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, problem_data
from trotline.config.places import Roots
from trotline.guards.policy import AUTHORITY
from trotline.machine import today
from trotline.replay.comment import comment
from trotline.replay.differences import Difference
from trotline.replay.review import Place, Reviewed, reviewed
from trotline.replay.sides import side, working_tree
from trotline.replay.sources import Calls

HELP = """What two states of hooks and policy say differently, and which recorded decisions would change.

OLD and NEW are policy files, hooks files, directories (a project or a home), or revisions of this project's repository,
which are read and not checked out. Without NEW it is the project as it is now. No hook is run.

Exit 0 when no recorded decision would change, 1 when one would, or when the new side has a problem of its own.

\b
  trotline diff main                          what this branch would change
  trotline diff v1.0 main --since 7d --format markdown
  trotline diff old.toml new.toml --layer enterprise
  trotline diff main --events payloads.jsonl  where there is no trail
"""
FORMATS = ("text", "markdown", "json")
SIGNS = {"added": "+", "removed": "-", "changed": "~"}
EXAMPLES = 3


@click.command("diff", help=HELP)
@click.argument("old")
@click.argument("new", required=False)
@click.option(
    "--layer", type=click.Choice(AUTHORITY), help="Whose policy the files would be; without it, by their place."
)
@click.option("--format", "form", type=click.Choice(FORMATS), default="text", show_default=True)
@click.option("--examples", type=click.IntRange(0), default=EXAMPLES, show_default=True, help="Calls shown of a kind.")
@changes.calls_options
@json_option
def command(
    old: str,
    new: str | None,
    layer: str | None,
    form: str,
    examples: int,
    calls: Calls,
    as_json: bool,
    roots: Roots,
) -> int:
    before = side(old, roots, os.environ)
    after = side(new, roots, os.environ) if new else working_tree(roots)
    with TemporaryDirectory(prefix="trotline-diff-") as made:
        found = reviewed(before, after, calls, Place(roots, today(), Path(made)), layer or "")
    ok = not found.problems and not any(row.kind in changes.FOUND for row in found.rows)
    if as_json or form == "json":
        problems = [problem_data(problem) for problem in found.problems]
        click.echo(envelope("trotline.diff/1", ok=ok, data=_data(found), problems=problems))
    else:
        lines = comment(found, _summary(found)) if form == "markdown" else _told(found, examples)
        click.echo("\n".join(lines))
    return 0 if ok else 1


def _summary(found: Reviewed) -> str:
    if not found.rows:
        return "nothing in the trail answers to that"
    parts = [changes.summary(found.rows)]
    if found.stricter or found.milder:
        parts += [f"{found.stricter} stricter, {found.milder} milder"]
    return "; ".join(parts) + changes.unreached(found.elsewhere)


def _told(found: Reviewed, examples: int) -> Iterator[str]:
    yield bold(f"{printable(found.old)} -> {printable(found.new)}")
    if not found.differences:
        yield "nothing that is configured differs"
    for difference, asked in zip(found.differences, found.asked, strict=True):
        yield from _difference(difference, asked)
    for problem in found.problems:
        yield f"{printable(str(problem.place))}: {paint(problem.severity, problem.severity)} {problem.message}"
    yield ""
    yield bold(_summary(found))
    yield from list(changes.told(found.rows, examples))[1:]


def _difference(difference: Difference, asked: int) -> Iterator[str]:
    where = f"{difference.what} ({difference.where})"
    told = dim(f"  {plural(asked, 'recorded call')}") if difference.hooks else ""
    yield f"{SIGNS[difference.change]} {where} {bold(printable(difference.name))}{told}"
    for name, was, now in difference.fields:
        shown = " -> ".join(printable(text) if text else "nothing" for text in (was, now))
        single = printable(now or was)
        yield f"    {name}: {shown if difference.change == 'changed' else single}"
    if difference.note:
        yield f"    {difference.note}"


def _data(found: Reviewed) -> dict[str, Any]:
    listed = [
        {
            "change": one.change,
            "what": one.what,
            "where": one.where,
            "name": one.name,
            "fields": {name: [was, now] for name, was, now in one.fields},
            **({"asked": asked} if one.hooks else {}),
            **({"note": one.note} if one.note else {}),
        }
        for one, asked in zip(found.differences, found.asked, strict=True)
    ]
    numbers = {"stricter": found.stricter, "milder": found.milder, "elsewhere": found.elsewhere}
    return {"old": found.old, "new": found.new, "differences": listed, **changes.data(found.rows), **numbers}
