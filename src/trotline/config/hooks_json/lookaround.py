"""Run matchers that need a backtracking engine in a child process with a time and memory limit.

A hostile pattern can keep such an engine busy forever and use all memory. The time limit starts when the child is
ready, so that a busy machine does not change the result.
"""

import json
import select
import subprocess
import sys
from typing import IO

MAX_START_SECONDS = 10.0
MAX_SEARCH_SECONDS = 1.0

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
    """Return whether a JavaScript pattern occurs in a text, or None if the child failed or took too long."""
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


def _ask_child(child: subprocess.Popen[bytes], request: bytes) -> bool | None:
    if child.stdin is None or child.stdout is None or _read_byte(child.stdout, MAX_START_SECONDS) != b"r":
        return None
    child.stdin.write(request)
    child.stdin.close()
    return {b"1": True, b"0": False}.get(_read_byte(child.stdout, MAX_SEARCH_SECONDS))


def _read_byte(stream: IO[bytes], seconds: float) -> bytes:
    poll = select.poll()
    poll.register(stream, select.POLLIN | select.POLLHUP)
    return stream.read(1) if poll.poll(seconds * 1000) else b""
