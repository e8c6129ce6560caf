"""Finding: what was found in a text, where, and how sure we are. The value itself is in none of its fields."""

import msgspec

from trotline.effects import Certainty

SHORT = 8
"""How many digits of a digest people are shown; enough to see that two findings are the same value."""


class Extent(msgspec.Struct, frozen=True, kw_only=True):
    """From where to where: lines and columns from 1, in characters, the end exclusive; the offset in bytes of UTF-8."""

    line: int
    column_from: int
    line_to: int
    column_to: int
    offset: int


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """`digest` is an HMAC-SHA256 of the value with the key of this installation, and all that is left of the value."""

    kind: str
    scanner: str
    place: Extent
    certainty: Certainty
    digest: str
    where: str = ""  # the file, the JSON pointer, or what text of an event it was: a prompt, a command, an output

    def describe(self) -> str:
        """A sentence for people and logs."""
        where = f"{self.where}:" if self.where else ""
        place = f"{where}{self.place.line}:{self.place.column_from}"
        doubt = "" if self.certainty is Certainty.KNOWN else f", {self.certainty}"
        return f"{self.kind} ({self.scanner}{doubt}) at {place} [{self.digest[:SHORT]}]"
