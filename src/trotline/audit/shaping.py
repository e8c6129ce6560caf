"""Records in the shape that is declared for them, so that no reader stumbles over one that has another.

What a foreign hand or another Trotline wrote is kept as it came, and found by what is in it. Only who reads it gets
each declared field as it ought to be; what it was stands beside it, under `odd`.
"""

from collections.abc import Callable
from operator import is_
from typing import Any

from trotline.audit import fitting
from trotline.audit.bodies import joined
from trotline.audit.record_schema import RECORD, REQUIRED, WORDS, Schema
from trotline.audit.shapes import dict_of, is_time, text_of

Fit = Callable[[Any], Any]
"""Gives the same value if it fits, and else the nearest one that does."""

ABSENT, UNFIT = object(), object()
"""It is not there; nothing of it fits, so that a field, or a member of a list, is left out."""

ODD = "odd"
ELSEWHERE = frozenset({"schema", "seq", "detail", ODD})
"""Fields that the trail itself looks after."""


def read(seq: int, record: str, detail: str | None) -> dict[str, Any]:
    """A record as readers get it."""
    found = joined(seq, record, detail)
    fits = fitting.OF_RECORD.holds(record) and (detail is None or fitting.OF_WORDS.holds(detail))
    return found if fits else shaped(found)


def shaped(record: dict[str, Any]) -> dict[str, Any]:
    found = _fitted(record, OF_RECORD, REQUIRED)
    detail = found.get("detail", ABSENT)
    if isinstance(detail, dict):
        fitting = _fitted(detail, OF_WORDS)
        return found if fitting is detail else {**found, "detail": fitting}
    if detail is ABSENT:
        return found
    kept = {name: value for name, value in found.items() if name != "detail"}
    return {**kept, ODD: {**dict_of(found.get(ODD)), "detail": detail}}


def _fitted(body: dict[str, Any], fits: dict[str, Fit], required: tuple[str, ...] = ()) -> dict[str, Any]:
    """The same object if all of it fits, as nearly every one does."""
    changed, odd = {}, {}
    for name, fit in fits.items():
        value = body.get(name, ABSENT)
        if value is not ABSENT:
            fitting = fit(value)
            if fitting is not value:
                changed[name], odd[name] = fitting, value
        elif name in required:
            changed[name] = fit(None)
    if not changed:
        return body
    found = {name: value for name, value in {**body, **changed}.items() if value is not UNFIT}
    return {**found, ODD: {**dict_of(body.get(ODD)), **odd}} if odd else found


def _text(value: Any) -> Any:
    if type(value) is str:
        return value if value.isascii() or _is_whole(value) else text_of(value, len(value))
    return "" if isinstance(value, dict | list) else text_of(value)


def _is_whole(value: str) -> bool:
    """Whether it has no half of a surrogate pair: JSON may hold one, and no terminal and no file takes it."""
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def _count(value: Any) -> Any:
    return value if is_time(value) else 0


def _number(value: Any) -> Any:
    return value if is_time(value) or (type(value) is int and is_time(-value)) else 0


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


def _fit_of(schema: Schema) -> Fit:
    kind = schema.get("type")
    if "enum" in schema:
        return _text  # a word of tomorrow's is one
    if isinstance(kind, list):
        return _one_of(kind)
    if "properties" in schema:
        return _object_of({name: _fit_of(inner) for name, inner in schema["properties"].items()}, schema["required"])
    if "prefixItems" in schema:
        return _row_of([_fit_of(inner) for inner in schema["prefixItems"]], schema["minItems"])
    if "items" in schema:
        return _list_of(_fit_of(schema["items"]))
    return _count if schema.get("minimum") == 0 else PLAIN[schema["type"]][1]


def _one_of(kinds: list[str]) -> Fit:
    fits = dict(map(PLAIN.__getitem__, kinds))

    def fit(value: Any) -> Any:
        known = fits.get(type(value))
        return known(value) if known else None if "null" in kinds else UNFIT

    return fit


def _list_of(fit: Fit) -> Fit:
    def fit_all(value: Any) -> Any:
        if not isinstance(value, list):
            return []
        if not value:
            return value
        found = list(map(fit, value))
        return value if all(map(is_, found, value)) else [one for one in found if one is not UNFIT]

    return fit_all


def _row_of(fits: list[Fit], least: int) -> Fit:
    def fit_all(value: Any) -> Any:
        if not isinstance(value, list) or not value:
            return UNFIT
        missing = [None] * (least - len(value))
        found = [fit(one) for fit, one in zip(fits, [*value, *missing], strict=False)]
        if not missing and all(map(is_, found, value)):
            return value
        return [*(one for one in found if one is not UNFIT), *value[len(fits) :]]

    return fit_all


def _object_of(fits: dict[str, Fit], required: list[str]) -> Fit:
    def fit_all(value: Any) -> Any:
        if not isinstance(value, dict):
            return UNFIT
        changed = {}
        for name, fit in fits.items():
            given = value.get(name, ABSENT)
            fitting = fit(None if given is ABSENT else given) if given is not ABSENT or name in required else given
            if fitting is not given:
                changed[name] = fitting
        return {**value, **changed} if changed else value

    return fit_all


OF_RECORD = {name: _fit_of(schema) for name, (schema, _) in RECORD.items() if name not in ELSEWHERE}
OF_WORDS = {name: _fit_of(schema) for name, (schema, _) in WORDS.items() if name not in ELSEWHERE}
