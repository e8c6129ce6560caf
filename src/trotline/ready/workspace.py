"""Files of the workspace, as an event names them. A path that leaves it, by itself or by a link, is nobody's here."""

import os
from collections.abc import Iterator
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NamedTuple

from trotline.errors import TrotlineError
from trotline.events import Event

INNER = ".git"
"""What stands below it belongs to git, and no hook changes it."""


class Inside(NamedTuple):
    """A file in the workspace: the root it is in, where it really is, and what it is called from there."""

    root: Path
    path: Path
    name: str

    def fits(self, pattern: str) -> bool:
        """Whether a pattern such as `*.py` or `src/*.ts` names it; a star takes slashes too."""
        return fnmatchcase(self.name, pattern) or fnmatchcase(self.path.name, pattern)


def roots_of(event: Event) -> list[Path]:
    return [*_directories(event)]


def _directories(event: Event) -> Iterator[Path]:
    for root in event.workspace_roots:
        path = Path(root)
        if path.is_absolute() and path.is_dir():
            yield path.resolve()


def workspace_of(event: Event, at: str = "") -> Path:
    """The folder of the workspace that this directory is in, or the first."""
    roots = roots_of(event)
    if not roots:
        raise TrotlineError("the event names no folder of a workspace that exists, so there is nowhere to work")
    return next((root for root in roots if at and Path(os.path.normpath(at)).is_relative_to(root)), roots[0])


def inside(event: Event, path: str, *, gone: bool = False) -> Inside | None:
    """The file, if it is one and is in the workspace with all links followed; None otherwise. It may be `gone`."""
    roots = roots_of(event)
    if not roots or not path or "\0" in path:
        return None
    try:
        real = (roots[0] / path).resolve(strict=not gone)
        is_file = real.is_file() or (gone and not real.exists())
    except (OSError, RuntimeError):
        return None
    root = next((root for root in roots if real.is_relative_to(root)), None)
    if root is None or not is_file or INNER in real.relative_to(root).parts:
        return None
    return Inside(root, real, real.relative_to(root).as_posix())
