"""A trail for tests: calls as a host makes them, with all that Trotline keeps of them."""

import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path
from typing import Any

from trotline.audit.query import Query
from trotline.audit.sqlite_store import SqliteStore
from trotline.audit.trail import spool_of
from trotline.outcomes import Call
from trotline.program import answered, remember
from worlds import World, trotline_process


def shell(world: World, command: str, conversation: str = "c1") -> dict[str, Any]:
    """What Cursor sends before a command."""
    return {
        "hook_event_name": "beforeShellExecution",
        "conversation_id": conversation,
        "generation_id": "g1",
        "workspace_roots": [str(world.project)],
        "user_email": "ann@acme.io",
        "command": command,
        "cwd": str(world.project),
    }


def call(world: World, payload: dict[str, Any], host: str = "cursor") -> None:
    """A process of our own line; it ends when also the words are written."""
    argv = [sys.executable, "-I", "-m", "trotline", "hook", host, "--home", str(world.home)]
    subprocess.run(argv, input=json.dumps(payload).encode(), capture_output=True, check=False)
    spool = spool_of(world.roots().state)
    while any("detail" not in one for one in spool.read().records):
        os.sched_yield()


def called(world: World, payload: dict[str, Any], number: int, host: str = "cursor", event: str = "") -> None:
    """The same without a process, for many of them: what a service does with a call."""
    argv = ("--host", host, "--home", str(world.home), *(("--event", event) if event else ()))
    made = Call(id=f"call-{number}", argv=argv, payload=json.dumps(payload).encode(), received_us=1_800_000 + number)
    outcome = answered(made, (), guarded=True)[1]
    assert outcome is not None
    remember(outcome, str(world.home))


def stats(world: World, *words: str) -> dict[str, Any]:
    """What the command gives to programs."""
    done = trotline_process("log", "stats", "--json", *words, *world.options, cwd=world.project)
    return dict(json.loads(done.stdout)["data"])


def raised(name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "conversation_id": "c", "generation_id": "g", **fields}


def edit(path: str, old: str, new: str, name: str = "afterFileEdit") -> dict[str, Any]:
    return raised(name, file_path=path, edits=[{"old_string": old, "new_string": new}])


MADE = {
    2: "DROP INDEX records_event; DROP INDEX records_host",
    3: "",
    4: "DROP TABLE spans",
    5: "DROP TABLE figures; DROP INDEX records_own",
    6: "",
    7: "ALTER TABLE unread DROP COLUMN at_us",
    8: "",
}
"""What each step of the trail's tables made, taken back."""


def age(file: Path, step: int) -> None:
    """A trail as it was before this step."""
    db = sqlite3.connect(file)
    for number in sorted((made for made in MADE if made >= step), reverse=True):
        db.executescript(f"{MADE[number]}; DELETE FROM versions WHERE number = {number}")
    db.close()


def steps_of(store: SqliteStore, query: Query) -> int:
    """How many the database takes to answer: the same on every machine."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    store._db.set_progress_handler(step, 1)
    assert list(store.search(query))
    store._db.set_progress_handler(None, 1)
    return taken
