"""Watch the files that answers depend on: our own code and the configuration.

A service that loaded an older version would answer differently than a new process. So it checks the configuration
before every call and the code twice a second, and ends when something changed. The code consists of many files. They
are checked between calls while calls are likely, so that no call waits for that.
"""

import hashlib
import os
import time
from collections.abc import Iterable
from pathlib import Path

import msgspec

import trotline
from trotline.config.paths import Roots

MAX_SECONDS_BETWEEN_CODE_CHECKS = 0.5

FileState = tuple[int, int, int, int] | None
"""Inode, size, modification time and change time; None for a missing file."""


class CodeWatch:
    """The state of all files at one moment, to compare with later."""

    def __init__(self, roots: Roots) -> None:
        self._home = str(roots.home)
        self._configuration = [
            str(path)
            for directory in (roots.config, roots.managed_config)
            for path in (directory, *_list_files(directory, "*"))
        ]
        package = Path(trotline.__file__).parent
        self._code = [str(path) for path in (Path(msgspec.__file__).parent.parent, *_list_files(package, "**/*.py"))]
        self._first = (self._identify_home(), _get_states(self._configuration), _get_states(self._code))
        self._has_new_code = False
        self._checked = time.monotonic()

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits of this state of code and configuration."""
        everything = [trotline.__version__, self._configuration, self._code, self._first]
        return hashlib.sha256(repr(everything).encode("utf-8", "surrogateescape")).hexdigest()[:16]

    def has_changed(self) -> bool:
        """Return whether the home, the configuration or the code changed."""
        identity, configuration, _ = self._first
        if self._identify_home() != identity or _get_states(self._configuration) != configuration:
            return True
        if time.monotonic() - self._checked >= MAX_SECONDS_BETWEEN_CODE_CHECKS:
            self.check_code()
        return self._has_new_code

    def check_code(self) -> None:
        """Check the code now, so that the next call does not have to."""
        self._checked = time.monotonic()
        self._has_new_code = _get_states(self._code) != self._first[2]

    def _identify_home(self) -> tuple[int, int] | None:
        """Return the identity of the home directory; links on the way to it are followed only once, at the start."""
        try:
            status = os.stat(self._home)  # noqa: PTH116 - before every call
        except OSError:
            return None
        return status.st_dev, status.st_ino


def _list_files(directory: Path, pattern: str) -> Iterable[Path]:
    try:
        return sorted(path for path in directory.glob(pattern) if path.is_file())
    except OSError:
        return ()


def _get_states(paths: list[str]) -> list[FileState]:
    return [_get_state(path) for path in paths]


def _get_state(path: str) -> FileState:
    try:
        status = os.stat(path)  # noqa: PTH116 - before every call
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
