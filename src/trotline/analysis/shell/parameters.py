"""`${name operator operand}`: what becomes of a value that is known."""

import fnmatch
from collections.abc import Callable

from trotline.pattern import pattern

LONGEST = 4096
_SLICE = pattern(r"\s*(-?\d+)\s*(?::\s*(-?\d+)\s*)?")


def changed(text: str, operator: str, operand: str) -> str | None:
    """The value after the operator; None if we do not follow it."""
    if len(text) > LONGEST or len(operand) > LONGEST:
        return None
    if operator in {"", ":-", "-", ":=", "=", ":?", "?"}:
        return text
    if operator in {":+", "+"}:
        return operand
    if operator == "#" and not operand:
        return None
    work = _WORK.get(operator)
    return work(text, operand) if work is not None else None


def _slice(text: str, operand: str) -> str | None:
    match = _SLICE.fullmatch(operand)
    if match is None:
        return None
    begin = int(match[1])
    begin = max(0, begin + len(text)) if begin < 0 else begin
    if match[2] is None:
        return text[begin:]
    length = int(match[2])
    return text[begin : begin + length] if length >= 0 else text[begin : len(text) + length]


def _cut(*, front: bool, longest: bool) -> Callable[[str, str], str | None]:
    def cut(text: str, pattern: str) -> str | None:
        if len(text) > 256:  # one match for each length
            return None
        lengths = range(len(text) + 1)
        for length in reversed(lengths) if longest else lengths:
            part = text[:length] if front else text[len(text) - length :]
            if fnmatch.fnmatchcase(part, pattern):
                return text[length:] if front else text[: len(text) - length]
        return text

    return cut


def _replace(*, every: bool) -> Callable[[str, str], str | None]:
    def replace(text: str, operand: str) -> str | None:
        old, _, new = operand.partition("/")
        if not old or any(char in old for char in "*?[\\"):
            return None
        return text.replace(old, new) if every else text.replace(old, new, 1)

    return replace


_WORK: dict[str, Callable[[str, str], str | None]] = {
    ":": _slice,
    "#": _cut(front=True, longest=False),
    "##": _cut(front=True, longest=True),
    "%": _cut(front=False, longest=False),
    "%%": _cut(front=False, longest=True),
    "/": _replace(every=False),
    "//": _replace(every=True),
    "^^": lambda text, _: text.upper(),
    ",,": lambda text, _: text.lower(),
    "^": lambda text, _: text[:1].upper() + text[1:],
    ",": lambda text, _: text[:1].lower() + text[1:],
}
