"""Decode escapes of `$'...'` and `echo -e`, and format texts as `printf` does."""

import re

from trotline.analysis.shell.shell_state import UNKNOWN_CHAR
from trotline.formats.lazy_regex import lazy_regex

_ESCAPE = lazy_regex(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_MAX_CODE_POINT = 0x10FFFF


def decode_escapes(text: str) -> str:
    """Decode the escapes of a text. A NUL ends it, as in a shell."""
    return _ESCAPE.sub(_decode_escape, text).split("\0", 1)[0] if "\\" in text else text


def _decode_escape(match: re.Match[str]) -> str:
    hexadecimal = match[1] or match[2] or match[3]
    if hexadecimal:
        code = int(hexadecimal, 16)
        return chr(code) if code <= _MAX_CODE_POINT else ""
    if match[4]:
        return chr(int(match[4], 8) & 0xFF)
    if match[5]:
        return chr(ord(match[5]) & 0x1F)
    return _LETTERS.get(match[6], match[6] if match[6] in "\\'\"?" else "\\" + match[6])


_FORMAT = lazy_regex(r"%(?:%|[-+ #0]*\d*(?:\.\d+)?([a-zA-Z]))")
MAX_FORMAT_TURNS = 64


def decode_echo(text: str) -> str:
    """Decode the escapes of `echo -e`, which has `\\0` before octal digits."""
    return decode_escapes(re.sub(r"\\0([0-7]{1,3})", r"\\\1", text))


def format_printf(template: str, values: list[str]) -> str:
    """Return what printf prints. The format is reused until no value is left."""
    queue = list(values)
    turns = []
    while True:
        taken = len(queue)
        turns.append(_format_once(template, queue))
        if not queue or len(queue) == taken or len(turns) >= MAX_FORMAT_TURNS:
            return "".join(turns)


def _format_once(template: str, queue: list[str]) -> str:
    parts = []
    end = 0
    for match in _FORMAT.finditer(template):
        parts.append(decode_echo(template[end : match.start()]))
        end = match.end()
        parts.append("%" if match[1] is None else _format_value(match[1], queue.pop(0) if queue else ""))
    return "".join([*parts, decode_echo(template[end:])])


def _format_value(letter: str, value: str) -> str:
    if letter == "b":
        return decode_echo(value)
    if letter == "c":
        return value[:1]
    if letter in "xX" and value.isdigit() and len(value) < 16:
        return format(int(value), letter)
    if letter == "o" and value.isdigit() and len(value) < 16:
        return format(int(value), "o")
    return value if letter in "sdiuq" else UNKNOWN_CHAR
