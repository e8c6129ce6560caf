"""What all protocols have in common: a question, the request it becomes, and the shape that an answer must have."""

from typing import Any, NamedTuple

from trotline.config.models import Provider

SHAPE: dict[str, Any] = {
    "type": "object",
    "properties": {
        "ok": {"type": "boolean", "description": "whether the event meets the condition"},
        "reason": {"type": "string", "description": "one sentence for the person and the agent"},
    },
    "required": ["ok", "reason"],
    "additionalProperties": False,
}

MOST_TOKENS = 1000


class Question(NamedTuple):
    """One question to one model: who is asked, with which key, and the two texts."""

    provider: Provider
    model: str
    key: str
    system: str
    user: str


class Request(NamedTuple):
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class NoAnswer(ValueError):  # noqa: N818 - a fact about a reply, not an error of ours
    """What came back holds no whole answer."""


def first(items: object) -> dict[str, Any]:
    """The first object of a list that a stranger sent."""
    if isinstance(items, list) and items and isinstance(items[0], dict):
        return items[0]
    raise NoAnswer("it holds no message")


def member(body: object, name: str) -> dict[str, Any]:
    value = body.get(name) if isinstance(body, dict) else None
    if isinstance(value, dict):
        return value
    raise NoAnswer(f"it has no `{name}`")


def text_of(value: object) -> str:
    if isinstance(value, str):
        return value
    raise NoAnswer("its message has no text")
