"""Keywords say where to look closely: one pass finds all of them, and only what is around them is searched."""

from collections.abc import Hashable, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

T = TypeVar("T", bound=Hashable)

Stretch = list[int]
"""From where to where."""


class Reach(NamedTuple):
    """How far before and behind its keyword a pattern may begin and end."""

    back: int
    forward: int


class Keywords(Generic[T]):
    """What is wanted, by the keywords that it is looked for at; they are compared as they are."""

    def __init__(self, wanted: Iterable[tuple[T, Iterable[bytes], Reach]]) -> None:
        from ahocorasick_rs import BytesAhoCorasick, Implementation  # noqa: PLC0415 - most commands scan nothing

        by_word: dict[bytes, list[tuple[T, Reach]]] = {}
        for what, words, reach in wanted:
            for word in words:
                by_word.setdefault(word, []).append((what, reach))
        self._wanted = list(by_word.values())
        self._automaton: Any = BytesAhoCorasick(list(by_word), implementation=Implementation.DFA)

    def stretches(self, data: bytes) -> dict[T, list[Stretch]]:
        """What to look for, and where; stretches of one do not overlap."""
        found: dict[T, list[Stretch]] = {}
        for index, start, end in self._automaton.find_matches_as_indexes(data, overlapping=True):
            for what, (back, forward) in self._wanted[index]:
                known = found.setdefault(what, [])
                if known and start - back <= known[-1][1]:
                    known[-1][1] = end + forward  # hits come in the order of their ends
                else:
                    known.append([max(0, start - back), end + forward])
        return found
