"""Ids of calls, runs and records: UUID version 7, which sort by the time they were made."""


def uuid7(microseconds: int, randomness: bytes) -> str:
    """An id from a time and ten random bytes; both are given, so that this stays a function."""
    milliseconds = (microseconds // 1000).to_bytes(6, "big")
    high = 0x70 | (randomness[0] & 0x0F)
    low = 0x80 | (randomness[2] & 0x3F)
    text = (milliseconds + bytes([high, randomness[1], low]) + randomness[3:10]).hex()
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
