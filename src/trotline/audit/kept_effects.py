"""Effects as records keep them: kind, verb, to what, and behind these by name whatever else is known of one.

Older records have the first three only. Columns are not kept: they count in the text as it was before it was redacted.
"""

from typing import Any

from trotline.audit.shapes import dict_of, list_of
from trotline.effects import Effect

FLAGS = ("writes", "recursive", "certainty")
"""What has no text of anybody's in it, and is kept at every level."""

TEXTS = ("host", "target", "package", "source", "why")
UNSAID = ("", False, "known")
"""Zero values; they are not kept."""

FIRST = 3


def kept(effect: Effect) -> list[Any]:
    """All of it."""
    return _row(effect, effect.path or effect.host or effect.target, (*TEXTS, *FLAGS))


def outlined(effect: Effect) -> list[Any]:
    """The same without a word about what it is done to."""
    return _row(effect, "", FLAGS)


def _row(effect: Effect, to: str, names: tuple[str, ...]) -> list[Any]:
    more = {name: value for name in names if (value := getattr(effect, name)) not in UNSAID}
    return [effect.kind, effect.verb, to, *([more] if more else [])]


def effects_in(record: dict[str, Any]) -> list[dict[str, Any]]:
    """What is known of each effect of a record, by the names of its fields; `to` is what stands there for people."""
    rows = [row for row in list_of(dict_of(record.get("detail")).get("effects")) if isinstance(row, list)]
    return [_named(row) for row in rows if len(row) >= FIRST]


def _named(row: list[Any]) -> dict[str, Any]:
    kind, verb, to = row[:FIRST]
    more = dict_of(row[FIRST]) if len(row) > FIRST else {}
    path = {} if to in (more.get("host"), more.get("target")) else {"path": to}  # of an old one nobody knows
    return {"kind": kind, "verb": verb, "to": to, **path, **more}
