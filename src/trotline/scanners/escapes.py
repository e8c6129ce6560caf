r"""Escapes: a text as it is meant, where it is written by other signs.

A key at the beginning of a line has the letter `n` before it once the line is part of a JSON string, and an `m` once a
terminal colours it: no pattern takes it for a word then. So what stands behind a sign is read a second time, with the
sign as blanks, in as many bytes as there were. Where signs stand inside of words (`ab\/cd`), there is a third reading,
without them, which knows where everything stood. What a terminal is told between letters is taken out wherever it
stands, and the rest is read like any text.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from trotline.effects import Certainty
from trotline.scanners.finding import Span
from trotline.scanners.rules import compiled
from trotline.scanners.windows import Window

REACH = 96
"""Bytes behind a sign in which something may begin that the sign would hide."""

CSI = rb"\[[0-9;?]{0,32}[A-Za-z]"
COLOUR = rb"(?:\x1b|\\{1,8}(?:e|033|x1[bB]|u001[bB]))" + CSI
MARKER = rb"\[redacted [a-z0-9\-]{1,60} [0-9a-f]{8}\]"
SIGN = re.compile(
    rb"\x1b" + CSI + rb"|\\\\{0,7}(?:(?:e|033|x1[bB]|u001[bB])" + CSI + rb""
    rb"|u(?P<four>[0-9a-fA-F]{4})|x(?P<two>[0-9a-fA-F]{2})|(?P<one>[nrtbf0\"'/`$]))"
    rb"|%(?P<octet>[0-9a-fA-F]{2})|=(?P<quoted>3[dD])"
    rb"|&(?:#(?P<number>[0-9]{1,4})|#x(?P<hex>[0-9a-fA-F]{1,4})|(?P<name>quot|apos|amp|lt|gt|nbsp));"
)
"""Every part begins with a letter and with no group: then the search goes from one such letter to the next."""

POSSIBLE = (b"\\", b"%", b"&", b"\x1b", b"=3")
LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"0": b"\0"}
NAMES = {b"quot": b'"', b"apos": b"'", b"amp": b"&", b"lt": b"<", b"gt": b">", b"nbsp": b" "}

SILENT = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()*+][ -~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>78cDEHMNOZ])"
    r"|\\{1,8}(?:e|033|x1[bB]|u001[bB])(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z])"
    r"|\x00+"
)
"""What is no letter of a text: orders to a terminal (ECMA-48), written down too, and every other byte of UTF-16."""

BACK, FORWARD = 4096, 1024
BLANKS = (b" ", b"\n")
"""How much of a text around a sign is read without it, to the next blank: a value and its name."""

TOLD = (b"\x1b", b"\x00", b"u001b", b"u001B", b"\\033", b"x1b", b"x1B", b"\\e[")

LETTER = r"\\{1,8}u00(?:[2-7][0-9a-fA-F]|0[9aAdD])"
INNER = rf"\\{{1,8}}/|{LETTER}|%(?:2[6bBfF]|3[aAdD]|40)"
BETWEEN = rf"[A-Za-z0-9+/](?:({INNER})|({COLOUR.decode()})[A-Za-z0-9+/=\\])|({MARKER.decode()})|({LETTER})\\{{1,8}}u00"
"""Signs that stand in the middle of a value. A marker may be anybody's: what it was put into is still there."""


@cache
def _between() -> Any:
    return compiled(BETWEEN)


@cache
def silent() -> Any:
    return compiled(SILENT)


class Blanked(Window):
    """A window in which signs are blanks, and the stretches behind them."""

    def __init__(self, of: Window, data: bytes, ends: list[int]) -> None:
        super().__init__(data, of.base, (of.own_from, of.own_to))
        self._of = of
        self.regions = _merged(ends, len(data))

    def owns(self, start: int) -> bool:
        return self._of.owns(start)

    def span(self, start: int, end: int, kind: str, scanner: str, certainty: Certainty, *, rank: int = 0) -> Span:
        return self._of.span(start, end, kind, scanner, certainty, rank=rank)


def _merged(ends: list[int], length: int) -> list[tuple[int, int]]:
    regions: list[tuple[int, int]] = []
    for end in ends:
        start, to = max(0, end - 2), min(length, end + REACH)
        if regions and start <= regions[-1][1]:
            regions[-1] = (regions[-1][0], to)
        else:
            regions.append((start, to))
    return regions


class Piece(NamedTuple):
    """Where it begins in what was made, and from where to where it stood before."""

    at: int
    start: int
    end: int


Sign = tuple[int, int, bytes]
"""From where to where, and what it stands for."""


class Joined(Window):
    """A window without the signs in the middle of words."""

    def __init__(self, of: Window, data: bytes, pieces: list[Piece]) -> None:
        super().__init__(data, of.base, (0, len(data)))
        self._of = of
        self._pieces = pieces
        self._starts = [piece.at for piece in pieces]

    def _original(self, offset: int) -> int:
        piece = self._pieces[bisect_right(self._starts, offset) - 1]
        return min(piece.start + offset - piece.at, piece.end - 1)

    def _end(self, offset: int) -> int:
        """Where the letter at this offset ends: a sign that stands for it is longer than it."""
        after = bisect_right(self._starts, offset)
        last = after == len(self._pieces) or self._starts[after] == offset + 1
        return self._pieces[after - 1].end if last and after < len(self._pieces) else self._original(offset) + 1

    def owns(self, start: int) -> bool:
        return self._of.owns(self._original(start))

    def span(self, start: int, end: int, kind: str, scanner: str, certainty: Certainty, *, rank: int = 0) -> Span:
        return self._of.span(self._original(start), self._end(end - 1), kind, scanner, certainty, rank=rank)


def readings(window: Window) -> list[Window]:
    """The window as it stands, and as it is meant."""
    found = _meanings(window)
    if any(sign in window.data for sign in TOLD):
        signs = ((*match.span(), b"") for match in silent().finditer(window.data))
        found += [meant for bare in _without(window, signs) for meant in _meanings(bare)]
    return found


def _meanings(window: Window) -> list[Window]:
    found, data = [window], window.data
    if any(sign in data for sign in POSSIBLE):
        ends: list[int] = []
        blanked = SIGN.sub(lambda match: _blanks(match, ends), data)
        if ends:
            found.append(Blanked(window, blanked, ends))
    if len(found) > 1 or b"[redacted " in data:
        found += _without(window, _signs_between(data))
    return found


def _blanks(match: "re.Match[bytes]", ends: list[int]) -> bytes:
    start, end = match.span()
    ends.append(end)
    return _meaning(match).rjust(end - start)


def _meaning(match: "re.Match[bytes]") -> bytes:
    """What a sign stands for, if that is plain."""
    one = match["one"]
    if one:
        return LETTERS.get(one, one)
    if match["name"]:
        return NAMES[match["name"]]
    figures = match["four"] or match["two"] or match["octet"] or match["quoted"] or match["hex"]
    number = int(figures, 16) if figures else int(match["number"] or 32)
    return bytes([number]) if number < 128 else b" "


def _without(window: Window, signs: Iterable[Sign]) -> Iterator[Joined]:
    """What stands around signs, with what they stand for instead of them. What is farther off was read already."""
    data = window.data
    near: list[Sign] = []
    start = end = 0
    for sign in signs:
        if near and sign[0] - BACK > end:
            yield _joined(window, near, start, end)
            near = []
        if not near:
            start = max(data.rfind(blank, 0, max(0, sign[0] - BACK)) for blank in BLANKS) + 1
        near.append(sign)
        if sign[1] + FORWARD > end:
            found = [at for blank in BLANKS if (at := data.find(blank, sign[1] + FORWARD)) != -1]
            end = min(found, default=len(data))
    if near:
        yield _joined(window, near, start, end)


def _joined(window: Window, signs: Sequence[Sign], start: int, end: int) -> Joined:
    data, pieces, at = bytearray(), [], start
    for first, last, meant in signs:
        if at < first:
            pieces.append(Piece(len(data), at, first))
            data += window.data[at:first]
        if meant:
            pieces.append(Piece(len(data), first, last))
            data += meant
        at = last
    pieces.append(Piece(len(data), at, end))
    return Joined(window, bytes(data + window.data[at:end]), pieces)


def _signs_between(data: bytes) -> Iterator[Sign]:
    """One after the other, also where one letter stands between two of them, or none."""
    pattern, at = _between(), 0
    while match := pattern.search(data, at):
        start, end = next(match.span(group) for group in (1, 2, 3, 4) if match.start(group) != -1)
        yield start, end, _letter(data[start:end])
        at = end - 1 if data[end - 1 : end] != b"]" else end  # the last letter of a sign may stand before the next


def _letter(sign: bytes) -> bytes:
    """What a sign in the middle of a word stands for there; a colour and a marker are nothing."""
    meant = None if sign.endswith((b"m", b"K", b"]")) else SIGN.fullmatch(sign)
    return _meaning(meant) if meant else b""
