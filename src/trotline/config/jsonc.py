"""JSON with comments, as a tree that knows where everything stands.

Offsets count characters of `Document.text`, and every node knows its own: byte-preserving edits will need that.
"""

import re
from bisect import bisect_right
from enum import StrEnum
from typing import Any

import msgspec

ESCAPE = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.")


class Kind(StrEnum):
    OBJECT = "an object"
    ARRAY = "a list"
    STRING = "a string"
    NUMBER = "a number"
    TRUTH = "true or false"
    NULL = "null"
    BROKEN = "unreadable"  # something stands there, and its fault is already reported


class Node(msgspec.Struct):
    """A value in the text, from `start` up to but not including `end`."""

    kind: Kind
    start: int
    end: int
    value: Any = None  # of strings, numbers, true, false, null
    members: dict[str, "Member"] = {}
    items: list["Node"] = []

    def get(self, key: str) -> "Node | None":
        member = self.members.get(key)
        return member.value if member else None


class Member(msgspec.Struct):
    key: Node
    value: Node


class Fault(msgspec.Struct, frozen=True):
    """A mistake in the text: a Problem code, where, and what."""

    code: str
    start: int
    end: int
    message: str
    hint: str = ""


class Document(msgspec.Struct):
    """A text, what it says as far as it could be read, and everything that is wrong with how it is written."""

    text: str
    root: Node | None = None
    faults: list[Fault] = []
    comments: list[tuple[int, int]] = []
    line_starts: list[int] = []

    def position(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1."""
        line = bisect_right(self.line_starts, offset)
        return line, offset - self.line_starts[line - 1] + 1

    def offset_in_string(self, node: Node, index: int) -> int:
        """Where the index-th character of a string's value stands in the text, escapes counted."""
        at = node.start + 1
        for _ in range(index):
            escape = ESCAPE.match(self.text, at)
            at = escape.end() if escape else at + 1
        return min(at, max(node.start, node.end - 1))
