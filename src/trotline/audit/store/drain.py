"""Moving lines from the spool into the store, each line exactly once.

The spool file is renamed, then read, and deleted once the store has committed its lines. A process that dies in between
leaves a file that the next one drains again; the store ignores lines that it already has.
"""

import errno
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from trotline.audit.store.spool import Spool, get_aside_number, get_aside_path, list_asides, parse_line
from trotline.audit.store.store import Store, StoredLine, UnreadLine
from trotline.domain.errors import TrotlineError, TryAgain, describe_os_error
from trotline.system.files import LockedError, ensure_private_directory, lock_file, open_regular

DRAIN_LOCK = "drain.lock"
BATCH_SIZE = 500
"""Number of lines per transaction."""

LAST_LINE_TIMEOUT = 0.1
"""Seconds to wait for a writer that is in the middle of a line."""

LOCK_TIMEOUT = 30.0
"""Seconds to wait for another process that drains; a spool of many megabytes takes about half of that."""


class DrainResult(NamedTuple):
    """The number of lines that were new to the store, and of files that were drained and deleted."""

    lines: int = 0
    files: int = 0


def drain(spool: Spool, store: Store, *, wait: bool = True) -> DrainResult | None:
    """Move everything that is in the spool into the store.

    If another process is draining, return None without `wait`; with `wait`, raise TryAgain after LOCK_TIMEOUT, because
    that process may be stopped or hang.
    """
    lock = spool.directory / DRAIN_LOCK
    try:
        ensure_private_directory(spool.directory)
        with lock_file(lock, LOCK_TIMEOUT if wait else 0) as descriptor:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
            _set_aside(spool)
            files = list_asides(spool.directory)
            return DrainResult(sum(_drain_file(file, store) for file in files), len(files))
    except LockedError:
        if not wait:
            return None
        raise _build_lock_error(lock) from None
    except OSError as error:
        why = describe_os_error(error)
        hint = "look at its owner, its mode, and the space on the disk"
        raise TrotlineError(f"the spool in `{spool.directory}` cannot be drained: {why}", hint=hint) from None


def _build_lock_error(lock: Path) -> TryAgain:
    pid = ""
    with suppress(OSError):
        pid = lock.read_text("ascii", "replace").strip()
    process = f"process {int(pid)}" if pid.isdigit() else "another process"
    message = f"{process} is draining the spool, and was not through within {LOCK_TIMEOUT:g} seconds"
    return TryAgain(message, hint=f"it holds `{lock}`; try again, or end it if it hangs: what waits is not lost")


def _set_aside(spool: Spool) -> None:
    """Rename the spool file to the next number. The lock is held, so the number after the last one is free."""
    last = max((get_aside_number(file) for file in list_asides(spool.directory)), default=0)
    try:
        if not stat.S_ISREG(spool.file.lstat().st_mode):
            raise OSError(errno.EINVAL, "not a regular file")
        spool.file.rename(get_aside_path(spool.directory, last + 1))
    except FileNotFoundError:
        return


def _drain_file(file: Path, store: Store) -> int:
    descriptor = open_regular(file, os.O_RDONLY | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "rb") as opened:
        _wait_for_last_line(descriptor)
        lines = _read_lines(opened, os.fstat(descriptor).st_mtime_ns // 1000)
        count = 0
        while batch := list(islice(lines, BATCH_SIZE)):
            count += store.append(batch)
        file.unlink()
    return count


def _wait_for_last_line(descriptor: int) -> None:
    """Wait shortly for a writer that is in the middle of a line.

    It will write the line again to the new file, but the half in this one would be counted as torn.
    """
    until = time.monotonic() + LAST_LINE_TIMEOUT
    while time.monotonic() < until:
        size = os.fstat(descriptor).st_size
        if not size or os.pread(descriptor, 1, size - 1) == b"\n":
            return
        time.sleep(0.001)


def _read_lines(opened: Iterable[bytes], came_us: int) -> Iterator[StoredLine | UnreadLine]:
    at = 0
    for raw in opened:
        line = raw.strip(b"\n")
        place = f"{at:012} {hashlib.sha256(line).hexdigest()[:16]}"  # stable if the file is read again after a crash
        at += len(raw)
        body = parse_line(line) if line else {}
        if body is None:
            yield UnreadLine(place, "torn", line, came_us)
        elif body:
            yield StoredLine(body, place, came_us, line)
