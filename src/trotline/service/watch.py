"""What answers depend on beside the call: our own code, and the files in which people tell us something.

The service that has read the one and cannot be sure of the other would give answers that a new process would not. So
it looks before every call at configuration, at code twice a second, and ends when something is different. Code is many
files: while calls are likely it is looked at between them, so that nobody waits for that.
"""

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

import trotline
from trotline.config.places import Roots

SECONDS_BETWEEN_LOOKS_AT_CODE = 0.5

Mark = tuple[int, int, int, int] | None
"""Inode, size, time of the content and of the inode; None for what is not there."""


class Watch:
    """The marks of all files at one moment, and whether they are still the same."""

    def __init__(self, roots: Roots) -> None:
        self._home = str(roots.home)
        self._configuration = [
            str(path)
            for directory in (roots.config, roots.managed_config)
            for path in (directory, *_files(directory, "*"))
        ]
        package = Path(trotline.__file__).parent
        self._code = [str(path) for path in (Path(msgspec.__file__).parent.parent, *_files(package, "**/*.py"))]
        self._first = (self._identity(), _marks(self._configuration), _marks(self._code))
        self._code_is_other = False
        self._looked = time.monotonic()

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits for this state of code and configuration."""
        everything = [trotline.__version__, self._configuration, self._code, self._first]
        return hashlib.sha256(repr(everything).encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def changed(self) -> bool:
        identity, configuration, _ = self._first
        if self._identity() != identity or _marks(self._configuration) != configuration:
            return True
        if time.monotonic() - self._looked >= SECONDS_BETWEEN_LOOKS_AT_CODE:
            self.look()
        return self._code_is_other

    def look(self) -> None:
        """At our code; the next call that comes soon need not."""
        self._looked = time.monotonic()
        self._code_is_other = _marks(self._code) != self._first[2]

    def _identity(self) -> tuple[int, int] | None:
        """Which directory the home is: links on the way to it are followed once, when a service starts."""
        try:
            status = os.stat(self._home)  # noqa: PTH116 - before every call, and a Path costs as much as the look
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _files(directory: Path, pattern: str) -> Iterable[Path]:
    try:
        return sorted(path for path in directory.glob(pattern) if path.is_file())
    except OSError:
        return ()


def _marks(paths: list[str]) -> list[Mark]:
    return [_mark(path) for path in paths]


def _mark(path: str) -> Mark:
    try:
        status = os.stat(path)  # noqa: PTH116 - before every call
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
