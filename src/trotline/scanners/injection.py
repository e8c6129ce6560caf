"""Markers of prompt injection: ideas with weights, looked for in every reading of a text.

A marker is a reason to look, not a proof: nothing here is certain. An idea that is only talked about, in quotation
marks and with the words of people who talk about it, is no marker. Ideas that stand close together add up.
"""

import re
from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from math import fsum
from typing import Any, NamedTuple

from trotline.effects import Certainty
from trotline.scanners.finding import Span
from trotline.scanners.ideas import IDEAS, KINDS, TALK, Idea
from trotline.scanners.keywords import Keywords, Reach, Stretch
from trotline.scanners.readings import readings
from trotline.scanners.rules import compiled
from trotline.scanners.windows import Window

NAME = "injection"

ENOUGH = 1.0
CLOSE = 600
"""Bytes within which ideas add up."""

REACH = Reach(192, 192)
"""Letters around a keyword in which its idea must stand."""


QUOTES = {
    b"'": b"'",
    b'"': b'"',
    b"`": b"`",
    b"\xe2\x80\x9c": b"\xe2\x80\x9d",
    b"\xe2\x80\x98": b"\xe2\x80\x99",
    b"\xc2\xab": b"\xc2\xbb",
}
NEAR, FAR = 80, 300
"""How far away a quotation mark may be, and the words of somebody who only talks about it."""


CODE = re.compile(rb"[{};|\"]|\w\(|'[,\]):]|\)\.|\\n")
"""What stands between the words of a program and not between those of a sentence."""


class Found(NamedTuple):
    start: int
    end: int
    idea: Idea


class Injection:
    reads_meaning = False  # it has readings of its own
    name = NAME

    def __init__(self) -> None:
        self.kinds = KINDS

    @cached_property
    def _keywords(self) -> Keywords[Idea]:
        return Keywords((idea, map(_squashed, idea.words), REACH) for idea in IDEAS if idea.squashed)

    @cached_property
    def _raw_keywords(self) -> Keywords[Idea]:
        return Keywords((idea, [word.encode() for word in idea.words], REACH) for idea in IDEAS if idea.raw)

    @cached_property
    def _patterns(self) -> dict[Idea, Any]:
        return {idea: compiled(_squashed(idea.squashed).decode() if idea.squashed else idea.raw) for idea in IDEAS}

    def spans(self, window: Window, path: str | None = "") -> Iterator[Span]:  # noqa: ARG002 - every scanner is told
        found = sorted(set(self._raw(window)) | set(self._read(window)))
        for (start, end, idea), weight in zip(found, weights(found), strict=True):
            if window.owns(start) and weight >= ENOUGH:
                rank = list(KINDS).index(idea.kind)
                yield window.span(start, end, idea.kind, NAME, Certainty.GUESSED, rank=rank)

    def _raw(self, window: Window) -> Iterator[Found]:
        for start, end, idea in self._matches(window.data, self._raw_keywords.stretches(window.data.lower())):
            if not _only_talk(window.data, start, end):
                yield Found(start, end, idea)

    def _read(self, window: Window) -> Iterator[Found]:
        for reading in readings(window.data):
            stretches = self._keywords.stretches(reading.squashed)
            for start, end, idea in self._matches(reading.squashed, stretches):
                place = reading.place(start, end)
                code = not reading.encoded and CODE.search(window.data, *place)
                if not code and not _only_talk(window.data, *place):
                    yield Found(*place, idea)

    def _matches(self, data: bytes, stretches: dict[Idea, list[Stretch]]) -> Iterator[Found]:
        for idea, parts in stretches.items():
            for part in parts:
                for match in self._patterns[idea].finditer(data, *part):
                    yield Found(match.start(), match.end(), idea)


def _squashed(pattern: str) -> bytes:
    """In the letters of a squashed text, in which `l` and `i` are one."""
    return pattern.replace("l", "i").encode()


def weights(found: list[Found]) -> Iterator[float]:
    """Of everything that stands close to each; an idea counts once. However many stand together, each is met twice."""
    near: Counter[Idea] = Counter()
    first = last = 0
    for here in found:
        while last < len(found) and found[last].start - here.start <= CLOSE:
            near[found[last].idea] += 1
            last += 1
        while here.start - found[first].start > CLOSE:
            near[found[first].idea] -= 1
            first += 1
        yield fsum(idea.weight for idea, count in near.items() if count)


def _only_talk(data: bytes, start: int, end: int) -> bool:
    """Whether the words stand in quotation marks, and people talk about them."""
    before, behind = data[max(0, start - NEAR) : start], data[end : end + NEAR]
    quoted = any(_opened(before, opening) and closing in behind.split(b"\n")[0] for opening, closing in QUOTES.items())
    around = data[max(0, start - FAR) : end + FAR].lower()
    return quoted and any(word in around for word in TALK)


def _opened(before: bytes, mark: bytes) -> bool:
    """Whether a quotation begins on this line: a mark that does not stand behind a letter, as an apostrophe does."""
    at = before.rfind(mark)
    return at != -1 and b"\n" not in before[at:] and not before[at - 1 : at].isalnum()
