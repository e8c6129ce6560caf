"""Tools for scanners: RE2 patterns, an index of keywords, and a scanner that is a table of patterns."""

from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from functools import cached_property
from typing import Any, Generic, NamedTuple, TypeVar

from trotline.domain.effects import Certainty
from trotline.scanners.spans import Span, Window

MAX_MATCH = 512
"""An upper bound for the length of a match, in bytes."""

T = TypeVar("T", bound=Hashable)


def compile_re2(pattern: str) -> Any:
    """Compile a pattern with RE2, whose matching time is linear in the length of the text.

    The pattern matches bytes, so offsets need no conversion.
    """
    import re2  # noqa: PLC0415 - most commands never match anything

    options = re2.Options()
    options.log_errors = False
    return re2.compile(pattern, options)


def _accept(_data: bytes, _start: int, _end: int) -> bool:
    return True


class PatternKind(NamedTuple):
    """A kind of finding: the group of `pattern` that matched, if `accepts` confirms it.

    `needs` are bytes without which a text cannot match. `in_ascii` is false for kinds that pure ASCII cannot hold.
    """

    pattern: str
    description: str
    certainty: Certainty = Certainty.KNOWN
    accepts: Callable[[bytes, int, int], bool] = _accept
    needs: bytes = b""
    in_ascii: bool = True


class PatternScanner:
    """A scanner with one pattern per kind. Where two matches overlap, the kind declared first wins."""

    reads_decoded = False

    def __init__(self, name: str, declared: Mapping[str, PatternKind]) -> None:
        self.name = name
        self.declared = declared
        self.kinds = {kind: entry.description for kind, entry in declared.items()}

    @cached_property
    def _patterns(self) -> dict[str, Any]:
        return {kind: compile_re2(entry.pattern) for kind, entry in self.declared.items()}

    def find_spans(self, window: Window, path: str | None = "") -> Iterator[Span]:  # noqa: ARG002 - the scanner interface
        """Yield the findings that begin in the part that the window owns."""
        is_ascii = window.data.isascii()
        for rank, (kind, entry) in enumerate(self.declared.items()):
            if (is_ascii and not entry.in_ascii) or entry.needs not in window.data:
                continue
            for start, end in _find_matches(self._patterns[kind], window):
                if window.owns(start) and entry.accepts(window.data, start, end):
                    yield window.build_span(start, end, kind, self.name, entry.certainty, rank=rank)


def _find_matches(pattern: Any, window: Window) -> Iterator[tuple[int, int]]:
    for region_start, region_end in window.regions:
        for match in pattern.finditer(window.data, region_start, region_end + MAX_MATCH):
            yield next(match.span(group) for group in range(1, pattern.groups + 1) if match.start(group) != -1)


SearchRange = list[int]
"""Start and end of a part of the text to search."""


class KeywordRange(NamedTuple):
    """Bytes before and after a keyword in which its pattern may begin and end."""

    before: int
    after: int


class KeywordIndex(Generic[T]):
    """Finds all keywords in one pass, so that patterns search only around them. Keywords are case-sensitive."""

    def __init__(self, entries: Iterable[tuple[T, Iterable[bytes], KeywordRange]]) -> None:
        from ahocorasick_rs import BytesAhoCorasick, Implementation  # noqa: PLC0415 - most commands scan nothing

        by_word: dict[bytes, list[tuple[T, KeywordRange]]] = {}
        for owner, words, reach in entries:
            for word in words:
                by_word.setdefault(word, []).append((owner, reach))
        self._owners = list(by_word.values())
        self._automaton: Any = BytesAhoCorasick(list(by_word), implementation=Implementation.DFA)

    def find_ranges(self, data: bytes) -> dict[T, list[SearchRange]]:
        """Return the ranges to search for each owner of a keyword; ranges of one owner do not overlap."""
        by_owner: dict[T, list[SearchRange]] = {}
        for index, start, end in self._automaton.find_matches_as_indexes(data, overlapping=True):
            for owner, (before, after) in self._owners[index]:
                ranges = by_owner.setdefault(owner, [])
                if ranges and start - before <= ranges[-1][1]:
                    ranges[-1][1] = end + after  # keywords are found in the order of their ends
                else:
                    ranges.append([max(0, start - before), end + after])
        return by_owner
