"""What can happen to a trail: a full disk, a file that may not be written, a broken page, a clock that goes back,
another version. Each ends in a sentence, the guard goes on, and nothing that was acknowledged is lost."""

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

from kit import Workspace, age_audit_log, make_workspace, run_trotline
from soak_audit_log import Soaked, soak
from store_behaviour import HOUR, detail, ids, record
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.store.spool import Spool
from trotline.audit.store.sqlite_store import DATABASE_NAME
from trotline.audit.verify.chain import find_breaks

NOBODY = 65_534


def fill(state: Path, first: int, last: int, command: str = "make") -> None:
    spool = audit_log.get_spool(state)
    for number in range(first, last):
        assert spool.append(record(number)) == ""
        assert spool.append(detail(number, command=f"{command} {number}")) == ""


def whole(state: Path, numbers: range) -> None:
    """All of them, once, and a chain that holds."""
    with audit_log.open_audit_log(state) as store:
        assert sorted(int(name.removeprefix("id-")) for name in ids(store)) == list(numbers)
        assert all("detail" in one for one in store.search(Query()))
        assert list(find_breaks(store.entries(), store.checkpoints())) == []
        assert list(store.find_index_faults()) == []
        assert store.unread() == []


def guards(workspace: Workspace) -> None:
    """An agent still gets its refusal, and a record of it is kept."""
    waiting = len(audit_log.get_spool(workspace.roots().state).read().records)
    payload = {"hook_event_name": "beforeShellExecution", "conversation_id": "c", "command": "echo trotline-canary"}
    argv = [sys.executable, "-I", "-B", "-m", "trotline", "hook", "cursor", "--home", str(workspace.home)]
    done = subprocess.run(argv, input=json.dumps(payload).encode(), capture_output=True, check=True)
    assert json.loads(done.stdout)["permission"] == "deny"
    assert len(audit_log.get_spool(workspace.roots().state).read().records) == waiting + 1


def log(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    return run_trotline("log", *words, *workspace.options, cwd=workspace.project)


# A full disk

LIMITED = """
import resource, sys
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]),) * 2)
sys.argv = ["trotline", *sys.argv[2:]]
from trotline.__main__ import main
main()
"""
"""Any command, where no file may grow beyond so many bytes; Python reads no bytecode that it could not write whole."""


def limited(workspace: Workspace, size: int, *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-B", "-c", LIMITED, str(size), *words, *workspace.options]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd=workspace.project)


def test_a_full_disk_is_said_and_the_records_wait(workspace: Workspace) -> None:
    state = workspace.roots().state
    fill(state, 0, 20)
    assert log(workspace, "--count").stdout == "20\n"
    fill(state, 20, 400, "echo " + "long " * 100)
    done = limited(workspace, (state / DATABASE_NAME).stat().st_size + 8_192, "log")
    assert done.returncode == 1
    assert f"the trail `{state / DATABASE_NAME}` cannot be used: " in done.stderr
    assert "the space on the disk; records wait in the spool until it can be used" in done.stderr
    assert audit_log.get_spool(state).waits
    guards(workspace)
    assert log(workspace, "--conversation", "c1", "--count").stdout == "400\n"
    assert "it holds" in log(workspace, "verify").stdout


@pytest.mark.parametrize("room", [0, 1, 4_096, 20_000, 60_000])
def test_wherever_the_disk_is_full_nothing_is_lost_and_nothing_half_done(workspace: Workspace, room: int) -> None:
    state = workspace.roots().state
    fill(state, 0, 10)
    log(workspace)
    fill(state, 10, 200)
    limited(workspace, (state / DATABASE_NAME).stat().st_size + room, "log")
    whole(state, range(200))


def test_a_disk_that_is_full_from_the_beginning_is_said(workspace: Workspace) -> None:
    fill(workspace.roots().state, 0, 3)
    done = limited(workspace, 100, "log")
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    whole(workspace.roots().state, range(3))


# A store that may not be written


@pytest.fixture
def strangers() -> Iterator[Workspace]:
    """A home of somebody who is not root: root may write everywhere."""
    top = Path(tempfile.mkdtemp(prefix="tl-"))
    top.chmod(0o755)
    workspace = make_workspace(top)
    fill(workspace.roots().state, 0, 3)
    with audit_log.open_audit_log(workspace.roots().state):
        pass
    fill(workspace.roots().state, 3, 5)
    if os.geteuid() == 0:
        for path in [top, *top.rglob("*")]:
            os.chown(path, NOBODY, NOBODY)
    yield workspace
    for path in [top, *top.rglob("*")]:
        path.chmod(0o700)
    shutil.rmtree(top)


AS_STRANGER = """
import os, sys
from trotline import __main__
from trotline.cli import log  # read before we may no longer
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.argv = ["trotline", *sys.argv[1:]]
__main__.main()
"""


def as_stranger(workspace: Workspace, *words: str) -> "subprocess.CompletedProcess[str]":
    argv = [sys.executable, "-B", "-c", AS_STRANGER, *words, *workspace.options]
    return subprocess.run(argv, capture_output=True, text=True, check=False, cwd="/")


def test_a_store_that_may_not_be_written_is_said_and_the_records_wait(strangers: Workspace) -> None:
    state = strangers.roots().state
    (state / DATABASE_NAME).chmod(0o400)
    done = as_stranger(strangers, "log")
    assert done.returncode == 1
    assert "attempt to write a readonly database" in done.stderr
    assert "look at its owner, its mode" in done.stderr
    (state / DATABASE_NAME).chmod(0o600)
    assert as_stranger(strangers, "log", "--count").stdout == "5\n"


def test_a_directory_that_may_not_be_written_is_said(strangers: Workspace) -> None:
    state = strangers.roots().state
    state.chmod(0o500)
    done = as_stranger(strangers, "log")
    assert done.returncode == 1
    assert "cannot be used" in done.stderr
    state.chmod(0o700)
    assert as_stranger(strangers, "log", "--count").stdout == "5\n"


# A broken page


@pytest.mark.parametrize("at", [1, 2, 3, 5, 8])
def test_a_broken_page_is_said_and_what_comes_later_waits(workspace: Workspace, at: int) -> None:
    state = workspace.roots().state
    fill(state, 0, 300)
    log(workspace)
    with (state / DATABASE_NAME).open("r+b") as file:
        file.seek(at * 4096)
        file.write(b"\xa5" * 4096)
    guards(workspace)
    done = [log(workspace, *words) for words in ([], ["verify"], ["stats"])]
    assert any(one.returncode == 1 for one in done)
    for one in done:
        assert "Traceback" not in one.stderr
        assert one.returncode == 0 or "cannot be used" in one.stderr or "it does not hold" in one.stdout
    kept = [one["conversation"] for one in audit_log.get_spool(state).read().records]
    if kept:  # the drain met the broken page
        assert kept == ["c"]
        (state / DATABASE_NAME).rename(state / "broken.db")
        assert log(workspace, "--count").stdout == "1\n"


# A clock that goes back


def test_a_clock_that_goes_back_changes_no_order_and_loses_nothing(workspace: Workspace) -> None:
    spool = audit_log.get_spool(workspace.roots().state)
    for number, hours in enumerate((9, 5, 1, 7)):
        spool.append(record(number, at_us=hours * HOUR))
    shown = json.loads(log(workspace, "--json").stdout)["data"]["records"]
    assert [one["id"] for one in shown] == ["id-3", "id-2", "id-1", "id-0"]
    assert "it holds" in log(workspace, "verify").stdout
    (talk,) = json.loads(log(workspace, "conversations", "--json").stdout)["data"]
    assert talk["last_us"] - talk["first_us"] == 8 * HOUR
    assert log(workspace, "prune", "--before", "1970-01-01T06:00:00").stdout == "2 records forgotten\n"
    assert "it holds" in log(workspace, "verify").stdout


# Another version


def test_a_trail_of_a_newer_version_is_left_alone_and_the_records_wait_for_it(workspace: Workspace) -> None:
    state = workspace.roots().state
    fill(state, 0, 3)
    log(workspace)
    db = sqlite3.connect(state / DATABASE_NAME, isolation_level=None)
    db.execute("PRAGMA user_version = 999")
    db.close()
    guards(workspace)
    done = log(workspace)
    assert done.returncode == 1
    assert "was written by a newer Trotline (schema 999" in done.stderr
    db = sqlite3.connect(state / DATABASE_NAME, isolation_level=None)
    db.execute("PRAGMA user_version = 9")
    db.close()
    assert log(workspace, "--count").stdout == "4\n"


def test_an_audit_log_of_an_older_version_gets_its_indexes_rebuilt(workspace: Workspace) -> None:
    state = workspace.roots().state
    fill(state, 0, 3)
    log(workspace)
    age_audit_log(state / DATABASE_NAME)
    assert log(workspace, "--event", "beforeShellExecution", "--count").stdout == "3\n"
    db = sqlite3.connect(state / DATABASE_NAME)
    assert {"records_event", "records_agent"} <= {row[0] for row in db.execute("SELECT name FROM sqlite_master")}
    db.close()
    whole(state, range(3))


def test_a_line_of_a_newer_version_is_kept_and_said(workspace: Workspace) -> None:
    spool = audit_log.get_spool(workspace.roots().state)
    spool.append(record(1))
    spool.append(record(2, schema="trotline.record/2"))
    done = log(workspace)
    assert "1 line of the spool could not be read (its schema is 'trotline.record/2'" in done.stderr
    assert len(done.stdout.splitlines()) == 1


# A writer that dies, and many of them


def died_at(spool: Spool, body: dict[str, Any], at: int) -> bool:
    """Append in a process of its own that is killed when it has called so many functions; whether it was told that the
    record is there."""
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
        said = spool.append(body)
        sys.setprofile(None)
        os.write(writing, b"lost" if said else b"kept")
        os._exit(0)
    os.close(writing)
    os.waitpid(child, 0)
    told = os.read(reading, 10)
    os.close(reading)
    assert told != b"lost"
    return told == b"kept"


def test_a_writer_that_dies_at_any_step_tears_nothing_of_others(tmp_path: Path) -> None:
    state = tmp_path / "state"
    spool = audit_log.get_spool(state)
    acknowledged = set()
    number = 0
    for number in range(1, 500):
        assert spool.append(record(10_000 + number)) == ""
        acknowledged.add(f"id-{10_000 + number}")
        if died_at(Spool(spool.directory), record(number), number):
            acknowledged.add(f"id-{number}")
            break
    assert number > 20
    with audit_log.open_audit_log(state) as store:
        found = ids(store)
        assert acknowledged <= set(found)
        assert len(found) == len(set(found))
        assert store.unread() == []
        assert list(find_breaks(store.entries(), store.checkpoints())) == []


def test_many_write_while_the_one_that_drains_is_killed_again_and_again(tmp_path: Path) -> None:
    """The small twin of scripts/soak_audit_log.py."""
    soaked = soak(tmp_path / "state", writers=8, each=150, seed=5, pauses=(0.2, 0.6))
    assert soaked._replace(kills=0, seconds=0.0) == Soaked(acknowledged=1200)
    assert soaked.kills > 0
