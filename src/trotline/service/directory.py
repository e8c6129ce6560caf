"""The run directory of a home: the socket, the lock that the service holds while it lives, and its log.

The process that holds the lock is the service. It gets the lock, open and locked, from the process that starts it. So
only one of many processes starts a service, and a killed service leaves no lock behind.
"""

import fcntl
import json
import os
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from trotline.config.paths import Roots
from trotline.machine import find_roots
from trotline.system.files import APPEND_FLAGS, OWNER_ONLY, LockedError, acquire_lock, ensure_private_directory

MAX_LOG_BYTES = 256_000
"""A longer log is moved to `log.old` when a service starts."""

ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""All variables that our code sees, warm and cold. The client sets the same."""

WENT_COLD = "a call was answered cold"


def get_service_roots(home: str | Path | None) -> Roots:
    """Return the roots of a service. It has no project: each call names its own."""
    return find_roots([Path("/")], Path(home) if home else None, Path("/"))


class RunDirectory(NamedTuple):
    """The run directory of one home."""

    path: Path

    @property
    def socket(self) -> Path:
        """The socket on which the service listens."""
        return self.path / "s"

    @property
    def log_file(self) -> Path:
        """The log of the service."""
        return self.path / "log"

    def lock(self) -> int | None:
        """Return the locked file, or None if another process holds the lock.

        An OSError means that this home cannot have a service.
        """
        ensure_private_directory(self.path)
        try:
            return acquire_lock(self.path / "lock", timeout=0)
        except LockedError:
            return None

    def read_service_facts(self) -> dict[str, Any] | None:
        """Return the facts that the running service wrote into its lock, or None if no service runs."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return read_lock_facts(descriptor)
        finally:
            os.close(descriptor)
        return None

    def log(self, event: str, detail: str = "") -> None:
        """Log a line about the service itself; it never contains data of a call. A failure is ignored."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f"{stamp} {os.getpid()} {event}{': ' if detail else ''}{detail}\n"
        with suppress(OSError):
            descriptor = open_log(self.log_file)
            try:
                os.write(descriptor, line.encode("utf-8", "backslashreplace"))
            finally:
                os.close(descriptor)

    def read_log_lines(self) -> list[str]:
        """Return the lines of the log; none if it cannot be read."""
        try:
            return self.log_file.read_text("utf-8", "replace").splitlines()
        except OSError:
            return []

    def count_cold_calls(self) -> dict[str, int]:
        """Count the logged calls that the service did not answer, by the client's reason."""
        entries = [line.split(" ", 2)[2] for line in self.read_log_lines() if line.endswith(WENT_COLD)]
        return dict(Counter(entry.removesuffix(f": {WENT_COLD}") for entry in entries))

    def rotate_log(self) -> None:
        """Move the log to `log.old` if it is too long."""
        with suppress(OSError):
            if self.log_file.stat().st_size > MAX_LOG_BYTES:
                self.log_file.replace(self.log_file.with_suffix(".old"))


def open_log(file: Path) -> int:
    """Open a log for appending."""
    return os.open(file, APPEND_FLAGS, OWNER_ONLY)


def write_lock_facts(lock: int, **facts: Any) -> None:
    """Write facts about this process into the lock file, for other processes."""
    data = json.dumps(facts).encode()
    os.pwrite(lock, data, 0)
    os.ftruncate(lock, len(data))


def read_lock_facts(lock: int) -> dict[str, Any]:
    """Return the facts that the last holder wrote into the lock file; empty if there are none."""
    try:
        facts = json.loads(os.pread(lock, 4096, 0))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}


def enable_watchdog(directory: RunDirectory) -> None:
    """Let SIGALRM end this process, and log where it hung, if the log can be opened."""
    import faulthandler  # noqa: PLC0415 - cold calls log and need no watchdog
    import signal  # noqa: PLC0415 - the same

    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.unregister(signal.SIGALRM)  # it may write to a file that is replaced by now
    with suppress(OSError):
        faulthandler.register(signal.SIGALRM, file=open_log(directory.log_file), all_threads=False, chain=True)
