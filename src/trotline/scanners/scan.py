"""Scan a text: split it into windows, run scanners on each, join overlapping spans, return findings."""

from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from typing import Protocol

import msgspec

from trotline.domain.findings import Finding
from trotline.scanners.escapes import decode_variants
from trotline.scanners.spans import OWNED_BYTES, Span, Window, split_chunks, split_windows

MAX_FINDINGS = 1000
"""Findings listed for one text; beyond that a reader only needs to know that there are more."""


class Scanner(Protocol):
    """Looks at one window at a time and reports findings that begin in the part that the window owns."""

    @property
    def name(self) -> str:
        """The name that users select the scanner by."""

    @property
    def kinds(self) -> dict[str, str]:
        """The kinds of findings, each with a short description."""

    @property
    def reads_decoded(self) -> bool:
        """True if it also scans the text with escapes decoded."""

    def find_spans(self, window: Window, path: str | None = "") -> Iterable[Span]:
        """Yield the findings that begin in the part that the window owns."""


class ScanResult(msgspec.Struct, frozen=True, kw_only=True):
    """Findings of a text. `more` is true if there are more than those listed."""

    findings: tuple[Finding, ...] = ()
    more: bool = False


@cache
def get_scanners() -> dict[str, Scanner]:
    """Return all scanners by name. To add a scanner, add it here."""
    from trotline.scanners.injection import InjectionScanner  # noqa: PLC0415 - redaction does not need these
    from trotline.scanners.invisible import InvisibleScanner  # noqa: PLC0415 - the same
    from trotline.scanners.pii import PiiScanner  # noqa: PLC0415 - the same
    from trotline.scanners.secrets import get_builtin_scanner  # noqa: PLC0415 - the same

    scanners = (get_builtin_scanner(), PiiScanner(), InjectionScanner(), InvisibleScanner())
    return {scanner.name: scanner for scanner in scanners}


def scan(
    text: str | bytes | Iterable[bytes],
    key: bytes,
    scanners: Sequence[Scanner],
    *,
    path: str = "",
    limit: int = MAX_FINDINGS,
) -> ScanResult:
    """Scan a text, or a file that comes in chunks."""
    spans = list(islice(find_spans(text, scanners, path=path), limit + 1))
    findings = tuple(span.build_finding(key, path) for span in spans[:limit])
    return ScanResult(findings=findings, more=len(spans) > limit)


def find_spans(
    text: str | bytes | Iterable[bytes], scanners: Sequence[Scanner], *, path: str | None = ""
) -> Iterator[Span]:
    """Yield spans in order; those of one scanner do not overlap. With None as path, rules for any path apply."""
    pending: list[Span] = []
    for window in _list_windows(text):
        variants = decode_variants(window) if any(scanner.reads_decoded for scanner in scanners) else [window]
        found = [
            span
            for scanner in scanners
            for variant in (variants if scanner.reads_decoded else variants[:1])
            for span in scanner.find_spans(variant, path)
        ]
        complete_to = window.base + window.owned_to  # later windows begin at or after this
        groups = join_spans(pending + found)
        pending = [span for span in groups if span.end > complete_to]
        yield from (span for span in groups if span.end <= complete_to)
    yield from pending


def _list_windows(text: str | bytes | Iterable[bytes]) -> Iterable[Window]:
    if isinstance(text, bytes) and len(text) <= OWNED_BYTES:
        return [Window(text, 0, (0, len(text)))]
    return split_windows(split_chunks(text) if isinstance(text, str | bytes) else text)


def join_spans(spans: Iterable[Span]) -> list[Span]:
    """Join overlapping spans of the same scanner."""
    groups: list[Span] = []
    last: dict[str, int] = {}
    for span in sorted(spans, key=lambda span: span[:4]):  # by position, then kind
        at = last.get(span.scanner)
        if at is not None and span.start < groups[at].end:
            groups[at] = groups[at].join(span)
        else:
            last[span.scanner] = len(groups)
            groups.append(span)
    return groups
