"""The words of a condition: what a rule may name, and the type of each."""

from collections.abc import Mapping
from typing import NamedTuple

from trotline.effects import Effect

TYPES = {str: "string", bool: "bool", int: "int"}

EVENT: dict[str, str] = dict.fromkeys(("name", "tool", "command", "path", "prompt", "host", "conversation"), "string")
EFFECT: dict[str, str] = {
    name: TYPES.get(kind, "string") for name, kind in Effect.__annotations__.items() if name in Effect.__struct_fields__
}
FINDING: dict[str, str] = dict.fromkeys(("kind", "scanner", "certainty"), "string")

RECORDS: dict[str, dict[str, str]] = {"Event": EVENT, "Effect": EFFECT, "Finding": FINDING}
VARIABLES: dict[str, str] = {
    "event": "Event",
    "effects": "list(Effect)",
    "findings": "list(Finding)",
    "programs": "list(string)",
    "arguments": "map(string, string)",
    "before": "list(string)",
    "user": "string",
    "group": "list(string)",
    "host": "string",
    "model": "string",
    "surface": "string",
}
MACROS = ("all", "exists", "exists_one", "filter", "map")
FUNCTIONS = (*MACROS, "contains", "startsWith", "endsWith", "matches", "size")


class About(NamedTuple):
    """The event that a rule is asked about, and whose it is; its effects come beside it. A surface is Agent or Tab."""

    name: str = ""
    tool: str = ""
    command: str = ""
    path: str = ""
    prompt: str = ""
    host: str = ""
    conversation: str = ""
    user: str = ""
    group: tuple[str, ...] = ()
    model: str = ""
    surface: str = "Agent"
    programs: tuple[str, ...] = ()
    arguments: Mapping[str, str] = {}
    before: tuple[str, ...] = ()
