"""Matchers that only a backtracking engine can run: in a child process, with a deadline, and killed after it.

A hostile pattern can take such an engine forever; here it takes a child a moment, and the answer is "undecided".
"""

import json
import subprocess
import sys

SECONDS = 0.25

CHILD = """
import json, sys
import regress
pattern, text = json.loads(sys.stdin.buffer.read())
sys.stdout.write("1" if regress.Regex(pattern).find(text) is not None else "0")
"""


def search(pattern: str, text: str) -> bool | None:
    """Does the JavaScript pattern occur in the text? None when that was not found out in time."""
    try:
        done = subprocess.run(  # noqa: S603 - our own interpreter and text; the pattern travels as data on stdin
            [sys.executable, "-I", "-c", CHILD],
            input=json.dumps([pattern, text]).encode(),
            capture_output=True,
            timeout=SECONDS,
            check=False,
        )
    except (subprocess.TimeoutExpired, OSError):
        return None
    return {b"1": True, b"0": False}.get(done.stdout)
