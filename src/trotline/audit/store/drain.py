"""Moving lines from the spool into the store, each line exactly once.

The spool file is renamed, then read, and deleted once the store has committed its lines. A process that dies in between
leaves a file that the next one drains again; the store ignores lines that it already has.
"""

import errno
import fcntl
import hashlib
import os
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from trotline.audit.store.spool import Spool, get_aside_number, get_aside_path, list_asides, parse_line
from trotline.audit.store.store import Store, StoredLine, UnreadLine
from trotline.config.paths import private_directory
from trotline.domain.errors import TrotlineError, TryAgain

DRAIN_LOCK = "drain.lock"
BATCH_SIZE = 500
"""Number of lines per transaction."""

LAST_LINE_TIMEOUT = 0.1
LOCK_TIMEOUT = 30.0
"""Seconds to wait for another process that drains; a spool of many megabytes takes about half of that."""

LOCK_POLL_INTERVAL = 0.02


class DrainResult(NamedTuple):
    """The number of lines that were new to the store, and of files that were drained and deleted."""

    lines: int = 0
    files: int = 0


def drain(spool: Spool, store: Store, *, wait: bool = True) -> DrainResult | None:
    """Move everything that is in the spool into the store.

    If another process is draining, return None without `wait`; with `wait`, raise TryAgain after LOCK_TIMEOUT, because
    that process may be stopped or hang.
    """
    try:
        private_directory(spool.directory)
        with _alone(spool.directory / DRAIN_LOCK, wait=wait) as alone:
            if not alone:
                return None
            _set_aside(spool)
            files = list_asides(spool.directory)
            return DrainResult(sum(_drain_file(file, store) for file in files), len(files))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = "look at its owner, its mode, and the space on the disk"
        raise TrotlineError(f"the spool in `{spool.directory}` cannot be drained: {why}", hint=hint) from None


@contextmanager
def _alone(file: Path, *, wait: bool) -> Iterator[bool]:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        is_alone = _is_locked(descriptor, LOCK_TIMEOUT if wait else 0.0)
        if wait and not is_alone:
            raise _kept_waiting(file, descriptor)
        if is_alone:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, b"%d\n" % os.getpid(), 0)
        yield is_alone
    finally:
        os.close(descriptor)


def _is_locked(descriptor: int, seconds: float) -> bool:
    until = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= until:
                return False
            time.sleep(LOCK_POLL_INTERVAL)
        else:
            return True


def _kept_waiting(file: Path, descriptor: int) -> TryAgain:
    said = os.pread(descriptor, 20, 0).strip()
    who = f"process {int(said)}" if said.isdigit() else "another process"
    message = f"{who} is draining the spool, and was not through within {LOCK_TIMEOUT:g} seconds"
    return TryAgain(message, hint=f"it holds `{file}`; try again, or end it if it hangs: what waits is not lost")


def _set_aside(spool: Spool) -> None:
    """Rename the spool file to the next number. The lock is held, so the number after the last one is free."""
    last = max((get_aside_number(file) for file in list_asides(spool.directory)), default=0)
    try:
        if not stat.S_ISREG(spool.file.lstat().st_mode):
            raise OSError(errno.EINVAL, "something that is no file is in its place")
        spool.file.rename(get_aside_path(spool.directory, last + 1))
    except FileNotFoundError:
        return


def _drain_file(file: Path, store: Store) -> int:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        _wait_for_the_last_line(descriptor)
        lines = _lines(opened, os.fstat(descriptor).st_mtime_ns // 1000)
        count = 0
        while batch := list(islice(lines, BATCH_SIZE)):
            count += store.append(batch)
        file.unlink()
    return count


def _wait_for_the_last_line(descriptor: int) -> None:
    """Wait shortly for a writer that is in the middle of a line.

    It will write the line again to the new file, but the half in this one would be counted as torn.
    """
    until = time.monotonic() + LAST_LINE_TIMEOUT
    while time.monotonic() < until:
        size = os.fstat(descriptor).st_size
        if not size or os.pread(descriptor, 1, size - 1) == b"\n":
            return
        time.sleep(0.001)


def _lines(opened: Iterable[bytes], came_us: int) -> Iterator[StoredLine | UnreadLine]:
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
