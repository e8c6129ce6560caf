"""How much an action would touch: files and bytes below a path, counted up to a bound."""

import os
from collections.abc import Iterable
from typing import NamedTuple

MOST_ENTRIES = 20_000


class Blast(NamedTuple):
    path: str
    files: int
    bytes: int
    complete: bool  # whether everything was counted

    @property
    def words(self) -> str:
        more = "" if self.complete else "more than "
        return f"{more}{self.files} {'file' if self.files == 1 else 'files'}, {more}{_size(self.bytes)}"


def blast(path: str) -> Blast | None:
    """What is there now; None for nothing. A pattern counts what its directory holds."""
    path = path.rstrip("*").rstrip("/") or "/"
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not os.path.isdir(path) or os.path.islink(path):  # noqa: PTH112, PTH114 - beside scandir
        return Blast(path, 1, status.st_size, complete=True)
    files = size = seen = 0
    waiting = [path]
    while waiting and seen < MOST_ENTRIES:
        for entry in _entries(waiting.pop()):
            seen += 1
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                files += 1
                size += _bytes(entry)
            if seen >= MOST_ENTRIES:
                break
    return Blast(path, files, size, complete=seen < MOST_ENTRIES)


def _entries(directory: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except OSError:
        return []


def _bytes(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return ""
