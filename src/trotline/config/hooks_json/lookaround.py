"""Matchers that only a backtracking engine can run: in a child process, with a deadline, and killed after it.

A hostile pattern can take such an engine forever, and all the memory there is; here it takes a child a moment, and the
answer is "undecided". The clock begins when the child is ready, so that a busy machine does not decide.
"""

import json
import select
import subprocess
import sys
from typing import IO

SECONDS_TO_START = 10.0
SECONDS_TO_SEARCH = 1.0

CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 30, 1 << 30))
import regress
sys.stdout.write("r")
sys.stdout.flush()
pattern, text = json.loads(sys.stdin.buffer.read())
sys.stdout.write("1" if regress.Regex(pattern).find(text) is not None else "0")
"""


def search(pattern: str, text: str) -> bool | None:
    """Does the JavaScript pattern occur in the text? None when that was not found out in time."""
    try:
        with subprocess.Popen(  # noqa: S603 - our own interpreter and text; the pattern travels as data on stdin
            [sys.executable, "-I", "-c", CHILD],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
        ) as child:
            try:
                return _ask_child(child, json.dumps([pattern, text]).encode())
            finally:
                child.kill()
    except OSError:
        return None


def _ask_child(child: subprocess.Popen[bytes], question: bytes) -> bool | None:
    if child.stdin is None or child.stdout is None or _within(child.stdout, SECONDS_TO_START) != b"r":
        return None
    child.stdin.write(question)
    child.stdin.close()
    return {b"1": True, b"0": False}.get(_within(child.stdout, SECONDS_TO_SEARCH))


def _within(stream: IO[bytes], seconds: float) -> bytes:
    poll = select.poll()
    poll.register(stream, select.POLLIN | select.POLLHUP)
    return stream.read(1) if poll.poll(seconds * 1000) else b""
