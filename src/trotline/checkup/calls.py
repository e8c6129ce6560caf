"""A line is called as a host calls it: through a shell, with a payload, and with a limit to our patience."""

import contextlib
import os
import signal
import subprocess
import time
from typing import NamedTuple

PATIENCE = 10.0


class Called(NamedTuple):
    """What came of it. Without an exit code it did not end in time, or could not be started; `said` tells."""

    exit_code: int | None
    stdout: bytes
    stderr: bytes
    seconds: float

    @property
    def said(self) -> str:
        return (self.stdout + self.stderr).decode("utf-8", "replace").strip()


def call(line: str, payload: bytes) -> Called:
    begun = time.monotonic()
    try:
        process = subprocess.Popen(  # noqa: S603 - our own line, as the host runs it
            ["/bin/sh", "-c", line],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
    except OSError as error:
        return Called(None, b"", str(error).encode(), 0)
    with process:
        try:
            stdout, stderr = process.communicate(payload, PATIENCE)
        except subprocess.TimeoutExpired:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)  # the shell's children hold its pipes
            return Called(None, b"", f"no answer in {PATIENCE:g} seconds".encode(), time.monotonic() - begun)
    return Called(process.returncode, stdout, stderr, time.monotonic() - begun)
