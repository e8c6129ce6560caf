"""Lets no command run before the environment files that it needs are mounted and can be used."""

import os
import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.config.files import content
from trotline.errors import TrotlineError
from trotline.events import BeforeShell
from trotline.ready.desk import Desk, answering
from trotline.ready.workspace import workspace_of
from trotline.sdk import deny, on
from trotline.toml_bounds import beyond_reading
from trotline.verdicts import Verdict

NAME = "env-files"
MOST_BYTES = 200_000
DECLARED = ".1password/environments.toml"
NAMED = "mount_paths"
ASSIGNMENT = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=")

HELP = """Refuse shell commands while an environment file that they need is not mounted, or cannot be used.

\b
  "beforeShellExecution": [
    { "command": "trotline ready env-files --file .env --needs DATABASE_URL", "failClosed": true } ]

Files are named with --file, or in `.1password/environments.toml` of the workspace (`mount_paths = [".env"]`), as
1Password Environments has it. A mounted file is a named pipe: it is never opened here, so nobody is asked to unlock
anything. Of an ordinary file the lines must be NAME=VALUE; values are looked at nowhere and shown nowhere.
With --mounted an ordinary file is refused too: then no secret is on the disk.
"""


class EnvFiles(msgspec.Struct, frozen=True):
    """Which files have to be there, and what makes them usable."""

    files: tuple[str, ...]
    needs: tuple[str, ...]
    declared: str
    mounted: bool
    private: bool
    advice: str

    def look(self, event: BeforeShell) -> Verdict | None:
        root = workspace_of(event, event.cwd)
        wrong = [f"`{name}` {why}" for name in dict.fromkeys(self._names(root)) if (why := self._wrong(root, name))]
        if not wrong:
            return None
        told = f"This command was not run: {'; '.join(wrong)}."
        return deny(f"{told} {self.advice}", to_agent=f"{told} Ask the person: {self.advice}")

    def _names(self, root: Path) -> Iterator[str]:
        yield from self.files
        try:
            text = content(root / self.declared, MOST_BYTES)[0].decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            raise TrotlineError(f"`{self.declared}` cannot be read: {why}") from None
        named = _parsed(text, self.declared).get(NAMED, [])
        if not isinstance(named, list) or not all(isinstance(name, str) for name in named):
            raise TrotlineError(f"`{NAMED}` in `{self.declared}` is no list of paths")
        yield from named

    def _wrong(self, root: Path, name: str) -> str:
        """What is wrong with one file; empty when nothing is."""
        path = root / name
        if not _stays(path, root):
            return "is outside of the workspace"
        try:
            status = path.stat()
        except OSError:
            return "is not there"
        if stat.S_ISFIFO(status.st_mode):
            return "belongs to somebody else" if status.st_uid != os.getuid() else ""
        if not stat.S_ISREG(status.st_mode):
            return "is neither a file nor a mount"
        if self.mounted:
            return "is an ordinary file on the disk, not a mount"
        if self.private and status.st_mode & 0o077:
            return "can be read by others"
        return self._wrong_inside(path)

    def _wrong_inside(self, path: Path) -> str:
        """Names are looked at, values are not."""
        try:
            lines = content(path, MOST_BYTES)[0].decode("utf-8", "replace").splitlines()
        except OSError:
            return "cannot be read"
        meant = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
        found = [(number, ASSIGNMENT.match(line)) for number, line in meant if not line.startswith("#")]
        odd = next((number for number, match in found if match is None), 0)
        if odd:
            return f"has something else than NAME=VALUE in line {odd}"
        missing = [name for name in self.needs if name not in {match[1] for _, match in found if match}]
        return f"does not set {', '.join(missing)}" if missing else ""


def _parsed(text: str, name: str) -> dict[str, Any]:
    try:
        if beyond_reading(text) is None:
            return tomllib.loads(text)
    except ValueError:
        pass
    raise TrotlineError(f"`{name}` cannot be read as TOML")


def _stays(path: Path, root: Path) -> bool:
    """A link of the project must not make us look elsewhere."""
    return Path(os.path.normpath(path)).is_relative_to(root) and path.resolve().is_relative_to(root)


@click.command(NAME, help=HELP)
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file of the workspace; may be repeated.")
@click.option("--needs", multiple=True, metavar="NAME", help="A variable that ordinary files have to set.")
@click.option("--declared", default=DECLARED, show_default=True, metavar="PATH", help="Where more files are named.")
@click.option("--mounted", is_flag=True, help="Ordinary files do not count.")
@click.option("--private", is_flag=True, help="Nor do files that others can read.")
@click.option("--advice", default="Mount it, then try again.", show_default=True, help="What the person should do.")
@answering
def command(  # each option is one word of the line
    _desk: Desk,
    *,
    files: tuple[str, ...],
    needs: tuple[str, ...],
    declared: str,
    mounted: bool,
    private: bool,
    advice: str,
) -> None:
    gate = EnvFiles(files, needs, declared, mounted, private, advice)
    on.before_shell(fail_closed=True)(gate.look)
