"""Many patterns of paths, asked one by one only where one of their words stands in the path."""

import fnmatch
import functools
import re
from collections.abc import Mapping

_WILD = re.compile(r"[*?[]")


class Patterns:
    """Kinds of files by where they are. Letters are compared without their case: some file systems do so."""

    def __init__(self, kinds: Mapping[str, str]) -> None:
        self._always: list[tuple[int, str, str]] = []
        self._by_word: dict[str, list[tuple[int, str, str]]] = {}
        ordered = [(kind, pattern) for kind, patterns in kinds.items() for pattern in patterns.split()]
        for order, (kind, pattern) in enumerate(ordered):
            words = [word for word in pattern.split("/") if word and not _WILD.search(word)]
            entry = (order, kind, pattern)
            if words:
                self._by_word.setdefault(max(words, key=len), []).append(entry)
            else:
                self._always.append(entry)

    def kind(self, path: str) -> str:
        """The kind of the first pattern that fits; nothing if none does."""
        lower = path.lower()
        entries = [entry for word in set(lower.split("/")) for entry in self._by_word.get(word, ())]
        for _, kind, pattern in sorted([*entries, *self._always]):
            if _compiled(pattern).match(lower):
                return kind
        return ""


@functools.cache
def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(pattern))
