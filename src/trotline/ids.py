"""Ids of calls, runs and records: UUID version 7, which sort by the time they were made; and names made of texts."""

import functools
import sys
from collections.abc import Callable
from importlib import import_module
from typing import Any


def uuid7(microseconds: int, randomness: bytes) -> str:
    """An id from a time and ten random bytes; both are given, so that this stays a function."""
    milliseconds = (microseconds // 1000).to_bytes(6, "big")
    high = 0x70 | (randomness[0] & 0x0F)
    low = 0x80 | (randomness[2] & 0x3F)
    text = (milliseconds + bytes([high, randomness[1], low]) + randomness[3:10]).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


def name_of(text: str, digits: int) -> str:
    """The beginning of the text's SHA-256: the same for the same text, and another for another."""
    return str(_sha256()(text.encode("utf-8", "surrogatepass")).hexdigest())[:digits]


@functools.cache
def _sha256() -> Callable[[bytes], Any]:
    """Python's own, by the name that it has in this version: to load OpenSSL takes a cold call longer than to judge."""
    try:
        found: Callable[[bytes], Any] = import_module("_sha2" if sys.version_info >= (3, 12) else "_sha256").sha256
    except ImportError:
        found = import_module("hashlib").sha256
    return found
