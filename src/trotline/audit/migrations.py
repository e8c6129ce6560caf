"""The numbered steps from an empty file to the tables of today. A step that is out is never changed again."""

import json
import sqlite3
from pathlib import Path

from trotline.audit.bodies import joined
from trotline.audit.figures import figures_of
from trotline.errors import TrotlineError

STEPS = Path(__file__).parent / "schema"


def migrate(connection: sqlite3.Connection, file: Path) -> None:
    """Take the steps that this file has not had; one that has had more than we know is not touched."""
    steps = {int(step.name.split("_")[0]): step for step in STEPS.glob("*.sql")}
    if _version(connection) == max(steps):
        return
    connection.create_function("figures_of", 2, _figures, deterministic=True)
    connection.execute("BEGIN IMMEDIATE")  # of many that open a new file, one makes the tables
    try:
        connection.execute("CREATE TABLE IF NOT EXISTS versions (number INTEGER PRIMARY KEY)")
        done = _version(connection)
        _refuse_newer(file, done, max(steps))
        for number in sorted(number for number in steps if number > done):
            for statement in steps[number].read_text("utf-8").split(";"):
                connection.execute(statement)
            connection.execute("INSERT INTO versions VALUES (?)", (number,))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def _figures(record: str, detail: str | None) -> str:
    """What tables have that no SQL can make out of bodies."""
    return json.dumps(figures_of(joined(0, record, detail)))


def _version(connection: sqlite3.Connection) -> int:
    known = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'versions'").fetchone()
    found = connection.execute("SELECT max(number) FROM versions").fetchone() if known else (0,)
    return int(found[0] or 0)


def _refuse_newer(file: Path, done: int, known: int) -> None:
    if done > known:
        message = f"`{file}` was written by a newer Trotline (schema {done}, known up to {known})"
        raise TrotlineError(message, hint="use that version, or move the file away: a new one is begun")
