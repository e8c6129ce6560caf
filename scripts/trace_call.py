"""Count the modules, functions and cross-module calls that one event runs through.

Trace a shell event twice: as a warm call to the service, and as an event of an embedded session with guards and an
audit log. Each path runs a few times first, so that imports and caches do not count. `--calls` lists every call.
"""

import json
import os
import socket
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import cast

import trotline
from trotline.domain.events import BeforeShell

SOURCE = str(Path(trotline.__file__).parent) + "/"
COMMAND = "rm -rf build"
WARM_UP = 3

Call = tuple[str, str, str]
"""The caller's module, the module and the function."""


def trace(run: Callable[[], object]) -> list[Call]:
    """Return the calls of our own functions while this runs, in order."""
    calls: list[Call] = []

    def record(frame: FrameType, event: str, _argument: object) -> None:
        module = _get_module(frame)
        if event != "call" or not module or frame.f_code.co_name.startswith("<"):
            return
        caller = frame.f_back
        while caller is not None and not _get_module(caller):
            caller = caller.f_back  # through the standard library
        calls.append((_get_module(caller) if caller else "", module, frame.f_code.co_qualname))

    sys.setprofile(record)
    try:
        run()
    finally:
        sys.setprofile(None)
    return calls


def _get_module(frame: FrameType) -> str:
    file = frame.f_code.co_filename
    return file.removeprefix(SOURCE).removesuffix(".py") if file.startswith(SOURCE) else ""


class Listener:
    """A listening socket with one connection, on which a whole call has arrived."""

    def __init__(self, data: bytes) -> None:
        self.theirs, self.ours = socket.socketpair()
        self.ours.sendall(data)

    def accept(self) -> tuple[socket.socket, str]:
        return self.theirs, ""


def trace_warm_call(home: Path) -> list[Call]:
    """Trace one call through the service, from the connection to the reply."""
    from trotline.service.directory import RunDirectory, get_service_roots
    from trotline.service.server import Service
    from trotline.service.watch import CodeWatch

    roots = get_service_roots(home)
    RunDirectory(roots.state / "run").path.mkdir(parents=True, mode=0o700)
    service = Service(roots, CodeWatch(roots), os.getuid())
    writer, accept = service.detail_writer, service.accept
    writer.begin()
    listeners = [Listener(_pack_call(home, COMMAND.format(number))) for number in range(WARM_UP + 1)]
    for listener in listeners[:-1]:
        accept(cast("socket.socket", listener))
    calls = trace(lambda: accept(cast("socket.socket", listeners[-1])))
    reply = listeners[-1].ours.recv(1 << 16)
    writer.end()
    if b"permission" not in reply:
        raise SystemExit(f"the service did not answer the call: {reply!r}")
    return calls


def _pack_call(home: Path, command: str) -> bytes:
    import trotline.service as package
    from trotline.service import wire

    body = {
        "hook_event_name": "beforeShellExecution",
        "conversation_id": "0b6f7c1e-5d0a-4c7e-9a51-2f1f6f2f7d11",
        "generation_id": "7a1c9f7c-1c0e-4e62-8f0e-5a3c3b0f9d22",
        "workspace_roots": [str(home / "shop")],
        "command": command,
    }
    code = Path(package.__file__ or "").resolve().parent
    here, own = Path.cwd().stat(), code.stat()
    header = wire.CallHeader(
        id="018f0000-0000-7000-8000-000000000000",
        argv=("--agent", "cursor", "--host", "cursor", "--event", "beforeShellExecution", "--home", str(home)),
        cwd=str(Path.cwd()),
        cwd_identity=(here.st_dev, here.st_ino),
        code=str(code),
        code_identity=(own.st_dev, own.st_ino),
    )
    return wire.encode_call(header, json.dumps(body).encode())


def trace_session_event(home: Path) -> list[Call]:
    """Trace one shell event of an embedded session with guards and an audit log."""
    from trotline import Engine

    project = home / "shop"
    project.mkdir(parents=True)
    engine = Engine.load(project, home=home, system=home, guarded=True, audit_log=True)
    with engine.session() as session:
        for number in range(WARM_UP):
            session.fire(BeforeShell(command=COMMAND.format(number)))
        return trace(lambda: session.fire(BeforeShell(command=COMMAND.format(WARM_UP))))


def main() -> None:
    """Print the counts of both paths."""
    for title, run in {"warm call": trace_warm_call, "session event": trace_session_event}.items():
        with tempfile.TemporaryDirectory() as directory:
            calls = run(Path(directory).resolve() / "home")
        functions = {call[1:] for call in calls}
        crossing = [call for call in calls if call[0] and call[0] != call[1]]
        modules = {module for _, module, _ in calls}
        print(f"{title}: {len(modules)} modules, {len(functions)} functions, {len(crossing)} cross-module calls")
        for caller, module, name in calls if "--calls" in sys.argv else ():
            print(f"  {'>' if caller != module else ' '} {module} {name}")


if __name__ == "__main__":
    main()
