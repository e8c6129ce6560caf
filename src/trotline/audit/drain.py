"""Draining: what waits in the spool comes into the store, each line exactly once.

The file is renamed, then read, and deleted after the store has it for good. Whoever dies in between leaves a file that
the next one drains again, and what the store has already it does not take twice.
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

from trotline.audit.spool import Spool, aside, asides, line_of, number_of
from trotline.audit.store import Line, Store, Unread
from trotline.config.places import private_directory
from trotline.errors import TrotlineError, TryAgain

LOCK = "drain.lock"
BATCH = 500
"""Lines in one transaction."""

SECONDS_FOR_A_LINE = 0.1
SECONDS_TO_WAIT = 30.0
SECONDS_BETWEEN_TRIES = 0.02
"""For another process that drains: of these a spool of many megabytes takes half."""


class Drained(NamedTuple):
    """Lines that were new to the store, and files that are gone."""

    lines: int = 0
    files: int = 0


def drain(spool: Spool, store: Store, *, wait: bool = True) -> Drained | None:
    """Everything that was in the spool when this began; None if another process is at it and nobody wants to wait.
    Nobody waits for ever: one that is stopped, or hangs, may have begun it."""
    try:
        private_directory(spool.directory)
        with _alone(spool.directory / LOCK, wait=wait) as alone:
            if not alone:
                return None
            _set_aside(spool)
            files = asides(spool.directory)
            return Drained(sum(_drained(file, store) for file in files), len(files))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = "look at its owner, its mode, and the space on the disk"
        raise TrotlineError(f"the spool in `{spool.directory}` cannot be drained: {why}", hint=hint) from None


@contextmanager
def _alone(file: Path, *, wait: bool) -> Iterator[bool]:
    descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        is_alone = _is_locked(descriptor, SECONDS_TO_WAIT if wait else 0.0)
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
            time.sleep(SECONDS_BETWEEN_TRIES)
        else:
            return True


def _kept_waiting(file: Path, descriptor: int) -> TryAgain:
    said = os.pread(descriptor, 20, 0).strip()
    who = f"process {int(said)}" if said.isdigit() else "another process"
    message = f"{who} is draining the spool, and was not through within {SECONDS_TO_WAIT:g} seconds"
    return TryAgain(message, hint=f"it holds `{file}`; try again, or end it if it hangs: what waits is not lost")


def _set_aside(spool: Spool) -> None:
    """A name for each file, of which later ones sort later. We are alone, so the number after the last is free."""
    last = max((number_of(file) for file in asides(spool.directory)), default=0)
    try:
        if not stat.S_ISREG(spool.file.lstat().st_mode):
            raise OSError(errno.EINVAL, "something that is no file is in its place")
        spool.file.rename(aside(spool.directory, last + 1))
    except FileNotFoundError:
        return


def _drained(file: Path, store: Store) -> int:
    descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as opened:
        _wait_for_the_last_line(descriptor)
        lines = _lines(opened, os.fstat(descriptor).st_mtime_ns // 1000)
        count = 0
        while batch := list(islice(lines, BATCH)):
            count += store.append(batch)
        file.unlink()
    return count


def _wait_for_the_last_line(descriptor: int) -> None:
    """A writer that was in the middle of it will write it anew elsewhere; half of it would be counted as torn."""
    until = time.monotonic() + SECONDS_FOR_A_LINE
    while time.monotonic() < until:
        size = os.fstat(descriptor).st_size
        if not size or os.pread(descriptor, 1, size - 1) == b"\n":
            return
        time.sleep(0.001)


def _lines(opened: Iterable[bytes], came_us: int) -> Iterator[Line | Unread]:
    at = 0
    for raw in opened:
        line = raw.strip(b"\n")
        place = f"{at:012} {hashlib.sha256(line).hexdigest()[:16]}"  # the same when it is read again after a crash
        at += len(raw)
        body = line_of(line) if line else {}
        if body is None:
            yield Unread(place, "torn", line, came_us)
        elif body:
            yield Line(body, place, came_us, line)
