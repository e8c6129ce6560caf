"""Redaction: replace every found value by `[redacted KIND DIGITS]`, wherever it occurs, and change nothing else.

The digits are from the HMAC of the value, so that two redacted texts show whether they held the same value. A marker
may make other text look like a finding, so the result is scanned again until nothing is found; redacting it once more
changes nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from trotline.domain.findings import SHOWN_DIGEST_DIGITS, Finding
from trotline.scanners.escapes import compile_terminal_sequence
from trotline.scanners.json_texts import (
    JoinedTexts,
    JsonPath,
    LeafKey,
    TextGroup,
    TextLeaf,
    TextLeaves,
    TextPart,
    encode_leaf,
    is_secret_name,
)
from trotline.scanners.pii import PII, PiiScanner
from trotline.scanners.scan import Scanner, find_spans, join_spans
from trotline.scanners.secrets import get_builtin_scanner
from trotline.scanners.spans import Span, Window, compute_digest

MAX_ROUNDS = 8
"""After this many scans a text that still changes is replaced as a whole; real texts need at most two."""

WHOLE_TEXT = "text"
MARKER = re.compile(rb"\[redacted ([a-z0-9\-]{1,60}) [0-9a-f]{8}\]")
MAX_PLAIN_WORD = 16
"""A single word of up to this length is scanned only if its name is suspicious; the shortest token is longer."""

MIN_SPREAD, MIN_SPREAD_WORD = 8, 16
"""Length from which a value is replaced everywhere, with and without digits. A shorter value is replaced only where it
was found: a password `scp` must not remove every `scp` from the audit log."""

KEY_LINE = re.compile(rb"[A-Za-z0-9+/=]{24,}")
LINE_END = re.compile(rb"\\+[rn]")
"""Lines of a multi-line value that are replaced everywhere, because another text may hold only some of them."""


class RedactionMatch(NamedTuple):
    """A span and the parts of it in single texts."""

    span: Span
    parts: tuple[tuple[Span, TextLeaf], ...]

    @property
    def path(self) -> JsonPath:
        """The path of the first part."""
        return self.parts[0][1].path


@cache
def get_redaction_scanners() -> tuple[Scanner, ...]:
    """Return the scanners whose findings are redacted by default."""
    return (get_builtin_scanner(), PiiScanner())


def redact(text: str, key: bytes, scanners: Sequence[Scanner] | None = None) -> tuple[str, list[Finding]]:
    """Return the text without secrets and personal data, and the findings."""
    data = text.encode("utf-8", "surrogatepass")
    texts, findings = _redact_leaves([TextLeaf(data)], (), key, scanners or get_redaction_scanners())
    return (_decode(texts[data, False]), findings) if findings else (text, [])


def redact_tree(value: Any, key: bytes, scanners: Sequence[Scanner] | None = None) -> tuple[Any, list[Finding]]:
    """Redact the keys and texts of a JSON value; a value found in one place is replaced in all."""
    scanners = scanners or get_redaction_scanners()
    tree = TextLeaves(value, multiline=scanners is not get_redaction_scanners())
    texts, findings = _redact_leaves(tree.leaves, tree.groups, key, scanners)
    return (_rebuild(value, texts), findings) if findings else (value, [])


def _redact_leaves(
    leaves: Sequence[TextLeaf], groups: Sequence[TextGroup], key: bytes, scanners: Sequence[Scanner]
) -> tuple[dict[LeafKey, bytes], list[Finding]]:
    """Return the redacted text of each leaf. Equal texts are redacted equally."""
    texts = {(leaf.text, leaf.is_key): leaf.text for leaf in leaves}
    kinds = {WHOLE_TEXT, *(kind for scanner in scanners for kind in scanner.kinds)}
    matches: list[RedactionMatch] = []
    for _ in range(MAX_ROUNDS):
        found = [
            RedactionMatch(span, ((span, leaf),))
            for leaf in leaves
            for span in _find_in_leaf(leaf._replace(text=texts[leaf.text, leaf.is_key]), scanners, kinds)
        ]
        search = _GroupSearch(found, scanners, kinds)
        found += [match for group in groups for match in search.find_matches(group, texts)]
        if not found:
            break
        matches += found
        replacer = _Replacer(found, key, kinds)
        texts = {leaf: replacer.replace(leaf, text) for leaf, text in texts.items()}
    else:
        texts = {
            leaf: text if leaf[0] == text else _build_marker(WHOLE_TEXT, leaf[0], key) for leaf, text in texts.items()
        }
    return texts, [match.span.build_finding(key, _build_pointer(match.path, texts)) for match in matches]


def _build_pointer(path: JsonPath, texts: dict[LeafKey, bytes]) -> str:
    """Return a JSON pointer with redacted keys."""
    steps = (_decode(texts[step, True]) if isinstance(step, bytes) else str(step) for step in path)
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)


def _find_in_leaf(leaf: TextLeaf, scanners: Sequence[Scanner], kinds: set[str]) -> list[Span]:
    has_secret_name = is_secret_name(leaf.name)
    if scanners is get_redaction_scanners() and _is_plain_word(leaf.text) and not has_secret_name:
        return []  # most texts of a payload are names of fields and tools
    markers = _Markers(leaf.text, kinds)
    found = [*find_spans(leaf.text, scanners, path=None)]
    if has_secret_name:
        found = join_spans([*found, *_find_with_name(leaf, scanners)])
    return [span for span in found if not markers.cover_edge(span.start, span.end)]


class _GroupSearch:
    """Finds values that only the joined texts of a group show."""

    def __init__(self, matches: Iterable[RedactionMatch], scanners: Sequence[Scanner], kinds: set[str]) -> None:
        self.scanners = scanners
        self.kinds = kinds
        self.spans_by_leaf: dict[LeafKey, list[Span]] = {}
        for span, leaf in (part for match in matches for part in match.parts):
            self.spans_by_leaf.setdefault(leaf.key, []).append(span)

    def find_matches(self, group: TextGroup, texts: Mapping[LeafKey, bytes]) -> Iterator[RedactionMatch]:
        whole = JoinedTexts(group, [texts[leaf.key] for leaf in group.leaves])
        markers = _Markers(whole.data, self.kinds)
        for span in join_spans(find_spans(whole.data, self.scanners, path=None)):
            parts = tuple(whole.split_range(span.start, span.end))
            if not all(map(self._is_already_found, parts)) and not markers.cover_edge(span.start, span.end):
                narrowed = tuple((_narrow_span(span, part), part.leaf) for part in parts)
                yield RedactionMatch(span._replace(place=narrowed[0][0].place), narrowed)

    def _is_already_found(self, part: TextPart) -> bool:
        spans = self.spans_by_leaf.get(part.leaf.key, ())
        return any(span.start < part.end and part.start < span.end for span in spans)


def _narrow_span(span: Span, part: TextPart) -> Span:
    start, end, text = part.start, part.end, part.text
    place = Window(text, 0, (0, len(text))).build_extent(start, end)
    return span._replace(start=start, end=end, value=text[start:end], place=place)


def _is_plain_word(text: bytes) -> bool:
    return len(text) <= MAX_PLAIN_WORD and text.replace(b"_", b"").isalpha()


class _Markers:
    """The redaction markers in a text."""

    def __init__(self, text: bytes, kinds: set[str]) -> None:
        spans = [match.span() for match in MARKER.finditer(text) if match[1].decode() in kinds]
        self.starts = [start for start, _ in spans]
        self.ends = [end for _, end in spans]

    def cover_edge(self, start: int, end: int) -> bool:
        """Return whether a marker covers the beginning or the end of this range.

        A marker in the middle does not count: a password that contains a forged marker is still a password.
        """
        index = bisect_right(self.ends, start)  # the first marker that ends after the start
        if index == len(self.starts) or self.starts[index] >= end:
            return False
        last = bisect_left(self.starts, end) - 1  # the last marker that begins before the end
        return self.starts[index] <= start or self.ends[last] >= end


def _find_with_name(leaf: TextLeaf, scanners: Sequence[Scanner]) -> Iterator[Span]:
    """Yield the findings in a text that is scanned together with its name."""
    prefix = leaf.name + b": "
    window = Window(leaf.text, 0, (0, len(leaf.text)))
    for span in find_spans(prefix + leaf.text, scanners):
        start, end = span.start - len(prefix), span.end - len(prefix)
        if start >= 0:
            yield span._replace(start=start, end=end, place=window.build_extent(start, end))


def _build_marker(kind: str, value: bytes, key: bytes) -> bytes:
    return f"[redacted {kind} {compute_digest(value, key)[:SHOWN_DIGEST_DIGITS]}]".encode()


class _Replacer:
    """Replaces values by markers: each where it was found, and long ones everywhere."""

    def __init__(self, matches: Iterable[RedactionMatch], key: bytes, kinds: set[str]) -> None:
        from ahocorasick_rs import BytesAhoCorasick  # noqa: PLC0415 - a text without findings does not need it

        self.key = key
        self.kinds = kinds
        self.spans_by_leaf: dict[LeafKey, list[Span]] = {}
        by_value: dict[bytes, Span] = {}
        for match in sorted(matches, key=lambda match: -match.span.rank):  # the lowest rank names the value
            for span, leaf in match.parts:
                self.spans_by_leaf.setdefault(leaf.key, []).append(span._replace(scanner=""))
            by_value |= dict.fromkeys(_list_spread_values(match.span), match.span)
        self.spans = list(by_value.values())
        self.automaton = BytesAhoCorasick(list(by_value))

    def replace(self, leaf: LeafKey, text: bytes) -> bytes:
        pieces, at = [], 0
        for span in join_spans([*self.spans_by_leaf.get(leaf, ()), *self._find_occurrences(text)]):
            pieces += [text[at : span.start], _build_marker(span.kind, span.value, self.key)]
            at = span.end
        return b"".join([*pieces, text[at:]])

    def _find_occurrences(self, text: bytes) -> Iterator[Span]:
        markers = _Markers(text, self.kinds)
        for index, start, end in self.automaton.find_matches_as_indexes(text, overlapping=True):
            if not markers.cover_edge(start, end):
                yield self.spans[index]._replace(start=start, end=end, scanner="")


def _list_spread_values(span: Span) -> Iterator[bytes]:
    """Yield the values that are replaced everywhere: the value, also without terminal sequences, and its lines."""
    value = span.value
    bare = compile_terminal_sequence().sub(b"", value) if b"\x1b" in value else value
    lines = LINE_END.sub(b"\n", bare)
    if b"\n" in lines:
        yield from KEY_LINE.findall(lines)
    has_digits = any(48 <= char <= 57 for char in bare) and bare.lower() != bare.upper()
    if len(bare) >= (MIN_SPREAD if has_digits or span.scanner == PII else MIN_SPREAD_WORD):
        yield from {value, bare}


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _rebuild(value: Any, texts: dict[LeafKey, bytes]) -> Any:
    """Return the same structure with redacted texts; a redacted number becomes a string."""
    root: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any]] = [(value, root, 0)]
    while waiting:
        node, target, at = waiting.pop()
        if isinstance(node, dict):
            copied: dict[Any, Any] = {}
            target[at] = copied
            for key, child in node.items():
                name = _make_unique(_replace_leaf(key, texts, is_key=True), copied)
                copied[name] = None  # keeps the order of keys
                waiting.append((child, copied, name))
        elif isinstance(node, list | tuple):
            target[at] = items = [None] * len(node)
            waiting += [(child, items, index) for index, child in enumerate(node)]
        else:
            target[at] = _replace_leaf(node, texts)
    return root[0]


def _replace_leaf(node: Any, texts: dict[LeafKey, bytes], *, is_key: bool = False) -> Any:
    text = encode_leaf(node)
    return node if text is None or texts[text, is_key] == text else _decode(texts[text, is_key])


def _make_unique(name: Any, existing: dict[Any, Any]) -> Any:
    while name in existing:
        name = f"{name}'"
    return name
