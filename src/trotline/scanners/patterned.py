"""Scanners that know what they look for by how it is written: a pattern for each kind, and a check of what fits it."""

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any, NamedTuple

from trotline.effects import Certainty
from trotline.scanners.finding import Span
from trotline.scanners.rules import compiled
from trotline.scanners.windows import Window

LONGEST = 512
"""Bytes of what these patterns fit, and more."""


def _always(_data: bytes, _start: int, _end: int) -> bool:
    return True


class Kind(NamedTuple):
    """The group of the pattern that fits is what was found, if it holds; a text without what it needs has none."""

    pattern: str
    about: str
    certainty: Certainty = Certainty.KNOWN
    holds: Callable[[bytes, int, int], bool] = _always
    needs: bytes = b""
    in_ascii: bool = True


class Patterned:
    """One scanner of many patterns; of two that overlap, the one that was declared first has the higher rank."""

    reads_meaning = False

    def __init__(self, name: str, declared: Mapping[str, Kind]) -> None:
        self.name = name
        self.declared = declared
        self.kinds = {kind: one.about for kind, one in declared.items()}

    @cached_property
    def _patterns(self) -> dict[str, Any]:
        return {kind: compiled(one.pattern) for kind, one in self.declared.items()}

    def spans(self, window: Window, path: str | None = "") -> Iterator[Span]:  # noqa: ARG002 - every scanner is told
        plain = window.data.isascii()
        for rank, (kind, one) in enumerate(self.declared.items()):
            if (plain and not one.in_ascii) or one.needs not in window.data:
                continue
            for start, end in _found(self._patterns[kind], window):
                if window.owns(start) and one.holds(window.data, start, end):
                    yield window.span(start, end, kind, self.name, one.certainty, rank=rank)


def _found(pattern: Any, window: Window) -> Iterator[tuple[int, int]]:
    matches = (match for start, end in window.regions for match in pattern.finditer(window.data, start, end + LONGEST))
    for match in matches:
        yield next(match.span(group) for group in range(1, pattern.groups + 1) if match.start(group) != -1)
