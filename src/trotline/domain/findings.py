"""Findings of scanners: their kind, place and certainty. No field contains the found value."""

import msgspec

from trotline.domain.effects import Certainty

SHOWN_DIGEST_DIGITS = 8
"""The number of digits of a digest that are shown, enough to see that two findings are the same value."""


class TextRange(msgspec.Struct, frozen=True, kw_only=True):
    """A range of a text.

    Lines and columns count from 1, columns in characters; the end is exclusive. The offset is in bytes of UTF-8.
    """

    line: int
    column_from: int
    line_to: int
    column_to: int
    offset: int


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """A value that a scanner found. Only its `digest` is kept, an HMAC-SHA256 with the key of this installation."""

    kind: str
    scanner: str
    place: TextRange
    certainty: Certainty
    digest: str
    where: str = ""  # the file, the JSON pointer, or the source of the text: prompt, command, output
