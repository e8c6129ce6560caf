"""The variables and fields that a condition may use, with their types."""

from collections.abc import Mapping
from typing import NamedTuple

from trotline.domain.effects import Effect

CEL_TYPES = {str: "string", bool: "bool", int: "int"}

EVENT_FIELDS: dict[str, str] = dict.fromkeys(
    ("name", "tool", "command", "path", "prompt", "agent", "conversation"), "string"
)
EFFECT_FIELDS: dict[str, str] = {
    name: CEL_TYPES.get(kind, "string")
    for name, kind in Effect.__annotations__.items()
    if name in Effect.__struct_fields__
}
FINDING_FIELDS: dict[str, str] = dict.fromkeys(("kind", "scanner", "certainty"), "string")

RECORDS: dict[str, dict[str, str]] = {"Event": EVENT_FIELDS, "Effect": EFFECT_FIELDS, "Finding": FINDING_FIELDS}
VARIABLES: dict[str, str] = {
    "event": "Event",
    "effects": "list(Effect)",
    "findings": "list(Finding)",
    "programs": "list(string)",
    "arguments": "map(string, string)",
    "before": "list(string)",
    "user": "string",
    "group": "list(string)",
    "agent": "string",
    "model": "string",
    "surface": "string",
}
MACROS = ("all", "exists", "exists_one", "filter", "map")
FUNCTIONS = (*MACROS, "contains", "startsWith", "endsWith", "matches", "size")


class EventFacts(NamedTuple):
    """The event that policy rules are evaluated for, without its effects. The surface is Agent or Tab."""

    name: str = ""
    tool: str = ""
    command: str = ""
    path: str = ""
    prompt: str = ""
    agent: str = ""
    conversation: str = ""
    user: str = ""
    group: tuple[str, ...] = ()
    model: str = ""
    surface: str = "Agent"
    programs: tuple[str, ...] = ()
    arguments: Mapping[str, str] = {}
    before: tuple[str, ...] = ()  # earlier actions of the conversation: secret, injection, refusal
