"""The standard input of hooks: the same bytes for all, which no hook can change for another.

Small payloads are written to a pipe before the hook starts, so that a hook that does not read cannot block us. Larger
ones are in a sealed memory file that is opened read-only for each hook: without the seal, a hook of a project could
rewrite the input of an enterprise hook. Where there are no memory files, unlinked temporary files are used.
"""

import fcntl
import os
import tempfile
from pathlib import Path
from types import TracebackType
from typing import Self

MAX_PIPE_BYTES = 65_536
SEALS = 0x0001 | 0x0002 | 0x0004 | 0x0008  # no more seals, no shrinking, no growing, no writing
ADD_SEALS = getattr(fcntl, "F_ADD_SEALS", 1033)


class HookInput:
    """Opens a descriptor of the payload for each hook. The caller closes those; `with` closes the memory file."""

    def __init__(self, payload: bytes) -> None:
        self._payload = payload
        self._file = -1

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file >= 0:
            os.close(self._file)

    def open(self) -> int:
        """Return a descriptor from which the whole payload can be read once."""
        if len(self._payload) <= MAX_PIPE_BYTES:
            reader = self._filled_pipe()
            if reader is not None:
                return reader
        if not hasattr(os, "memfd_create"):
            return self._file_of_its_own()
        if self._file < 0:
            self._file = os.memfd_create("trotline-event", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
            _write_all(self._file, self._payload)
            fcntl.fcntl(self._file, ADD_SEALS, SEALS)
        return os.open(f"/proc/self/fd/{self._file}", os.O_RDONLY | os.O_CLOEXEC)

    def _file_of_its_own(self) -> int:
        """Open a temporary file that is unlinked before the hook starts."""
        writer, path = tempfile.mkstemp(prefix="trotline-")
        try:
            _write_all(writer, self._payload)
            return os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        finally:
            os.close(writer)
            Path(path).unlink()

    def _filled_pipe(self) -> int | None:
        """Return a pipe that holds the payload; None if it is too small, as for a user with very many pipes."""
        reader, writer = os.pipe2(os.O_CLOEXEC) if hasattr(os, "pipe2") else os.pipe()
        try:
            os.set_blocking(writer, False)
            if os.write(writer, self._payload) == len(self._payload):
                return reader
        except BlockingIOError:
            pass
        finally:
            os.close(writer)
        os.close(reader)
        return None


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
