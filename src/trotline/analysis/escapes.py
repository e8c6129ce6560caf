"""The escapes of `echo -e` and the formats of `printf`, as far as text can hide in them."""

import re

from trotline.analysis.scene import UNKNOWN
from trotline.analysis.shell.ansi import decoded

_FORMAT = re.compile(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z]))")
MOST_TURNS = 64


def echoed(text: str) -> str:
    return decoded(re.sub(r"\\0([0-7]{1,3})", r"\\\1", text))


def formatted(pattern: str, values: list[str]) -> str:
    """What printf prints; the pattern is used again until no value is left."""
    queue = list(values)
    turns = []
    while True:
        taken = len(queue)
        turns.append(_once(pattern, queue))
        if not queue or len(queue) == taken or len(turns) >= MOST_TURNS:
            return "".join(turns)


def _once(pattern: str, queue: list[str]) -> str:
    parts = []
    end = 0
    for match in _FORMAT.finditer(pattern):
        parts.append(echoed(pattern[end : match.start()]))
        end = match.end()
        parts.append("%" if match[1] is None else _value(match[1], queue.pop(0) if queue else ""))
    return "".join([*parts, echoed(pattern[end:])])


def _value(letter: str, value: str) -> str:
    if letter == "b":
        return echoed(value)
    if letter == "c":
        return value[:1]
    if letter in "xX" and value.isdigit() and len(value) < 16:
        return format(int(value), letter)
    if letter == "o" and value.isdigit() and len(value) < 16:
        return format(int(value), "o")
    return value if letter in "sdiuq" else UNKNOWN
