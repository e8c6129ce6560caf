"""The words after a verb of git, read as git reads them: long options may be shortened, most can be taken back."""

from collections.abc import Iterable
from functools import cache, lru_cache
from typing import NamedTuple

from trotline.analysis.scene import Argument


class Words(NamedTuple):
    """What was given. A later `--no-x` takes `--x` back, and is remembered in `refused`."""

    flags: dict[str, list[Argument | None]]
    refused: frozenset[str]
    rest: tuple[Argument, ...]  # before `--`
    paths: tuple[Argument, ...]  # after it
    dashed: bool

    def has(self, *names: str) -> bool:
        return any(name in self.flags for name in names)

    def values(self, *names: str) -> list[Argument]:
        return [value for name in names for value in self.flags.get(name, ()) if value is not None]

    def value(self, name: str) -> str:
        found = self.values(name)
        return found[-1].text if found else ""

    @property
    def all(self) -> tuple[Argument, ...]:
        return self.rest + self.paths


class Option(NamedTuple):
    name: str
    takes: str  # "=": a value; "?": one that must be attached; nothing


@cache
def grammar(spec: str) -> dict[str, Option]:
    """`f|force e|exclude= prune?`: the names of each option, the last is what we call it."""
    found: dict[str, Option] = {}
    for row in spec.split():
        takes = row[-1] if row[-1] in "=?" else ""
        names = row.rstrip("=?").split("|")
        found |= dict.fromkeys(names, Option(names[-1], takes))
    return found


@lru_cache(1024)
def _long(spec: str, name: str) -> Option | None:
    """The option that this name means: itself, or the shortest that begins with it."""
    options = grammar(spec)
    if name in options:
        return options[name]
    longer = [known for known in options if len(known) > 1 and known.startswith(name)]
    return options[min(longer, key=len)] if longer and name else None


class _Reader:
    def __init__(self, spec: str) -> None:
        self.spec = spec
        self.flags: dict[str, list[Argument | None]] = {}
        self.refused: set[str] = set()

    def long(self, word: Argument, following: Argument | None) -> bool:
        """Whether the following word was taken as the value."""
        name, equals, value = word.text[2:].partition("=")
        option = _long(self.spec, name)
        if option is None and name.startswith("no-"):
            refused = _long(self.spec, name[3:]) or Option(name[3:], "")
            self.flags.pop(refused.name, None)
            self.refused.add(refused.name)
            return False
        given = self.flags.setdefault(option.name if option else name, [])
        if equals:
            given.append(word._replace(text=value))
            return False
        taken = option is not None and option.takes == "=" and following is not None
        given.append(following if taken else None)
        return taken

    def short(self, word: Argument, following: Argument | None) -> bool:
        letters = word.text[1:]
        for at, letter in enumerate(letters):
            option = grammar(self.spec).get(letter) or Option("help" if letter == "h" else letter, "")
            given = self.flags.setdefault(option.name, [])
            rest = letters[at + 1 :]
            if option.takes and rest:
                given.append(word._replace(text=rest))
                return False
            if option.takes == "=":
                given.append(following)
                return following is not None
            given.append(None)
        return False


def words(given: Iterable[Argument], spec: str, *, stops: bool = False) -> Words:
    """`stops`: the first word that is no option ends them."""
    reader = _Reader(spec)
    queue = list(given)
    rest: list[Argument] = []
    index = 0
    while index < len(queue):
        word = queue[index]
        index += 1
        following = queue[index] if index < len(queue) else None
        if word.text == "--":
            return Words(reader.flags, frozenset(reader.refused), tuple(rest), tuple(queue[index:]), dashed=True)
        if word.text == "--end-of-options":
            rest += queue[index:]
            break
        if word.text.startswith("--"):
            index += reader.long(word, following)
        elif len(word.text) > 1 and word.text[0] == "-":
            index += reader.short(word, following)
        elif stops:
            rest += queue[index - 1 :]
            break
        else:
            rest.append(word)
    return Words(reader.flags, frozenset(reader.refused), tuple(rest), (), dashed=False)
