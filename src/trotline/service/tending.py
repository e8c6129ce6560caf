"""What the trail wants done while nobody calls: the spool drained, what is due forgotten, the head noted elsewhere.

All of it may take long, or hang: somebody holds the database, an anchor is on a disk that is gone. So it is done in a
process of its own, which the kernel's timer ends, and the service that sets it off never waits.
"""

import os
import signal
import sys

from trotline.audit.spool import Spool
from trotline.background import Background
from trotline.config.places import Roots
from trotline.errors import TrotlineError, place_of
from trotline.machine import clock
from trotline.service.alarm import end_loudly
from trotline.service.directory import RunDirectory, roots_of

PROGRAM = "from trotline.service.tending import main; main()"

LONGEST = 300.0
"""Seconds for one process; half a gigabyte of spool is drained in that."""

UNDRAINED = "not drained"


class Tender:
    """Sets the process off when something waits; one at a time."""

    def __init__(self, roots: Roots, longest: float = LONGEST) -> None:
        self._roots = roots
        self._longest = longest
        self._background = Background()
        self._directory = RunDirectory(roots.state / "run")

    @property
    def is_at_it(self) -> bool:
        at_it = self._background.is_at_it
        if self._background.ended_by:
            say_once(self._directory, f"it was ended by signal {self._background.ended_by}")
            self._background.ended_by = 0
        return at_it

    def set_off(self) -> bool:
        """Whether a process was started."""
        if self.is_at_it or not Spool(self._roots.state / "spool").waits:
            return False
        return self._background.begin(PROGRAM, str(self._roots.home), str(self._longest))


def say_once(directory: RunDirectory, why: str) -> None:
    """What keeps it from being done is said once by each service: it is tried again and again."""
    said = False
    for line in directory.log_lines():
        word = line.split(" ", 2)[-1]
        said = (said or word == f"{UNDRAINED}: {why}") and not word.startswith("started")
    if not said:
        directory.log(UNDRAINED, why)


def main() -> None:
    """The process: a home, and for how many seconds at most."""
    roots = roots_of(sys.argv[1])
    directory = RunDirectory(roots.state / "run")
    end_loudly(directory)
    signal.setitimer(signal.ITIMER_REAL, float(sys.argv[2]))
    os.umask(0o077)
    from trotline.audit.trail import drained_if_free  # noqa: PLC0415 - a service does without a database

    try:
        drained_if_free(roots, clock())
    except TrotlineError as error:
        say_once(directory, error.message)
    except Exception as error:  # noqa: BLE001 - what it says may quote a payload; the log tells only where
        say_once(directory, f"{type(error).__name__} at {place_of(error)}")
