"""Paths of configuration and state files, derived from the roots; the environment is not read here.

`--home`, `--system` and `--project` move all of them, which also lets tests use the paths of any operating system.
"""

import functools
import os
from collections.abc import Iterable
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

CONFIG_FILE = "trotline.toml"
OLD_POLICY_FILE = "policy.toml"
"""The policy file of earlier versions; a leftover one must be reported."""

MALICIOUS = "malicious-packages"
OWN_RULES = "secrets.toml"
"""The file for a user's own rules for secrets, in addition to the built-in ones."""


class Roots(msgspec.Struct, frozen=True, kw_only=True):
    """The directories from which all paths are derived, and the search path of the shell that runs hooks."""

    home: Path
    system: Path
    projects: tuple[Path, ...] = ()
    platform: Platform = "linux"
    search_path: tuple[str, ...] = ()

    @property
    def enterprise_file(self) -> Path:
        """Cursor's hooks file of the machine."""
        return self.system / ENTERPRISE[self.platform]

    @property
    def config(self) -> Path:
        """The directory of the user's configuration."""
        return self.home / CONFIG[self.platform]

    @property
    def managed_config(self) -> Path:
        """The directory of the configuration of the machine, which has more authority than that of the user."""
        return self.system / MANAGED[self.platform]

    @property
    def state(self) -> Path:
        """The private directory of Trotline's data, outside of every workspace."""
        return self.home / STATE[self.platform]

    @property
    def team_file(self) -> Path:
        """The hooks file that a team distributes."""
        return self.state / "team" / "hooks.json"

    @property
    def user_file(self) -> Path:
        """Cursor's hooks file of the user."""
        return self.home / ".cursor" / "hooks.json"

    @property
    def plugin_directory(self) -> Path:
        """The directory of Cursor's local plugins, one subdirectory for each."""
        return self.home / ".cursor" / "plugins" / "local"


def list_config_layers(roots: Roots, projects: Iterable[str]) -> list[tuple[str, str]]:
    """Return each layer with its configuration file, from the highest authority to the lowest."""
    return [*_list_own_layers(roots), *(("project", f"{project}/.trotline/{CONFIG_FILE}") for project in projects)]


@functools.cache
def _list_own_layers(roots: Roots) -> tuple[tuple[str, str], ...]:
    """Return the layers that are not of a project.

    Cached because every call needs them, and building a Path takes longer than reading the status of the file.
    """
    own = {"enterprise": roots.managed_config, "team": roots.team_file.parent, "user": roots.config}
    return tuple((layer, str(directory / CONFIG_FILE)) for layer, directory in own.items())


@functools.lru_cache(16)
def list_policy_paths(roots: Roots, projects: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that may have a policy, including the policy files of earlier versions."""
    files = [file for _, file in list_config_layers(roots, projects)]
    return (*files, *(f"{file.removesuffix(CONFIG_FILE)}{OLD_POLICY_FILE}" for file in files))


def is_configured(roots: Roots, name: str) -> bool:
    """Return whether the user or the machine has such a configuration file, whatever its content."""
    return any(os.path.lexists(directory / name) for directory in (roots.config, roots.managed_config))


def list_malicious_files(roots: Roots) -> tuple[Path, Path]:
    """Return the paths of the lists of malicious packages: the managed one and the user's own."""
    return roots.managed_config / MALICIOUS, roots.state / MALICIOUS


def find_project(start: Path, home: Path) -> Path:
    """Return the project of a directory: the nearest parent below the home directory that looks like a root."""
    for directory in (start, *start.parents):
        if directory == home and directory != start:
            break
        if any((directory / mark).exists() for mark in (".cursor", ".claude", ".git")):
            return directory
    return start
