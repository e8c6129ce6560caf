"""The built-in hook `env-files`: refuse shell commands while environment files are missing or unusable."""

import os
import re
import stat
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.builtin.hook_context import HookContext, builtin_command
from trotline.builtin.workspace import find_workspace_folder
from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.domain.events import BeforeShell
from trotline.domain.verdicts import Verdict
from trotline.formats.toml_text import find_excess
from trotline.hook.sdk import deny, on
from trotline.system.files import read_file

NAME = "env-files"
MAX_FILE_BYTES = 200_000
DEFAULT_DECLARATION = ".1password/environments.toml"
PATHS_KEY = "mount_paths"

_ASSIGNMENT = re.compile(r"(?:export[ \t]+)?([A-Za-z_][A-Za-z0-9_]*)[ \t]*=")

HELP = """Refuse shell commands while an environment file that they need is not mounted, or cannot be used.

\b
  "beforeShellExecution": [
    { "command": "trotline builtin env-files --file .env --needs DATABASE_URL", "failClosed": true } ]

Files are named with --file, or in `.1password/environments.toml` of the workspace (`mount_paths = [".env"]`), as
1Password Environments has it. A mounted file is a named pipe: it is never opened here, so nobody is asked to unlock
anything. Of an ordinary file the lines must be NAME=VALUE; values are looked at nowhere and shown nowhere.
With --mounted an ordinary file is refused too: then no secret is on the disk.
"""


class EnvFiles(msgspec.Struct, frozen=True):
    """The required environment files, and the conditions that they must meet."""

    files: tuple[str, ...]
    needs: tuple[str, ...]
    declaration: str
    needs_mount: bool
    needs_privacy: bool
    advice: str

    def check(self, event: BeforeShell) -> Verdict | None:
        """Deny a shell command while a required file is missing or unusable."""
        root = find_workspace_folder(event, event.cwd)
        names = dict.fromkeys(self._list_names(root))
        problems = [f"`{name}` {problem}" for name in names if (problem := self._check_file(root, name))]
        if not problems:
            return None
        message = f"This command was not run: {'; '.join(problems)}."
        return deny(f"{message} {self.advice}", to_agent=f"{message} Ask the person: {self.advice}")

    def _list_names(self, root: Path) -> Iterator[str]:
        yield from self.files
        try:
            text = read_file(root / self.declaration, MAX_FILE_BYTES).decode("utf-8", "replace")
        except (FileNotFoundError, NotADirectoryError):
            return
        except OSError as error:
            reason = describe_os_error(error)
            raise TrotlineError(f"`{self.declaration}` cannot be read: {reason}") from None
        names = _parse_toml(text, self.declaration).get(PATHS_KEY, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise TrotlineError(f"`{PATHS_KEY}` in `{self.declaration}` is no list of paths")
        yield from names

    def _check_file(self, root: Path, name: str) -> str:
        """Return the problem of a file, or ""."""
        path = root / name
        if not _is_inside(path, root):
            return "is outside of the workspace"
        try:
            status = path.stat()
        except OSError:
            return "is not there"
        if stat.S_ISFIFO(status.st_mode):
            return "belongs to somebody else" if status.st_uid != os.getuid() else ""
        if not stat.S_ISREG(status.st_mode):
            return "is neither a file nor a mount"
        if self.needs_mount:
            return "is an ordinary file on the disk, not a mount"
        if self.needs_privacy and status.st_mode & 0o077:
            return "can be read by others"
        return self._check_lines(path)

    def _check_lines(self, path: Path) -> str:
        """Return the problem of the lines of a file, or "". Only names are used, never values."""
        try:
            lines = read_file(path, MAX_FILE_BYTES).decode("utf-8", "replace").splitlines()
        except OSError:
            return "cannot be read"
        numbered = [(number, line.strip()) for number, line in enumerate(lines, 1) if line.strip()]
        matches = [(number, _ASSIGNMENT.match(line)) for number, line in numbered if not line.startswith("#")]
        invalid = next((number for number, match in matches if match is None), 0)
        if invalid:
            return f"has something else than NAME=VALUE in line {invalid}"
        missing = [name for name in self.needs if name not in {match[1] for _, match in matches if match}]
        return f"does not set {', '.join(missing)}" if missing else ""


def _parse_toml(text: str, name: str) -> dict[str, Any]:
    try:
        if find_excess(text) is None:
            return tomllib.loads(text)
    except ValueError:
        pass
    raise TrotlineError(f"`{name}` cannot be read as TOML")


def _is_inside(path: Path, root: Path) -> bool:
    """Return whether a path stays in the workspace, also when links are followed."""
    return Path(os.path.normpath(path)).is_relative_to(root) and path.resolve().is_relative_to(root)


@click.command(NAME, help=HELP)
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file of the workspace; may be repeated.")
@click.option("--needs", multiple=True, metavar="NAME", help="A variable that ordinary files have to set.")
@click.option(
    "--declared",
    "declaration",
    default=DEFAULT_DECLARATION,
    show_default=True,
    metavar="PATH",
    help="Where more files are named.",
)
@click.option("--mounted", "needs_mount", is_flag=True, help="Ordinary files do not count.")
@click.option("--private", "needs_privacy", is_flag=True, help="Nor do files that others can read.")
@click.option("--advice", default="Mount it, then try again.", show_default=True, help="What the person should do.")
@builtin_command
def command(_context: HookContext, **options: Any) -> None:
    on.before_shell(fail_closed=True)(EnvFiles(**options).check)
