"""SQL as text: statements apart, comments gone, strings emptied; without knowing more grammar than quotes."""

import re
from collections.abc import Iterator
from typing import NamedTuple

# Every alternative begins differently, so no text is read twice.
_PIECE = re.compile(
    r"(?P<hint>/\*!\d*)"
    r"|(?P<comment>--[^\n]*|/\*(?:[^*]|\*(?!/))*(?:\*/)?)"
    r"|(?P<dollar>\$\w*\$)"
    r"|(?P<string>'(?:[^']|'')*'?)"
    r"|(?P<name>\"(?:[^\"]|\"\")*\"?|`[^`]*`?)"
    r"|(?P<end>;)"
    r"|(?P<close>\*/)"
    r"|(?P<other>[^-/$'\"`;*]+|.)",
    re.DOTALL,
)
_ESCAPED = re.compile(r"'(?:[^'\\]|\\.|'')*'?", re.DOTALL)

_BACKSLASH = frozenset("mysql mariadb bigquery clickhouse snowflake spark hive databricks singlestore doris".split())
"""Where a backslash in a string hides the quote behind it; elsewhere it is a letter like others."""


class Piece(NamedTuple):
    kind: str
    text: str


def _pieces(text: str, dialect: str) -> Iterator[Piece]:
    at = 0
    while at < len(text):
        match = _PIECE.match(text, at)
        if match is None:  # cannot happen: the last alternative takes any letter
            return
        kind, end = match.lastgroup or "other", match.end()
        if kind == "dollar":
            close = text.find(match[0], end)
            kind, end = "string", len(text) if close < 0 else close + len(match[0])
        elif kind == "string" and (dialect in _BACKSLASH or _escape_string(text, at)):
            escaped = _ESCAPED.match(text, at)
            end = escaped.end() if escaped else end
        yield Piece(kind, text[at:end])
        at = end


def _escape_string(text: str, at: int) -> bool:
    """PostgreSQL's `E'...'`."""
    before = text[max(at - 2, 0) : at]
    return before[-1:] in {"e", "E"} and not (len(before) == 2 and (before[0].isalnum() or before[0] == "_"))


def split(text: str, dialect: str = "") -> list[str]:
    """The statements without their comments; what MySQL runs out of a comment (`/*! */`) stays."""
    found: list[str] = []
    current: list[str] = []
    for piece in _pieces(text, dialect):
        if piece.kind == "end":
            found.append("".join(current))
            current = []
        else:
            current.append(" " if piece.kind in {"comment", "hint", "close"} else piece.text)
    found.append("".join(current))
    return [statement.strip() for statement in found if statement.strip()]


def strings(statement: str, dialect: str = "") -> list[str]:
    """What stands in its strings, without their quotes."""
    found = [piece.text for piece in _pieces(statement, dialect) if piece.kind == "string"]
    return [_DOLLAR.sub("", text) if text.startswith("$") else text.strip("'").replace("''", "'") for text in found]


_DOLLAR = re.compile(r"^\$\w*\$|\$\w*\$$")


def level(statement: str, dialect: str = "") -> str:
    """The statement with blanks where its strings are, every other letter at its place."""
    return "".join(
        " " * len(piece.text) if piece.kind == "string" else piece.text for piece in _pieces(statement, dialect)
    )


def masked(statement: str, dialect: str = "") -> str:
    """The statement with every string emptied, so that its words are its own."""
    return "".join("''" if piece.kind == "string" else piece.text for piece in _pieces(statement, dialect))
