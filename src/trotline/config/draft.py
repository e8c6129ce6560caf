"""A text of JSON with comments, and the changes it is to undergo. Whatever is not named in a change stays, to the byte.

What is put in is laid out as what stands beside it. Comments belong to people: one after an entry stays on the entry's
line, one before an entry stays before it, and none goes but with the entry it stands in.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from trotline.config.jsonc import Document, Kind, Node
from trotline.config.jsonc_reader import MOST_FAULTS

SPACE = " \t\r\n"
TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
BLANKS = re.compile(r"[ \t]*+")
NEWLINE = re.compile(r"[\r\n]")
COMMENTS_ON_THE_LINE = re.compile(r"(?:[ \t]*+(?://[^\r\n]*+|/\*.*?\*/))*+", re.DOTALL)
ONLY_COMMENTS_BEFORE = re.compile(r"[ \t]*+(?:/\*.*?\*/[ \t]*+)*+", re.DOTALL)
FIRST_INDENTED_KEY = re.compile(r'[\r\n]([ \t]++)"')
SURROGATE = re.compile("[\ud800-\udfff]")

Named = tuple[str | None, Any]
"""A value to be written, with its key if it goes into an object."""


class Part(NamedTuple):
    """An item of a list, or a key with its value."""

    start: int
    end: int
    value: Node


class Change(NamedTuple):
    start: int
    end: int
    text: str = ""


class Draft:
    def __init__(self, document: Document) -> None:
        self.document = document
        self.text = document.text
        self.root = document.root or Node(Kind.OBJECT, 0, 0)
        self.changes: list[Change] = []
        self._comment_starts = [start for start, _ in document.comments]
        self._comment_ends = [end for _, end in document.comments]
        self._repeated = [fault.start for fault in document.faults if fault.code == "TL105"]
        self._newline = _newline(self.text)
        indented = FIRST_INDENTED_KEY.search(self.text, self.root.start)
        self._unit = indented[1] if indented else "  "
        member = next(iter(self.root.members.values()), None)
        tight = member is not None and self.text[member.key.end : member.value.start] == ":"
        self._colon, self._space = (":", "") if tight else (": ", " ")

    def result(self) -> str:
        pieces, at = [], 0
        for change in sorted(self.changes, key=lambda change: change.start):
            pieces += [self.text[at : change.start], change.text]
            at = max(at, change.end)
        return "".join([*pieces, self.text[at:]])

    def is_repeated(self, start: int, end: int) -> bool:
        """Whether a key that stands here takes the place of an earlier one. The reader stops counting at some point."""
        return len(self._repeated) >= MOST_FAULTS or any(start <= at < end for at in self._repeated)

    def has_comments_beside(self, node: Node | Part, parts: Iterable[Node | Part]) -> bool:
        """Whether a comment stands in this node and in none of these parts of it."""
        return self._comments(node.start, node.end) > sum(self._comments(part.start, part.end) for part in parts)

    def replace(self, node: Node, value: Any) -> None:
        lines = NEWLINE.search(self.text, node.start, node.end)
        text = self._written((None, value), self._indent(node.start) if lines else None)
        self.changes.append(Change(node.start, node.end, text))

    def append(self, node: Node, new: Sequence[Named], anchor: int) -> None:
        """Put these at the end of a list or object. `anchor` is where it begins, or its key."""
        parts = parts_of(node)
        if not new:
            return
        if not parts:
            self._fill(node, new, lines=self._begins_line(anchor))
            return
        last = parts[-1]
        gap, indent = self._like(last)
        comma = _end(TRIVIA, self.text, last.end)
        base = comma + 1 if self.text[comma] == "," else last.end
        if base == last.end:
            self._insert(base, ",")
        at = _end(COMMENTS_ON_THE_LINE, self.text, base)
        if self._ends_line_comment(at) and not NEWLINE.search(gap):
            gap = self._newline + self._indent(last.start) + self._unit
        self._insert(at, gap + f",{gap}".join(self._written(one, indent) for one in new))

    def prepend(self, node: Node, new: Sequence[Named], anchor: int) -> None:
        """Put these before all that is in a list or object, comments before its first part included."""
        parts = parts_of(node)
        if not parts or not new:
            self.append(node, new, anchor)
            return
        gap, indent = self._like(parts[0])
        written = [self._written(one, indent) for one in new]
        if NEWLINE.search(gap):
            at = _end(COMMENTS_ON_THE_LINE, self.text, node.start + 1)
            self._insert(at, "".join(f"{gap}{one}," for one in written))
        else:
            at = _end(BLANKS, self.text, node.start + 1)
            self._insert(at, "".join(f"{one},{gap}" for one in written))

    def take_out(self, node: Node, starts: set[int]) -> None:
        """Take the parts that begin at these places out of a list or object, each with its comma and its line."""
        parts = parts_of(node)
        gone = [part for part in parts if part.start in starts]
        stay = [part for part in parts if part.start not in starts]
        if not stay and not self.has_comments_beside(node, gone):
            self.changes.append(Change(node.start + 1, node.end - 1))
            return
        for start, end in self._runs(gone):
            self._cut(start, end)
        last = parts[-1]
        if stay and last.start in starts and self.text[_end(TRIVIA, self.text, last.end)] != ",":
            comma = _end(TRIVIA, self.text, stay[-1].end)
            self.changes.append(Change(comma, comma + 1))

    def _fill(self, node: Node, new: Sequence[Named], *, lines: bool) -> None:
        """Put these into an empty list or object, after the comments in it."""
        inside = bisect_left(self._comment_starts, node.end)
        commented = self._comments(node.start, node.end) > 0
        at = self._comment_ends[inside - 1] if commented else node.start + 1
        outer = self._indent(node.start)
        if NEWLINE.search(self.text, node.start, node.end) or (lines and not commented):
            gap = self._newline + outer + self._unit
            written = f",{gap}".join(self._written(one, outer + self._unit) for one in new)
            closed = NEWLINE.search(self.text, at, node.end)
            self._insert(at, gap + written + ("" if closed else self._newline + outer))
        else:
            written = f",{self._space}".join(self._written(one, None) for one in new)
            self._insert(at, f" {written}" if commented else written)

    def _runs(self, gone: Sequence[Part]) -> list[tuple[int, int]]:
        """Neighbours go together: each by itself would count on the other's line to end a comment before it."""
        runs: list[tuple[int, int]] = []
        for part in gone:
            joined = runs and not self.text[runs[-1][1] : part.start].strip(SPACE + ",")
            start = runs.pop()[0] if joined else part.start
            runs.append((start, part.end))
        return runs

    def _cut(self, start: int, stop: int) -> None:
        """What stands here goes, with the comma after it and the space that was only its own."""
        comma = _end(TRIVIA, self.text, stop)
        if self.text[comma] == ",":
            apart = self.text[stop:comma].strip(" \t")
            self.changes += [Change(comma, comma + 1)] if apart else []
            stop = stop if apart else comma + 1
        lead = self._lead(start)
        after = _end(BLANKS, self.text, stop)
        follows = self.text[after : after + 2]
        if follows[0] in "\r\n":
            self.changes.append(Change(lead, after))
        elif follows in {"//", "/*"}:
            self.changes.append(Change(start, after))
        elif follows[0] in "]}":
            self.changes.append(Change(start if self._ends_line_comment(lead) else lead, stop))
        elif lead < start and not NEWLINE.search(self.text, lead, start):
            self.changes.append(Change(lead, stop))
        else:
            self.changes.append(Change(start, after))

    def _insert(self, at: int, text: str) -> None:
        self.changes.append(Change(at, at, text))

    def _like(self, part: Part) -> tuple[str, str | None]:
        """What stands before a new part beside this one, and the indentation of one that is to take several lines."""
        own_line, indent = self._begins_line(part.start), self._indent(part.start)
        holds = part.value.items or part.value.members
        lines = NEWLINE.search(self.text, part.value.start, part.value.end) if holds else own_line
        return self._newline + indent if own_line else self._space, indent if lines else None

    def _written(self, named: Named, indent: str | None) -> str:
        key, value = named
        if indent is None:
            text = as_json(value, separators=(f",{self._space}", self._colon))
        else:
            text = as_json(value, indent=self._unit, separators=(",", self._colon))
            text = text.replace("\n", self._newline + indent)
        return text if key is None else f"{as_json(key)}{self._colon}{text}"

    def _line_start(self, at: int) -> int:
        return self.document.line_starts[bisect_right(self.document.line_starts, at) - 1]

    def _indent(self, at: int) -> str:
        start = self._line_start(at)
        return self.text[start : _end(BLANKS, self.text, start)]

    def _begins_line(self, at: int) -> bool:
        return ONLY_COMMENTS_BEFORE.fullmatch(self.text, self._line_start(at), at) is not None

    def _comments(self, start: int, end: int) -> int:
        return bisect_left(self._comment_starts, end) - bisect_left(self._comment_starts, start)

    def _comment_before(self, at: int) -> int:
        """Which comment is the last that ends here or before; -1 if there is none."""
        return bisect_right(self._comment_ends, at) - 1

    def _ends_line_comment(self, at: int) -> bool:
        index = self._comment_before(at)
        return (
            index >= 0 and self._comment_ends[index] == at and self.text.startswith("//", self._comment_starts[index])
        )

    def _lead(self, at: int) -> int:
        """Where the space before this place begins; the space at the end of a comment is the comment's."""
        index = self._comment_before(at)
        floor = self._comment_ends[index] if index >= 0 else 0
        while at > floor and self.text[at - 1] in SPACE:
            at -= 1
        return at


def parts_of(node: Node) -> list[Part]:
    """In the order of the text. Of a key that is repeated the last place counts, whatever a dict thinks."""
    members = [Part(member.key.start, member.value.end, member.value) for member in node.members.values()]
    return sorted([*members, *(Part(item.start, item.end, item) for item in node.items)])


def as_json(value: Any, **layout: Any) -> str:
    """Readable in any language; half a character, which no file can hold, is escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, **layout)
    return json.dumps(value, allow_nan=False, **layout) if SURROGATE.search(text) else text


def _newline(text: str) -> str:
    """The one that most lines end with."""
    pairs = text.count("\r\n")
    counts = {"\n": text.count("\n") - pairs, "\r\n": pairs, "\r": text.count("\r") - pairs}
    return max(counts, key=lambda newline: counts[newline])


def _end(pattern: re.Pattern[str], text: str, at: int) -> int:
    found = pattern.match(text, at)
    return found.end() if found else at
