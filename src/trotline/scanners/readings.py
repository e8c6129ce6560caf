"""How a text can be read: as it stands, turned by thirteen letters, and what is encoded in it.

A reading is squashed: letters only, small, plain, digits as the letters they pass for, `i` and `l` as one. So a
sentence is the same whether it is spaced out, written in figures, in letters of another script or all in one word.
"""

import base64
import binascii
import html
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cache, cached_property, lru_cache
from typing import NamedTuple
from urllib.parse import unquote_to_bytes

from trotline.scanners.confusables import plain
from trotline.scanners.rules import compiled

STEP = 512
SMALL = b"abcdefghijklmnopqrstuvwxyz"
FIGURES = (b"01345789$@l", b"oieastbgsai")


def _table() -> tuple[bytes, bytes]:
    kept = bytearray(range(256))
    for char in SMALL:
        kept[char - 32] = char
    for char, letter in zip(*FIGURES, strict=True):
        kept[char] = letter
    kept[ord("L")] = ord("i")
    dropped = bytes(char for char in range(256) if kept[char] not in SMALL)
    return bytes(kept), dropped


TABLE, DROPPED = _table()
TURNED = bytes.maketrans(SMALL + SMALL.upper(), SMALL[13:] + SMALL[:13] + SMALL[13:].upper() + SMALL[:13].upper())
FOREIGN = r"[\x{C0}-\x{5FF}\x{13A0}-\x{13FF}\x{1E00}-\x{1FFF}\x{FF00}-\x{FF7F}\x{1D400}-\x{1D7FF}]+"
"""Letters that can be read as plain Latin ones: Latin itself, Greek, Cyrillic, Armenian, Cherokee, styled ones."""


class Reading:
    """A squashed text, and where each letter of it stood."""

    def __init__(self, data: bytes, base: int = 0, whole: tuple[int, int] | None = None) -> None:
        self._data = data
        self._base = base
        self._whole = whole
        self.encoded = whole is not None  # then it is reported whole
        self.squashed = data.translate(TABLE, DROPPED)

    def place(self, start: int, end: int) -> tuple[int, int]:
        """Where a part of the squashed text stands in the original."""
        return self._whole or (self._base + self._original(start), self._base + self._original(end - 1) + 1)

    @cached_property
    def _counts(self) -> list[int]:
        counts = [0]
        for at in range(0, len(self._data), STEP):
            counts.append(counts[-1] + len(self._data[at : at + STEP].translate(None, DROPPED)))
        return counts

    def _original(self, index: int) -> int:
        step = bisect_right(self._counts, index) - 1
        left = index - self._counts[step]
        for at in range(step * STEP, len(self._data)):
            if self._data[at] not in DROPPED:
                if left == 0:
                    return at
                left -= 1
        return len(self._data)


class Encoding(NamedTuple):
    """A way to hide a text in plain sight. `mark` is what must be there before the pattern is tried."""

    mark: bytes
    pattern: str
    decoded: Callable[[bytes], bytes]


def _from_base64(part: bytes) -> bytes:
    body = part.rstrip(b"=")
    try:
        return base64.b64decode(
            body + b"=" * (-len(body) % 4), altchars=b"-_" if b"-" in part or b"_" in part else None
        )
    except (binascii.Error, ValueError):
        return b""


def _from_escapes(part: bytes) -> bytes:
    return bytes.fromhex(part.replace(b"\\x", b"").replace(b"\\u00", b"").decode())


ENCODINGS: tuple[Encoding, ...] = (
    Encoding(b"", r"[A-Za-z0-9+/_\-]{32,}={0,2}", _from_base64),
    Encoding(b"%20", r"[^\s%]{0,64}(?:%[0-9A-Fa-f]{2}[^\s%]{0,64}){3,}", unquote_to_bytes),
    Encoding(
        b"&#",
        r"(?:&#(?:x[0-9A-Fa-f]{1,6}|[0-9]{1,7});){8,}",
        lambda part: html.unescape(part.decode("latin-1")).encode("utf-8", "replace"),
    ),
    Encoding(b"\\", r"(?:\\(?:x|u00)[0-9a-fA-F]{2}){8,}", _from_escapes),
)

TEXT = bytes([*b"\n\r\t", *range(32, 127)])
LEAST_TEXT = 0.9
"""The part of what was decoded that must be letters, digits and punctuation before it is taken for a text."""


def readings(data: bytes) -> Iterator[Reading]:
    folded = _folded(data)
    yield Reading(folded)
    yield Reading(folded.translate(TURNED))
    for mark, pattern, decoded in ENCODINGS:
        if mark not in data:
            continue
        for match in _compiled(pattern).finditer(data):
            text = decoded(match.group())
            if b" " in text and len(text.translate(None, TEXT)) <= (1 - LEAST_TEXT) * len(text):
                yield Reading(_folded(text), whole=match.span())


_compiled = cache(compiled)


def _folded(data: bytes) -> bytes:
    """Plain letters in as many bytes as there were, so that places stay."""
    if data.isascii():
        return data
    pieces, at = [], 0
    for match in _compiled(FOREIGN).finditer(data):
        pieces += [data[at : match.start()], _plainly(match.group())]
        at = match.end()
    return b"".join([*pieces, data[at:]])


@lru_cache(maxsize=8192)
def _plainly(word: bytes) -> bytes:
    return b"".join(plain(char).encode().ljust(len(char.encode()), b"\0") for char in word.decode())
