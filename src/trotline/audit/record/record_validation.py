"""Fast check of JSON bodies against their schema. Nearly all bodies pass and need no repair."""

from functools import reduce
from operator import or_
from typing import Annotated, Any

import msgspec

from trotline.audit.record.record_reader import MAX_TIME_US
from trotline.audit.record.record_schema import DETAIL, RECORD, Schema

BY_THE_TRAIL = frozenset({"schema", "seq", "detail"})
PLAIN: dict[str, Any] = {
    "null": None,
    "string": str,
    "integer": Annotated[int, msgspec.Meta(gt=-MAX_TIME_US, lt=MAX_TIME_US)],
    "boolean": bool,
    "object": dict[str, msgspec.Raw],  # the content is not checked here
}
NEVER = Annotated[int, msgspec.Meta(gt=1, lt=1)]
COUNT = Annotated[int, msgspec.Meta(ge=0, lt=MAX_TIME_US)]


class Fitting:
    """A decoder used only to check a text against declared fields; other fields are ignored."""

    def __init__(self, name: str, declared: dict[str, tuple[Schema, str]], required: tuple[str, ...]) -> None:
        fields = {field: schema for field, (schema, _) in declared.items() if field not in BY_THE_TRAIL}
        fields |= {"detail": {"enum": []}}  # stored separately; a body that contains it is invalid
        self._decoder = msgspec.json.Decoder(_struct(name, fields, required))

    def holds(self, text: str) -> bool:
        """Check whether a JSON text matches the declared fields."""
        try:
            self._decoder.decode(text)
        except (msgspec.MsgspecError, UnicodeEncodeError, RecursionError):
            return False
        return True


def _struct(name: str, fields: dict[str, Schema], required: tuple[str, ...]) -> Any:
    optional = [
        (field, _build_type(schema) | msgspec.UnsetType, msgspec.UNSET)
        for field, schema in fields.items()
        if field not in required
    ]
    return msgspec.defstruct(name, [*((field, _build_type(fields[field])) for field in required), *optional])


def _row(places: list[Schema], least: int) -> Any:
    """Return the type of an array with `least` required items; surplus items are ignored."""
    types = [_build_type(place) for place in places]
    first = [(f"place_{at}", type_) for at, type_ in enumerate(types[:least])]
    rest = [(f"more_{at}", type_ | msgspec.UnsetType, msgspec.UNSET) for at, type_ in enumerate(types[least:])]
    return msgspec.defstruct("Row", [*first, *rest], array_like=True)


def _build_type(schema: Schema) -> Any:
    if "enum" in schema:
        return str if schema["enum"] else NEVER  # later versions may add values
    kind = schema["type"]
    if isinstance(kind, list):
        return reduce(or_, (PLAIN[one] for one in kind))
    if "properties" in schema:
        return _struct("Part", schema["properties"], tuple(schema["required"]))
    if "prefixItems" in schema:
        return _row(schema["prefixItems"], schema["minItems"])
    if "items" in schema:
        return list.__class_getitem__(_build_type(schema["items"]))
    return COUNT if schema.get("minimum") == 0 else PLAIN[kind]


OF_RECORD = Fitting("Record", RECORD, ("id", "at_us", "agent", "event", "asked"))
OF_WORDS = Fitting("Words", DETAIL, ("id",))
