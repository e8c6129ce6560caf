"""Repair records that do not match their schema, so that readers can rely on it.

Entries written by other programs or other Trotline versions are stored and indexed unchanged. On reading, every
declared field gets a valid value, and the original value is kept under `odd`.
"""

from collections.abc import Callable
from operator import is_
from typing import Any

from trotline.audit.record import record_validation
from trotline.audit.record.bodies import join_bodies
from trotline.audit.record.record_reader import as_dict, clean_text, is_valid_time
from trotline.audit.record.record_schema import DETAIL, RECORD, REQUIRED, Schema

Fit = Callable[[Any], Any]
"""A function that returns the same object if it is valid, otherwise the nearest valid value."""

ABSENT, UNFIT = object(), object()
"""Markers for a missing value, and for a value that cannot be repaired: such a field or list item is left out."""

ODD = "odd"
ELSEWHERE = frozenset({"schema", "seq", "detail", ODD})
"""Fields that the audit log itself sets and checks."""


def decode_record(seq: int, record: str, detail: str | None) -> dict[str, Any]:
    """Return a record with its detail, repaired if it does not match the schema."""
    found = join_bodies(seq, record, detail)
    fits = record_validation.OF_RECORD.holds(record) and (detail is None or record_validation.OF_WORDS.holds(detail))
    return found if fits else repair_record(found)


def repair_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return the record with valid fields. A detail that is not an object moves to `odd`."""
    found = _repair_fields(record, OF_RECORD, REQUIRED)
    detail = found.get("detail", ABSENT)
    if isinstance(detail, dict):
        record_validation = _repair_fields(detail, OF_WORDS)
        return found if record_validation is detail else {**found, "detail": record_validation}
    if detail is ABSENT:
        return found
    kept = {name: value for name, value in found.items() if name != "detail"}
    return {**kept, ODD: {**as_dict(found.get(ODD)), "detail": detail}}


def _repair_fields(body: dict[str, Any], fits: dict[str, Fit], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return the body with valid fields: the same object if nothing changed, which is the usual case."""
    changed, odd = {}, {}
    for name, fit in fits.items():
        value = body.get(name, ABSENT)
        if value is not ABSENT:
            record_validation = fit(value)
            if record_validation is not value:
                changed[name], odd[name] = record_validation, value
        elif name in required:
            changed[name] = fit(None)
    if not changed:
        return body
    found = {name: value for name, value in {**body, **changed}.items() if value is not UNFIT}
    return {**found, ODD: {**as_dict(body.get(ODD)), **odd}} if odd else found


def _text(value: Any) -> Any:
    if type(value) is str:
        return value if value.isascii() or _is_whole(value) else clean_text(value, len(value))
    return "" if isinstance(value, dict | list) else clean_text(value)


def _is_whole(value: str) -> bool:
    """Check that a text has no lone surrogates: JSON allows them, but terminals and files do not."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _count(value: Any) -> Any:
    return value if is_valid_time(value) else 0


def _number(value: Any) -> Any:
    return value if is_valid_time(value) or (type(value) is int and is_valid_time(-value)) else 0


def _flag(value: Any) -> Any:
    return value if isinstance(value, bool) else bool(value)


def _object(value: Any) -> Any:
    return value if isinstance(value, dict) else {}


def _as_it_is(value: Any) -> Any:
    return value


PLAIN: dict[str, tuple[type, Fit]] = {
    "null": (type(None), _as_it_is),
    "string": (str, _text),
    "integer": (int, _number),
    "boolean": (bool, _flag),
    "object": (dict, _object),
}


def _build_fit(schema: Schema) -> Fit:
    kind = schema.get("type")
    if "enum" in schema:
        return _text  # later versions may add values
    if isinstance(kind, list):
        return _build_union_fit(kind)
    if "properties" in schema:
        return _build_object_fit(
            {name: _build_fit(inner) for name, inner in schema["properties"].items()}, schema["required"]
        )
    if "prefixItems" in schema:
        return _build_row_fit([_build_fit(inner) for inner in schema["prefixItems"]], schema["minItems"])
    if "items" in schema:
        return _build_list_fit(_build_fit(schema["items"]))
    return _count if schema.get("minimum") == 0 else PLAIN[schema["type"]][1]


def _build_union_fit(kinds: list[str]) -> Fit:
    fits = dict(map(PLAIN.__getitem__, kinds))

    def fit(value: Any) -> Any:
        known = fits.get(type(value))
        return known(value) if known else None if "null" in kinds else UNFIT

    return fit


def _build_list_fit(fit: Fit) -> Fit:
    def fit_all(value: Any) -> Any:
        if not isinstance(value, list):
            return []
        if not value:
            return value
        found = list(map(fit, value))
        return value if all(map(is_, found, value)) else [one for one in found if one is not UNFIT]

    return fit_all


def _build_row_fit(fits: list[Fit], least: int) -> Fit:
    def fit_all(value: Any) -> Any:
        if not isinstance(value, list) or not value:
            return UNFIT
        missing = [None] * (least - len(value))
        found = [fit(one) for fit, one in zip(fits, [*value, *missing], strict=False)]
        if not missing and all(map(is_, found, value)):
            return value
        return [*(one for one in found if one is not UNFIT), *value[len(fits) :]]

    return fit_all


def _build_object_fit(fits: dict[str, Fit], required: list[str]) -> Fit:
    def fit_all(value: Any) -> Any:
        if not isinstance(value, dict):
            return UNFIT
        changed = {}
        for name, fit in fits.items():
            given = value.get(name, ABSENT)
            record_validation = (
                fit(None if given is ABSENT else given) if given is not ABSENT or name in required else given
            )
            if record_validation is not given:
                changed[name] = record_validation
        return {**value, **changed} if changed else value

    return fit_all


OF_RECORD = {name: _build_fit(schema) for name, (schema, _) in RECORD.items() if name not in ELSEWHERE}
OF_WORDS = {name: _build_fit(schema) for name, (schema, _) in DETAIL.items() if name not in ELSEWHERE}
