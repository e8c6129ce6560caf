"""How many bits a character of a value carries; words carry few, keys many."""

from collections import Counter
from math import log2


def entropy(value: bytes) -> float:
    """Shannon's, over bytes."""
    length = len(value)
    return -sum(count / length * log2(count / length) for count in Counter(value).values()) if length else 0.0
