"""A TOML file of ours while it is being read: what it says by a table of keys, and every Problem with its place.

Where records go and what is told to whom is for the person and the owner of the machine to say, never for a project.
"""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trotline.config.files import content
from trotline.config.jsonc import Document
from trotline.config.jsonc_reader import MOST_BYTES
from trotline.config.page import Page
from trotline.config.places import Roots
from trotline.config.problems import CODES, Problem
from trotline.config.toml_places import places
from trotline.hooks import Place

OUTWARD = ("export.toml", "alerts.toml")
"""The files about what leaves this machine."""

LAYERS = ("enterprise", "user")

_AT = re.compile(r"\(at line (\d+), column (\d+)\)")
_SPAN = re.compile(r"([1-9][0-9]{0,6})(ms|s|m|h|d)")
UNITS = {"ms": 1_000, "s": 1_000_000, "m": 60_000_000, "h": 3_600_000_000, "d": 86_400_000_000}


class Key(NamedTuple):
    """What may stand behind a key."""

    kind: type
    says: str
    fits: Callable[[Any], bool] = lambda _: True


class TomlPage(Page):
    """One file; `code` is the Problem of whatever has no meaning in it."""

    def __init__(self, file: str, data: bytes, code: str) -> None:
        self.text = data.decode("utf-8", "replace")
        super().__init__(file, Document(self.text, line_starts=[0, *(m.end() for m in re.finditer("\n", self.text))]))
        self.code = code
        self.where = places(self.text)
        self.body = self._parsed()

    def wrong(self, key: str, message: str, hint: str = "", code: str = "") -> None:
        """Something is wrong with what stands under this name; with a table, if the name has no place of its own."""
        names = [key.rsplit(".", cut)[0] for cut in range(key.count(".") + 1)]
        place = next((self.where[name] for name in names if name in self.where), (0, 1))
        self.report(code or self.code, place, message, hint)

    def values(self, table: dict[str, Any], keys: dict[str, Key], prefix: str = "") -> dict[str, Any]:
        """What can be understood; the rest is reported."""
        found = {}
        for name, value in table.items():
            if name not in keys:
                from trotline.guards.nearness import near  # noqa: PLC0415 - only when something is wrong

                self.wrong(prefix + name, f"there is no `{name}` here", near(name, keys))
            elif type(value) is not keys[name].kind or not keys[name].fits(value):
                self.wrong(prefix + name, f"`{name}` must be {keys[name].says}")
            else:
                found[name] = value
        return found

    def _parsed(self) -> dict[str, Any]:
        import tomllib  # noqa: PLC0415 - most people have no such file

        try:
            return tomllib.loads(self.text)
        except tomllib.TOMLDecodeError as error:
            self.report(self.code, self._offset(str(error)), f"this is no TOML: {_AT.sub('', str(error)).strip()}")
        except RecursionError:
            self.report(self.code, (0, 1), "this is no TOML that anybody can read: it is too deep")
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
            why = f"the file cannot be read: {(error.strerror or str(error)).lower()}"
            yield Source(layer, file, None, (_problem("TL109", file, why),))
            continue
        if len(data) > MOST_BYTES:
            yield Source(layer, file, None, (_problem(code, file, "the file is larger than a megabyte"),))
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
