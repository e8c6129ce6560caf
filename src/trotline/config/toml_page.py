"""A TOML file of ours while it is being read: what it says by a table of keys, and every Problem with its place.

Where records go and what is told to whom is for the person and the owner of the machine to say, never for a project.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trotline.config.files import content, unreadable
from trotline.config.jsonc import Document, Node
from trotline.config.jsonc_reader import MOST_BYTES
from trotline.config.page import Page
from trotline.config.places import Roots
from trotline.config.problems import CODES, Problem
from trotline.config.toml_places import LONGEST_NAME, places
from trotline.hooks import Place
from trotline.toml_bounds import Span, beyond_reading

OUTWARD = ("export.toml", "alerts.toml")
"""The files about what leaves this machine."""

LAYERS = ("enterprise", "user")

MOST_PROBLEMS = 50
"""After so many nobody reads on, and each costs a search for what was meant."""

LONGEST_MESSAGE = 400

_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_SPAN = re.compile(r"([1-9][0-9]{0,6})(ms|s|m|h|d)")
UNITS = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


class Key(NamedTuple):
    """What may stand behind a key."""

    kind: type
    says: str
    fits: Callable[[Any], bool] = lambda _: True


class TomlPage(Page):
    """One file, of whoever put it there; `code` is the Problem of whatever has no meaning in it."""

    def __init__(self, file: str, data: bytes, code: str) -> None:
        self.text = data.decode("utf-8", "replace")
        super().__init__(file, Document(self.text, line_starts=[0, *(m.end() for m in re.finditer("\n", self.text))]))
        self.code = code
        self.body = self._parsed()
        self.is_read = not self.problems
        self.where = places(self.text) if self.is_read else {}

    def place_of(self, key: str) -> Span:
        """Where this name stands; its table, if it has no place of its own."""
        key = key[:LONGEST_NAME]
        names = [key.rsplit(".", cut)[0] for cut in range(key.count(".") + 1)]
        return next((self.where[name] for name in names if name in self.where), (0, 1))

    def wrong(self, key: str, message: str, hint: str = "", code: str = "") -> None:
        """Something is wrong with what stands under this name."""
        self.report(code or self.code, self.place_of(key), message, hint)

    def unknown(self, key: str, message: str, known: Iterable[str], *, entry: str = "") -> None:
        """This name means nothing; something that is known may have been meant."""
        if len(self.problems) > MOST_PROBLEMS:
            return
        from trotline.guards.nearness import near  # noqa: PLC0415 - only when something is wrong

        self.report(self.code, self.place_of(key), message, near(key.rpartition(".")[2], known), entry=entry)

    def report(self, code: str, node: Node | Span, message: str, hint: str = "", *, entry: str = "") -> None:
        if len(self.problems) > MOST_PROBLEMS:
            return
        if len(self.problems) == MOST_PROBLEMS:
            message, hint, entry = "there is more wrong in this file, from here on", "", ""
        super().report(code, node, message[:LONGEST_MESSAGE], hint, entry=entry)

    def values(self, table: dict[str, Any], keys: dict[str, Key], prefix: str = "") -> dict[str, Any]:
        """What can be understood; the rest is reported."""
        found = {}
        for name, value in table.items():
            if name not in keys:
                self.unknown(prefix + name, f"there is no `{name}` here", keys)
            elif type(value) is not keys[name].kind or not keys[name].fits(value):
                self.wrong(prefix + name, f"`{name}` must be {keys[name].says}")
            else:
                found[name] = value
        return found

    def _parsed(self) -> dict[str, Any]:
        """Nothing, and a Problem, of what is no TOML, or more than the library can be given."""
        import tomllib  # noqa: PLC0415 - most people have no such file

        if len(self.text) > MOST_BYTES:
            self.report("TL108", (0, 1), f"the file is larger than {MOST_BYTES:,} bytes")
            return {}
        beyond = beyond_reading(self.text)
        if beyond is not None:
            self.report(self.code, beyond[0], f"this is no TOML that anybody can read: {beyond[1]}")
            return {}
        try:
            return tomllib.loads(self.text)
        except ValueError as error:  # also of what Python itself does not take for a number
            self.report(self.code, self._offset(str(error)), f"this is no TOML: {_AT.sub('', str(error)).strip()}")
        return {}

    def _offset(self, message: str) -> tuple[int, int]:
        match = _AT.search(message)
        if match is None:
            return max(0, len(self.text) - 1), len(self.text)
        start = self.document.line_starts[int(match[1]) - 1] + int(match[2]) - 1
        return start, start + 1


class Source(NamedTuple):
    """A file that was found, or why it could not be read."""

    layer: str
    file: Path
    page: TomlPage | None
    problems: tuple[Problem, ...] = ()


def sources(roots: Roots, name: str, code: str) -> Iterator[Source]:
    """The file of this name of the owner of the machine and of the person; a project's is a Problem, and not read."""
    for layer, directory in zip(LAYERS, (roots.managed_config, roots.config), strict=True):
        file = directory / name
        try:
            data, _ = content(file)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            yield Source(layer, file, None, (unreadable(file, error),))
            continue
        yield Source(layer, file, TomlPage(str(file), data, code))
    for project in roots.projects:
        file = project / ".trotline" / name
        if file.exists():
            why = "a project does not say this: the file is not read"
            yield Source("project", file, None, (_problem(code, file, why),))


def are_there(roots: Roots, name: str) -> bool:
    """Whether anybody has such a file; for those who must not wait."""
    return (roots.config / name).exists() or (roots.managed_config / name).exists()


def is_anywhere(roots: Roots, name: str) -> bool:
    """Whether there is such a file, also where it has no say."""
    return are_there(roots, name) or any((project / ".trotline" / name).exists() for project in roots.projects)


def span_us(text: str) -> int:
    """A length of time as people write it, `90s`, `10m`, `2h`, in microseconds; 0 for what is none."""
    match = _SPAN.fullmatch(text)
    return int(match[1]) * UNITS[match[2]] if match else 0


def _problem(code: str, file: Path, message: str) -> Problem:
    return Problem(code=code, severity=CODES[code].severity, place=Place(str(file)), message=message)
