"""Kill processes that outlive a killed run. They are found by the cookie in their environment.

A child that called setsid has left the process group, and one that keeps forking is hard to catch, so the search
is repeated for a limited time until no process appears or vanishes. A process that cleared its environment escapes.
"""

import os
import signal
import time

SECONDS, SUSPICION = 2.0, 0.5
QUIET = 3
PAUSE = 0.002
"""Time limits after and before a process was killed, quiet scans in a row to stop at, seconds between scans."""


def carriers(*cookies: str) -> list[int]:
    """Return the processes that have one of these cookies; empty where /proc cannot be read."""
    return _look({cookie.encode() for cookie in cookies})[0]


def kill_survivors(*cookies: str, newer_than: int = 0) -> int:
    """Kill all processes that have one of these cookies. Return how many were killed.

    A process that is newer than the first one of the run and vanishes during a scan may have forked and exited, or be
    unrelated. Until one was killed, such processes extend the search only for a moment.
    """
    wanted = {cookie.encode() for cookie in cookies}
    killed: set[int] = set()
    begun = time.monotonic()
    quiet = 0
    while wanted and quiet < QUIET and time.monotonic() - begun < (SECONDS if killed else SUSPICION):
        found, vanished = _look(wanted)
        killed.update(pid for pid in found if _send_signal(pid))
        moving = any(pid > newer_than for pid in vanished)
        quiet = 0 if found or moving else quiet + 1
        time.sleep(PAUSE)
    return len(killed)


def _look(wanted: set[bytes]) -> tuple[list[int], list[int]]:
    """Return the processes with a cookie, newest first, and those that vanished during the scan."""
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
        return [int(name) for name in os.listdir("/proc") if name.isdigit() and int(name) != os.getpid()]  # noqa: PTH208 - faster
    except OSError:
        return []


def _environment(pid: int) -> list[bytes]:
    with open(f"/proc/{pid}/environ", "rb") as file:  # noqa: PTH123 - faster
        return file.read().split(b"\0")


def _send_signal(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True
