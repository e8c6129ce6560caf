"""Split SQL text into statements without comments and tell strings from the rest, with the tokenizer of sqlglot."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from sqlglot.tokenizer_core import Token
    from sqlglot.tokens import Tokenizer

_SIMPLE_PIECE = re.compile(r"(?P<string>(?<![qQ])'(?:[^'\\]|'')*')|\s+|[^\s'\"`#$\[\\;/{-]+|;|-(?!-)|/(?![*/])")
"""A piece that means the same in all dialects. A text of such pieces needs no tokenizer, which takes long to load."""

_DOLLAR_TAG = re.compile(r"\$\w*\$")
_COMMENT = re.compile(r"--[^\n]*|#[^\n]*|/\*(?:M?!\d*(?P<code>.*?)|.*?)(?:\*/|$)", re.DOTALL)
"""A comment; `code` is what MySQL (`/*!`) and MariaDB (`/*M!`) run in it."""

_NESTED_COMMENT = re.compile(r"/\*(?:(?!\*/).)*/\*", re.DOTALL)
_TEMPLATE_COMMENT = "{#"
"""Starts a comment for sqlglot, but for no database."""


class SqlPiece(NamedTuple):
    """A part of a statement. `content` is the text inside the quotes of a string, and None for any other part."""

    source: str
    content: str | None = None


class SqlText(NamedTuple):
    """The text of one statement without its comments."""

    pieces: tuple[SqlPiece, ...]

    @property
    def source(self) -> str:
        """The whole text."""
        return "".join(piece.source for piece in self.pieces)

    @property
    def strings(self) -> list[str]:
        """The contents of all strings."""
        return [piece.content for piece in self.pieces if piece.content is not None]

    @property
    def masked(self) -> str:
        """The text with every string emptied, so that keywords in strings do not count."""
        return "".join(piece.source if piece.content is None else "''" for piece in self.pieces)

    @property
    def blanked(self) -> str:
        """The text with spaces for every string, so that all other characters keep their positions."""
        return "".join(piece.source if piece.content is None else " " * len(piece.source) for piece in self.pieces)


def split_statements(text: str, dialect: str = "") -> list[SqlText]:
    """Return the statements of a text. Code in MySQL's `/*! */` counts; other comments are dropped.

    Databases disagree on nested comments, so a text that has some is read both ways.
    """
    if not _NESTED_COMMENT.search(text):
        return _split(text, dialect)
    nested, flat = _split(text, dialect, nested=True), _split(text, dialect, nested=False)
    return nested if nested == flat else [*nested, *flat]


def _split(text: str, dialect: str, *, nested: bool | None = None) -> list[SqlText]:
    pieces = _read_simple(text)
    if pieces is None and _TEMPLATE_COMMENT not in text:
        pieces = _tokenize(text, _get_tokenizer_class(dialect, nested)(dialect or "postgres"))
    if pieces is None:
        return _split_everywhere(text)
    statements: list[list[SqlPiece]] = [[]]
    for piece in pieces:
        if piece.source == ";" and piece.content is None:
            statements.append([])
        else:
            statements[-1].append(piece)
    return [SqlText(tuple(statement)) for statement in map(_strip, statements) if statement]


def _strip(pieces: list[SqlPiece]) -> list[SqlPiece]:
    """Drop blank parts at both ends."""
    while pieces and not pieces[0].source.strip():
        pieces = pieces[1:]
    while pieces and not pieces[-1].source.strip():
        pieces = pieces[:-1]
    return pieces


def _split_everywhere(text: str) -> list[SqlText]:
    """Split a text that cannot be tokenized at every semicolon, with and without what looks like a comment."""
    parts = [part.strip() for version in (_COMMENT.sub(" ", text), text) for part in version.split(";")]
    return [SqlText((SqlPiece(part),)) for part in dict.fromkeys(parts) if part]


def _read_simple(text: str) -> list[SqlPiece] | None:
    """Return the pieces of a text that all dialects read in the same way, or None for any other text."""
    pieces = []
    position = 0
    while position < len(text):
        match = _SIMPLE_PIECE.match(text, position)
        if match is None or "'''" in match[0]:  # BigQuery has strings in three quotes
            return None
        position = match.end()
        string = match["string"]
        pieces.append(SqlPiece(match[0], string[1:-1].replace("''", "'") if string else None))
    return pieces


def _tokenize(text: str, tokenizer: Tokenizer) -> list[SqlPiece] | None:
    """Return the pieces of a text, or None if it cannot be tokenized. A string or comment may lack its end."""
    from sqlglot.errors import SqlglotError  # noqa: PLC0415 - as below

    tags = _DOLLAR_TAG.findall(text)
    for end in ("", "'", '"', "`", "]", "*/", "\\'", *tags[-1:]):
        try:
            tokens = tokenizer.tokenize(text + end)
        except SqlglotError:
            continue
        return list(_read_tokens(tokens, text + end))
    return None


def _read_tokens(tokens: list[Token], text: str) -> Iterator[SqlPiece]:
    position = 0
    for token in tokens:
        yield from _read_gap(text[position : token.start])
        position = token.end + 1
        source, kind = text[token.start : position], token.token_type.name
        is_string = kind.endswith("STRING") and not source.startswith('"')
        yield SqlPiece(" " if kind == "HINT" else source, token.text if is_string else None)
    yield from _read_gap(text[position:])


def _read_gap(gap: str) -> Iterator[SqlPiece]:
    """Read the text between two tokens: whitespace, and comments that may hold code."""
    yield SqlPiece(gap if gap.isspace() else " " if gap else "")
    for comment in _COMMENT.finditer(gap) if "!" in gap else ():
        for index, part in enumerate((comment["code"] or "").split(";")):
            yield from (SqlPiece(";" if index else " "), SqlPiece(part), SqlPiece(" "))


@cache
def _get_tokenizer_class(dialect: str, nested: bool | None) -> type[Tokenizer]:
    """Return the tokenizer of a dialect, changed to read the arguments of commands like any other text."""
    from sqlglot import Dialect  # noqa: PLC0415 - big, and few lines hold SQL

    base = Dialect.get_or_raise(dialect or "postgres").tokenizer_class
    changes: dict[str, object] = {"COMMANDS": set()}
    if nested is not None:
        changes["NESTED_COMMENTS"] = nested
    if not dialect:
        changes["IDENTIFIERS"] = ['"', "`"]
    return type("StatementTokenizer", (base,), changes)
