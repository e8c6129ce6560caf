"""Starting a service for later: nobody waits for it, and it keeps nothing of whoever started it."""

import fcntl
import os
import sys
from pathlib import Path

from trotline.config.places import Roots
from trotline.service.directory import ENVIRONMENT, RunDirectory, said, write_down
from trotline.service.entrance import SERVE

COLD = str(Path(__file__).with_name("cold.py"))
"""The way into our code, for a service too: it answers by the code of the call that started it."""

LOCK = 3
"""The descriptor under which a service finds the lock that it holds."""

SECONDS_BETWEEN_STARTS = 2.0
"""A service that dies at once is not started again by every call."""

NOBODY_ELSES = 100
"""A descriptor above those that a host may have left open for us."""


def launch(roots: Roots, now_us: int) -> bool:
    """Start a service for this home, unless there is one or there was one a moment ago."""
    directory = RunDirectory(roots.state / "run")
    try:
        lock = directory.lock()
    except OSError:
        return False  # a home that cannot be written has no service
    if lock is None:
        return False
    try:
        last = said(lock).get("launched_us", 0)
        if isinstance(last, int) and 0 <= now_us - last < SECONDS_BETWEEN_STARTS * 1_000_000:
            return False
        write_down(lock, launched_us=now_us)
        _spawn(lock, roots)
    except OSError as error:
        directory.log("not started", error.strerror or "")
        return False
    finally:
        os.close(lock)
    return True


def _spawn(lock: int, roots: Roots) -> None:
    kept = fcntl.fcntl(lock, fcntl.F_DUPFD_CLOEXEC, NOBODY_ELSES)
    try:
        words = [sys.executable, "-I", "-S", COLD, SERVE, str(roots.home)]
        actions = [
            *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _inherited()),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, kept, LOCK),
        ]
        try:
            os.posix_spawn(sys.executable, words, ENVIRONMENT, file_actions=actions, setsid=True)
        except NotImplementedError:  # an older system; the service leaves our session by itself then
            os.posix_spawn(sys.executable, words, ENVIRONMENT, file_actions=actions)
    finally:
        os.close(kept)


def _inherited() -> list[int]:
    """Descriptors that a host left open: a service that held its pipes would keep it waiting."""
    found = []
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names are what is wanted
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                found.append(int(name))
        except OSError:
            continue  # the directory itself, closed by now
    return found
