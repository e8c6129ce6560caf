"""Problems in configuration files, each with a code and a place.

The codes are in `problems.toml`. They are API: never reused, never renumbered. The first digit of a code is its
subject: 1 syntax, 2 shape, 3 matcher, 4 command and path, 5 layers and trust, 6 surface. The severity there applies
unless Cursor ignores the whole file because of the problem.
"""

import functools
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.domain.errors import describe_os_error
from trotline.domain.hooks import Place
from trotline.system.files import TooLargeError


class Severity(StrEnum):
    """The severity of a problem. `fatal`: the agent loads nothing from the file. `note`: nothing needs to be fixed."""

    FATAL = "fatal"
    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Code(NamedTuple):
    """The default severity of a code, its title and its explanation."""

    severity: Severity
    title: str
    about: str


class Problem(msgspec.Struct, frozen=True, kw_only=True):
    """A problem in a file: its place, a message and a hint."""

    code: str
    severity: Severity
    place: Place
    message: str
    hint: str = ""
    source: str = ""  # the line of the problem, or the part of a long line around it
    source_column: int = 1  # its column in `source`, from 1
    width: int = 1  # its length in characters
    entry: str = ""  # the entry that the problem is about, such as `stop[1]`

    @property
    def docs(self) -> str:
        """The path of the documentation of the code, relative to the repository."""
        return f"docs/problems.md#{self.code.lower()}"


class HookFinding(NamedTuple):
    """The code and texts of a Problem of a hook, without its place."""

    code: str
    message: str
    hint: str = ""


@functools.cache
def load_codes() -> dict[str, Code]:
    """Return all codes, in order."""
    import tomllib  # noqa: PLC0415 - most files have no problem

    tables = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
    return {code: Code(Severity(table["severity"]), table["title"], table["about"]) for code, table in tables.items()}


def get_severity(code: str, fatal_codes: frozenset[str]) -> Severity:
    """Return the severity of a code for an agent that ignores a file because of `fatal_codes`."""
    return Severity.FATAL if code in fatal_codes else load_codes()[code].severity


def build_problem(code: str, message: str, hint: str = "", *, place: Place, entry: str = "") -> Problem:
    """Return a Problem with the default severity of its code."""
    severity = load_codes()[code].severity
    return Problem(code=code, severity=severity, place=place, message=message, hint=hint, entry=entry)


def build_read_problem(file: Path | str, error: OSError) -> Problem:
    """Return the problem of an existing file that cannot be read."""
    code, place = ("TL108", Place(str(file), 1, 1)) if isinstance(error, TooLargeError) else ("TL109", Place(str(file)))
    return build_problem(code, f"the file cannot be read: {describe_os_error(error)}", place=place)
