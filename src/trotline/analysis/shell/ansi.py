"""The escapes of `$'...'`."""

import re

from trotline.pattern import pattern

_ESCAPE = pattern(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))",
    re.DOTALL,
)
_LETTERS = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_LAST_CHARACTER = 0x10FFFF


def decoded(text: str) -> str:
    """The text that the escapes stand for; a NUL ends it, as in a shell."""
    return _ESCAPE.sub(_character, text).split("\0", 1)[0] if "\\" in text else text


def _character(match: re.Match[str]) -> str:
    hexadecimal = match[1] or match[2] or match[3]
    if hexadecimal:
        code = int(hexadecimal, 16)
        return chr(code) if code <= _LAST_CHARACTER else ""
    if match[4]:
        return chr(int(match[4], 8) & 0xFF)
    if match[5]:
        return chr(ord(match[5]) & 0x1F)
    return _LETTERS.get(match[6], match[6] if match[6] in "\\'\"?" else "\\" + match[6])
