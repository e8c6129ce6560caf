"""Scan the texts of an event: effects that guards evaluate, findings for the record, and values to redact.

Effects and findings never contain a found value. The values exist only while an answer is built, to remove them from
texts that quote the action.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from trotline.domain.effects import Certainty, Effect
from trotline.domain.errors import TrotlineError
from trotline.domain.event_texts import ARGUMENTS, COMMAND, NAME, OUTPUT, PROMPT, READ, RESPONSE, WRITE, EventText
from trotline.domain.findings import Finding
from trotline.formats.lazy_regex import lazy_regex

if TYPE_CHECKING:
    from trotline.scanners.scan import Scanner
    from trotline.scanners.spans import Span

KIND = "content"
SECRETS, PERSONAL, INJECTION, INVISIBLE = "secrets", "pii", "injection", "invisible"

SCANNERS: dict[str, tuple[str, ...]] = {
    ARGUMENTS: (SECRETS, PERSONAL, INJECTION, INVISIBLE),
    COMMAND: (SECRETS, INVISIBLE),
    NAME: (INVISIBLE,),
    OUTPUT: (SECRETS, PERSONAL, INJECTION, INVISIBLE),
    PROMPT: (SECRETS, PERSONAL, INJECTION, INVISIBLE),
    READ: (SECRETS, PERSONAL, INJECTION, INVISIBLE),
    RESPONSE: (SECRETS, PERSONAL, INVISIBLE),
    WRITE: (SECRETS, PERSONAL, INVISIBLE),
}
"""The scanners for each kind of text."""

REDACTED_SCANNERS = frozenset({SECRETS, PERSONAL})
"""Scanners whose findings are removed from texts."""

MAX_FINDINGS_PER_KIND = 100
"""Findings of one kind in one text. More are counted as many; other kinds are still found."""

QUOTED_FIELDS = ("path", "host", "target", "package", "source", "why")
"""The texts of an effect, which guards quote."""

MAX_HARMLESS_DIGITS = 6
"""A text with at most this many digits holds no card, account or telephone number."""


class FilePieces:
    """The content of a file on disk, up to a limit. After reading, `is_cut` says whether the file was longer."""

    def __init__(self, pieces: Iterator[bytes], max_bytes: int) -> None:
        self.is_cut = False
        self._pieces = pieces
        self._remaining = max_bytes

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._pieces:
            if self._remaining <= 0:
                self.is_cut = True
                return
            self._remaining -= len(piece)
            yield piece


class Scanning(NamedTuple):
    """The parts of the machine that scanning needs, each loaded on first use."""

    key: Callable[[], bytes]
    scanners: Callable[[], "dict[str, Scanner]"]
    file: Callable[[str], FilePieces | None]
    has_own_rules: bool = False  # a person or the machine adds rules to the built-in ones


class TextFindings(NamedTuple):
    """The result of a scan. `values` are the found secrets and personal data, longest first."""

    effects: tuple[Effect, ...] = ()
    findings: tuple[Finding, ...] = ()
    values: tuple[str, ...] = ()

    def mask(self, text: str) -> str:
        """Replace found values by asterisks of the same length."""
        for value in self.values:
            text = text.replace(value, "*" * len(value))
        return text

    def mask_effect(self, effect: Effect) -> Effect:
        """Mask found values in an effect; a value may be part of a path."""
        return replace_texts(effect, self.mask) if self.values else effect


NO_FINDINGS = TextFindings()


class ScannedSpan(NamedTuple):
    """A span of a text. Without a span: the rest of the text was not scanned."""

    source: str
    path: str
    span: "Span | None"


def scan_texts(texts: Sequence[EventText], files: Sequence[str], scanning: Scanning) -> TextFindings:
    """Scan texts, and files that the agent wants to read."""
    results = [
        finding for text in texts if _is_worth_scanning(text, scanning) for finding in _scan_text(text, scanning)
    ]
    results += [finding for path in files for finding in _scan_file(path, scanning)]
    if not results:
        return NO_FINDINGS
    key = scanning.key() if any(finding.span for finding in results) else b""
    spans = [finding.span for finding in results if finding.span]
    values = {span.value for span in spans if span.scanner in REDACTED_SCANNERS}
    return TextFindings(
        tuple(_build_effects(results)),
        tuple(finding.span.build_finding(key, finding.path or finding.source) for finding in results if finding.span),
        tuple(sorted({part for value in values for part in _split_value(value)}, key=len, reverse=True)),
    )


def scan_command(command: str, scanning: Scanning) -> TextFindings:
    """Scan a command line."""
    return scan_texts([EventText(COMMAND, command)], (), scanning)


def _split_value(value: bytes) -> Iterator[str]:
    """Yield a value and its long parts: an analysis may have changed it, as `a//b` to `a/b` in a path."""
    text = value.decode("utf-8", "replace")
    yield text
    yield from LONG_RUN.findall(text)


def _scan_text(text: EventText, scanning: Scanning) -> Iterator[ScannedSpan]:
    known = {span.value for span in _find_spans(text.before, text.source, text.path, scanning)} if text.before else ()
    spans = (span for span in _find_spans(text.text, text.source, text.path, scanning) if span.value not in known)
    yield from (ScannedSpan(text.source, text.path, span) for span in _limit_each_kind(spans))


def _scan_file(path: str, scanning: Scanning) -> Iterator[ScannedSpan]:
    file = scanning.file(path)
    if file is None:
        return
    spans = _find_spans(file, READ, path, scanning)
    yield from (ScannedSpan(READ, path, span) for span in _limit_each_kind(spans))
    if file.is_cut:
        yield ScannedSpan(READ, path, None)


def _limit_each_kind(spans: "Iterable[Span]") -> "Iterator[Span]":
    """Yield the first spans of each kind. All are read: many harmless ones must not hide what follows them."""
    seen: Counter[tuple[object, ...]] = Counter()
    for span in spans:
        kind = _get_kind(span)
        seen[kind] += 1
        if seen[kind] <= MAX_FINDINGS_PER_KIND:
            yield span


def _get_kind(span: "Span") -> tuple[object, ...]:
    return span.scanner, span.kind, span.certainty


def _find_spans(text: str | Iterable[bytes], source: str, path: str, scanning: Scanning) -> "Iterator[Span]":
    from trotline.scanners.scan import find_spans  # noqa: PLC0415 - most commands need no scan

    available = scanning.scanners()
    scanners = [available[name] for name in SCANNERS[source] if name in available]
    path = path if path.isascii() else path.encode("utf-8", "replace").decode()  # half a surrogate pair is no UTF-8
    return find_spans(text, scanners, path=path)


def _build_effects(findings: Sequence[ScannedSpan]) -> Iterator[Effect]:
    """Yield one effect for each kind in each text."""
    groups: dict[tuple[object, ...], list[ScannedSpan]] = {}
    for finding in findings:
        kind = _get_kind(finding.span) if finding.span else ()
        groups.setdefault((finding.source, finding.path, *kind), []).append(finding)
    for first, *others in groups.values():
        yield _build_effect(first, len(others))


def _build_effect(finding: ScannedSpan, other_count: int) -> Effect:
    span = finding.span
    if span is None:
        why = "only the beginning was looked at"
        return Effect(
            kind=KIND, verb="rest", source=finding.source, path=finding.path, certainty=Certainty.OPAQUE, why=why
        )
    in_line = finding.source == COMMAND and span.place.line == span.place.line_to == 1
    count = str(other_count) if other_count < MAX_FINDINGS_PER_KIND - 1 else "many"
    return Effect(
        kind=KIND,
        verb=span.scanner,
        source=finding.source,
        path=finding.path,
        target=span.kind,
        certainty=span.certainty,
        column_from=span.place.column_from - 1 if in_line else 0,
        column_to=span.place.column_to - 1 if in_line else 0,
        why=f"line {span.place.line}" + (f", and {count} more" if other_count else ""),
    )


# Which texts are scanned at all: loading the scanners would double the duration of a cold call

LONG_RUN = lazy_regex(r"[0-9A-Za-z_+=~\-]{16,}")
SECRET_WORDS = ("pass", "pwd", "secret", "token", "key", "auth", "credential", "bearer", "basic")
SECRET_PLACES = ("hooks.", ":5432:", ":5433:", ":6432:", "\x1b", "identified", "redis-cli")
SECRET_PAIRS = (
    ("://", "@"),
    ("curl", "-u"),
    ("curl", "--user"),
    ("mysql", " -p"),
    ("mariadb", " -p"),
    ("login", " -p"),
)


def _is_worth_scanning(text: EventText, scanning: Scanning) -> bool:
    """Return whether a text can hold anything; the same for warm and cold calls."""
    if text.source == NAME:
        return not text.text.isascii()
    return text.source != COMMAND or scanning.has_own_rules or may_hold_secret(text.text)


def may_hold_secret(command: str) -> bool:
    """Return whether a command has a long run that is not a word, a word such as `token`, or an address with a user."""
    if not command.isascii() or any(first in command and second in command for first, second in SECRET_PAIRS):
        return True
    lowered = command.lower()
    return any(word in lowered for word in (*SECRET_WORDS, *SECRET_PLACES)) or any(
        map(_looks_random, LONG_RUN.findall(command))
    )


def _looks_random(run: str) -> bool:
    """Return whether a run has digits beside letters, or letters of both cases."""
    letters = run.upper() != run.lower()
    return letters and (any(char.isdigit() for char in run) or (run != run.lower() and run != run.upper()))


# Removing values from texts that quote the action


def replace_texts(effect: Effect, change: Callable[[str], str]) -> Effect:
    """Change the quoted texts of an effect."""
    texts = {name: getattr(effect, name) for name in QUOTED_FIELDS}
    changed = {name: change(text) for name, text in texts.items()}
    return effect if changed == texts else msgspec.structs.replace(effect, **changed)


def redact_quote(text: str, findings: TextFindings, scanning: Scanning) -> str:
    """Remove found values, and secrets and personal data that only this text contains.

    A value that the command line contains in pieces or encoded is whole only here, and file names were not scanned.
    """
    text = findings.mask(text)
    has_many_digits = sum(map(str.isdigit, text)) > MAX_HARMLESS_DIGITS
    is_suspicious = scanning.has_own_rules or has_many_digits or "@" in text or may_hold_secret(text)
    return _redact(text, scanning) if text and is_suspicious else text


def _redact(text: str, scanning: Scanning) -> str:
    from trotline.scanners.redaction import redact  # noqa: PLC0415 - few actions quote anything

    available = scanning.scanners()
    try:
        key = scanning.key()
    except TrotlineError:
        key = os.urandom(16)  # the digests of a sent text are never compared
    scanners = [available[name] for name in sorted(REDACTED_SCANNERS) if name in available]
    whole: str = redact(text, key, scanners)[0]
    return "/".join(redact(name, key, scanners)[0] for name in whole.split("/"))  # a mail address may name a file
