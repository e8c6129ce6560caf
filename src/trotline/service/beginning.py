"""How a service begins that a call has started: the lock came with it, open, and nobody waits for it."""

import os
from pathlib import Path

from trotline.errors import cause_of
from trotline.machine import clock
from trotline.service.bytecode import keep_bytecode
from trotline.service.directory import RunDirectory, roots_of, write_down
from trotline.service.launch import LOCK
from trotline.service.watch import Watch

CODE = str(Path(__file__).resolve().parent)


def begin(home: str) -> None:
    if os.getsid(0) != os.getpid():
        os.setsid()
    os.set_inheritable(LOCK, False)
    serve(Path(home), LOCK)


def serve(home: Path | None, lock: int, idle: float | None = None) -> str:
    """Serve until it is over. The watch is made before the code is read that answers."""
    roots = roots_of(home)
    keep_bytecode(read_whole=False)
    watch = Watch(roots)
    write_down(lock, pid=os.getpid(), launched_us=clock(), digest=watch.digest, code=CODE)
    from trotline.service import server  # noqa: PLC0415 - after the watch

    try:
        return server.run(roots, watch, server.IDLE if idle is None else idle)
    except Exception as error:
        RunDirectory(roots.state / "run").log("broke", cause_of(error))
        raise
