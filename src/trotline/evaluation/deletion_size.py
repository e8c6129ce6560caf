"""Count the files and bytes below a path that an action would delete, up to a limit."""

import os
from collections.abc import Iterable
from typing import NamedTuple

MAX_ENTRIES = 20_000


class DeletionSize(NamedTuple):
    """The number and size of files below a path."""

    path: str
    files: int
    bytes: int
    complete: bool  # everything was counted

    @property
    def words(self) -> str:
        more = "" if self.complete else "more than "
        return f"{more}{self.files} {'file' if self.files == 1 else 'files'}, {more}{_format_size(self.bytes)}"


def measure_deletion(path: str) -> DeletionSize | None:
    """Count what is at a path now; None if nothing is. A pattern counts the content of its directory."""
    path = path.rstrip("*").rstrip("/") or "/"
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return None
    if not os.path.isdir(path) or os.path.islink(path):  # noqa: PTH112, PTH114 - beside scandir
        return DeletionSize(path, 1, status.st_size, complete=True)
    files = size = seen = 0
    waiting = [path]
    while waiting and seen < MAX_ENTRIES:
        for entry in _list_entries(waiting.pop()):
            seen += 1
            if entry.is_dir(follow_symlinks=False):
                waiting.append(entry.path)
            else:
                files += 1
                size += _get_size(entry)
            if seen >= MAX_ENTRIES:
                break
    return DeletionSize(path, files, size, complete=seen < MAX_ENTRIES)


def _list_entries(directory: str) -> Iterable[os.DirEntry[str]]:
    try:
        with os.scandir(directory) as found:
            return list(found)
    except OSError:
        return []


def _get_size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return 0


def _format_size(count: int) -> str:
    size = float(count)
    for unit in ("bytes", "kB", "MB", "GB"):
        if size < 1000 or unit == "GB":
            return f"{count} bytes" if unit == "bytes" else f"{size:.1f} {unit}"
        size /= 1000
    return ""
