"""Tokens that carry a checksum: a right one settles that somebody's program made it, a wrong one leaves a doubt.

It is a doubt and no more, because a provider may change its sums without telling us.
"""

import zlib
from collections.abc import Callable

DIGITS = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
SUM = 6


def base62(number: int, width: int) -> bytes:
    """A number in 62 digits, filled up with zeros."""
    digits = bytearray()
    while number:
        number, digit = divmod(number, 62)
        digits.append(DIGITS[digit])
    return bytes(reversed(digits)).rjust(width, b"0")


def _crc_after_prefix(token: bytes) -> bool:
    """`prefix_` + random + six digits: CRC-32 of the random part in base 62."""
    body = token.partition(b"_")[2]
    return base62(zlib.crc32(body[:-SUM]), SUM) == body[-SUM:]


CHECKSUMS: dict[str, Callable[[bytes], bool]] = dict.fromkeys(
    (
        "github-personal-token",
        "github-oauth-token",
        "github-user-token",
        "github-app-token",
        "github-refresh-token",
        "npm-token",
    ),
    _crc_after_prefix,
)
"""Rule -> whether a value's own checksum is right."""
