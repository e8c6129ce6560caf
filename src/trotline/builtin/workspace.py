"""Files of the workspace that an event names, and commands that run there.

Paths that leave the workspace, directly or through a link, are not files of the workspace. Commands are lists of words
without a shell, with limits on time and output.
"""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

import click

from trotline.domain.errors import TrotlineError
from trotline.domain.events import Event
from trotline.system.files import read_file
from trotline.system.processes import StopReason, run_program

GIT_DIRECTORY = ".git"
"""The directory whose files no hook changes."""

FILE_PLACEHOLDER = "{}"
"""The placeholder for files in a command; without it they are the last arguments."""

MAX_TEXT_BYTES = 2_000_000

_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)")

Words = tuple[str, ...]
"""A command as a list of words."""


class WorkspaceFile(NamedTuple):
    """A file of the workspace: the workspace folder, the resolved path, and the path relative to the folder."""

    root: Path
    path: Path
    name: str

    def matches(self, pattern: str) -> bool:
        """Return whether a pattern such as `*.py` or `src/*.ts` matches; a star matches slashes too."""
        return fnmatchcase(self.name, pattern) or fnmatchcase(self.path.name, pattern)


class CommandResult(NamedTuple):
    """Exit code and output of a command."""

    exit_code: int | None
    stdout: str
    stderr: str
    timed_out: bool
    raw_stdout: bytes = b""

    @property
    def text(self) -> str:
        """Standard output and standard error, without escape sequences."""
        return "\n".join(part.strip("\n") for part in (self.stdout, self.stderr) if part.strip())


def list_workspace_folders(event: Event) -> list[Path]:
    """Return the resolved folders of the event's workspace that exist."""
    folders = map(Path, event.workspace_roots)
    return [folder.resolve() for folder in folders if folder.is_absolute() and folder.is_dir()]


def find_workspace_folder(event: Event, directory: str = "") -> Path:
    """Return the workspace folder that contains a directory, or the first one."""
    roots = list_workspace_folders(event)
    if not roots:
        raise TrotlineError("the event names no folder of a workspace that exists, so there is nowhere to work")
    if not directory:
        return roots[0]
    normalized = Path(os.path.normpath(directory))
    return next((root for root in roots if normalized.is_relative_to(root)), roots[0])


def find_workspace_file(event: Event, path: str, *, may_be_missing: bool = False) -> WorkspaceFile | None:
    """Return the file if it is in the workspace after all links are followed, None otherwise."""
    roots = list_workspace_folders(event)
    if not roots or not path or "\0" in path:
        return None
    try:
        resolved = (roots[0] / path).resolve(strict=not may_be_missing)
        is_file = resolved.is_file() or (may_be_missing and not resolved.exists())
    except (OSError, RuntimeError):
        return None
    root = next((root for root in roots if resolved.is_relative_to(root)), None)
    if root is None or not is_file or GIT_DIRECTORY in resolved.relative_to(root).parts:
        return None
    return WorkspaceFile(root, resolved, resolved.relative_to(root).as_posix())


def read_text(path: Path) -> str | None:
    """Return the text of a file; None if it is too large or cannot be read."""
    try:
        return read_file(path, MAX_TEXT_BYTES).decode("utf-8", "replace")
    except OSError:
        return None


def parse_command(line: str) -> Words:
    """Split a command option into words. Quotes work as in a shell; no other shell syntax does."""
    try:
        words = tuple(shlex.split(line))
    except ValueError as error:
        raise click.BadParameter(f"`{line}` cannot be read: {str(error).lower()}") from None
    if not words or not words[0]:
        raise click.BadParameter("there is nothing to run in it")
    return words


def run_command(
    argv: Sequence[str], directory: Path, environ: Mapping[str, str], seconds: float, stdin: bytes = b""
) -> CommandResult:
    """Run a command and wait for it. Raise if it cannot be started or prints too much."""
    ended = run_program(argv, env=environ, timeout=seconds, stdin=stdin, cwd=str(directory))
    if ended.stopped not in {StopReason.NONE, StopReason.TIME}:
        raise TrotlineError(f"`{shlex.join(argv)}`: {ended.detail or ended.stopped}", hint="look at the line")
    timed_out = ended.stopped is StopReason.TIME
    return CommandResult(
        ended.exit_code, _decode_output(ended.stdout), _decode_output(ended.stderr), timed_out, ended.stdout
    )


def add_files(command: Words, paths: Sequence[Path]) -> Words:
    """Return the command for these files. Paths are absolute, so they never look like options."""
    at = command.index(FILE_PLACEHOLDER) if FILE_PLACEHOLDER in command else len(command)
    return (*command[:at], *map(str, paths), *command[at + 1 :])


def tail(text: str, lines: int, characters: int) -> str:
    """Return the end of a text, where programs print what went wrong."""
    end = "\n".join(text.splitlines()[-lines:])[-characters:]
    return end if len(end) >= len(text.rstrip("\n")) else f"[...]\n{end}"


def _decode_output(data: bytes) -> str:
    text = _ESCAPES.sub("", data.decode("utf-8", "replace"))
    return "".join(char for char in text if char.isprintable() or char in "\n\t")
