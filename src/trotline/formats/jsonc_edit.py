"""Edit JSON with comments and preserve every byte that no change names.

New values get the layout of their neighbours. Comments are kept: one after an entry stays on the entry's line, one
before an entry stays before it, and only a comment inside a removed entry is removed with it.
"""

import json
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from trotline.formats.jsonc import MAX_FAULTS, JsonDocument, JsonKind, JsonNode, match_end

SPACE = " \t\r\n"
TRIVIA = re.compile(r"(?:[ \t\r\n]++|//[^\r\n]*+|/\*.*?\*/)*+", re.DOTALL)
BLANKS = re.compile(r"[ \t]*+")
NEWLINE = re.compile(r"[\r\n]")
COMMENTS_ON_THE_LINE = re.compile(r"(?:[ \t]*+(?://[^\r\n]*+|/\*.*?\*/))*+", re.DOTALL)
ONLY_COMMENTS_BEFORE = re.compile(r"[ \t]*+(?:/\*.*?\*/[ \t]*+)*+", re.DOTALL)
FIRST_INDENTED_KEY = re.compile(r'[\r\n]([ \t]++)"')
SURROGATE = re.compile("[\ud800-\udfff]")

NamedValue = tuple[str | None, Any]
"""A value to write, with its key if it goes into an object."""


class JsonPart(NamedTuple):
    """An item of a list, or a key with its value."""

    start: int
    end: int
    value: JsonNode


class JsonChange(NamedTuple):
    """A span of the original text and the text that replaces it."""

    start: int
    end: int
    text: str = ""


class JsonEditor:
    """Collects changes to one document; `render` applies them."""

    def __init__(self, document: JsonDocument) -> None:
        self.document = document
        self.text = document.text
        self.root = document.root or JsonNode(JsonKind.OBJECT, 0, 0)
        self.changes: list[JsonChange] = []
        self._comment_starts = [start for start, _ in document.comments]
        self._comment_ends = [end for _, end in document.comments]
        self._repeated = [fault.start for fault in document.faults if fault.code == "TL105"]
        self._newline = _find_newline(self.text)
        indented = FIRST_INDENTED_KEY.search(self.text, self.root.start)
        self._unit = indented[1] if indented else "  "
        member = next(iter(self.root.members.values()), None)
        tight = member is not None and self.text[member.key.end : member.value.start] == ":"
        self._colon, self._space = (":", "") if tight else (": ", " ")

    def render(self) -> str:
        """Return the text with all changes applied."""
        pieces, at = [], 0
        for change in sorted(self.changes, key=lambda change: change.start):
            pieces += [self.text[at : change.start], change.text]
            at = max(at, change.end)
        return "".join([*pieces, self.text[at:]])

    def is_repeated(self, start: int, end: int) -> bool:
        """Return whether a key in this span repeats an earlier one, or the reader stopped counting repeated keys."""
        return len(self._repeated) >= MAX_FAULTS or any(start <= at < end for at in self._repeated)

    def has_other_comments(self, node: JsonNode | JsonPart, parts: Iterable[JsonNode | JsonPart]) -> bool:
        """Return whether the node has a comment that is in none of these parts."""
        return self._count_comments(node.start, node.end) > sum(
            self._count_comments(part.start, part.end) for part in parts
        )

    def replace(self, node: JsonNode, value: Any) -> None:
        """Replace a value, on several lines if the old one has several."""
        lines = NEWLINE.search(self.text, node.start, node.end)
        text = self._format((None, value), self._get_indent(node.start) if lines else None)
        self.changes.append(JsonChange(node.start, node.end, text))

    def append(self, node: JsonNode, new: Sequence[NamedValue], anchor: int) -> None:
        """Add values at the end of a list or object. `anchor` is the offset of the node or of its key."""
        parts = list_parts(node)
        if not new:
            return
        if not parts:
            self._fill(node, new, lines=self._begins_line(anchor))
            return
        last = parts[-1]
        gap, indent = self._get_layout(last)
        comma = match_end(TRIVIA, self.text, last.end)
        base = comma + 1 if self.text[comma] == "," else last.end
        if base == last.end:
            self._insert(base, ",")
        at = match_end(COMMENTS_ON_THE_LINE, self.text, base)
        if self._ends_line_comment(at) and not NEWLINE.search(gap):
            gap = self._newline + self._get_indent(last.start) + self._unit
        self._insert(at, gap + f",{gap}".join(self._format(value, indent) for value in new))

    def prepend(self, node: JsonNode, new: Sequence[NamedValue], anchor: int) -> None:
        """Add values at the beginning of a list or object, before comments in front of its first part."""
        parts = list_parts(node)
        if not parts or not new:
            self.append(node, new, anchor)
            return
        gap, indent = self._get_layout(parts[0])
        written = [self._format(value, indent) for value in new]
        if NEWLINE.search(gap):
            at = match_end(COMMENTS_ON_THE_LINE, self.text, node.start + 1)
            self._insert(at, "".join(f"{gap}{text}," for text in written))
        else:
            at = match_end(BLANKS, self.text, node.start + 1)
            self._insert(at, "".join(f"{text},{gap}" for text in written))

    def remove(self, node: JsonNode, starts: set[int]) -> None:
        """Remove the parts that begin at these offsets from a list or object, each with its comma and its line."""
        parts = list_parts(node)
        gone = [part for part in parts if part.start in starts]
        stay = [part for part in parts if part.start not in starts]
        if not stay and not self.has_other_comments(node, gone):
            self.changes.append(JsonChange(node.start + 1, node.end - 1))
            return
        for start, end in self._join_neighbours(gone):
            self._cut(start, end)
        last = parts[-1]
        if stay and last.start in starts and self.text[match_end(TRIVIA, self.text, last.end)] != ",":
            comma = match_end(TRIVIA, self.text, stay[-1].end)
            self.changes.append(JsonChange(comma, comma + 1))

    def _fill(self, node: JsonNode, new: Sequence[NamedValue], *, lines: bool) -> None:
        """Add values to an empty list or object, after the comments in it."""
        inside = bisect_left(self._comment_starts, node.end)
        commented = self._count_comments(node.start, node.end) > 0
        at = self._comment_ends[inside - 1] if commented else node.start + 1
        outer = self._get_indent(node.start)
        if NEWLINE.search(self.text, node.start, node.end) or (lines and not commented):
            gap = self._newline + outer + self._unit
            written = f",{gap}".join(self._format(value, outer + self._unit) for value in new)
            closed = NEWLINE.search(self.text, at, node.end)
            self._insert(at, gap + written + ("" if closed else self._newline + outer))
        else:
            written = f",{self._space}".join(self._format(value, None) for value in new)
            self._insert(at, f" {written}" if commented else written)

    def _join_neighbours(self, gone: Sequence[JsonPart]) -> list[tuple[int, int]]:
        """Join adjacent parts: cut alone, each would rely on the other to end a comment before it."""
        runs: list[tuple[int, int]] = []
        for part in gone:
            joined = runs and not self.text[runs[-1][1] : part.start].strip(SPACE + ",")
            start = runs.pop()[0] if joined else part.start
            runs.append((start, part.end))
        return runs

    def _cut(self, start: int, stop: int) -> None:
        """Cut a span with the comma after it and the space around it."""
        comma = match_end(TRIVIA, self.text, stop)
        if self.text[comma] == ",":
            apart = self.text[stop:comma].strip(" \t")
            self.changes += [JsonChange(comma, comma + 1)] if apart else []
            stop = stop if apart else comma + 1
        lead = self._find_space_start(start)
        after = match_end(BLANKS, self.text, stop)
        follows = self.text[after : after + 2]
        if follows[0] in "\r\n":
            self.changes.append(JsonChange(lead, after))
        elif follows in {"//", "/*"}:
            self.changes.append(JsonChange(start, after))
        elif follows[0] in "]}":
            self.changes.append(JsonChange(start if self._ends_line_comment(lead) else lead, stop))
        elif lead < start and not NEWLINE.search(self.text, lead, start):
            self.changes.append(JsonChange(lead, stop))
        else:
            self.changes.append(JsonChange(start, after))

    def _insert(self, at: int, text: str) -> None:
        self.changes.append(JsonChange(at, at, text))

    def _get_layout(self, part: JsonPart) -> tuple[str, str | None]:
        """Return the separator before a new part next to this one, and its indent if it takes several lines."""
        own_line, indent = self._begins_line(part.start), self._get_indent(part.start)
        holds = part.value.items or part.value.members
        lines = NEWLINE.search(self.text, part.value.start, part.value.end) if holds else own_line
        return self._newline + indent if own_line else self._space, indent if lines else None

    def _format(self, named: NamedValue, indent: str | None) -> str:
        key, value = named
        if indent is None:
            text = format_json(value, separators=(f",{self._space}", self._colon))
        else:
            text = format_json(value, indent=self._unit, separators=(",", self._colon))
            text = text.replace("\n", self._newline + indent)
        return text if key is None else f"{format_json(key)}{self._colon}{text}"

    def _find_line_start(self, at: int) -> int:
        return self.document.line_starts[bisect_right(self.document.line_starts, at) - 1]

    def _get_indent(self, at: int) -> str:
        start = self._find_line_start(at)
        return self.text[start : match_end(BLANKS, self.text, start)]

    def _begins_line(self, at: int) -> bool:
        return ONLY_COMMENTS_BEFORE.fullmatch(self.text, self._find_line_start(at), at) is not None

    def _count_comments(self, start: int, end: int) -> int:
        return bisect_left(self._comment_starts, end) - bisect_left(self._comment_starts, start)

    def _find_comment_before(self, at: int) -> int:
        """Return the index of the last comment that ends at or before this offset, or -1."""
        return bisect_right(self._comment_ends, at) - 1

    def _ends_line_comment(self, at: int) -> bool:
        index = self._find_comment_before(at)
        return (
            index >= 0 and self._comment_ends[index] == at and self.text.startswith("//", self._comment_starts[index])
        )

    def _find_space_start(self, at: int) -> int:
        """Return where the space before this offset begins; space inside a comment does not count."""
        index = self._find_comment_before(at)
        floor = self._comment_ends[index] if index >= 0 else 0
        while at > floor and self.text[at - 1] in SPACE:
            at -= 1
        return at


def list_parts(node: JsonNode) -> list[JsonPart]:
    """Return the parts in the order of the text. Only the last occurrence of a repeated key is included."""
    members = [JsonPart(member.key.start, member.value.end, member.value) for member in node.members.values()]
    return sorted([*members, *(JsonPart(item.start, item.end, item) for item in node.items)])


def format_json(value: Any, **layout: Any) -> str:
    """Format as JSON without escaping non-ASCII text; only lone surrogates, which UTF-8 cannot encode, are escaped."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, **layout)
    return json.dumps(value, allow_nan=False, **layout) if SURROGATE.search(text) else text


def _find_newline(text: str) -> str:
    """Return the line ending that most lines have."""
    pairs = text.count("\r\n")
    counts = {"\n": text.count("\n") - pairs, "\r\n": pairs, "\r": text.count("\r") - pairs}
    return max(counts, key=lambda newline: counts[newline])
