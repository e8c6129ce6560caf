"""The texts of a JSON value, and what stands around each of them that may say what it is: the key above it, the name
beside it, the words before it in a command, the lines before it in a file."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

TELLING = re.compile(rb"(?i)pass|secret|token|key|pwd|credential|auth|cookie")
"""Parts of a key under which a text is looked at together with it: `{"password": "..."}`."""

NAMES = frozenset("name Name NAME key Key KEY header Header field variable option".split())
VALUES = frozenset("value Value VALUE val default".split())
"""Keys of an object that say what something is called, and what it is."""

DESCRIBING = frozenset(
    b"type title description $ref $schema $id id name kind format pattern url uri path file href label".split()
)
"""Keys whose texts are about a secret, and are none, whatever they stand under."""

FRAMES = (b"PRIVATE KEY", b"rivate-Lines")
"""What stands in one of the lines of everything that our own rules find over several."""

LONGEST_NAME = 128
MOST_WORDS, LONGEST_WORD = 1000, 4096
LOW, HIGH = 10**11, 10**30
"""Numbers of JSON between these are looked at as text: one may be a card."""

Path = tuple[bytes | int, ...]

Place = tuple[bytes, bool]
"""A text, and whether it is a key: a password that reads like the name of a field renames no field."""


class Leaf(NamedTuple):
    """A text somewhere in a JSON value, and the name it goes by, which may say what it is."""

    text: bytes
    name: bytes = b""
    path: Path = ()
    is_key: bool = False

    @property
    def place(self) -> Place:
        return self.text, self.is_key


class Together(NamedTuple):
    """Texts of one list that somebody may read as one: lines of a file, words of a command."""

    leaves: tuple[Leaf, ...]
    between: bytes


class Part(NamedTuple):
    """A stretch of one text of several."""

    leaf: Leaf
    text: bytes
    start: int
    end: int


class Whole:
    """Texts that are read as one, as they are now."""

    def __init__(self, group: Together, texts: Sequence[bytes]) -> None:
        self.data = group.between.join(texts)
        self._leaves = group.leaves
        self._texts = texts
        self._starts = [0, *accumulate(len(text) + len(group.between) for text in texts)]

    def parts(self, start: int, end: int) -> Iterator[Part]:
        """What a stretch of all of them is in each."""
        for index in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)):
            at, text = self._starts[index], self._texts[index]
            first, last = max(start - at, 0), min(end - at, len(text))
            if first < last:
                yield Part(self._leaves[index], text, first, last)


class Leaves:
    """Every text, key and large number; without recursion, because the depth is somebody else's choice."""

    def __init__(self, value: Any, *, any_lines: bool) -> None:
        self.all: list[Leaf] = []
        self.together: list[Together] = []
        self._any_lines = any_lines  # whether everything may go over several lines: rules of somebody's own may
        self._waiting: list[tuple[Any, bytes, Path]] = [(value, b"", ())]
        while self._waiting:
            node, name, path = self._waiting.pop()
            if isinstance(node, dict):
                self._object(node, name, path)
            elif isinstance(node, list | tuple):
                self._list(node, name, path)
            elif (text := text_of(node)) is not None:
                self.all.append(Leaf(text, name, path))

    def _object(self, node: Mapping[Any, Any], above: bytes, path: Path) -> None:
        beside = _beside(node)
        for key, child in node.items():
            own = text_of(key) or b""
            self.all.append(Leaf(own, path=path, is_key=True))
            name = beside if beside and key in VALUES else own
            self._waiting.append((child, _telling(name, above), (*path, own)))

    def _list(self, node: Sequence[Any], name: bytes, path: Path) -> None:
        first = text_of(node[0]) if len(node) == 2 and isinstance(node[1], str) else None
        pair = first if first and len(first) <= LONGEST_NAME and tells(first) else name
        self._waiting += [(child, pair if index else name, (*path, index)) for index, child in enumerate(node)]
        texts = _texts(node, path)
        if len(texts) > 1 and _is_command(texts):
            self.together.append(Together(texts, b" "))
        for lines in (texts, *_columns(node, path)):
            if len(lines) > 1 and (self._any_lines or _has_a_frame(lines)):
                self.together.append(Together(lines, b"\n"))


def _beside(node: Mapping[Any, Any]) -> bytes:
    """What an object calls its own value, if that tells: `{"name": "DB_PASSWORD", "value": "..."}`."""
    if NAMES.isdisjoint(node):
        return b""
    named = (text_of(text) for key, text in node.items() if key in NAMES and isinstance(text, str))
    return next((name for name in named if name and len(name) <= LONGEST_NAME and tells(name)), b"")


def _telling(own: bytes, above: bytes) -> bytes:
    """The name that a text goes by: what stands above tells it where its own key does not."""
    return above if tells(above) and not tells(own) and own.lower() not in DESCRIBING else own


def _texts(node: Sequence[Any], path: Path) -> tuple[Leaf, ...]:
    return tuple(
        Leaf(text_of(text) or b"", path=(*path, index)) for index, text in enumerate(node) if isinstance(text, str)
    )


def _columns(node: Sequence[Any], path: Path) -> Iterator[tuple[Leaf, ...]]:
    """What stands under the same key in all objects of a list: half of a key in each of two edits is one key."""
    columns: dict[str, list[Leaf]] = {}
    for index, one in enumerate(node):
        for key, text in one.items() if isinstance(one, dict) else ():
            if isinstance(text, str):
                where = (*path, index, text_of(key) or b"")
                columns.setdefault(key, []).append(Leaf(text_of(text) or b"", path=where))
    yield from map(tuple, columns.values())


def _is_command(texts: Sequence[Leaf]) -> bool:
    words = [leaf.text for leaf in texts]
    short = len(words) <= MOST_WORDS and all(len(word) <= LONGEST_WORD and b"\n" not in word for word in words)
    return short and any(word.startswith(b"-") for word in words) and not _has_a_frame(texts)


def _has_a_frame(texts: Iterable[Leaf]) -> bool:
    return any(frame in leaf.text for leaf in texts for frame in FRAMES)


def tells(name: bytes) -> bool:
    return TELLING.search(name) is not None


def text_of(node: Any) -> bytes | None:
    if isinstance(node, str):
        return node.encode("utf-8", "surrogatepass")
    whole = isinstance(node, int) or (isinstance(node, float) and node.is_integer())
    number = whole and not isinstance(node, bool) and LOW <= abs(node) < HIGH
    return b"%d" % node if number else None
