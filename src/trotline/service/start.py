"""Start a service: a call launches a process, which inherits nothing but the lock, and that process begins to serve."""

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
COLD_SCRIPT = str(Path(__file__).with_name("cold.py"))
"""A service starts through it too, so that it answers by the code of the call that launched it."""

LOCK_DESCRIPTOR = 3
"""The descriptor of the lock in the new service."""

SECONDS_BETWEEN_STARTS = 2.0
"""A service that dies at once is not launched again by every call."""

MIN_FREE_DESCRIPTOR = 100
"""Above the descriptors that an agent may have left open."""


def launch(roots: Roots, now_us: int) -> bool:
    """Launch a service for this home, unless one runs or was launched a moment ago. Return whether it was launched."""
    directory = RunDirectory(roots.state / "run")
    try:
        lock = directory.lock()
    except OSError:
        return False  # a home that cannot be written has no service
    if lock is None:
        return False
    try:
        last = read_lock_facts(lock).get("launched_us", 0)
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
        words = [sys.executable, "-I", "-S", COLD_SCRIPT, SERVE, str(roots.home)]
        actions = [
            *((os.POSIX_SPAWN_CLOSE, descriptor) for descriptor in _list_inherited()),
            (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
            (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            (os.POSIX_SPAWN_DUP2, high_lock, LOCK_DESCRIPTOR),
        ]
        try:
            os.posix_spawn(sys.executable, words, ENVIRONMENT, file_actions=actions, setsid=True)
        except NotImplementedError:  # an older system; there the service leaves our session by itself
            os.posix_spawn(sys.executable, words, ENVIRONMENT, file_actions=actions)
    finally:
        os.close(high_lock)


def _list_inherited() -> list[int]:
    """Return descriptors that an agent left open: a service that held its pipes would keep it waiting."""
    inherited = []
    for name in os.listdir("/dev/fd"):  # noqa: PTH208 - names are wanted
        try:
            if int(name) > 2 and os.get_inheritable(int(name)):
                inherited.append(int(name))
        except OSError:
            continue  # the directory itself, closed by now
    return inherited


def serve_launched(home: str) -> None:
    """Serve a home in a launched process, with the lock that it inherited."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.set_inheritable(LOCK_DESCRIPTOR, False)
    serve(Path(home), LOCK_DESCRIPTOR)


def serve(home: Path | None, lock: int, idle: float | None = None) -> str:
    """Serve a home and return why it ended. The watch is made before the code that answers is loaded."""
    from trotline.service.bytecode import keep_bytecode  # noqa: PLC0415 - calls only launch
    from trotline.service.watch import CodeWatch  # noqa: PLC0415 - the same

    roots = get_service_roots(home)
    keep_bytecode(read_whole=False)
    watch = CodeWatch(roots)
    write_lock_facts(lock, pid=os.getpid(), launched_us=read_clock(), digest=watch.digest, code=CODE)
    from trotline.service import server  # noqa: PLC0415 - after the watch

    try:
        return server.run(roots, watch, server.DEFAULT_IDLE_SECONDS if idle is None else idle)
    except Exception as error:
        RunDirectory(roots.state / "run").log("broke", describe_error(error))
        raise
