"""A text of any size, in windows that overlap, so that memory is bounded and nothing hides behind padding.

A window owns a stretch, and sees some of what stands before and after it. What begins in its stretch is its to report.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property

from trotline.effects import Certainty
from trotline.findings import Extent
from trotline.scanners.finding import Span

OWN = 256 * 1024
BEFORE = 1024
AFTER = 16 * 1024
"""The longest value that is found whole: a private key of 16,384 bits with its frame."""

CONTINUATION = bytes(range(0x80, 0xC0))
STEP = 1024


class Window:
    def __init__(self, data: bytes, base: int, own: tuple[int, int], before: tuple[int, int] = (1, 0)) -> None:
        self.data = data
        self.base = base
        self.own_from, self.own_to = own
        self.line, self.column = before  # of the first byte: its line, and the characters before it on that line
        self.regions = [(0, len(data))]  # where something new may begin

    def owns(self, start: int) -> bool:
        return self.own_from <= start < self.own_to

    @cached_property
    def text(self) -> str:
        """As characters; what is cut at the edges, or no UTF-8, becomes a replacement character."""
        return self.data.decode("utf-8", "replace")

    @cached_property
    def _line_starts(self) -> list[int]:
        starts, at = [0], self.data.find(b"\n")
        while at != -1:
            starts.append(at + 1)
            at = self.data.find(b"\n", at + 1)
        return starts

    @cached_property
    def _characters(self) -> list[int]:
        """How many characters begin before each step, so that counting in a long line stays linear."""
        counts = [0]
        for at in range(0, len(self.data), STEP):
            counts.append(counts[-1] + characters(self.data[at : at + STEP]))
        return counts

    def _position(self, offset: int) -> tuple[int, int]:
        index = bisect_right(self._line_starts, offset) - 1
        column = self._before(offset) - self._before(self._line_starts[index])
        return self.line + index, column + 1 + (self.column if index == 0 else 0)

    def _before(self, offset: int) -> int:
        step = offset // STEP
        return self._characters[step] + characters(self.data[step * STEP : offset])

    def extent(self, start: int, end: int) -> Extent:
        line, column = self._position(start)
        line_to, column_to = self._position(end)
        offset = self.base + start
        return Extent(line=line, column_from=column, line_to=line_to, column_to=column_to, offset=offset)

    def span(self, start: int, end: int, kind: str, scanner: str, certainty: Certainty, *, rank: int = 0) -> Span:
        """A span of this window in the offsets of the whole text."""
        value, place = self.data[start:end], self.extent(start, end)
        return Span(self.base + start, self.base + end, kind, scanner, certainty, value, place, rank)


def characters(data: bytes) -> int:
    return len(data) if data.isascii() else len(data.translate(None, CONTINUATION))


def windows(chunks: Iterable[bytes]) -> Iterator[Window]:
    """Windows over whatever comes in pieces; at least one."""
    held, base, left = bytearray(), 0, 0
    line, column = 1, 0
    for chunk in chunks:
        held += chunk
        while len(held) >= left + OWN + AFTER:
            yield Window(bytes(held[: left + OWN + AFTER]), base, (left, left + OWN), (line, column))
            cut = left + OWN - BEFORE
            gone = bytes(held[:cut])
            line, column = _after(gone, line, column)
            del held[:cut]
            base, left = base + cut, BEFORE
    yield Window(bytes(held), base, (left, len(held)), (line, column))


def _after(data: bytes, line: int, column: int) -> tuple[int, int]:
    last = data.rfind(b"\n")
    return line + data.count(b"\n"), characters(data[last + 1 :]) + (column if last == -1 else 0)


def chunks_of(text: str | bytes) -> Iterator[bytes]:
    """A text that is in memory, piece by piece."""
    if isinstance(text, bytes):
        yield text
        return
    for at in range(0, len(text), OWN):
        yield text[at : at + OWN].encode("utf-8", "surrogatepass")
