r"""Decode escapes, so that scanners find values that are escaped or stand next to an escape.

In a JSON string a key at the beginning of a line follows the letter `n` of `\n`, and after a terminal colour it follows
an `m`, so no pattern sees the beginning of a word. Each window therefore has variants:

- one of the same length with escapes replaced by their character, padded with spaces; only the bytes after an escape
  are scanned again;
- one without the escapes inside words (`ab\/cd`), which maps offsets back to the source;
- both again for the text without terminal sequences.
"""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from trotline.domain.effects import Certainty
from trotline.scanners.matching import compile_re2
from trotline.scanners.spans import Span, Window

MAX_HIDDEN_START = 96
"""Bytes after an escape in which a value may begin that the escape would hide."""

CSI_SEQUENCE = rb"\[[0-9;?]{0,32}[A-Za-z]"
CSI_ESCAPE = rb"(?:\x1b|\\{1,8}(?:e|033|x1[bB]|u001[bB]))" + CSI_SEQUENCE
REDACTION_MARKER = rb"\[redacted [a-z0-9\-]{1,60} [0-9a-f]{8}\]"
ESCAPE = re.compile(
    rb"\x1b" + CSI_SEQUENCE + rb"|\\\\{0,7}(?:(?:e|033|x1[bB]|u001[bB])" + CSI_SEQUENCE + rb""
    rb"|u(?P<hex4>[0-9a-fA-F]{4})|x(?P<hex2>[0-9a-fA-F]{2})|(?P<letter>[nrtbf0\"'/`$]))"
    rb"|%(?P<percent>[0-9a-fA-F]{2})|=(?P<printable>3[dD])"
    rb"|&(?:#(?P<decimal>[0-9]{1,4})|#x(?P<hexadecimal>[0-9a-fA-F]{1,4})|(?P<entity>quot|apos|amp|lt|gt|nbsp));"
)
"""Each alternative begins with a fixed character, not with a group, so that the search skips from one to the next."""

ESCAPE_STARTS = (b"\\", b"%", b"&", b"\x1b", b"=3")
CONTROL_LETTERS = {b"n": b"\n", b"r": b"\r", b"t": b"\t", b"b": b"\b", b"f": b"\f", b"0": b"\0"}
ENTITY_NAMES = {b"quot": b'"', b"apos": b"'", b"amp": b"&", b"lt": b"<", b"gt": b">", b"nbsp": b" "}

TERMINAL_SEQUENCE = (
    r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[()*+][ -~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[=>78cDEHMNOZ])"
    r"|\\{1,8}(?:e|033|x1[bB]|u001[bB])(?:\[[0-?]*[ -/]*[@-~]|[()][0-9A-Z])"
    r"|\x00+"
)
"""Terminal control sequences (ECMA-48), raw or written as escapes, and the zero bytes of UTF-16."""

BYTES_BEFORE_ESCAPE, BYTES_AFTER_ESCAPE = 4096, 1024
"""Limits for the text around an escape that is decoded, up to the next separator: enough for a value and its name."""

SEPARATORS = (b" ", b"\n")

TERMINAL_STARTS = (b"\x1b", b"\x00", b"u001b", b"u001B", b"\\033", b"x1b", b"x1B", b"\\e[")

ESCAPED_LETTER = r"\\{1,8}u00(?:[2-7][0-9a-fA-F]|0[9aAdD])"
ESCAPED_IN_VALUE = rf"\\{{1,8}}/|{ESCAPED_LETTER}|%(?:2[6bBfF]|3[aAdD]|40)"
INNER_ESCAPE = (
    rf"[A-Za-z0-9+/](?:({ESCAPED_IN_VALUE})|({CSI_ESCAPE.decode()})[A-Za-z0-9+/=\\])"
    rf"|({REDACTION_MARKER.decode()})|({ESCAPED_LETTER})\\{{1,8}}u00"
)
"""Escapes in the middle of a value. A redaction marker may be forged, so the value around it is still scanned."""


@cache
def _compile_inner_escape() -> Any:
    return compile_re2(INNER_ESCAPE)


@cache
def compile_terminal_sequence() -> Any:
    """Compile the pattern of terminal sequences once."""
    return compile_re2(TERMINAL_SEQUENCE)


class PaddedWindow(Window):
    """A window with escapes replaced by padded characters; its regions are the ranges around their ends."""

    def __init__(self, source: Window, data: bytes, ends: list[int]) -> None:
        super().__init__(data, source.base, (source.owned_from, source.owned_to))
        self._source = source
        self.regions = _build_regions(ends, len(data))

    def owns(self, start: int) -> bool:
        """Return whether the source window reports a value that begins here."""
        return self._source.owns(start)

    def build_span(self, start: int, end: int, kind: str, scanner: str, certainty: Certainty, *, rank: int = 0) -> Span:
        """Return a span of the source window."""
        return self._source.build_span(start, end, kind, scanner, certainty, rank=rank)


def _build_regions(ends: list[int], length: int) -> list[tuple[int, int]]:
    """Return the ranges around the ends of escapes in which a hidden value may begin; overlapping ranges are merged.

    `ends` is sorted.
    """
    regions: list[tuple[int, int]] = []
    for end in ends:
        # A pattern may need the decoded character, the last byte of the escape, and one byte before it.
        start, to = max(0, end - 2), min(length, end + MAX_HIDDEN_START)
        if regions and start <= regions[-1][1]:
            regions[-1] = (regions[-1][0], to)
        else:
            regions.append((start, to))
    return regions


class SourcePiece(NamedTuple):
    """A piece of decoded data: its offset in that data, and its range in the source."""

    at: int
    start: int
    end: int


EscapeSpan = tuple[int, int, bytes]
"""Start and end of an escape, and the bytes that it stands for."""


class DecodedWindow(Window):
    """A window with decoded escapes that maps offsets back to the source window."""

    def __init__(self, source: Window, data: bytes, pieces: list[SourcePiece]) -> None:
        super().__init__(data, source.base, (0, len(data)))
        self._source = source
        self._pieces = pieces
        self._starts = [piece.at for piece in pieces]

    def _get_source_start(self, offset: int) -> int:
        piece = self._pieces[bisect_right(self._starts, offset) - 1]
        return min(piece.start + offset - piece.at, piece.end - 1)

    def _get_source_end(self, offset: int) -> int:
        """Return where the byte at this offset ends in the source; an escape is longer than its byte."""
        after = bisect_right(self._starts, offset)
        is_last = after == len(self._pieces) or self._starts[after] == offset + 1
        return (
            self._pieces[after - 1].end if is_last and after < len(self._pieces) else self._get_source_start(offset) + 1
        )

    def owns(self, start: int) -> bool:
        """Return whether the source window reports a value that begins here."""
        return self._source.owns(self._get_source_start(start))

    def build_span(self, start: int, end: int, kind: str, scanner: str, certainty: Certainty, *, rank: int = 0) -> Span:
        """Return a span of the source window."""
        source_range = self._get_source_start(start), self._get_source_end(end - 1)
        return self._source.build_span(*source_range, kind, scanner, certainty, rank=rank)


def decode_variants(window: Window) -> list[Window]:
    """Return the window and its variants with escapes decoded."""
    variants = _decode_escapes(window)
    if any(start in window.data for start in TERMINAL_STARTS):
        sequences = ((*match.span(), b"") for match in compile_terminal_sequence().finditer(window.data))
        variants += [variant for bare in _decode_around(window, sequences) for variant in _decode_escapes(bare)]
    return variants


def _decode_escapes(window: Window) -> list[Window]:
    variants, data = [window], window.data
    if any(start in data for start in ESCAPE_STARTS):
        ends: list[int] = []
        padded = ESCAPE.sub(lambda match: _pad_escape(match, ends), data)
        if ends:
            variants.append(PaddedWindow(window, padded, ends))
    if len(variants) > 1 or b"[redacted " in data:
        variants += _decode_around(window, _find_inner_escapes(data))
    return variants


def _pad_escape(match: "re.Match[bytes]", ends: list[int]) -> bytes:
    start, end = match.span()
    ends.append(end)
    return _decode_escape(match).rjust(end - start)


def _decode_escape(match: "re.Match[bytes]") -> bytes:
    """Return the ASCII character that an escape stands for, or a space."""
    letter = match["letter"]
    if letter:
        return CONTROL_LETTERS.get(letter, letter)
    if match["entity"]:
        return ENTITY_NAMES[match["entity"]]
    digits = match["hex4"] or match["hex2"] or match["percent"] or match["printable"] or match["hexadecimal"]
    number = int(digits, 16) if digits else int(match["decimal"] or 32)
    return bytes([number]) if number < 128 else b" "


def _decode_around(window: Window, escapes: Iterable[EscapeSpan]) -> Iterator[DecodedWindow]:
    """Yield decoded windows of the text around escapes. Text farther away is scanned in the source window."""
    data = window.data
    near: list[EscapeSpan] = []
    start = end = 0
    for escape in escapes:
        if near and escape[0] - BYTES_BEFORE_ESCAPE > end:
            yield _build_decoded_window(window, near, start, end)
            near = []
        if not near:
            start = (
                max(data.rfind(separator, 0, max(0, escape[0] - BYTES_BEFORE_ESCAPE)) for separator in SEPARATORS) + 1
            )
        near.append(escape)
        if escape[1] + BYTES_AFTER_ESCAPE > end:
            far = escape[1] + BYTES_AFTER_ESCAPE
            ends = [at for separator in SEPARATORS if (at := data.find(separator, far)) != -1]
            end = min(ends, default=len(data))
    if near:
        yield _build_decoded_window(window, near, start, end)


def _build_decoded_window(window: Window, escapes: Sequence[EscapeSpan], start: int, end: int) -> DecodedWindow:
    data, pieces, at = bytearray(), [], start
    for first, last, decoded in escapes:
        if at < first:
            pieces.append(SourcePiece(len(data), at, first))
            data += window.data[at:first]
        if decoded:
            pieces.append(SourcePiece(len(data), first, last))
            data += decoded
        at = last
    pieces.append(SourcePiece(len(data), at, end))
    return DecodedWindow(window, bytes(data + window.data[at:end]), pieces)


def _find_inner_escapes(data: bytes) -> Iterator[EscapeSpan]:
    """Yield escapes inside values, also if at most one letter separates two of them."""
    pattern, at = _compile_inner_escape(), 0
    while match := pattern.search(data, at):
        start, end = next(match.span(group) for group in (1, 2, 3, 4) if match.start(group) != -1)
        yield start, end, _decode_inner_escape(data[start:end])
        at = end - 1 if data[end - 1 : end] != b"]" else end  # the last letter may be the one before the next escape


def _decode_inner_escape(escape: bytes) -> bytes:
    """Return the character of an escape inside a value; nothing for terminal sequences and redaction markers."""
    match = None if escape.endswith((b"m", b"K", b"]")) else ESCAPE.fullmatch(escape)
    return _decode_escape(match) if match else b""
