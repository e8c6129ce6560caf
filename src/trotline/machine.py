"""The machine as it is: the only place below which nobody looks at the environment, the directory or the clock."""

import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from trotline.config.places import Platform, Roots, project_of


def clock() -> int:
    """Microseconds since the epoch."""
    return time.time_ns() // 1000


def today() -> str:
    """The date here, as it is written in files."""
    return time.strftime("%Y-%m-%d")


def environment() -> dict[str, str]:
    """The variables of this process."""
    return dict(os.environ)


def machine_roots(projects: Sequence[Path] = (), home: Path | None = None, system: Path | None = None) -> Roots:
    """What was asked for, and the machine's own for the rest."""
    home = (home or own_home()).resolve()
    return Roots(
        home=home,
        system=(system or Path(home.anchor)).resolve(),
        projects=tuple(dict.fromkeys(path.resolve() for path in projects)) or (project_of(Path.cwd(), home),),
        platform=_platform(),
        search_path=tuple(entry for entry in os.environ.get("PATH", "").split(os.pathsep) if entry),
    )


def own_home() -> Path:
    """From the password database: another hook may have set HOME."""
    if sys.platform == "win32":
        return Path.home()
    import pwd  # noqa: PLC0415 - not on every system

    return Path(pwd.getpwuid(os.getuid()).pw_dir)


def _platform() -> Platform:
    names: dict[str, Platform] = {"darwin": "darwin", "win32": "windows", "cygwin": "windows"}
    return names.get(sys.platform, "linux")
