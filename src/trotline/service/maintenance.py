"""Audit log maintenance between calls: drain the spool, apply retention, write the anchor.

It may take long or hang: another process holds the database, or an anchor is on a disk that is gone. So it runs in a
process of its own, which the kernel's timer ends, and the service never waits for it.
"""

import os
import signal
import sys

from trotline.audit.store.spool import Spool
from trotline.config.paths import Roots
from trotline.delivery.delivery_process import ChildProcess
from trotline.domain.errors import TrotlineError, find_error_place
from trotline.machine import read_clock
from trotline.service.directory import RunDirectory, enable_watchdog, get_service_roots

PROGRAM = "from trotline.service.maintenance import main; main()"

MAX_SECONDS = 300.0
"""Enough to drain half a gigabyte of spool."""

NOT_DRAINED = "not drained"


class Maintenance:
    """Starts a maintenance process when records wait in the spool, one at a time."""

    def __init__(self, roots: Roots, max_seconds: float = MAX_SECONDS) -> None:
        self._roots = roots
        self._max_seconds = max_seconds
        self._child = ChildProcess()
        self._directory = RunDirectory(roots.state / "run")

    @property
    def is_running(self) -> bool:
        """True while the process runs. If a signal ended the last process, this is logged."""
        is_running = self._child.is_running
        if self._child.ended_by:
            log_once(self._directory, f"it was ended by signal {self._child.ended_by}")
            self._child.ended_by = 0
        return is_running

    def start(self) -> bool:
        """Start the process if there is something to do. Return whether it was started."""
        if self.is_running or not Spool(self._roots.state / "spool").waits:
            return False
        return self._child.start(PROGRAM, str(self._roots.home), str(self._max_seconds))


def log_once(directory: RunDirectory, why: str) -> None:
    """Log a failure once per service, because maintenance is tried again and again."""
    is_logged = False
    for line in directory.read_log_lines():
        entry = line.split(" ", 2)[-1]
        is_logged = (is_logged or entry == f"{NOT_DRAINED}: {why}") and not entry.startswith("started")
    if not is_logged:
        directory.log(NOT_DRAINED, why)


def main() -> None:
    """Run maintenance for the home and the number of seconds on the command line."""
    roots = get_service_roots(sys.argv[1])
    directory = RunDirectory(roots.state / "run")
    enable_watchdog(directory)
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
    os.umask(0o077)
    from trotline.audit.store.audit_log import drain_if_unlocked  # noqa: PLC0415 - the service needs no database

    try:
        drain_if_unlocked(roots, read_clock())
    except TrotlineError as error:
        log_once(directory, error.message)
    except Exception as error:  # noqa: BLE001 - its text may quote a payload, so only its place is logged
        log_once(directory, f"{type(error).__name__} at {find_error_place(error)}")
