"""A finding inside of this package, with its value; what leaves it is a Finding, without."""

import hmac
from typing import NamedTuple

import msgspec

from trotline.effects import Certainty
from trotline.findings import Extent, Finding


class Span(NamedTuple):
    """Where it stands, what it is, and its value. Where spans overlap, the lowest rank names the whole."""

    start: int
    end: int
    kind: str
    scanner: str
    certainty: Certainty
    value: bytes
    place: Extent
    rank: int = 0

    def joined(self, other: "Span") -> "Span":
        """Both as one; `other` begins inside of this one, or where it ends."""
        named = min(self, other, key=lambda span: span.rank)
        place, value, end = self.place, self.value, self.end
        if other.end > end:
            value += other.value[end - other.start :]
            end = other.end
            place = msgspec.structs.replace(place, line_to=other.place.line_to, column_to=other.place.column_to)
        return named._replace(start=self.start, end=end, value=value, place=place)

    def finding(self, key: bytes, where: str = "") -> Finding:
        return Finding(
            kind=self.kind,
            scanner=self.scanner,
            place=self.place,
            certainty=self.certainty,
            digest=digest_of(self.value, key),
            where=where,
        )


def digest_of(value: bytes, key: bytes) -> str:
    return hmac.digest(key, value, "sha256").hex()
