"""Start a service: a call launches a new process, which inherits only the lock and then serves."""

import fcntl
import os
import sys
from pathlib import Path

from trotline.config.paths import Roots
from trotline.domain.errors import describe_error
from trotline.machine import read_clock
from trotline.service.bootstrap import SERVE
from trotline.service.directory import (
    ENVIRONMENT,
    RunDirectory,
    get_service_roots,
    read_lock_facts,
    write_lock_facts,
)

CODE = str(Path(__file__).resolve().parent)
BOOTSTRAP_SCRIPT = str(Path(__file__).with_name("run_bootstrap.py"))
"""A service starts with this script too, so that it runs the same code as the call that launched it."""

LOCK_DESCRIPTOR = 3
"""The descriptor of the lock in the new service."""

SECONDS_BETWEEN_STARTS = 2.0
"""The minimum interval: calls must not launch a service again and again if it dies at once."""

MIN_FREE_DESCRIPTOR = 100
"""The lock is copied to a number above this, so that closing inherited descriptors does not close it."""


def launch_service(roots: Roots, now_us: int) -> bool:
    """Launch a service for this home. Return False if one runs, was just launched, or cannot be launched."""
    directory = RunDirectory(roots.state / "run")
    try:
        lock = directory.lock()
    except OSError:
        return False  # the home is not writable
    if lock is None:
        return False
    try:
        last = read_lock_facts(lock).get("launched_us", 0)
        # 0 <=: the clock may have been set back
        if isinstance(last, int) and 0 <= now_us - last < SECONDS_BETWEEN_STARTS * 1_000_000:
            return False
        write_lock_facts(lock, launched_us=now_us)
        _spawn(lock, roots)
    except OSError as error:
        directory.log("not started", error.strerror or "")
        return False
    finally:
        os.close(lock)
    return True


def _spawn(lock: int, roots: Roots) -> None:
    high_lock = fcntl.fcntl(lock, fcntl.F_DUPFD_CLOEXEC, MIN_FREE_DESCRIPTOR)
    try:
        argv = [sys.executable, "-I", "-S", BOOTSTRAP_SCRIPT, SERVE, str(roots.home)]
        actions = [
            *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _list_inherited()),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, high_lock, LOCK_DESCRIPTOR),
        ]
        try:
            os.posix_spawn(sys.executable, argv, ENVIRONMENT, file_actions=actions, setsid=True)
        except NotImplementedError:  # where posix_spawn knows no setsid
            os.posix_spawn(sys.executable, argv, ENVIRONMENT, file_actions=actions)
    finally:
        os.close(high_lock)


def _list_inherited() -> list[int]:
    """Return descriptors inherited from the agent. It waits until all copies of its pipes are closed."""
    inherited = []
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names are wanted
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                inherited.append(int(name))
        except OSError:
            continue  # the directory itself, closed by now
    return inherited


def serve_in_launched_process(home: str) -> None:
    """Serve a home in a launched process, with the lock that it inherited."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.set_inheritable(LOCK_DESCRIPTOR, False)
    serve(Path(home), LOCK_DESCRIPTOR)


def serve(home: Path | None, lock: int, idle: float | None = None) -> str:
    """Serve a home and return why serving ended. The watch is created before the code that answers is loaded."""
    from trotline.service.bytecode import keep_bytecode  # noqa: PLC0415 - calls only launch
    from trotline.service.watch import CodeWatch  # noqa: PLC0415 - the same

    roots = get_service_roots(home)
    keep_bytecode(read_whole=False)
    watch = CodeWatch(roots)
    write_lock_facts(lock, pid=os.getpid(), launched_us=read_clock(), digest=watch.digest, code=CODE)
    from trotline.service import server  # noqa: PLC0415 - after the watch

    try:
        return server.run_service(roots, watch, server.DEFAULT_IDLE_SECONDS if idle is None else idle)
    except Exception as error:
        RunDirectory(roots.state / "run").log("broke", describe_error(error))
        raise
