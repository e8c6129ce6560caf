"""Functions that are not called by their name, but handed to somebody: to a pool, a timer, a list of things to do."""

from collections.abc import Callable

from trotline.analysis.code.acts import Act
from trotline.analysis.code.values import Call, Value

Known = Callable[[Value], Act | None]
"""What a value does when it is called, if it is a function that we know."""


def handed(call: Call, known: Known) -> tuple[Act | None, Call] | None:
    """Whoever gets a function may call it with whatever else he gets; with nothing else, he gives it back."""
    for at, one in enumerate([*call.values, *call.named.values()]):
        value = next((inner for inner in one.flat() if known(inner) is not None), one)
        act = known(value)
        if act is not None:
            others = [
                *(call.values[at + 1 :] or call.values[:at]),
                *(call.named[name] for name in call.named if name in _GIVEN),
            ]
            rest = given(others)
            return act if rest else None, Call(value.name or value.text, rest, {}, value.owner)
    return None


_GIVEN = ("args", "arguments", "argv")
"""Names of what is handed on; other names are for whoever gets the function."""


def given(values: list[Value]) -> tuple[Value, ...]:
    """What the function gets: lists are its arguments, and a name that stands for nothing here is `this` or `null`."""
    flat = [inner for value in values for inner in value.flat()]
    return tuple(value for value in flat if value.known or not value.name or value.name[0] == "<")


def is_function(name: str) -> bool:
    """Whether a name alone is one: a member of a module, or what means a shell in every language."""
    return "." in name or name in _RUN


_RUN = frozenset("eval exec system spawn popen passthru shell_exec".split())
