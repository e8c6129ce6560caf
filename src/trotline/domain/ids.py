"""Ids of calls, runs and records (UUID version 7, which sort by time), and names derived from texts."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def uuid7(microseconds: int, randomness: bytes) -> str:
    """Return a UUID version 7 for a time and ten random bytes. Both are arguments, so that the function is pure."""
    milliseconds = (microseconds // 1000).to_bytes(6, "big")
    high = 0x70 | (randomness[0] & 0x0F)
    low = 0x80 | (randomness[2] & 0x3F)
    text = (milliseconds + bytes([high, randomness[1], low]) + randomness[3:10]).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def hash_name(text: str, digits: int) -> str:
    """Return the first hexadecimal digits of the SHA-256 of a text."""
    return str(_sha256()(text.encode("utf-8", "surrogatepass")).hexdigest())[:digits]


@functools.cache
def _sha256() -> Callable[[bytes], Any]:
    """Return the built-in implementation: loading OpenSSL takes longer than the evaluation of a cold call."""
    try:
        constructor: Callable[[bytes], Any] = import_module(
            "_sha2" if sys.version_info >= (3, 12) else "_sha256"
        ).sha256
    except ImportError:
        constructor = import_module("hashlib").sha256
    return constructor
