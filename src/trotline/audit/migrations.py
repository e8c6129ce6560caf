"""The numbered steps from an empty file to the tables of today. A step that is out is never changed again."""

import functools
import json
import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

from trotline.audit.bodies import joined
from trotline.audit.columns import columns_of, facts_of, words_of
from trotline.audit.figures import figures_of
from trotline.errors import TrotlineError

AGAIN = re.compile(r"^-- again: step ([0-9]+)$", re.MULTILINE)
COMMENT = re.compile(r"^--.*$", re.MULTILINE)
STEPS = Path(__file__).parent / "schema"
LENT: dict[str, Callable[[dict[str, Any]], Any]] = {
    "columns_of": columns_of,
    "facts_of": lambda record: sorted(facts_of(record)),
    "figures_of": figures_of,
    "words_of": words_of,
}
"""What makes out of bodies what no SQL can: functions of a record and its detail."""

LISTS = frozenset({"facts_of", "figures_of"})


def migrate(connection: sqlite3.Connection, file: Path) -> None:
    """Take the steps that this file has not had; one that has had more than we know is not touched."""
    steps = _steps()
    if _version(connection) == max(steps):
        return
    for name in LENT:
        connection.create_function(name, 2, _lent(name), deterministic=True)
    connection.execute("BEGIN IMMEDIATE")  # of many that open a new file, one makes the tables
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS versions (number INTEGER PRIMARY KEY)")
        done = refuse_newer(connection, file)
        for number in sorted(number for number in steps if number > done):
            for statement in _statements(steps[number]):
                connection.execute(statement)
            connection.execute("INSERT INTO versions VALUES (?)", (number,))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


@functools.cache
def _steps() -> dict[int, Path]:
    return {int(step.name.split("_")[0]): step for step in STEPS.glob("*.sql")}


def _statements(step: Path) -> list[str]:
    """Of a step, or of the one that it is once more: what makes tables out of records may have changed since."""
    text = step.read_text("utf-8")
    again = AGAIN.search(text)
    if again:
        return _statements(_steps()[int(again[1])])
    return COMMENT.sub("", text).split(";")


def _lent(name: str) -> Callable[[str, str | None], str]:
    """A text as it is, and anything else as JSON. What cannot be read is found by nothing, and stops nobody."""

    def lent(record: str, detail: str | None) -> str:
        try:
            found = LENT[name](joined(0, record, detail))
            return found if isinstance(found, str) else json.dumps(found)
        except (ValueError, TypeError, ArithmeticError, RecursionError):
            return "[]" if name in LISTS else ""

    return lent


def _version(connection: sqlite3.Connection) -> int:
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'versions'").fetchone()
    found = connection.execute("SELECT max(number) FROM versions").fetchone() if known else (0,)
    return int(found[0] or 0)


def refuse_newer(connection: sqlite3.Connection, file: Path) -> int:
    """The last step that this file has had, if we know it."""
    done, known = _version(connection), max(_steps())
    if done > known:
        message = f"`{file}` was written by a newer Trotline (schema {done}, known up to {known})"
        raise TrotlineError(message, hint="use that version, or move the file away: a new one is begun")
    return done
