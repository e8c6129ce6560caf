"""Commands that a line in hooks.json names: words, never a line for a shell, with an end to time and output."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from trotline.engine.launch import COOKIE
from trotline.engine.processes import Job, Stopped, run_all
from trotline.errors import TrotlineError

FILE = "{}"
"""Stands in a command where files belong; without it they are its last words."""

ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")


Words = tuple[str, ...]
"""A command as words."""


def words(line: str) -> Words:
    """The words of a command on the line; quotes are read as a shell reads them, and nothing else is."""
    try:
        found = tuple(shlex.split(line))
    except ValueError as error:
        raise click.BadParameter(f"`{line}` cannot be read: {str(error).lower()}") from None
    if not found or not found[0]:
        raise click.BadParameter("there is nothing to run in it")
    return found


class Ran(NamedTuple):
    """How a command ended: its exit code, what it printed, and whether its time was over."""

    code: int | None
    stdout: str
    stderr: str
    late: bool
    raw: bytes = b""  # standard output as it was

    @property
    def text(self) -> str:
        """All that it printed, as a person would read it."""
        return "\n".join(part.strip("\n") for part in (self.stdout, self.stderr) if part.strip())


def ran(argv: Sequence[str], directory: Path, environ: Mapping[str, str], seconds: float, given: bytes = b"") -> Ran:
    """Run a command and wait for it. One that cannot be started, or floods us, is an error that names it."""
    cookie = environ.get(COOKIE) or os.urandom(16).hex()  # whoever ends us by our cookie means it as well
    job = Job(tuple(argv), str(directory), dict(environ), seconds, cookie)
    ended = run_all((job,), given)[0]
    if ended.stopped not in {Stopped.NO, Stopped.TIME}:
        raise TrotlineError(f"`{shlex.join(argv)}`: {ended.detail or ended.stopped}", hint="look at the line")
    return Ran(ended.exit_code, _plain(ended.stdout), _plain(ended.stderr), ended.stopped is Stopped.TIME, ended.stdout)


def with_files(command: Words, paths: Sequence[Path]) -> Words:
    """The command for these files: absolute paths, which never look like options."""
    given = tuple(map(str, paths))
    at = command.index(FILE) if FILE in command else len(command)
    return (*command[:at], *given, *command[at + 1 :])


def tail(text: str, lines: int, characters: int) -> str:
    """The end of a text, where programs say what went wrong."""
    kept = "\n".join(text.splitlines()[-lines:])[-characters:]
    return kept if len(kept) >= len(text.rstrip("\n")) else f"[...]\n{kept}"


def _plain(data: bytes) -> str:
    text = ESCAPES.sub("", data.decode("utf-8", "replace"))
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
