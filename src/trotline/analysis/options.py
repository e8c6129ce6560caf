"""Parse the options of a command line as most programs do."""

from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from trotline.analysis.shell.shell_state import Argument


class ParsedOptions(NamedTuple):
    """Flags by name without dashes, each with its values, and the other words."""

    flags: dict[str, list[Argument | None]]
    rest: tuple[Argument, ...]

    def has(self, *names: str) -> bool:
        """Return whether one of the flags is present. Long flags may be shortened, as GNU allows."""
        return any(_matches(name, flag) for flag in self.flags for name in names)

    def values(self, *names: str) -> list[Argument]:
        """Return all values of the flags."""
        return [
            value
            for flag, values in self.flags.items()
            for value in values
            if value and any(_matches(name, flag) for name in names)
        ]

    def value(self, *names: str) -> str:
        """Return the last value of a flag, or an empty text."""
        values = self.values(*names)
        return values[-1].text if values else ""


def _matches(name: str, flag: str) -> bool:
    """Return whether a flag is the option of this name, or an abbreviation of at least three letters."""
    return name == flag or (len(flag) > 2 and len(name) > len(flag) and name.startswith(flag))


def parse_options(
    words: Iterable[Argument], valued: str = "", *, stops: bool = False, long_dash: bool = False
) -> ParsedOptions:
    """Split words into flags and the rest.

    `valued`: the names of options that take a value, separated by spaces. `stops`: flags end at the first other word,
    as for a program that runs another. `long_dash`: `-name` is one flag.
    """
    flags: dict[str, list[Argument | None]] = {}
    rest: list[Argument] = []
    valued_names = _split_names(valued)
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
            index += _add_long_option(word, queue[index : index + 1], valued_names, flags)
        else:
            index += _add_short_options(word, queue[index : index + 1], valued_names, flags)
    return ParsedOptions(flags, tuple(rest))


@lru_cache(maxsize=1024)
def _split_names(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _add_long_option(
    word: Argument, following: list[Argument], valued_names: frozenset[str], flags: dict[str, list[Argument | None]]
) -> int:
    """Add a long option, and return how many of the following words are its value."""
    name, equals, value = word.text.lstrip("-").partition("=")
    values = flags.setdefault(name, [])
    if equals:
        values.append(word._replace(text=value))
        return 0
    if following and any(option == name or (len(option) > 1 and _matches(option, name)) for option in valued_names):
        values.append(following[0])
        return 1
    values.append(None)
    return 0


def _add_short_options(
    word: Argument, following: list[Argument], valued_names: frozenset[str], flags: dict[str, list[Argument | None]]
) -> int:
    """Add short options, and return how many of the following words are the value of the last one."""
    letters = word.text[1:]
    for at, letter in enumerate(letters):
        values = flags.setdefault(letter, [])
        if letter not in valued_names:
            values.append(None)
            continue
        rest = letters[at + 1 :]
        if rest:
            values.append(word._replace(text=rest))
            return 0
        values.append(following[0] if following else None)
        return 1 if following else 0
    return 0
