"""Start to serve, in a process that a call has launched or in the foreground."""

import os
from pathlib import Path

from trotline.domain.errors import describe_error
from trotline.machine import read_clock
from trotline.service.bytecode import keep_bytecode
from trotline.service.directory import RunDirectory, get_service_roots, write_lock_facts
from trotline.service.launch import LOCK_DESCRIPTOR
from trotline.service.watch import CodeWatch

CODE = str(Path(__file__).resolve().parent)


def begin(home: str) -> None:
    """Serve a home with the lock that this process inherited."""
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.set_inheritable(LOCK_DESCRIPTOR, False)
    serve(Path(home), LOCK_DESCRIPTOR)


def serve(home: Path | None, lock: int, idle: float | None = None) -> str:
    """Serve a home and return why it ended. The watch is made before the code that answers is loaded."""
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
