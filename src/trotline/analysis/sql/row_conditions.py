"""Evaluate SQL conditions that do not depend on the row: `1 = 1`, `id is not null`."""

from collections.abc import Callable
from operator import eq, ge, gt, le, lt, ne
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp

_OPERATORS: dict[str, Callable[[float | str, float | str], bool]] = {
    "eq": eq,
    "nullsafeeq": eq,
    "neq": ne,
    "nullsafeneq": ne,
    "gt": gt,
    "gte": ge,
    "lt": lt,
    "lte": le,
}
_REFLEXIVE = frozenset({"eq", "nullsafeeq", "gte", "lte"})
_KEYS = frozenset("id _id pk uuid guid rowid _rowid_ ctid oid".split())
"""Names of key columns: never null, and numeric keys begin at one."""

_TRUE_FOR_KEYS = frozenset({("gt", 0), ("gt", -1), ("gte", 0), ("gte", 1), ("neq", 0), ("neq", -1)})


def evaluate_condition(test: "exp.Expr") -> bool | None:
    """Return True or False if a condition holds for every row or for none, and None if it depends on the row."""
    test = test.unnest()
    evaluate = _EVALUATORS.get(test.key)
    return evaluate(test) if evaluate is not None else None


def _evaluate_not(test: "exp.Expr") -> bool | None:
    inner = evaluate_condition(test.this)
    return None if inner is None else not inner


def _evaluate_and(test: "exp.Expr") -> bool | None:
    parts = [evaluate_condition(part) for part in test.flatten()]  # recursion would be as deep as the chain is long
    return False if False in parts else None if None in parts else True


def _evaluate_or(test: "exp.Expr") -> bool | None:
    parts = [evaluate_condition(part) for part in test.flatten()]
    return True if True in parts else None if None in parts else False


def _evaluate_comparison(test: "exp.Expr") -> bool | None:
    """Compare two constants, a column with itself, or a key with a number below all keys."""
    left, right = test.this.unnest(), test.expression.unnest()
    if left.key == "column" and left == right:
        return True if test.key in _REFLEXIVE else None
    first, second = _get_constant(left), _get_constant(right)
    if first is not None and second is not None and type(first) is type(second):
        return _OPERATORS[test.key](first, second)
    return True if _is_key(left) and (test.key, second) in _TRUE_FOR_KEYS else None


def _get_constant(node: "exp.Expr") -> float | str | None:
    if node.key == "neg":
        inner = _get_constant(node.this)
        return -inner if isinstance(inner, float) else None
    if node.key != "literal":
        return None
    if node.args.get("is_string"):
        return str(node.name)
    try:
        return float(node.name)
    except ValueError:
        return None


def _evaluate_is(test: "exp.Expr") -> bool | None:
    """Evaluate `IS`: a key or a literal is never null."""
    subject, value = test.this.unnest(), test.expression.unnest()
    known = evaluate_condition(subject)
    if value.key == "null" and (_is_key(subject) or subject.key == "literal"):
        result = False
    elif value.key == "boolean" and known is not None:
        result = known is value.this
    else:
        return None
    return result is not bool(test.args.get("negate"))  # `is not` in some dialects


def _evaluate_like(test: "exp.Expr") -> bool | None:
    pattern = test.expression
    return True if pattern.key == "literal" and pattern.name and set(pattern.name) == {"%"} else None


def _evaluate_exists(test: "exp.Expr") -> bool | None:
    """`exists (select 1)` is always true."""
    inner = test.this.unnest()
    plain = inner.key == "select" and not any(inner.args.get(part) for part in ("from", "from_", "where", "limit"))
    return True if plain else None


def _is_key(node: "exp.Expr") -> bool:
    return node.key == "column" and node.name.lower() in _KEYS


_EVALUATORS: dict[str, Callable[["exp.Expr"], bool | None]] = {
    **dict.fromkeys(_OPERATORS, _evaluate_comparison),
    "and": _evaluate_and,
    "boolean": lambda test: bool(test.this),
    "exists": _evaluate_exists,
    "ilike": _evaluate_like,
    "is": _evaluate_is,
    "like": _evaluate_like,
    "literal": lambda test: test.name not in {"0", ""},
    "not": _evaluate_not,
    "null": lambda _: False,
    "or": _evaluate_or,
}
