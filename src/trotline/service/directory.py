"""The run directory: the socket, the lock that the service holds as long as it lives, and its log.

Whoever holds the lock is the service. It is given to the service by the process that starts it, open and locked, so
that of many that want to start one only one does, and a service that was killed leaves none behind.
"""

import fcntl
import json
import os
import time
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from trotline.config.places import Roots, private_directory
from trotline.machine import machine_roots

MOST_LOG = 256_000
"""Bytes of log that are kept, twice: what is older is thrown away when a service starts."""

OWNER_ONLY = 0o600
ENVIRONMENT = {"PATH": "/usr/bin:/bin"}
"""All the variables that our code ever sees, warm and cold; the client says the same."""

WENT_COLD = "a call was answered cold"


def roots_of(home: str | Path | None) -> Roots:
    """The roots by which a service answers: no project is looked for, the call names its own."""
    return machine_roots([Path("/")], Path(home) if home else None, Path("/"))


class RunDirectory(NamedTuple):
    """One for each home directory."""

    path: Path

    @property
    def socket(self) -> Path:
        return self.path / "s"

    @property
    def log_file(self) -> Path:
        return self.path / "log"

    def lock(self) -> int | None:
        """The lock as an open file, or None if somebody has it. An OSError says that there can be no service."""
        private_directory(self.path)
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        descriptor = os.open(self.path / "lock", flags, OWNER_ONLY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(descriptor)
            return None
        return descriptor

    def holder(self) -> dict[str, Any] | None:
        """What the running service wrote about itself; None if none is running."""
        try:
            descriptor = os.open(self.path / "lock", os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            return None
        try:
            fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return said(descriptor)
        finally:
            os.close(descriptor)
        return None

    def log(self, word: str, detail: str = "") -> None:
        """One line about the service itself; nothing that a host or an agent said is ever in it."""
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        line = f"{stamp} {os.getpid()} {word}{': ' if detail else ''}{detail}\n"
        try:
            descriptor = open_log(self.log_file)
        except OSError:
            return  # the log is for people; nobody's answer waits for it
        try:
            os.write(descriptor, line.encode("utf-8", "backslashreplace"))
        except OSError:
            return
        finally:
            os.close(descriptor)

    def log_lines(self) -> list[str]:
        try:
            return self.log_file.read_text("utf-8", "replace").splitlines()
        except OSError:
            return []

    def went_cold(self) -> dict[str, int]:
        """How many calls did, for reasons that a person should know of; as far as the log goes back."""
        words = [line.split(" ", 2)[2] for line in self.log_lines() if line.endswith(WENT_COLD)]
        counts = Counter(word.removesuffix(f": {WENT_COLD}") for word in words)
        return dict(counts)

    def trim_log(self) -> None:
        """Keep the log small; called by a service that starts."""
        try:
            if self.log_file.stat().st_size > MOST_LOG:
                self.log_file.replace(self.log_file.with_suffix(".old"))
        except OSError:
            return


def open_log(file: Path) -> int:
    return os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_ONLY)


def write_down(lock: int, **facts: Any) -> None:
    """What others may know about whoever holds the lock."""
    data = json.dumps(facts).encode()
    os.pwrite(lock, data, 0)
    os.ftruncate(lock, len(data))


def said(lock: int) -> dict[str, Any]:
    """What the last holder of the lock wrote down."""
    try:
        facts = json.loads(os.pread(lock, 4096, 0))
    except (OSError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
