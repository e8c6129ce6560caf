"""What code works with, as far as its text tells."""

from __future__ import annotations

from typing import NamedTuple

from trotline.analysis.scene import UNKNOWN

LONGEST = 65_536


class Value(NamedTuple):
    """A text, a list, an object by its kind, or a function by its name; where its content comes from."""

    text: str = UNKNOWN
    name: str = ""  # of a module or a function; the kind of an object
    items: tuple[Value, ...] | None = None
    origins: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    owner: Value | None = None  # what a method belongs to
    body: object = None  # of a function that the code itself defines

    @property
    def known(self) -> bool:
        return UNKNOWN not in self.text

    def flat(self) -> tuple[Value, ...]:
        """The values of a list, or the value itself."""
        return self.items if self.items is not None else (self,)

    def with_text(self, text: str) -> Value:
        return Value(text[:LONGEST], "", None, self.origins, self.paths)


NOTHING = Value()


def text(value: str) -> Value:
    return Value(value[:LONGEST])


def listed(values: list[Value]) -> Value:
    return mixed(values)._replace(items=tuple(values))


def mixed(values: list[Value]) -> Value:
    """Something that is made of these in a way that we do not follow."""
    origins = frozenset().union(*(value.origins for value in values))
    paths = tuple(dict.fromkeys(path for value in values for path in value.paths))
    return Value(UNKNOWN, "", None, origins, paths)


def concatenated(values: list[Value], between: str = "") -> Value:
    return mixed(values).with_text(between.join(value.text for value in values))


class Call(NamedTuple):
    """A call whose arguments have been looked at."""

    name: str
    values: tuple[Value, ...]
    named: dict[str, Value]
    owner: Value | None = None

    def at(self, index: int, *names: str) -> Value | None:
        """The argument at this place, or by one of these names."""
        for name in names:
            if name in self.named:
                return self.named[name]
        return self.values[index] if index < len(self.values) else None

    def first(self) -> Value:
        """What most calls are about: the file, the command, the text."""
        return self.at(0, "path", "name", "filename", "file", "src") or NOTHING

    def all(self) -> list[Value]:
        return [*self.values, *self.named.values()]

    def true(self, *names: str) -> bool:
        """Whether an option is given, and not as a constant that means no."""
        return any(
            name in self.named and self.named[name].text not in {"", "0", "False", "false", "FALSE", "None"}
            for name in names
        )
