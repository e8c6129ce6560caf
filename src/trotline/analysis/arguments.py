"""The input of a tool as rules see it: every value as a text, under its name.

What stands inside of another value has both names, with a dot between: `filter.state`, `labels.0`.
"""

from collections.abc import Iterator, Mapping

from trotline.analysis.step import GAP

MOST = 10_000
DEEPEST = 16


def arguments_of(given: Mapping[str, object]) -> dict[str, str]:
    """All of them; if there are more than anybody means, one is named `…`, so that a rule can say no to that."""
    found: dict[str, str] = {}
    for name, text in _values(given, "", 0):
        if len(found) >= MOST:
            found[GAP] = GAP
            break
        found[name] = text
    return found


def _values(value: object, name: str, depth: int) -> Iterator[tuple[str, str]]:
    if depth > DEEPEST:
        yield GAP, GAP
    elif isinstance(value, Mapping | list):
        inner = value.items() if isinstance(value, Mapping) else enumerate(value)
        for key, one in inner:
            yield from _values(one, f"{name}.{key}" if name else str(key), depth + 1)
    else:
        yield name, _text(value)


def _text(value: object) -> str:
    """As JSON writes it, but for texts."""
    words = {True: "true", False: "false", None: "null"}
    return words[value] if value is None or isinstance(value, bool) else str(value)
