"""The clock, the environment and the directories of this machine. Inner packages get these as arguments."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from trotline.config.paths import Platform, Roots, find_project


def read_clock() -> int:
    """Return the current time in microseconds since the epoch."""
    return time.time_ns() // 1000


def get_today() -> str:
    """Return the local date in ISO format."""
    return time.strftime("%Y-%m-%d")


def copy_environment() -> dict[str, str]:
    """Return a copy of the environment variables."""
    return dict(os.environ)


def find_roots(projects: Sequence[Path] = (), home: Path | None = None, system: Path | None = None) -> Roots:
    """Return the roots. Arguments that are missing are determined on this machine."""
    home = (home or find_home()).resolve()
    return Roots(
        home=home,
        system=(system or Path(home.anchor)).resolve(),
        projects=tuple(dict.fromkeys(path.resolve() for path in projects)) or (find_project(Path.cwd(), home),),
        platform=_get_platform(),
        search_path=tuple(entry for entry in os.environ.get("PATH", "").split(os.pathsep) if entry),
    )


def find_home() -> Path:
    """Return the home directory from the password database, because another hook may have set HOME."""
    if sys.platform == "win32":
        return Path.home()
    import pwd  # noqa: PLC0415 - not available on Windows

    return Path(pwd.getpwuid(os.getuid()).pw_dir)


def _get_platform() -> Platform:
    names: dict[str, Platform] = {"darwin": "darwin", "win32": "windows", "cygwin": "windows"}
    return names.get(sys.platform, "linux")
