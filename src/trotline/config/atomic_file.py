"""Atomic file replacement: concurrent readers see the old file or the new one, never a part."""

import fcntl
import os
import time
from pathlib import Path

OWNER_ONLY = 0o600
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
SECONDS, PAUSE = 2.0, 0.005


def put(path: Path, data: bytes, *, mode: int | None = OWNER_ONLY, lasting: bool = False) -> None:
    """Replace the content of a file atomically.

    With `mode` None the umask decides. With `lasting` the data is synced to the disk before the file is replaced.
    """
    beside = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}")
    descriptor = os.open(beside, NEW_FILE, 0o666 if mode is None else OWNER_ONLY)
    try:
        with os.fdopen(descriptor, "wb") as file:
            if mode is not None and mode != OWNER_ONLY:
                os.fchmod(descriptor, mode)
            file.write(data)
            file.flush()
            if lasting:
                os.fsync(descriptor)
        beside.replace(path)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def lock(descriptor: int, seconds: float = SECONDS) -> None:
    """Take an exclusive lock; raise BlockingIOError after some seconds, because its holder may be suspended."""
    for _ in range(round(seconds / PAUSE)):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(PAUSE)
        else:
            return
    raise BlockingIOError(11, "somebody else holds its lock")
