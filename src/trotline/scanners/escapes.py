"""Escapes: a text as it is meant, where it is written by other signs, and every place of it in the text that it is in.

A key at the beginning of a line has the letter `n` before it once the line is part of a JSON string, and an `m` once a
terminal colours it: no pattern takes it for a word then. So a text with escapes in it is read a second time, without
them, and again if that leaves some. What is found there is what stands in the original.
"""

import re
from bisect import bisect_right
from collections.abc import Iterator

from trotline.effects import Certainty
from trotline.scanners.finding import Span
from trotline.scanners.windows import Window

DEPTH = 4
"""How often one text may be in another: JSON in JSON in JSON, with colours."""

COLOUR = rb"(?:\x1b|\\(?:e|033|x1[bB]|u001[bB]))\[[0-9;?]{0,32}[A-Za-z]"
MARKER = rb"\[redacted [a-z0-9\-]{1,60} [0-9a-f]{8}\]"
SIGNS = re.compile(
    rb"(?P<colour>" + COLOUR + rb")|(?P<marker>" + MARKER + rb")"
    rb"|\\u(?P<four>[0-9a-fA-F]{4})|(?:\\x|%|=(?=3[dD]))(?P<two>[0-9a-fA-F]{2})|\\(?P<one>[nrtbf0\"'/\\`$])"
    rb"|&(?:#(?P<number>[0-9]{1,4})|#x(?P<hex>[0-9a-fA-F]{1,4})|(?P<name>quot|apos|amp|lt|gt|nbsp));"
)
POSSIBLE = (b"\\", b"%", b"&", b"\x1b", b"=3", b"[redacted ")
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"0": b"\0"}
NAMES = {b"quot": b'"', b"apos": b"'", b"amp": b"&", b"lt": b"<", b"gt": b">", b"nbsp": b" "}


class Meant(Window):
    """A window as it is meant; places are those of the window that it was made of."""

    def __init__(self, of: Window, data: bytes, pieces: list[tuple[int, int, int]]) -> None:
        super().__init__(data, of.base, (0, len(data)))
        self._of = of
        self._pieces = pieces  # where it begins here, and where it begins and ends there
        self._starts = [*(start for start, _, _ in pieces), len(data)]

    def _place(self, offset: int) -> tuple[int, int]:
        """From where to where one byte stands there: alone, or in a sign, which is longer than what it means."""
        index = bisect_right(self._starts, offset) - 1
        start, begin, end = self._pieces[index]
        if self._starts[index + 1] - start < end - begin:
            return begin, end
        return begin + offset - start, begin + offset - start + 1

    def owns(self, start: int) -> bool:
        return self._of.owns(self._place(start)[0])

    def span(self, start: int, end: int, kind: str, scanner: str, certainty: Certainty, *, rank: int = 0) -> Span:
        return self._of.span(self._place(start)[0], self._place(end - 1)[1], kind, scanner, certainty, rank=rank)


def readings(window: Window) -> Iterator[Window]:
    """The window as it stands, and as it is meant."""
    yield window
    yield from _read(window, b" ")
    if re.search(COLOUR, window.data):
        yield from _read(window, b"")  # a colour in the middle of a word


def _read(window: Window, colour: bytes) -> Iterator[Window]:
    read = window
    for _ in range(DEPTH):
        meant = _meant(read, colour)
        if meant is None:
            return
        yield meant
        read = meant


def _meant(window: Window, colour: bytes) -> Meant | None:
    if not any(sign in window.data for sign in POSSIBLE):
        return None
    data, pieces, at = bytearray(), [], 0
    for match in SIGNS.finditer(window.data):
        start, end = match.span()
        if start > at:
            pieces.append((len(data), at, start))
            data += window.data[at:start]
        sign = _sign(match, colour)
        if sign:
            pieces.append((len(data), start, end))
            data += sign
        at = end
    if not at:
        return None
    if at < len(window.data):
        pieces.append((len(data), at, len(window.data)))
        data += window.data[at:]
    return Meant(window, bytes(data), pieces) if pieces else None


def _sign(match: "re.Match[bytes]", colour: bytes) -> bytes:
    if match["colour"]:
        return colour
    if match["one"]:
        return LETTERS.get(match["one"], match["one"])
    if match["two"]:
        return bytes([int(match["two"], 16)])
    if match["name"]:
        return NAMES[match["name"]]
    number = match["four"] or match["hex"]
    if number or match["number"]:
        return chr(int(number, 16) if number else int(match["number"])).encode("utf-8", "surrogatepass")
    return b""  # a marker of ours: what somebody puts one into is still there
