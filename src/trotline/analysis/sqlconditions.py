"""Conditions of SQL that name no rows: true of every one, in whatever words."""

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_SIGNS: dict[str, Callable[[float | str, float | str], bool]] = {
    "eq": eq,
    "nullsafeeq": eq,
    "neq": ne,
    "nullsafeneq": ne,
    "gt": gt,
    "gte": ge,
    "lt": lt,
    "lte": le,
}
_HOLDS_OF_ITSELF = frozenset({"eq", "nullsafeeq", "gte", "lte"})
_KEYS = frozenset("id _id pk uuid guid rowid _rowid_ ctid oid".split())
"""Names of columns that no row is without; a number among them begins at one."""

_OF_EVERY_KEY = frozenset({("gt", 0), ("gt", -1), ("gte", 0), ("gte", 1), ("neq", 0), ("neq", -1)})


def always(test: "exp.Expr") -> bool | None:
    """Whether a condition holds for every row, or for none; None where that depends on the row."""
    test = test.unnest()
    reads = _READERS.get(test.key)
    return reads(test) if reads is not None else None


def _boolean(test: "exp.Expr") -> bool | None:
    return bool(test.this)


def _literal(test: "exp.Expr") -> bool | None:
    return test.name not in {"0", ""}


def _null(_: "exp.Expr") -> bool | None:
    return False


def _not(test: "exp.Expr") -> bool | None:
    inner = always(test.this)
    return None if inner is None else not inner


def _and(test: "exp.Expr") -> bool | None:
    parts = [always(part) for part in test.flatten()]  # a chain of thousands is as deep as it is long
    return False if False in parts else None if None in parts else True


def _or(test: "exp.Expr") -> bool | None:
    parts = [always(part) for part in test.flatten()]
    return True if True in parts else None if None in parts else False


def _compared(test: "exp.Expr") -> bool | None:
    """Two constants; a column with itself; a key with a number that all keys are beyond."""
    left, right = test.this.unnest(), test.expression.unnest()
    if left.key == "column" and left == right:
        return True if test.key in _HOLDS_OF_ITSELF else None
    one, other = _constant(left), _constant(right)
    if one is not None and other is not None and type(one) is type(other):
        return _SIGNS[test.key](one, other)
    return True if _is_key(left) and (test.key, other) in _OF_EVERY_KEY else None


def _constant(node: "exp.Expr") -> float | str | None:
    if node.key == "neg":
        inner = _constant(node.this)
        return -inner if isinstance(inner, float) else None
    if node.key != "literal":
        return None
    if node.args.get("is_string"):
        return str(node.name)
    try:
        return float(node.name)
    except ValueError:
        return None


def _is(test: "exp.Expr") -> bool | None:
    """`id is null` holds for no row; `1 is null` neither."""
    asked, than = test.this.unnest(), test.expression.unnest()
    known = always(asked)
    if than.key == "null" and (_is_key(asked) or asked.key == "literal"):
        said = False
    elif than.key == "boolean" and known is not None:
        said = known is than.this
    else:
        return None
    return said is not bool(test.args.get("negate"))  # how one dialect writes `is not`


def _like(test: "exp.Expr") -> bool | None:
    pattern = test.expression
    return True if pattern.key == "literal" and pattern.name and set(pattern.name) == {"%"} else None


def _exists(test: "exp.Expr") -> bool | None:
    """`exists (select 1)`: a question that nothing can answer with no."""
    inner = test.this.unnest()
    plain = inner.key == "select" and not any(inner.args.get(part) for part in ("from", "from_", "where", "limit"))
    return True if plain else None


def _is_key(node: "exp.Expr") -> bool:
    return node.key == "column" and node.name.lower() in _KEYS


_READERS: dict[str, Callable[["exp.Expr"], bool | None]] = {
    **dict.fromkeys(_SIGNS, _compared),
    "and": _and,
    "boolean": _boolean,
    "exists": _exists,
    "ilike": _like,
    "is": _is,
    "like": _like,
    "literal": _literal,
    "not": _not,
    "null": _null,
    "or": _or,
}
