"""What is enough: a part of which nothing can be left out, found by leaving out halves, quarters, and single things."""

import functools
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

T = TypeVar("T")
WORDS = re.compile(r"\S+\s*")
LINES = re.compile(r"[^\n]*\n|[^\n]+")
COMMANDS = re.compile(r"(?:[^&|;\n]|(?<=>)&)+(?:[&|;\n]+\s*|$)|[&|;\n]+\s*")
OPERATORS = " \t\n&|;"
MANY = 200
"""Words above which whole lines are left out first."""


def smallest(items: Sequence[T], holds: Callable[[list[T]], bool]) -> list[T]:
    """The items, of which as many are left out as possible while it holds; their order stays."""
    left = list(items)
    size = max(1, len(left) // 2)
    while left:
        before = len(left)
        left = _without(left, size, holds)
        if size == 1 and len(left) == before:
            break
        size = max(1, size // 2)
    return left


def _without(left: list[T], size: int, holds: Callable[[list[T]], bool]) -> list[T]:
    at = 0
    while at < len(left):
        fewer = left[:at] + left[at + size :]
        if holds(fewer):
            left = fewer
        else:
            at += size
    return left


def shortest(text: str, holds: Callable[[str], bool]) -> str:
    """The text without words that it does not need. First whole commands are left out, so that none is left in halves;
    of a long text lines before that."""
    for pieces, ends in ((LINES, None), (COMMANDS, OPERATORS), (WORDS, None)):
        found = pieces.findall(text)
        if len(found) > 1 and (pieces is not LINES or len(found) > MANY or len(text.split()) > MANY):
            text = _joined(smallest(found, functools.partial(_hold, holds, ends)), ends)
    return text


def _hold(holds: Callable[[str], bool], ends: str | None, some: list[str]) -> bool:
    return holds(_joined(some, ends))


def _joined(some: list[str], ends: str | None) -> str:
    return "".join(some).rstrip(ends)


def texts_in(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Where texts stand in a JSON value, each by the keys that lead to it."""
    if isinstance(value, str):
        return [path]
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [found for key, child in inner for found in texts_in(child, (*path, key))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        value = value[key]
    return value


def put(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    """The value with something else at one place; what was given stays as it is."""
    if not path:
        return new
    key, *rest = path
    changed = put(value[key], tuple(rest), new)
    if isinstance(value, list):
        return [changed if index == key else one for index, one in enumerate(value)]
    return {**value, key: changed}
