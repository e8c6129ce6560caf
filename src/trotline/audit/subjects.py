"""What a call is about, in our words, where the payload has others: a record shows it, and is found by it."""

from typing import Any

from trotline.events import Event
from trotline.hosts.specific import texts_of

NAMES = ("command", "file_path", "prompt")
"""Fields of events, and of the input of tools."""

BETWEEN = "; "


def about_of(event: Event, payload: Any) -> dict[str, str]:
    """Nothing of what stands in the payload under the same name: nobody redacts a text twice for that."""
    given = getattr(event, "tool_input", None)
    found = ((name, getattr(event, name, None) or _in(given, name)) for name in NAMES)
    told = {name: BETWEEN.join(texts_of(value)) for name, value in found if value}
    inner = _in(payload, "tool_input")
    return {name: text for name, text in told.items() if text not in (_in(payload, name), _in(inner, name))}


def _in(given: Any, name: str) -> Any:
    return given.get(name) if isinstance(given, dict) else None
