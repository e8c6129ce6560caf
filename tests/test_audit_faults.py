"""Faults of the audit log: full disk, missing permissions, corrupt pages, a clock that goes back, another version.

Each fault is reported, guards keep working, and no acknowledged record is lost.
"""

import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kit import Workspace, age_audit_log, make_workspace
from soak_audit_log import SoakResult, soak
from store_behaviour import HOUR, detail, ids, record
from trotline.audit.query.query import Query
from trotline.audit.record.record_builder import RECORD_SCHEMA
from trotline.audit.store import audit_log
from trotline.audit.store.spool import Spool
from trotline.audit.store.sqlite_store import DATABASE_NAME
from trotline.audit.verify.chain import find_breaks

UNPRIVILEGED_ID = 65_534


def append_calls(state: Path, first: int, last: int, command: str = "make") -> None:
    spool = audit_log.get_spool(state)
    for number in range(first, last):
        assert spool.append(record(number)) == ""
        assert spool.append(detail(number, command=f"{command} {number}")) == ""


def check_complete(state: Path, numbers: range) -> None:
    """Check that these records are stored once, complete, in a valid chain."""
    with audit_log.open_audit_log(state) as store:
        assert sorted(int(name.removeprefix("id-")) for name in ids(store)) == list(numbers)
        assert all(record.has_detail for record in store.search(Query()))
        assert list(find_breaks(store.entries(), store.checkpoints())) == []
        assert list(store.find_index_faults()) == []
        assert store.unread() == []


def check_guarding(workspace: Workspace) -> None:
    """Check that a call is still refused and its record waits in the spool."""
    waiting = len(audit_log.get_spool(workspace.roots().state).read().records)
    payload = {"hook_event_name": "beforeShellExecution", "conversation_id": "c", "command": "echo trotline-canary"}
    argv = [sys.executable, "-I", "-B", "-m", "trotline", "hook", "cursor", "--home", str(workspace.home)]
    done = subprocess.run(argv, input=json.dumps(payload).encode(), capture_output=True, check=True)
    assert json.loads(done.stdout)["permission"] == "deny"
    assert len(audit_log.get_spool(workspace.roots().state).read().records) == waiting + 1


# A full disk

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv = ["trotline", *sys.argv[2:]]
from trotline.__main__ import main
main()
"""
"""Runs a command with a limited file size; Python reads no bytecode file that it could not write completely."""


def run_limited(workspace: Workspace, size: int, *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-B", "-c", LIMITED, str(size), *words, *workspace.options]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=workspace.project)


def test_full_disk_is_reported_and_records_wait(workspace: Workspace) -> None:
    state = workspace.roots().state
    append_calls(state, 0, 20)
    assert workspace.run("log", "--count").stdout == "20\n"
    append_calls(state, 20, 400, "echo " + "long " * 100)
    done = run_limited(workspace, (state / DATABASE_NAME).stat().st_size + 8_192, "log")
    assert done.returncode == 1
    assert f"the audit log `{state / DATABASE_NAME}` cannot be used: " in done.stderr
    assert "the space on the disk; records wait in the spool until it can be used" in done.stderr
    assert audit_log.get_spool(state).waits
    check_guarding(workspace)
    assert workspace.run("log", "--conversation", "c1", "--count").stdout == "400\n"
    assert "it holds" in workspace.run("log", "verify").stdout


@pytest.mark.parametrize("room", [0, 1, 4_096, 20_000, 60_000])
def test_full_disk_loses_no_record_at_any_size(workspace: Workspace, room: int) -> None:
    state = workspace.roots().state
    append_calls(state, 0, 10)
    workspace.run("log")
    append_calls(state, 10, 200)
    run_limited(workspace, (state / DATABASE_NAME).stat().st_size + room, "log")
    check_complete(state, range(200))


def test_disk_without_space_for_a_database_is_reported(workspace: Workspace) -> None:
    append_calls(workspace.roots().state, 0, 3)
    done = run_limited(workspace, 100, "log")
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    check_complete(workspace.roots().state, range(3))


# A store that may not be written


@pytest.fixture
def unprivileged_workspace() -> Iterator[Workspace]:
    """A workspace of a user without root privileges, because root may write everywhere."""
    top = Path(tempfile.mkdtemp(prefix="tl-"))
    top.chmod(0o755)
    workspace = make_workspace(top)
    append_calls(workspace.roots().state, 0, 3)
    with audit_log.open_audit_log(workspace.roots().state):
        pass
    append_calls(workspace.roots().state, 3, 5)
    if os.geteuid() == 0:
        for path in [top, *top.rglob("*")]:
            os.chown(path, UNPRIVILEGED_ID, UNPRIVILEGED_ID)
    yield workspace
    for path in [top, *top.rglob("*")]:
        path.chmod(0o700)
    shutil.rmtree(top)


UNPRIVILEGED_SCRIPT = """
import os, sys
from trotline import __main__
from trotline.cli import log  # import before dropping privileges
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.argv = ["trotline", *sys.argv[1:]]
__main__.main()
"""


def run_unprivileged(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-B", "-c", UNPRIVILEGED_SCRIPT, *words, *workspace.options]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd="/")


def test_read_only_store_is_reported_and_records_wait(unprivileged_workspace: Workspace) -> None:
    state = unprivileged_workspace.roots().state
    (state / DATABASE_NAME).chmod(0o400)
    done = run_unprivileged(unprivileged_workspace, "log")
    assert done.returncode == 1
    assert "attempt to write a readonly database" in done.stderr
    assert "look at its owner, its mode" in done.stderr
    (state / DATABASE_NAME).chmod(0o600)
    assert run_unprivileged(unprivileged_workspace, "log", "--count").stdout == "5\n"


def test_read_only_directory_is_reported(unprivileged_workspace: Workspace) -> None:
    state = unprivileged_workspace.roots().state
    state.chmod(0o500)
    done = run_unprivileged(unprivileged_workspace, "log")
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    state.chmod(0o700)
    assert run_unprivileged(unprivileged_workspace, "log", "--count").stdout == "5\n"


# A broken page


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
def test_corrupt_page_is_reported_and_later_records_wait(workspace: Workspace, at: int) -> None:
    state = workspace.roots().state
    append_calls(state, 0, 300)
    workspace.run("log")
    with (state / DATABASE_NAME).open("r+b") as file:
        file.seek(at * 4096)
        file.write(b"\xa5" * 4096)
    check_guarding(workspace)
    done = [workspace.run("log", *words) for words in ([], ["verify"], ["stats"])]
    assert any(process.returncode == 1 for process in done)
    for process in done:
        assert "Traceback" not in process.stderr
        assert process.returncode == 0 or "cannot be used" in process.stderr or "it does not hold" in process.stdout
    conversations = [record["conversation"] for record in audit_log.get_spool(state).read().records]
    if conversations:  # the drain met the broken page
        assert conversations == ["c"]
        (state / DATABASE_NAME).rename(state / "broken.db")
        assert workspace.run("log", "--count").stdout == "1\n"


# A clock that goes back


def test_clock_that_goes_back_keeps_order_and_records(workspace: Workspace) -> None:
    spool = audit_log.get_spool(workspace.roots().state)
    for number, hours in enumerate((9, 5, 1, 7)):
        spool.append(record(number, at_us=hours * HOUR))
    shown = json.loads(workspace.run("log", "--json").stdout)["data"]["records"]
    assert [record["id"] for record in shown] == ["id-3", "id-2", "id-1", "id-0"]
    assert "it holds" in workspace.run("log", "verify").stdout
    (conversation,) = json.loads(workspace.run("log", "conversations", "--json").stdout)["data"]
    assert conversation["last_us"] - conversation["first_us"] == 8 * HOUR
    assert workspace.run("log", "prune", "--before", "1970-01-01T06:00:00").stdout == "2 records forgotten\n"
    assert "it holds" in workspace.run("log", "verify").stdout


# Another version


def test_audit_log_of_a_newer_version_is_not_changed_and_records_wait(workspace: Workspace) -> None:
    state = workspace.roots().state
    append_calls(state, 0, 3)
    workspace.run("log")
    db = sqlite3.connect(state / DATABASE_NAME, isolation_level=None)
    db.execute("PRAGMA user_version = 999")
    db.close()
    check_guarding(workspace)
    done = workspace.run("log")
    assert done.returncode == 1
    assert "was written by a newer Trotline (schema 999" in done.stderr
    db = sqlite3.connect(state / DATABASE_NAME, isolation_level=None)
    db.execute("PRAGMA user_version = 9")
    db.close()
    assert workspace.run("log", "--count").stdout == "4\n"


def test_audit_log_of_an_older_version_gets_its_indexes_rebuilt(workspace: Workspace) -> None:
    state = workspace.roots().state
    append_calls(state, 0, 3)
    workspace.run("log")
    age_audit_log(state / DATABASE_NAME)
    assert workspace.run("log", "--event", "beforeShellExecution", "--count").stdout == "3\n"
    db = sqlite3.connect(state / DATABASE_NAME)
    assert {"records_event", "records_agent"} <= {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    db.close()
    check_complete(state, range(3))


def test_line_of_a_newer_version_is_stored_and_reported(workspace: Workspace) -> None:
    spool = audit_log.get_spool(workspace.roots().state)
    spool.append(record(1))
    name, _, version = RECORD_SCHEMA.partition("/")
    newer = f"{name}/{int(version) + 1}"
    spool.append(record(2, schema=newer))
    done = workspace.run("log")
    assert f"1 line of the spool could not be read (its schema is '{newer}'" in done.stderr
    assert len(done.stdout.splitlines()) == 1


# A writer that dies, and many of them


def append_and_die(spool: Spool, body: dict[str, Any], at: int) -> bool:
    """Append in a process that is killed after `at` function calls; return whether the record was acknowledged."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        counted = 0

        def step(_frame: object, event: str, _argument: object) -> None:
            nonlocal counted
            counted += event in {"call", "c_call"}
            if counted >= at:
                os.kill(os.getpid(), signal.SIGKILL)

        sys.setprofile(step)
        error = spool.append(body)
        sys.setprofile(None)
        os.write(writing, b"lost" if error else b"kept")
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    acknowledgement = os.read(reading, 10)
    os.close(reading)
    assert acknowledgement != b"lost"
    return acknowledgement == b"kept"


def test_writer_killed_at_any_step_damages_no_other_record(tmp_path: Path) -> None:
    state = tmp_path / "state"
    spool = audit_log.get_spool(state)
    acknowledged = set()
    number = 0
    for number in range(1, 500):
        assert spool.append(record(10_000 + number)) == ""
        acknowledged.add(f"id-{10_000 + number}")
        if append_and_die(Spool(spool.directory), record(number), number):
            acknowledged.add(f"id-{number}")
            break
    assert number > 20
    with audit_log.open_audit_log(state) as store:
        stored = ids(store)
        assert acknowledged <= set(stored)
        assert len(stored) == len(set(stored))
        assert store.unread() == []
        assert list(find_breaks(store.entries(), store.checkpoints())) == []


def test_concurrent_writers_survive_a_drain_that_is_killed_repeatedly(tmp_path: Path) -> None:
    """A short run of scripts/soak_audit_log.py."""
    soaked = soak(tmp_path / "state", writers=8, each=150, seed=5, pauses=(0.2, 0.6))
    assert soaked._replace(kills=0, seconds=0.0) == SoakResult(acknowledged=1200)
    assert soaked.kills > 0
