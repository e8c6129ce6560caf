"""trotline new: write a hook with its test and its line in hooks.json, or a project that begins with some."""

import os
import shlex
import sys
from pathlib import Path
from typing import Any, NamedTuple

import click

from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, printable, problem_data
from trotline.config.installation import Done, Installed
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.machine import clock, machine_roots
from trotline.starters.hooks import (
    LANGUAGES,
    Order,
    entries_of,
    home_of,
    installation_of,
    ordered,
    sample_of,
    sheets_of,
)
from trotline.starters.projects import sheets_in
from trotline.starters.sheets import Sheet, kept, missing, remove, write

HELP = """Write a hook with its test, or a project that begins with some.

\b
  trotline new hook no-force-push                     in this project, before shell commands
  trotline new hook notes --event stop --layer user   in all of yours, when the agent stops
  trotline new project shop                           hooks.json, six hooks and their tests
"""


class Told(NamedTuple):
    """What was written, or would be, and what to do next."""

    root: Path
    sheets: list[Sheet]
    wired: Installed | None
    next: list[str]
    dry_run: bool
    kept: list[Path]  # what hooks share, and somebody has changed


@click.group("new", help=HELP)
def command() -> None:
    pass


@command.command("hook")
@click.argument("name")
@click.option(
    "--event", "events", multiple=True, help="What it answers; may be repeated. [default: beforeShellExecution]"
)
@click.option("--layer", type=click.Choice(["project", "user"]), default="project", show_default=True)
@click.option("--language", type=click.Choice(list(LANGUAGES)), default="python", show_default=True)
@click.option(
    "--fail-open", is_flag=True, help="Let the action happen when the hook fails; without this it is refused."
)
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@json_option
@roots_options
def hook(
    name: str,
    events: tuple[str, ...],
    layer: str,
    language: str,
    fail_open: bool,
    dry_run: bool,
    as_json: bool,
    roots: Roots,
) -> int:
    """A commented hook, a test that passes, and its line in the hooks.json of a layer.

    Nothing that is there is overwritten, and no other byte of hooks.json moves.
    """
    moved = roots.home if roots.home != machine_roots().home else None
    home = home_of(layer, roots, sys.executable, moved)
    events = events or ("beforeShellExecution",)
    order = ordered(Order(name, events, language, not fail_open, home))
    shared = kept(sheets_of(order))
    sheets = missing(sheets_of(order), home.root, hint="take another name, or move away what is there")
    wired = installation_of(order, roots).install(entries_of(order), clock(), dry_run=True)
    if not dry_run and wired.done is not Done.REFUSED:
        wired = _written(order, roots, sheets)
    test = home.directory / "tests" / order.test_file
    next_steps = [f"pytest {_from(test)}", *(["trotline trust"] if layer == "project" else [])]
    next_steps.append(f"trotline fire {sample_of(order)}")
    return _tell(Told(home.root, sheets, wired, next_steps, dry_run, shared), as_json=as_json)


@command.command("project")
@click.argument("directory", required=False, type=click.Path(file_okay=False, path_type=Path))
@click.option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
@json_option
@roots_options
def project(directory: Path | None, dry_run: bool, as_json: bool, roots: Roots) -> int:
    """hooks.json, six hooks, their tests, and a page that says what they do; in DIRECTORY, or in this project.

    Nothing that is there is overwritten: with a hooks.json in its place, nothing is written at all.
    """
    root = roots.projects[0] if directory is None else directory.absolute()
    hint = "`trotline new hook` adds one to a project that has hooks; or name a directory that has none"
    shared = kept(sheets_in(root))
    sheets = missing(sheets_in(root), root, hint=hint)
    if not dry_run:
        write(sheets)
    next_steps = [f"cd {_from(root)}"] if directory is not None else []
    next_steps += [
        "pytest .cursor/tests",
        "trotline trust",
        "trotline fire beforeShellExecution --set command='rm -rf /'",
    ]
    return _tell(Told(root, sheets, None, next_steps, dry_run, shared), as_json=as_json)


def _written(order: Order, roots: Roots, sheets: list[Sheet]) -> Installed:
    """The files first, so that hooks.json never names what is not there; without its line, they go again."""
    made = write(sheets)
    done = None
    try:
        done = installation_of(order, roots).install(entries_of(order), clock())
    finally:
        if done is None or done.done is Done.REFUSED:
            remove([sheet.path for sheet in sheets], made)
    return done


def _tell(told: Told, *, as_json: bool) -> int:
    refused = told.wired is not None and told.wired.done is Done.REFUSED
    click.echo(_as_json(told, ok=not refused) if as_json else "\n".join(_refused(told) if refused else _lines(told)))
    return 1 if refused else 0


def _lines(told: Told) -> list[str]:
    verb = "would write" if told.dry_run else "wrote"
    lines = []
    for sheet in told.sheets:
        lines.append(f"{verb} {bold(_shown(sheet.path, told.root))}")
        lines += [f"  {line}" for line in sheet.difference.splitlines()] if told.dry_run else []
    lines += [f"kept {bold(_shown(path, told.root))}, which is not what we would write" for path in told.kept]
    if told.wired is not None:
        lines += _wiring(told.wired, told)
    if not told.sheets and (told.wired is None or told.wired.done is Done.NOTHING):
        lines.append("all of it is there already")
    return lines if told.dry_run else [*lines, "", "next:", *(f"  {printable(step)}" for step in told.next)]


def _wiring(wired: Installed, told: Told) -> list[str]:
    new = wired.before is None
    verb = f"would {'write' if new else 'change'}" if told.dry_run else "wrote" if new else "changed"
    name = bold(_shown(wired.path, told.root))
    lines = [f"{verb} {name}" if wired.done is Done.WRITTEN else f"{name} has its line already"]
    lines += [f"  {line}" for line in wired.difference.splitlines()] if told.dry_run else []
    lines += [dim(f"  what was there is kept as {printable(str(wired.backup))}")] if wired.backup else []
    return lines + _problems(wired)


def _refused(told: Told) -> list[str]:
    wired = told.wired
    if wired is None:
        return []
    hint = "put it right (`trotline check` shows the line), then try again"
    return [
        f"{bold(_shown(wired.path, told.root))} cannot be changed, and nothing was written",
        *_problems(wired),
        hint,
    ]


def _problems(wired: Installed) -> list[str]:
    return [
        paint(f"  {one.code} {printable(str(one.place))}: {one.message}", Severity.WARNING) for one in wired.problems
    ]


def _shown(path: Path, root: Path) -> str:
    inside = path.is_relative_to(root)
    return printable(str(path.relative_to(root) if inside else path))


def _from(path: Path) -> str:
    """The path as somebody types it who stands here."""
    here = Path.cwd()
    return shlex.quote(os.path.relpath(path, here) if path.is_relative_to(here) else str(path))


def _as_json(told: Told, *, ok: bool) -> str:
    wired = told.wired
    hooks_json = wired and {
        "file": str(wired.path),
        "done": wired.done,
        "difference": wired.difference,
        "backup": str(wired.backup) if wired.backup else None,
    }
    data: dict[str, Any] = {
        "dry_run": told.dry_run,
        "files": [{"path": str(sheet.path), "executable": sheet.executable} for sheet in told.sheets if ok],
        "kept": [str(path) for path in told.kept],
        "hooks_json": hooks_json,
        "next": told.next if ok else [],
    }
    problems = [problem_data(problem) for problem in wired.problems] if wired else []
    return envelope("trotline.new/1", ok=ok, data=data, problems=problems)
