"""Options that several commands share."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from trotline.errors import UsageError
from trotline.hosts.cursor_editions import NAMES, NEWEST
from trotline.machine import machine_roots

DIRECTORY = click.Path(exists=True, file_okay=False, path_type=Path)

json_option = click.option("--json", "as_json", is_flag=True, help="Answer in one JSON envelope.")
edition_option = click.option(
    "--edition",
    "edition_name",
    type=click.Choice(NAMES),
    default=NEWEST,
    show_default=True,
    help="Judge by the Cursor of this date.",
)
claude_option = click.option(
    "--claude/--no-claude", default=True, help="Also read Claude Code's settings files, as Cursor does. [default: on]"
)


def accepts_roots(command: Callable[..., Any]) -> Callable[..., Any]:
    """The same options where there is nothing to move, so that they may stand after every command."""
    for name in ("--system", "--home", "--project"):
        multiple = name == "--project"
        command = click.option(name, type=DIRECTORY, expose_value=False, hidden=True, multiple=multiple)(command)
    return command


def roots_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """--home, --system and --project: they move configuration, state, data and sockets together."""

    @click.option("--project", "projects", type=DIRECTORY, multiple=True, help="A workspace root; may be repeated.")
    @click.option("--home", type=DIRECTORY, help="Another home directory.")
    @click.option("--system", type=DIRECTORY, help="Another root of the system.")
    @functools.wraps(command)
    def wrapped(*args: Any, projects: tuple[Path, ...], home: Path | None, system: Path | None, **rest: Any) -> Any:
        try:
            roots = machine_roots(projects, home, system)
        except FileNotFoundError:
            raise UsageError("the directory that this runs in is gone", hint="go to one that is there") from None
        return command(*args, roots=roots, **rest)

    return wrapped
