"""Where configuration and our own files are, as functions of the roots; nothing here looks at the environment.

`--home`, `--system` and `--project` move everything at once, which is also how tests stand on any operating system.
"""

import errno
import functools
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

Platform = Literal["linux", "darwin", "windows"]

ENTERPRISE: dict[Platform, str] = {
    "linux": "etc/cursor/hooks.json",
    "darwin": "Library/Application Support/Cursor/hooks.json",
    "windows": "ProgramData/Cursor/hooks.json",
}

STATE: dict[Platform, str] = {
    "linux": ".local/state/trotline/v1",
    "darwin": "Library/Application Support/trotline/v1",
    "windows": "AppData/Local/trotline/v1",
}

CONFIG: dict[Platform, str] = {
    "linux": ".config/trotline",
    "darwin": "Library/Application Support/trotline",
    "windows": "AppData/Roaming/trotline",
}

MANAGED: dict[Platform, str] = {
    "linux": "etc/trotline",
    "darwin": "Library/Application Support/trotline",
    "windows": "ProgramData/trotline",
}

MALICIOUS = "malicious-packages"
OWN_RULES = "secrets.toml"
"""Rules for secrets that people have beside ours."""


class Roots(msgspec.Struct, frozen=True, kw_only=True):
    """The directories that everything else is found from, and the search path of the shell that runs hooks."""

    home: Path
    system: Path
    projects: tuple[Path, ...] = ()
    platform: Platform = "linux"
    search_path: tuple[str, ...] = ()

    @property
    def enterprise_file(self) -> Path:
        return self.system / ENTERPRISE[self.platform]

    @property
    def config(self) -> Path:
        """What the person tells Trotline."""
        return self.home / CONFIG[self.platform]

    @property
    def managed_config(self) -> Path:
        """What the owner of the machine tells it, with more authority."""
        return self.system / MANAGED[self.platform]

    @property
    def state(self) -> Path:
        """Where Trotline keeps what it knows; outside of every workspace, and its owner's alone."""
        return self.home / STATE[self.platform]

    @property
    def team_file(self) -> Path:
        """The managed directory of hooks that a team distributes; written by `trotline team`, by nobody else."""
        return self.state / "team" / "hooks.json"

    @property
    def user_file(self) -> Path:
        return self.home / ".cursor" / "hooks.json"

    @property
    def plugin_directory(self) -> Path:
        return self.home / ".cursor" / "plugins" / "local"


def policy_files(roots: Roots, projects: Iterable[str]) -> list[tuple[str, str]]:
    """Layers, from the highest authority to the lowest, and where each has its policy."""
    return [*_policies(roots), *(("project", f"{project}/.trotline/policy.toml") for project in projects)]


@functools.cache
def _policies(roots: Roots) -> tuple[tuple[str, str], ...]:
    """Those that are no project's: asked for by every call, and a Path costs more than the look."""
    own = {"enterprise": roots.managed_config, "team": roots.team_file.parent, "user": roots.config}
    return tuple((layer, str(directory / "policy.toml")) for layer, directory in own.items())


def is_configured(roots: Roots, name: str) -> bool:
    """Whether the person or the owner of the machine has such a file, whatever is in it."""
    return any(os.path.lexists(directory / name) for directory in (roots.config, roots.managed_config))


def malicious_files(roots: Roots) -> tuple[Path, Path]:
    """The lists of malicious packages: the one that the owner of the machine has put there, and the person's own."""
    return roots.managed_config / MALICIOUS, roots.state / MALICIOUS


def project_of(start: Path, home: Path) -> Path:
    """The project a directory belongs to: the nearest one upwards that looks like a root, below the home directory."""
    for directory in (start, *start.parents):
        if directory == home and directory != start:
            break
        if any((directory / mark).exists() for mark in (".cursor", ".claude", ".git")):
            return directory
    return start


def private_directory(directory: Path) -> None:
    """Make a directory that is ours alone; refuse one that belongs to somebody else, and a link to any."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "a link is in its place", str(directory))
    if status.st_uid != os.getuid():
        raise PermissionError(13, f"belongs to another user (uid {status.st_uid})", str(directory))
    if status.st_mode & 0o077:
        directory.chmod(0o700)


def make_directories(directory: Path) -> int:
    """How many had to be made."""
    missing = [one for one in (directory, *directory.parents) if not one.exists()]
    for one in reversed(missing):
        one.mkdir(exist_ok=True)
    return len(missing)


def remove_directories(target: Path, made: int) -> None:
    """Those that we made, as long as nobody put anything there."""
    with suppress(OSError):
        for directory in list(target.parents)[:made]:
            directory.rmdir()
