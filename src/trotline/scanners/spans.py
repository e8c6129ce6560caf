"""Spans (findings with their value and position) and the windows of a text in which scanners look for them.

A text of any size is read in overlapping windows, so that memory is bounded and padding hides nothing. A window owns a
part of its bytes and also shows some bytes before and after that part. It reports values that begin in the part that it
owns.
"""

import hmac
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

import msgspec

from trotline.domain.effects import Certainty
from trotline.domain.findings import Finding, TextRange

OWNED_BYTES = 256 * 1024
BYTES_BEFORE = 1024
BYTES_AFTER = 16 * 1024
"""The longest value that is found whole: a PEM private key of 16,384 bits."""

UTF8_CONTINUATION = bytes(range(0x80, 0xC0))
COUNT_STEP = 1024


class Span(NamedTuple):
    """A finding with its value, for use inside this package. Where spans overlap, the lowest rank gives the kind."""

    start: int
    end: int
    kind: str
    scanner: str
    certainty: Certainty
    value: bytes
    place: TextRange
    rank: int = 0

    def join(self, other: "Span") -> "Span":
        """Return one span for both; `other` begins inside this span or where it ends."""
        best = min(self, other, key=lambda span: span.rank)
        place, value, end = self.place, self.value, self.end
        if other.end > end:
            value += other.value[end - other.start :]
            end = other.end
            place = msgspec.structs.replace(place, line_to=other.place.line_to, column_to=other.place.column_to)
        return best._replace(start=self.start, end=end, value=value, place=place)

    def build_finding(self, key: bytes, where: str = "") -> Finding:
        """Return the finding to report, with an HMAC instead of the value."""
        return Finding(
            kind=self.kind,
            scanner=self.scanner,
            place=self.place,
            certainty=self.certainty,
            digest=compute_digest(self.value, key),
            where=where,
        )


def compute_digest(value: bytes, key: bytes) -> str:
    """Return the HMAC-SHA256 of a value in hex."""
    return hmac.digest(key, value, "sha256").hex()


class Window:
    """A part of a text, with the position of its first byte."""

    def __init__(self, data: bytes, base: int, owned: tuple[int, int], position: tuple[int, int] = (1, 0)) -> None:
        self.data = data
        self.base = base
        self.owned_from, self.owned_to = owned
        self.line, self.column = position  # of the first byte; the column counts the characters before it
        self.regions = [(0, len(data))]  # where a scanner has to look

    def owns(self, start: int) -> bool:
        """Return whether this window reports what begins at this offset."""
        return self.owned_from <= start < self.owned_to

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, at = [0], self.data.find(b"\n")
        while at != -1:
            starts.append(at + 1)
            at = self.data.find(b"\n", at + 1)
        return starts

    @cached_property
    def _character_counts(self) -> list[int]:
        """The number of characters before each step, so that counting in a long line stays linear."""
        counts = [0]
        for at in range(0, len(self.data), COUNT_STEP):
            counts.append(counts[-1] + count_characters(self.data[at : at + COUNT_STEP]))
        return counts

    def _get_position(self, offset: int) -> tuple[int, int]:
        index = bisect_right(self._line_starts, offset) - 1
        column = self._count_before(offset) - self._count_before(self._line_starts[index])
        return self.line + index, column + 1 + (self.column if index == 0 else 0)

    def _count_before(self, offset: int) -> int:
        step = offset // COUNT_STEP
        return self._character_counts[step] + count_characters(self.data[step * COUNT_STEP : offset])

    def build_extent(self, start: int, end: int) -> TextRange:
        """Return lines and columns of a range of this window."""
        line, column = self._get_position(start)
        line_to, column_to = self._get_position(end)
        offset = self.base + start
        return TextRange(line=line, column_from=column, line_to=line_to, column_to=column_to, offset=offset)

    def build_span(self, start: int, end: int, kind: str, scanner: str, certainty: Certainty, *, rank: int = 0) -> Span:
        """Return a span for a range of this window, with offsets in the whole text."""
        value, place = self.data[start:end], self.build_extent(start, end)
        return Span(self.base + start, self.base + end, kind, scanner, certainty, value, place, rank)


def count_characters(data: bytes) -> int:
    """Return the number of characters that begin in UTF-8 data."""
    return len(data) if data.isascii() else len(data.translate(None, UTF8_CONTINUATION))


def split_windows(chunks: Iterable[bytes]) -> Iterator[Window]:
    """Yield the windows of a text that comes in chunks; at least one."""
    buffer, base, owned_from = bytearray(), 0, 0
    line, column = 1, 0
    for chunk in chunks:
        buffer += chunk
        while len(buffer) >= owned_from + OWNED_BYTES + BYTES_AFTER:
            data = bytes(buffer[: owned_from + OWNED_BYTES + BYTES_AFTER])
            yield Window(data, base, (owned_from, owned_from + OWNED_BYTES), (line, column))
            cut = owned_from + OWNED_BYTES - BYTES_BEFORE
            line, column = _advance_position(data[:cut], line, column)
            del buffer[:cut]
            base, owned_from = base + cut, BYTES_BEFORE
    yield Window(bytes(buffer), base, (owned_from, len(buffer)), (line, column))


def _advance_position(data: bytes, line: int, column: int) -> tuple[int, int]:
    """Return the line and column after the data, which begins at the given line and column."""
    last = data.rfind(b"\n")
    return line + data.count(b"\n"), count_characters(data[last + 1 :]) + (column if last == -1 else 0)


def split_chunks(text: str | bytes) -> Iterator[bytes]:
    """Yield a text in memory as encoded chunks."""
    if isinstance(text, bytes):
        yield text
        return
    for at in range(0, len(text), OWNED_BYTES):
        yield text[at : at + OWNED_BYTES].encode("utf-8", "surrogatepass")
