"""Whether a body, as text, has the shape that is declared for it: nearly every one has, and nobody looks twice."""

from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec

from trotline.audit.record_schema import RECORD, WORDS, Schema
from trotline.audit.shapes import LATEST_US

BY_THE_TRAIL = frozenset({"schema", "seq", "detail"})
PLAIN: dict[str, Any] = {
    "null": None,
    "string": str,
    "integer": Annotated[int, msgspec.Meta(gt=-LATEST_US, lt=LATEST_US)],
    "boolean": bool,
    "object": dict[str, msgspec.Raw],  # nobody looks into it here
}
NEVER = Annotated[int, msgspec.Meta(gt=1, lt=1)]
COUNT = Annotated[int, msgspec.Meta(ge=0, lt=LATEST_US)]


class Fitting:
    """Reads a text only to see whether it can be read so; fields that nobody declared are passed over."""

    def __init__(self, name: str, declared: dict[str, tuple[Schema, str]], required: tuple[str, ...]) -> None:
        fields = {field: schema for field, (schema, _) in declared.items() if field not in BY_THE_TRAIL}
        fields |= {"detail": {"enum": []}}  # it comes from elsewhere, and is none if it stands here
        self._decoder = msgspec.json.Decoder(_struct(name, fields, required))

    def holds(self, text: str) -> bool:
        try:
            self._decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            return False
        return True


def _struct(name: str, fields: dict[str, Schema], required: tuple[str, ...]) -> Any:
    optional = [
        (field, _type_of(schema) | msgspec.UnsetType, msgspec.UNSET)
        for field, schema in fields.items()
        if field not in required
    ]
    return msgspec.defstruct(name, [*((field, _type_of(fields[field])) for field in required), *optional])


def _row(places: list[Schema], least: int) -> Any:
    """An array of which so many are there; what comes behind them is nobody's."""
    types = [_type_of(place) for place in places]
    first = [(f"place_{at}", type_) for at, type_ in enumerate(types[:least])]
    rest = [(f"more_{at}", type_ | msgspec.UnsetType, msgspec.UNSET) for at, type_ in enumerate(types[least:])]
    return msgspec.defstruct("Row", [*first, *rest], array_like=True)


def _type_of(schema: Schema) -> Any:
    if "enum" in schema:
        return str if schema["enum"] else NEVER  # a word of tomorrow's is one
    kind = schema["type"]
    if isinstance(kind, list):
        return reduce(or_, (PLAIN[one] for one in kind))
    if "properties" in schema:
        return _struct("Part", schema["properties"], tuple(schema["required"]))
    if "prefixItems" in schema:
        return _row(schema["prefixItems"], schema["minItems"])
    if "items" in schema:
        return list.__class_getitem__(_type_of(schema["items"]))
    return COUNT if schema.get("minimum") == 0 else PLAIN[kind]


OF_RECORD = Fitting("Record", RECORD, ("id", "at_us", "host", "event", "asked"))
OF_WORDS = Fitting("Words", WORDS, ("id",))
