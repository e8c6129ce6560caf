"""The options of a command line, read as most programs read them."""

from collections.abc import Iterable
from typing import NamedTuple

from trotline.analysis.scene import Argument


class Options(NamedTuple):
    """Flags by name without dashes, each with the values it was given; and the words that are none."""

    flags: dict[str, list[Argument | None]]
    rest: tuple[Argument, ...]

    def has(self, *names: str) -> bool:
        """Whether one of these was given; a long one may be shortened, as GNU allows."""
        return any(_is(name, flag) for flag in self.flags for name in names)

    def values(self, *names: str) -> list[Argument]:
        return [
            value for flag, given in self.flags.items() for value in given if value and any(_is(n, flag) for n in names)
        ]

    def value(self, *names: str) -> str:
        """The last value given, or nothing."""
        found = self.values(*names)
        return found[-1].text if found else ""


def _is(name: str, flag: str) -> bool:
    return name == flag or (len(flag) > 2 and len(name) > len(flag) and name.startswith(flag))


NONE: frozenset[str] = frozenset()


def options(
    words: Iterable[Argument],
    valued: Iterable[str] = NONE,
    *,
    stops: bool = False,
    long_dash: bool = False,
) -> Options:
    """The flags and the rest. `stops`: the first word that is no flag ends them (a program that runs another).
    `long_dash`: `-name` is one flag, not four.
    """
    flags: dict[str, list[Argument | None]] = {}
    rest: list[Argument] = []
    takes = frozenset(valued)
    queue = list(words)
    index = 0
    while index < len(queue):
        word = queue[index]
        index += 1
        text = word.text
        if text == "--":
            rest += queue[index:]
            break
        if len(text) < 2 or text[0] != "-":
            rest.append(word)
            if stops:
                rest += queue[index:]
                break
            continue
        if text[1] == "-" or long_dash:
            index += _long(word, queue[index : index + 1], takes, flags)
        else:
            index += _short(word, queue[index : index + 1], takes, flags)
    return Options(flags, tuple(rest))


def _long(
    word: Argument, following: list[Argument], takes: frozenset[str], flags: dict[str, list[Argument | None]]
) -> int:
    name, equals, value = word.text.lstrip("-").partition("=")
    given = flags.setdefault(name, [])
    if equals:
        given.append(word._replace(text=value))
        return 0
    if following and any(option == name or (len(option) > 1 and _is(option, name)) for option in takes):
        given.append(following[0])
        return 1
    given.append(None)
    return 0


def _short(
    word: Argument, following: list[Argument], takes: frozenset[str], flags: dict[str, list[Argument | None]]
) -> int:
    letters = word.text[1:]
    for at, letter in enumerate(letters):
        given = flags.setdefault(letter, [])
        if letter not in takes:
            given.append(None)
            continue
        rest = letters[at + 1 :]
        if rest:
            given.append(word._replace(text=rest))
            return 0
        given.append(following[0] if following else None)
        return 1 if following else 0
    return 0
