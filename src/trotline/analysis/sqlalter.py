"""ALTER TABLE: most of it changes how a table is built, some of it throws away what is in it."""

import re
from typing import NamedTuple

_TABLE = r"alter\s+(?:foreign\s+)?table\s+(?:if\s+exists\s+)?(?:only\s+)?(\S+?)(?:\s+on\s+cluster\s+\S+)?\s+"
_STAYS = "constraint|index|key|primary|foreign|check|default|not|expression|identity|projection|trigger|statistics"
_LOSS = re.compile(
    rf"{_TABLE}(?:.*?, ?)?(?:"
    r"(?:drop|truncate|clear)\s+(?:if\s+exists\s+)?(?:(?:sub)?partitions?|part)\b\s*(?P<part>[^\s,;]*)"
    r"|discard\s+(?P<space>tablespace)"
    rf"|(?:drop|clear)\s+(?:column\s+)?(?:if\s+exists\s+)?(?!(?:{_STAYS})\b)(?P<column>[^\s,;]+))"
)
_MUTATION = re.compile(rf"{_TABLE}(delete|update)\b(.*)", re.IGNORECASE | re.DOTALL)
"""ClickHouse: `ALTER TABLE t DELETE WHERE ...` is a statement about rows in the clothes of one about structure."""


class Loss(NamedTuple):
    """What of a table would be gone: a column, a partition, its files."""

    target: str
    thing: str


def loss_of(plain: str) -> Loss | None:
    """What the statement throws away, if it does; its text is in small letters and without strings."""
    found = _LOSS.match(plain)
    if found is None:
        return None
    thing = "column" if found["column"] else "partition" if found["part"] is not None else "tablespace"
    name = (found["column"] or found["part"] or "").strip("()'")
    return Loss(".".join(filter(None, (found[1], name))), thing)


def mutation(text: str) -> str:
    """The statement about rows that it is; nothing if it is none."""
    found = _MUTATION.match(text)
    if found is None:
        return ""
    words = ("DELETE FROM", found[1]) if found[2].lower() == "delete" else ("UPDATE", found[1], "SET")
    return " ".join((*words, found[3]))
