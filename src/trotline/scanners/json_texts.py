"""Collect the texts of a JSON value for redaction, each with the name that may tell that it is a secret.

The name is the key above a text or a name next to it. Texts of a list may also be words of a command or lines of a
file.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

SECRET_NAME = re.compile(rb"(?i)pass|secret|token|key|pwd|credential|auth|cookie")
"""Parts of a key that make its text suspicious: `{"password": "..."}`."""

NAME_KEYS = frozenset("name Name NAME key Key KEY header Header field variable option".split())
VALUE_KEYS = frozenset("value Value VALUE val default".split())
"""Keys of objects that hold a name and a value: `{"name": "DB_PASSWORD", "value": "..."}`."""

DESCRIPTION_KEYS = frozenset(
    b"type title description $ref $schema $id id name kind format pattern url uri path file href label".split()
)
"""Keys whose texts describe a secret and are not secrets themselves, whatever key is above."""

KEY_FRAMES = (b"PRIVATE KEY", b"rivate-Lines")
"""Text in every multi-line value that the built-in rules find."""

MAX_NAME = 128
MAX_COMMAND_WORDS, MAX_COMMAND_WORD = 1000, 4096
MIN_NUMBER, MAX_NUMBER = 10**11, 10**30
"""JSON numbers between these are scanned as text: one may be a card number."""

JsonPath = tuple[bytes | int, ...]

LeafKey = tuple[bytes, bool]
"""A text and whether it is a key, so that a password that equals a field name does not rename the field."""


class TextLeaf(NamedTuple):
    """A text in a JSON value with its name, which may tell what it is."""

    text: bytes
    name: bytes = b""
    path: JsonPath = ()
    is_key: bool = False

    @property
    def key(self) -> LeafKey:
        """The text and whether it is a key."""
        return self.text, self.is_key


class TextGroup(NamedTuple):
    """Texts of one list that belong together: lines of a file or words of a command."""

    leaves: tuple[TextLeaf, ...]
    separator: bytes


class TextPart(NamedTuple):
    """A range of one text of a group."""

    leaf: TextLeaf
    text: bytes
    start: int
    end: int


class JoinedTexts:
    """The current texts of a group, joined."""

    def __init__(self, group: TextGroup, texts: Sequence[bytes]) -> None:
        self.data = group.separator.join(texts)
        self._leaves = group.leaves
        self._texts = texts
        self._starts = [0, *accumulate(len(text) + len(group.separator) for text in texts)]

    def split_range(self, start: int, end: int) -> Iterator[TextPart]:
        """Yield the parts of the single texts that a range of the joined text covers."""
        for index in range(bisect_right(self._starts, start) - 1, bisect_left(self._starts, end)):
            at, text = self._starts[index], self._texts[index]
            first, last = max(start - at, 0), min(end - at, len(text))
            if first < last:
                yield TextPart(self._leaves[index], text, first, last)


class TextLeaves:
    """All texts, keys and large numbers of a JSON value, collected without recursion because input may be deep.

    With `multiline`, texts of lists are joined as lines even without a key frame: rules of users may span lines.
    """

    def __init__(self, value: Any, *, multiline: bool) -> None:
        self.leaves: list[TextLeaf] = []
        self.groups: list[TextGroup] = []
        self._multiline = multiline
        self._waiting: list[tuple[Any, bytes, JsonPath]] = [(value, b"", ())]
        while self._waiting:
            node, name, path = self._waiting.pop()
            if isinstance(node, dict):
                self._add_object(node, name, path)
            elif isinstance(node, list | tuple):
                self._add_list(node, name, path)
            elif (text := encode_leaf(node)) is not None:
                self.leaves.append(TextLeaf(text, name, path))

    def _add_object(self, node: Mapping[Any, Any], above: bytes, path: JsonPath) -> None:
        sibling = _find_sibling_name(node)
        for key, child in node.items():
            key_text = encode_leaf(key) or b""
            self.leaves.append(TextLeaf(key_text, path=path, is_key=True))
            name = sibling if sibling and key in VALUE_KEYS else key_text
            self._waiting.append((child, _choose_name(name, above), (*path, key_text)))

    def _add_list(self, node: Sequence[Any], name: bytes, path: JsonPath) -> None:
        first = encode_leaf(node[0]) if len(node) == 2 and isinstance(node[1], str) else None
        pair = first if first and len(first) <= MAX_NAME and is_secret_name(first) else name
        self._waiting += [(child, pair if index else name, (*path, index)) for index, child in enumerate(node)]
        texts = _list_texts(node, path)
        if len(texts) > 1 and _is_command(texts):
            self.groups.append(TextGroup(texts, b" "))
        for lines in (texts, *_list_columns(node, path)):
            if len(lines) > 1 and (self._multiline or _has_key_frame(lines)):
                self.groups.append(TextGroup(lines, b"\n"))


def _find_sibling_name(node: Mapping[Any, Any]) -> bytes:
    """Return the suspicious name in an object such as `{"name": "DB_PASSWORD", "value": "..."}`."""
    if NAME_KEYS.isdisjoint(node):
        return b""
    names = (encode_leaf(text) for key, text in node.items() if key in NAME_KEYS and isinstance(text, str))
    return next((name for name in names if name and len(name) <= MAX_NAME and is_secret_name(name)), b"")


def _choose_name(name: bytes, above: bytes) -> bytes:
    """Return the name for a text: its key, or the name above if only that is suspicious."""
    use_above = is_secret_name(above) and not is_secret_name(name) and name.lower() not in DESCRIPTION_KEYS
    return above if use_above else name


def _list_texts(node: Sequence[Any], path: JsonPath) -> tuple[TextLeaf, ...]:
    return tuple(
        TextLeaf(encode_leaf(text) or b"", path=(*path, index))
        for index, text in enumerate(node)
        if isinstance(text, str)
    )


def _list_columns(node: Sequence[Any], path: JsonPath) -> Iterator[tuple[TextLeaf, ...]]:
    """Yield the texts with the same key in all objects of a list: two edits may each hold half of a secret."""
    columns: dict[str, list[TextLeaf]] = {}
    for index, item in enumerate(node):
        for key, text in item.items() if isinstance(item, dict) else ():
            if isinstance(text, str):
                text_path = (*path, index, encode_leaf(key) or b"")
                columns.setdefault(key, []).append(TextLeaf(encode_leaf(text) or b"", path=text_path))
    yield from map(tuple, columns.values())


def _is_command(texts: Sequence[TextLeaf]) -> bool:
    words = [leaf.text for leaf in texts]
    is_short = len(words) <= MAX_COMMAND_WORDS and all(
        len(word) <= MAX_COMMAND_WORD and b"\n" not in word for word in words
    )
    return is_short and any(word.startswith(b"-") for word in words) and not _has_key_frame(texts)


def _has_key_frame(texts: Iterable[TextLeaf]) -> bool:
    return any(frame in leaf.text for leaf in texts for frame in KEY_FRAMES)


def is_secret_name(name: bytes) -> bool:
    """Return whether a name suggests that its value is a secret."""
    return SECRET_NAME.search(name) is not None


def encode_leaf(node: Any) -> bytes | None:
    """Return a string or a large number as bytes, None for anything else."""
    if isinstance(node, str):
        return node.encode("utf-8", "surrogatepass")
    is_whole = isinstance(node, int) or (isinstance(node, float) and node.is_integer())
    is_large = is_whole and not isinstance(node, bool) and MIN_NUMBER <= abs(node) < MAX_NUMBER
    return b"%d" % node if is_large else None
