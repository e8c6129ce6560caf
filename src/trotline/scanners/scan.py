"""A text through scanners: windows in, spans that overlap made one, findings out."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Protocol

import msgspec

from trotline.findings import Finding
from trotline.scanners.escapes import readings
from trotline.scanners.finding import Span
from trotline.scanners.windows import Window, chunks_of, windows

MOST = 1000
"""Findings that are listed for one text; what a person needs to hear after that is that there are more."""


class Scanner(Protocol):
    """Looks at one window at a time, and reports what begins in the stretch that the window owns."""

    @property
    def name(self) -> str: ...

    @property
    def kinds(self) -> dict[str, str]:
        """What it finds, each with a few words for people."""

    @property
    def reads_meaning(self) -> bool:
        """Whether it also looks at what stands behind escapes."""

    def spans(self, window: Window, path: str | None = "") -> Iterable[Span]: ...


class Scan(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. `more` says that there is more than is listed."""

    findings: tuple[Finding, ...] = ()
    more: bool = False


def scan(
    text: str | bytes | Iterable[bytes], key: bytes, scanners: Sequence[Scanner], *, path: str = "", most: int = MOST
) -> Scan:
    """Scan a text, or a file that comes in pieces."""
    found = list(islice(spans_of(text, scanners, path=path), most + 1))
    return Scan(findings=tuple(span.finding(key, path) for span in found[:most]), more=len(found) > most)


def spans_of(
    text: str | bytes | Iterable[bytes], scanners: Sequence[Scanner], *, path: str | None = ""
) -> Iterator[Span]:
    """In order; of each scanner none overlap. None as a path: it may be any, and a rule for some is one for this."""
    pending: list[Span] = []
    for window in windows(chunks_of(text) if isinstance(text, str | bytes) else text):
        seen = readings(window) if any(scanner.reads_meaning for scanner in scanners) else [window]
        found = [
            span
            for scanner in scanners
            for reading in (seen if scanner.reads_meaning else seen[:1])
            for span in scanner.spans(reading, path)
        ]
        settled_to = window.base + window.own_to  # later windows begin at or after this
        groups = joined(pending + found)
        pending = [span for span in groups if span.end > settled_to]
        yield from (span for span in groups if span.end <= settled_to)
    yield from pending


def joined(spans: Iterable[Span]) -> list[Span]:
    """Spans of one scanner that overlap are one."""
    groups: list[Span] = []
    last: dict[str, int] = {}
    for span in sorted(spans, key=lambda span: span[:4]):  # where, then what
        at = last.get(span.scanner)
        if at is not None and span.start < groups[at].end:
            groups[at] = groups[at].joined(span)
        else:
            last[span.scanner] = len(groups)
            groups.append(span)
    return groups
