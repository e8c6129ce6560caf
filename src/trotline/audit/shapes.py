"""Parts of a record as they ought to be. What came from outside may have any shape, and is kept all the same."""

from typing import Any

LONGEST = 4_096
"""Characters of one column."""

LATEST_US = 1 << 54
"""In the year 2540; a time of nanoseconds has room for no later one."""


def dict_of(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def list_of(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def is_time(value: Any) -> bool:
    """Whether it is a number of microseconds that somebody can have counted, from 1970 on or of something."""
    return type(value) is int and 0 <= value < LATEST_US


def text_of(value: Any, most: int = LONGEST) -> str:
    """A text that a database takes: half a surrogate pair, which JSON may hold, is none, and at a zero it would end."""
    return str(value if value is not None else "")[:most].encode("utf-8", "replace").decode().replace("\0", "\ufffd")
