"""Processes that outlive a killed run: found by the cookie in their environment, and killed.

A child that called setsid is in no group of ours. One that cleared its environment escapes; that is said, not hidden.
"""

import os
import signal
from pathlib import Path

ROUNDS = 200
QUIET = 3
"""A process that forks while it is looked for is found in a later round; so many empty ones in a row are the end."""


def carriers(cookie: str) -> list[int]:
    """The processes that carry this cookie; empty where there is no process table to read."""
    wanted = cookie.encode()
    found = []
    own = os.getpid()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if int(entry.name) != own and wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.append(int(entry.name))
        except (OSError, ValueError):
            continue
    return found


def kill_all(cookie: str) -> int:
    """Kill every process that carries the cookie; how many there were."""
    killed: set[int] = set()
    quiet = 0
    for _ in range(ROUNDS):
        alive = [pid for pid in carriers(cookie) if _signalled(pid)]
        quiet = 0 if alive else quiet + 1
        if quiet == QUIET:
            break
        killed.update(alive)
    return len(killed)


def _signalled(pid: int) -> bool:
    try:
        os.kill(pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return False
    return True
