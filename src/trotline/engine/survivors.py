"""Processes that outlive a killed run: found by the cookie in their environment, and killed.

A child that called setsid is in no group of ours, and one that forks from session to session is hard to hit: it is
looked for until nothing moves any more, for a bounded time. One that cleared its environment escapes; that is said, not
hidden.
"""

import os
import signal
import time

SECONDS, SUSPICION = 2.0, 0.5
QUIET = 3
PAUSE = 0.002
"""How long to look, how many looks in a row must find nothing that moves, and how long to wait between them."""


def carriers(*cookies: str) -> list[int]:
    """The processes that carry one of these cookies; empty where there is no process table to read."""
    return _look({cookie.encode() for cookie in cookies})[0]


def kill_all(*cookies: str, newer_than: int = 0) -> int:
    """Kill every process that carries one of these cookies; how many there were.

    Whoever is newer than the run's first process and vanishes while we look may be one that moves, or a stranger: as
    long as nobody was hit, that is followed up only for a moment.
    """
    wanted = {cookie.encode() for cookie in cookies}
    killed: set[int] = set()
    begun = time.monotonic()
    quiet = 0
    while wanted and quiet < QUIET and time.monotonic() - begun < (SECONDS if killed else SUSPICION):
        found, vanished = _look(wanted)
        killed.update(pid for pid in found if _signalled(pid))
        moving = any(pid > newer_than for pid in vanished)
        quiet = 0 if found or moving else quiet + 1
        time.sleep(PAUSE)
    return len(killed)


def _look(wanted: set[bytes]) -> tuple[list[int], list[int]]:
    """Who carries a cookie, newest first, and who vanished before we got there: perhaps one that moves."""
    found: list[int] = []
    vanished: list[int] = []
    for pid in sorted(_processes(), reverse=True):
        try:
            if not wanted.isdisjoint(_environment(pid)):
                found.append(pid)
        except (FileNotFoundError, ProcessLookupError):
            vanished.append(pid)
        except OSError:
            continue
    return found, vanished


def _processes() -> list[int]:
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]  # noqa: PTH208 - quick
    except OSError:
        return []


def _environment(pid: int) -> list[bytes]:
    with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - quick
        return file.read().split(b"\0")


def _signalled(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True
