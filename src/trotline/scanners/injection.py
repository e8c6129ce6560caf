"""Find prompt injection: weighted phrases, searched in several variants of a text.

A phrase is a reason to look, not a proof, so every finding is a guess. A phrase in quotation marks, near words
of people who write about injection, is not a finding. Weights of phrases that are close together add up.

A variant is squashed: only lower-case letters, digits as the letters that they look like, `i` and `l` as one. So a
sentence is the same whether it is spaced out, written in leetspeak, in another script or as one word.
"""

import base64
import binascii
import html
import re
import tomllib
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache, cached_property, lru_cache
from itertools import product
from math import fsum
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote_to_bytes

from trotline.domain.effects import Certainty
from trotline.scanners.invisible import fold_character
from trotline.scanners.matching import KeywordIndex, KeywordRange, SearchRange, compile_re2
from trotline.scanners.spans import Span, Window

INJECTION = "injection"


class InjectionPhrase(NamedTuple):
    """A pattern for one intention of an attacker, from `injection.toml`. Each match contains one of `words`.

    `squashed` is matched against the squashed text, `raw` against the text itself.
    """

    kind: str
    weight: float
    words: tuple[str, ...]
    squashed: str
    raw: str


def _read_phrase(table: dict[str, Any]) -> InjectionPhrase:
    pairs = product(*map(str.split, table["pairs"])) if "pairs" in table else ()
    words = (*table.get("words", "").split(), *("".join(pair) for pair in pairs))
    squashed = "".join(table.get("squashed", "").split())
    return InjectionPhrase(table["kind"], table.get("weight", 1.0), words, squashed, table.get("raw", ""))


_DATA = tomllib.loads((Path(__file__).parent / "injection.toml").read_text("utf-8"))
KINDS: dict[str, str] = _DATA["kinds"]
PHRASES = tuple(_read_phrase(table) for table in _DATA["phrases"])
DISCUSSION_WORDS = tuple(word.strip().encode() for word in _DATA["discussion"].split(","))

MIN_WEIGHT = 1.0
MAX_DISTANCE = 600
"""Bytes within which the weights of phrases add up."""

KEYWORD_RANGE = KeywordRange(192, 192)

QUOTES = {
    b"'": b"'",
    b'"': b'"',
    b"`": b"`",
    b"\xe2\x80\x9c": b"\xe2\x80\x9d",
    b"\xe2\x80\x98": b"\xe2\x80\x99",
    b"\xc2\xab": b"\xc2\xbb",
}
MAX_QUOTE_DISTANCE, MAX_DISCUSSION_DISTANCE = 80, 300
"""Bytes between a phrase and its quotation mark, and between a phrase and the words of someone who discusses it."""

CODE = re.compile(rb"[{};|\"]|\w\(|'[,\]):]|\)\.|\\n")
"""Characters between the words of a program that do not occur between those of a sentence."""


class InjectionMatch(NamedTuple):
    """A phrase that was found."""

    start: int
    end: int
    phrase: InjectionPhrase


class InjectionScanner:
    """Finds phrases of prompt injection."""

    reads_decoded = False  # it decodes the text itself
    name = INJECTION

    def __init__(self) -> None:
        self.kinds = KINDS

    @cached_property
    def _keywords(self) -> KeywordIndex[InjectionPhrase]:
        return KeywordIndex(
            (phrase, map(_squash_pattern, phrase.words), KEYWORD_RANGE) for phrase in PHRASES if phrase.squashed
        )

    @cached_property
    def _raw_keywords(self) -> KeywordIndex[InjectionPhrase]:
        return KeywordIndex(
            (phrase, [word.encode() for word in phrase.words], KEYWORD_RANGE) for phrase in PHRASES if phrase.raw
        )

    @cached_property
    def _patterns(self) -> dict[InjectionPhrase, Any]:
        return {
            phrase: compile_re2(_squash_pattern(phrase.squashed).decode() if phrase.squashed else phrase.raw)
            for phrase in PHRASES
        }

    def find_spans(self, window: Window, path: str | None = "") -> Iterator[Span]:  # noqa: ARG002 - the scanner interface
        """Yield the findings that begin in the part that the window owns."""
        matches = sorted({*self._find_raw(window), *self._find_squashed(window)})
        for (start, end, phrase), weight in zip(matches, sum_weights(matches), strict=True):
            if window.owns(start) and weight >= MIN_WEIGHT:
                rank = list(KINDS).index(phrase.kind)
                yield window.build_span(start, end, phrase.kind, INJECTION, Certainty.GUESSED, rank=rank)

    def _find_raw(self, window: Window) -> Iterator[InjectionMatch]:
        ranges = self._raw_keywords.find_ranges(window.data.lower())
        for match in self._find_matches(window.data, ranges):
            if not _is_quoted_example(window.data, match.start, match.end):
                yield match

    def _find_squashed(self, window: Window) -> Iterator[InjectionMatch]:
        for variant in squash_variants(window.data):
            ranges = self._keywords.find_ranges(variant.squashed)
            for start, end, phrase in self._find_matches(variant.squashed, ranges):
                source = variant.get_source_range(start, end)
                is_code = not variant.is_encoded and CODE.search(window.data, *source)
                if not is_code and not _is_quoted_example(window.data, *source):
                    yield InjectionMatch(*source, phrase)

    def _find_matches(self, data: bytes, ranges: dict[InjectionPhrase, list[SearchRange]]) -> Iterator[InjectionMatch]:
        for phrase, parts in ranges.items():
            for part in parts:
                for match in self._patterns[phrase].finditer(data, *part):
                    yield InjectionMatch(match.start(), match.end(), phrase)


def _squash_pattern(pattern: str) -> bytes:
    """Write a pattern in the letters of squashed text, where `l` and `i` are one."""
    return pattern.replace("l", "i").encode()


def sum_weights(matches: list[InjectionMatch]) -> Iterator[float]:
    """Yield for each match the weight of all phrases close to it, each phrase once, in linear time."""
    near: Counter[InjectionPhrase] = Counter()
    first = last = 0
    for match in matches:
        while last < len(matches) and matches[last].start - match.start <= MAX_DISTANCE:
            near[matches[last].phrase] += 1
            last += 1
        while match.start - matches[first].start > MAX_DISTANCE:
            near[matches[first].phrase] -= 1
            first += 1
        yield fsum(phrase.weight for phrase, count in near.items() if count)


def _is_quoted_example(data: bytes, start: int, end: int) -> bool:
    """Return whether the phrase is in quotation marks and the text around it discusses injection."""
    before, after = data[max(0, start - MAX_QUOTE_DISTANCE) : start], data[end : end + MAX_QUOTE_DISTANCE]
    is_quoted = any(
        _opens_quote(before, opening) and closing in after.split(b"\n")[0] for opening, closing in QUOTES.items()
    )
    around = data[max(0, start - MAX_DISCUSSION_DISTANCE) : end + MAX_DISCUSSION_DISTANCE].lower()
    return is_quoted and any(word in around for word in DISCUSSION_WORDS)


def _opens_quote(before: bytes, mark: bytes) -> bool:
    """Return whether a quotation begins on this line; a mark after a letter is an apostrophe."""
    at = before.rfind(mark)
    return at != -1 and b"\n" not in before[at:] and not before[at - 1 : at].isalnum()


SQUASH_STEP = 512
LOWERCASE = b"abcdefghijklmnopqrstuvwxyz"
LOOKALIKES = (b"01345789$@l", b"oieastbgsai")


def _build_squash_table() -> tuple[bytes, bytes]:
    """Return the table that translates bytes to squashed letters, and the bytes that are dropped."""
    table = bytearray(range(256))
    for char in LOWERCASE:
        table[char - 32] = char
    for char, letter in zip(*LOOKALIKES, strict=True):
        table[char] = letter
    table[ord("L")] = ord("i")
    dropped = bytes(char for char in range(256) if table[char] not in LOWERCASE)
    return bytes(table), dropped


SQUASH_TABLE, DROPPED = _build_squash_table()
_UPPERCASE = LOWERCASE.upper()
ROT13 = bytes.maketrans(LOWERCASE + _UPPERCASE, LOWERCASE[13:] + LOWERCASE[:13] + _UPPERCASE[13:] + _UPPERCASE[:13])
FOLDABLE = r"[\x{C0}-\x{5FF}\x{13A0}-\x{13FF}\x{1E00}-\x{1FFF}\x{FF00}-\x{FF7F}\x{1D400}-\x{1D7FF}]+"
"""Letters that can be read as plain Latin ones: Latin, Greek, Cyrillic, Armenian, Cherokee, styled letters."""


class SquashedText:
    """A squashed text that maps offsets back to the original. Encoded text is reported as a whole."""

    def __init__(self, data: bytes, encoded_range: tuple[int, int] | None = None) -> None:
        self._data = data
        self._encoded_range = encoded_range
        self.is_encoded = encoded_range is not None
        self.squashed = data.translate(SQUASH_TABLE, DROPPED)

    def get_source_range(self, start: int, end: int) -> tuple[int, int]:
        """Return the range in the original for a range of the squashed text."""
        return self._encoded_range or (self._get_source_offset(start), self._get_source_offset(end - 1) + 1)

    @cached_property
    def _counts(self) -> list[int]:
        counts = [0]
        for at in range(0, len(self._data), SQUASH_STEP):
            counts.append(counts[-1] + len(self._data[at : at + SQUASH_STEP].translate(None, DROPPED)))
        return counts

    def _get_source_offset(self, index: int) -> int:
        step = bisect_right(self._counts, index) - 1
        remaining = index - self._counts[step]
        for at in range(step * SQUASH_STEP, len(self._data)):
            if self._data[at] not in DROPPED:
                if remaining == 0:
                    return at
                remaining -= 1
        return len(self._data)


class TextEncoding(NamedTuple):
    """An encoding that hides text. The pattern is only tried on data that contains `marker`."""

    marker: bytes
    pattern: str
    decode: Callable[[bytes], bytes]


def _decode_base64(part: bytes) -> bytes:
    body = part.rstrip(b"=")
    try:
        return base64.b64decode(
            body + b"=" * (-len(body) % 4), altchars=b"-_" if b"-" in part or b"_" in part else None
        )
    except (binascii.Error, ValueError):
        return b""


def _decode_escapes(part: bytes) -> bytes:
    return bytes.fromhex(part.replace(b"\\x", b"").replace(b"\\u00", b"").decode())


ENCODINGS: tuple[TextEncoding, ...] = (
    TextEncoding(b"", r"[A-Za-z0-9+/_\-]{32,}={0,2}", _decode_base64),
    TextEncoding(b"%20", r"[^\s%]{0,64}(?:%[0-9A-Fa-f]{2}[^\s%]{0,64}){3,}", unquote_to_bytes),
    TextEncoding(
        b"&#",
        r"(?:&#(?:x[0-9A-Fa-f]{1,6}|[0-9]{1,7});){8,}",
        lambda part: html.unescape(part.decode("latin-1")).encode("utf-8", "replace"),
    ),
    TextEncoding(b"\\", r"(?:\\(?:x|u00)[0-9a-fA-F]{2}){8,}", _decode_escapes),
)

PRINTABLE = bytes([*b"\n\r\t", *range(32, 127)])
MIN_PRINTABLE = 0.9
"""The share of decoded bytes that must be printable for them to count as text."""


def squash_variants(data: bytes) -> Iterator[SquashedText]:
    """Yield the squashed text, its ROT13, and each encoded text in it."""
    folded = _fold_text(data)
    yield SquashedText(folded)
    yield SquashedText(folded.translate(ROT13))
    for marker, pattern, decode in ENCODINGS:
        if marker not in data:
            continue
        for match in _compile_cached(pattern).finditer(data):
            text = decode(match.group())
            if b" " in text and len(text.translate(None, PRINTABLE)) <= (1 - MIN_PRINTABLE) * len(text):
                yield SquashedText(_fold_text(text), encoded_range=match.span())


_compile_cached = cache(compile_re2)


def _fold_text(data: bytes) -> bytes:
    """Replace letters by the Latin ones they look like, without changing offsets."""
    if data.isascii():
        return data
    pieces, at = [], 0
    for match in _compile_cached(FOLDABLE).finditer(data):
        pieces += [data[at : match.start()], _fold_word(match.group())]
        at = match.end()
    return b"".join([*pieces, data[at:]])


@lru_cache(maxsize=8192)
def _fold_word(word: bytes) -> bytes:
    return b"".join(fold_character(char).encode().ljust(len(char.encode()), b"\0") for char in word.decode())
