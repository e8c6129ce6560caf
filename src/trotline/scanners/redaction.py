"""Redaction: every found value becomes `[redacted KIND DIGITS]`, wherever it stands, and nothing else changes.

The digits are of the HMAC of the value, so that two redacted texts can be seen to have held the same one. What was put
in may make something else look like a finding, so the result is scanned until nothing is found: then it is settled, and
redacting it again changes nothing.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from trotline.findings import SHORT, Finding
from trotline.scanners.escapes import silent
from trotline.scanners.finding import Span, digest_of
from trotline.scanners.leaves import Leaf, Leaves, Part, Path, Place, Together, Whole, tells, text_of
from trotline.scanners.pii import NAME as PERSONAL
from trotline.scanners.pii import Pii
from trotline.scanners.scan import Scanner, joined, spans_of
from trotline.scanners.secrets import own_secrets
from trotline.scanners.windows import Window

ROUNDS = 8
"""After which a text that is not settled yet is taken out whole; no text of the real world needs more than two."""

WHOLE = "text"
MARKER = re.compile(rb"\[redacted ([a-z0-9\-]{1,60}) [0-9a-f]{8}\]")
WORD = 16
"""A single word up to this long is no value, unless its key says so; the shortest token is longer."""

SPREAD, SPREAD_WORD = 8, 16
"""Letters from which on a value is taken out wherever it stands, and those of one without figures. A shorter one goes
where it was found: whoever calls a password `scp` must not take every `scp` out of what is remembered of them."""

RUN = re.compile(rb"[A-Za-z0-9+/=]{24,}")
LINE_END = re.compile(rb"\\+[rn]")
"""What is taken out everywhere of a value of many lines, where somebody else has only some of them."""


class Found(NamedTuple):
    """A span, and what of it is to be taken out of which texts."""

    span: Span
    parts: tuple[tuple[Span, Leaf], ...]

    @property
    def path(self) -> Path:
        return self.parts[0][1].path


@cache
def redacting() -> tuple[Scanner, ...]:
    """The scanners whose findings are values that must not stay."""
    return (own_secrets(), Pii())


def redacted(text: str, key: bytes, scanners: Sequence[Scanner] | None = None) -> tuple[str, list[Finding]]:
    """The text without its secrets and personal data, and what was found."""
    data = text.encode("utf-8", "surrogatepass")
    settled, findings = _settled([Leaf(data)], (), key, scanners or redacting())
    return (_decoded(settled[data, False]), findings) if findings else (text, [])


def redacted_tree(value: Any, key: bytes, scanners: Sequence[Scanner] | None = None) -> tuple[Any, list[Finding]]:
    """A JSON value without them, in keys and in texts; what is found in one place is taken out of all."""
    scanners = scanners or redacting()
    leaves = Leaves(value, any_lines=scanners is not redacting())
    settled, findings = _settled(leaves.all, leaves.together, key, scanners)
    return (_rebuilt(value, settled), findings) if findings else (value, [])


def _settled(
    leaves: Sequence[Leaf], together: Sequence[Together], key: bytes, scanners: Sequence[Scanner]
) -> tuple[dict[Place, bytes], list[Finding]]:
    """Every text with what it becomes. The same text becomes the same everywhere."""
    settled = {leaf.place: leaf.text for leaf in leaves}
    kinds = {WHOLE, *(kind for scanner in scanners for kind in scanner.kinds)}
    everything: list[Found] = []
    for _ in range(ROUNDS):
        found = [
            Found(span, ((span, leaf),))
            for leaf in leaves
            for span in _spans(leaf._replace(text=settled[leaf.place]), scanners, kinds)
        ]
        across = _Across(found, scanners, kinds)
        found += [one for group in together for one in across.found(group, settled)]
        if not found:
            break
        everything += found
        out = _Taking(found, key, kinds)
        settled = {place: out.taken(place, now) for place, now in settled.items()}
    else:
        settled = {place: now if place[0] == now else _marker(WHOLE, place[0], key) for place, now in settled.items()}
    return settled, [one.span.finding(key, _pointer(one.path, settled)) for one in everything]


def _pointer(path: Path, settled: dict[Place, bytes]) -> str:
    """A JSON pointer in which keys are redacted as well."""
    steps = (_decoded(settled[step, True]) if isinstance(step, bytes) else str(step) for step in path)
    return "".join(f"/{step.replace('~', '~0').replace('/', '~1')}" for step in steps)


def _spans(leaf: Leaf, scanners: Sequence[Scanner], kinds: set[str]) -> list[Span]:
    if scanners is redacting() and _is_a_word(leaf.text) and not tells(leaf.name):
        return []  # most texts of a payload are names of fields and tools
    marks = _Marks(leaf.text, kinds)
    found = joined([*spans_of(leaf.text, scanners, path=None), *_spans_by_name(leaf, scanners)])
    return [span for span in found if not marks.cut(span.start, span.end)]


class _Across:
    """Finds what is found only because of the texts before and after it, beside what each holds by itself."""

    def __init__(self, alone: Iterable[Found], scanners: Sequence[Scanner], kinds: set[str]) -> None:
        self.scanners = scanners
        self.kinds = kinds
        self.known: dict[Place, list[Span]] = {}
        for span, leaf in (part for one in alone for part in one.parts):
            self.known.setdefault(leaf.place, []).append(span)

    def found(self, group: Together, settled: Mapping[Place, bytes]) -> Iterator[Found]:
        whole = Whole(group, [settled[leaf.place] for leaf in group.leaves])
        marks = _Marks(whole.data, self.kinds)
        for span in joined(spans_of(whole.data, self.scanners, path=None)):
            parts = tuple(whole.parts(span.start, span.end))
            if not all(map(self._is_known, parts)) and not marks.cut(span.start, span.end):
                taken = tuple((_of_part(span, part), part.leaf) for part in parts)
                yield Found(span._replace(place=taken[0][0].place), taken)

    def _is_known(self, part: Part) -> bool:
        spans = self.known.get(part.leaf.place, ())
        return any(span.start < part.end and part.start < span.end for span in spans)


def _of_part(span: Span, part: Part) -> Span:
    start, end, text = part.start, part.end, part.text
    place = Window(text, 0, (0, len(text))).extent(start, end)
    return span._replace(start=start, end=end, value=text[start:end], place=place)


def _is_a_word(text: bytes) -> bool:
    return len(text) <= WORD and text.replace(b"_", b"").isalpha()


class _Marks:
    """Where values were taken out already."""

    def __init__(self, text: bytes, kinds: set[str]) -> None:
        spans = [match.span() for match in MARKER.finditer(text) if match[1].decode() in kinds]
        self.starts = [start for start, _ in spans]
        self.ends = [end for _, end in spans]

    def cut(self, start: int, end: int) -> bool:
        """Whether one of them is all of this, or reaches into it. One in the middle of a value may be anybody's:
        whoever writes a marker into a password has not taken it out."""
        index = bisect_right(self.ends, start)  # the first that ends after it begins
        if index == len(self.starts) or self.starts[index] >= end:
            return False
        last = bisect_left(self.starts, end) - 1  # the last that begins before it ends
        return self.starts[index] <= start or self.ends[last] >= end


def _spans_by_name(leaf: Leaf, scanners: Sequence[Scanner]) -> Iterator[Span]:
    """What is found only because of the key."""
    if not tells(leaf.name):
        return
    prefix = leaf.name + b": "
    window = Window(leaf.text, 0, (0, len(leaf.text)))
    for span in spans_of(prefix + leaf.text, scanners):
        start, end = span.start - len(prefix), span.end - len(prefix)
        if start >= 0:
            yield span._replace(start=start, end=end, place=window.extent(start, end))


def _marker(kind: str, value: bytes, key: bytes) -> bytes:
    return f"[redacted {kind} {digest_of(value, key)[:SHORT]}]".encode()


class _Taking:
    """Takes found values out of texts: each where it was found, and those that nobody writes by chance everywhere."""

    def __init__(self, found: Iterable[Found], key: bytes, kinds: set[str]) -> None:
        from ahocorasick_rs import BytesAhoCorasick  # noqa: PLC0415 - a text without findings does not need it

        self.key = key
        self.kinds = kinds
        self.here: dict[Place, list[Span]] = {}
        named: dict[bytes, Span] = {}
        for one in sorted(found, key=lambda one: -one.span.rank):  # the best name stays
            for span, leaf in one.parts:
                self.here.setdefault(leaf.place, []).append(span._replace(scanner=""))
            named |= dict.fromkeys(_spread(one.span), one.span)
        self.spans = list(named.values())
        self.automaton = BytesAhoCorasick(list(named))

    def taken(self, place: Place, text: bytes) -> bytes:
        pieces, at = [], 0
        for span in joined([*self.here.get(place, ()), *self._occurrences(text)]):
            pieces += [text[at : span.start], _marker(span.kind, span.value, self.key)]
            at = span.end
        return b"".join([*pieces, text[at:]])

    def _occurrences(self, text: bytes) -> Iterator[Span]:
        marks = _Marks(text, self.kinds)
        for index, start, end in self.automaton.find_matches_as_indexes(text, overlapping=True):
            if not marks.cut(start, end):
                yield self.spans[index]._replace(start=start, end=end, scanner="")


def _spread(span: Span) -> Iterator[bytes]:
    """What is taken out wherever it stands: the value, without what a terminal was told as well, and its lines."""
    value = span.value
    bare = silent().sub(b"", value) if b"\x1b" in value else value
    lines = LINE_END.sub(b"\n", bare)
    if b"\n" in lines:
        yield from RUN.findall(lines)
    has_figures = any(48 <= char <= 57 for char in bare) and bare.lower() != bare.upper()
    if len(bare) >= (SPREAD if has_figures or span.scanner == PERSONAL else SPREAD_WORD):
        yield from {value, bare}


def _decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogatepass")


def _rebuilt(value: Any, settled: dict[Place, bytes]) -> Any:
    """The same structure with other texts; a number that had to go is a text from then on."""
    top: list[Any] = [None]
    waiting: list[tuple[Any, Any, Any]] = [(value, top, 0)]
    while waiting:
        node, target, at = waiting.pop()
        if isinstance(node, dict):
            made: dict[Any, Any] = {}
            target[at] = made
            for key, child in node.items():
                name = _free(_replaced(key, settled, is_key=True), made)
                made[name] = None  # the order of keys is kept
                waiting.append((child, made, name))
        elif isinstance(node, list | tuple):
            target[at] = listed = [None] * len(node)
            waiting += [(child, listed, index) for index, child in enumerate(node)]
        else:
            target[at] = _replaced(node, settled)
    return top[0]


def _replaced(node: Any, settled: dict[Place, bytes], *, is_key: bool = False) -> Any:
    text = text_of(node)
    return node if text is None or settled[text, is_key] == text else _decoded(settled[text, is_key])


def _free(name: Any, taken: dict[Any, Any]) -> Any:
    """Two keys must not become one."""
    while name in taken:
        name = f"{name}'"
    return name
