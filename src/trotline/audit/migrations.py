"""The numbered steps from an empty file to the tables of today. A step that is out is never changed again."""

import functools
import json
import sqlite3
from pathlib import Path

from trotline.audit.bodies import joined
from trotline.audit.figures import figures_of
from trotline.errors import TrotlineError

STEPS = Path(__file__).parent / "schema"


def migrate(connection: sqlite3.Connection, file: Path) -> None:
    """Take the steps that this file has not had; one that has had more than we know is not touched."""
    steps = _steps()
    if _version(connection) == max(steps):
        return
    connection.create_function("figures_of", 2, _figures, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")  # of many that open a new file, one makes the tables
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS versions (number INTEGER PRIMARY KEY)")
        done = refuse_newer(connection, file)
        for number in sorted(number for number in steps if number > done):
            for statement in steps[number].read_text("utf-8").split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO versions VALUES (?)", (number,))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


@functools.cache
def _steps() -> dict[int, Path]:
    return {int(step.name.split("_")[0]): step for step in STEPS.glob("*.sql")}


def _figures(record: str, detail: str | None) -> str:
    """What tables have that no SQL can make out of bodies. One that cannot be read counts nothing, and stops nobody."""
    try:
        return json.dumps(figures_of(joined(0, record, detail)))
    except (ValueError, TypeError, ArithmeticError, RecursionError):
        return "[]"


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
