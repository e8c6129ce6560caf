"""Draining: each line of the spool comes into the store once, whoever writes, reads or dies meanwhile."""

import os
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from store_behaviour import detail, ids, record
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.store import drain as drain_module
from trotline.audit.store.drain import DrainResult, drain
from trotline.audit.store.spool import Spool, list_asides
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.verify.chain import find_breaks
from trotline.domain.errors import TrotlineError, TryAgain
from trotline.service import maintenance, server
from trotline.service.directory import RunDirectory, get_service_roots
from trotline.service.maintenance import Maintenance
from trotline.service.server import Service, listen
from trotline.service.watch import CodeWatch
from trotline.system.files import lock_file

WRITERS, EACH = 16, 40


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def spool(state: Path) -> Spool:
    return audit_log.get_spool(state)


@pytest.fixture
def store(state: Path) -> Iterator[SqliteStore]:
    with SqliteStore(state / "trail.db") as opened:
        yield opened


def test_what_was_in_the_spool_is_in_the_store_and_nowhere_else(spool: Spool, store: SqliteStore) -> None:
    spool.append(record(1))
    spool.append(detail(1, command="make"))
    assert drain(spool, store) == DrainResult(lines=2, files=1)
    assert ids(store, command="make") == ["id-1"]
    assert not spool.waits
    assert spool.read().records == []


def test_an_empty_spool_is_drained_of_nothing(spool: Spool, store: SqliteStore) -> None:
    assert drain(spool, store) == DrainResult()


def test_a_detail_that_comes_after_its_record_was_drained_finds_it(
    spool: Spool, store: SqliteStore, state: Path
) -> None:
    spool.append(record(1))
    drain(spool, store)
    spool.append(detail(1, command="make"))
    assert audit_log.read_records(state).records[0]["detail"]["payload"] == {"command": "make"}
    drain(spool, store)
    assert ids(store, command="make") == ["id-1"]


def test_torn_lines_are_counted_kept_and_in_nobodys_way(spool: Spool, store: SqliteStore, state: Path) -> None:
    spool.append(record(1))
    with spool.file.open("ab") as file:
        file.write(b'\n0badc0de {"id": "torn')
        file.write(b"\n" + b"[" * 100_000)
    spool.append(record(2))
    assert audit_log.read_records(state).torn == 2
    drain(spool, store)
    assert ids(store) == ["id-2", "id-1"]
    assert [one.why for one in store.unread()] == ["torn", "torn"]
    assert audit_log.read_records(state).torn == 2


def test_something_that_is_no_file_is_not_drained(spool: Spool, store: SqliteStore) -> None:
    spool.directory.mkdir(parents=True)
    os.mkfifo(spool.file)
    with pytest.raises(TrotlineError, match="not a regular file"):
        drain(spool, store)


def test_one_that_must_not_wait_leaves_a_spool_that_is_being_drained(spool: Spool, store: SqliteStore) -> None:
    spool.append(record(1))
    holder = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(1, flush=True); input()"
    argv = [sys.executable, "-c", holder, str(spool.directory / "drain.lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert drain(spool, store, wait=False) is None
        process.communicate("\n")
    assert drain(spool, store, wait=False) == DrainResult(lines=1, files=1)


def test_nobody_waits_for_ever_for_one_that_drains_and_hangs(
    spool: Spool, store: SqliteStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    spool.append(record(1))
    monkeypatch.setattr(drain_module, "LOCK_TIMEOUT", 0.1)
    with lock_file(spool.directory / "drain.lock") as descriptor:
        os.write(descriptor, b"%d\n" % os.getpid())
        with pytest.raises(TryAgain, match=f"process {os.getpid()} is draining the spool") as caught:
            drain(spool, store)
        assert str(spool.directory / "drain.lock") in caught.value.hint
    assert drain(spool, store) == DrainResult(lines=1, files=1)


@pytest.mark.parametrize("moment", ["_open_file", "_is_in_its_place"], ids=["before it writes", "after it wrote"])
def test_a_writer_whose_file_is_drained_under_its_hands_writes_to_the_next(
    spool: Spool, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    meant = getattr(Spool, moment)

    def slow(self: Spool, *arguments: Any) -> Any:
        monkeypatch.undo()
        opened = meant(self) if moment == "_open_file" else None
        assert drain(spool, store) is not None
        return opened or meant(self, *arguments)

    spool.append(record(1))
    monkeypatch.setattr(Spool, moment, slow)
    assert spool.append(record(2)) == ""
    assert spool.waits
    drain(spool, store)
    assert sorted(ids(store)) == ["id-1", "id-2"]
    assert store.unread() == []


def served(home: Path) -> tuple[str, str]:
    """A service that nobody calls: why it ended, and what it logged."""
    roots = get_service_roots(str(home))
    (roots.state / "run").mkdir(parents=True, exist_ok=True)
    service = Service(roots, CodeWatch(roots), os.getuid())
    why = service.serve(listen(roots.state / "run" / "s"), 0.05)
    while service.maintenance.is_running:
        os.sched_yield()
    return why, "\n".join(service.directory.log_lines())


def test_a_service_that_nobody_calls_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CALLS_ARE_LIKELY", 0.0)
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        state = get_service_roots(home).state
        spool = audit_log.get_spool(state)
        spool.append(record(1))
        assert served(Path(home)) == ("nobody called", "")
        assert not spool.waits
        with SqliteStore(state / "trail.db") as store:
            assert ids(store) == ["id-1"]


def test_a_service_whose_trail_cannot_be_used_says_so_once_and_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CALLS_ARE_LIKELY", 0.0)
    monkeypatch.setattr(server, "SECONDS_BETWEEN_LOOKS", 0.01)
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        state = get_service_roots(home).state
        spool = audit_log.get_spool(state)
        spool.append(record(1))
        (state / "trail.db").write_bytes(b"no database" * 1000)
        for _ in range(2):
            why, logged = served(Path(home))
            assert why == "nobody called"
            assert logged.count("file is not a database") == 1
        assert len(spool.read().records) == 1


def test_a_service_goes_on_while_its_drain_hangs_and_the_kernel_ends_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "CALLS_ARE_LIKELY", 0.0)
    monkeypatch.setattr(server, "Maintenance", lambda roots: Maintenance(roots, max_seconds=2.0))
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        state = get_service_roots(home).state
        spool = audit_log.get_spool(state)
        spool.append(record(1))
        with sqlite_held(state / "trail.db"):
            why, logged = served(Path(home))
        assert why == "nobody called"
        assert "not drained: it was ended by signal 14" in logged
        assert "in drain_if_unlocked" in logged
        assert len(spool.read().records) == 1
        assert served(Path(home))[0] == "nobody called"
        assert not spool.waits


@contextmanager
def sqlite_held(file: Path) -> Iterator[None]:
    """A trail that somebody writes to and does not end."""
    SqliteStore(file).close()
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    yield
    db.close()


def test_whatever_a_drain_meets_is_logged_without_a_word_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def odd(*_: object) -> None:
        raise ValueError("unmistakable")

    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        directory = RunDirectory(get_service_roots(home).state / "run")
        directory.path.mkdir(parents=True)
        monkeypatch.setattr(sys, "argv", ["trotline", home, "0"])
        monkeypatch.setattr(audit_log, "drain_if_unlocked", odd)
        monkeypatch.setattr("faulthandler.register", lambda *_, **__: None)
        umask = os.umask(0o077)
        for _ in range(2):
            maintenance.main()
        os.umask(umask)
        (line,) = directory.log_lines()
        assert line.split(" ", 2)[2].startswith("not drained: ValueError at test_drain.py:")


def test_a_service_while_calls_are_likely_leaves_the_spool(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        spool = audit_log.get_spool(get_service_roots(home).state)
        spool.append(record(1))
        assert served(Path(home))[0] == "nobody called"
        assert spool.waits


WRITER = """
import sys
sys.path.insert(0, sys.argv[3])
from pathlib import Path
from store_behaviour import record, detail
from trotline.audit.store.spool import Spool
spool = Spool(Path(sys.argv[1]))
first = int(sys.argv[2])
for number in range(first, first + int(sys.argv[4])):
    for line in (record(number), detail(number, command=f"make {number}")):
        said = spool.append(line)
        if said:
            sys.exit(said)
    print(number)
"""


def test_while_many_write_and_some_drain_nothing_is_lost_and_nothing_doubled(
    spool: Spool, store: SqliteStore, state: Path
) -> None:
    here = str(Path(__file__).parent)
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(spool.directory), str(number * EACH), here, str(EACH)],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    seen = 0
    while any(writer.poll() is None for writer in writers):
        drain(spool, store)
        now = len(audit_log.read_records(state).records)
        assert now >= seen  # whoever looks sees all, also what is just being moved
        seen = now
    acknowledged = [int(line) for writer in writers for line in writer.communicate()[0].split()]
    drain(spool, store)
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    found = [int(one["id"].removeprefix("id-")) for one in store.search(Query())]
    assert sorted(found) == sorted(acknowledged) == list(range(WRITERS * EACH))
    assert all("detail" in one for one in store.search(Query()))
    assert store.head().seq == 2 * WRITERS * EACH
    assert list(find_breaks(store.entries(), store.checkpoints())) == []
    assert store.unread() == []


DIES = """
import os, signal, sys
from pathlib import Path
from trotline.audit.store import audit_log
from trotline.audit.store import drain
from trotline.audit.store.sqlite_store import SqliteStore
at, state = int(sys.argv[1]), Path(sys.argv[2])
counted = 0
def step(frame, event, argument):
    global counted
    counted += event in ("call", "c_call")
    if counted >= at:
        os.kill(os.getpid(), signal.SIGKILL)
store = SqliteStore(state / "trail.db")
drain.BATCH_SIZE = 2
sys.setprofile(step)
drain.drain(audit_log.get_spool(state), store)
sys.setprofile(None)
print(counted)
"""
"""Draining that ends in the middle of any call of a function, ours or Python's."""


@pytest.mark.parametrize("offset", range(3))
def test_whoever_dies_while_draining_has_lost_and_doubled_nothing(
    spool: Spool, store: SqliteStore, state: Path, offset: int
) -> None:
    killed = 0
    for number, at in enumerate(range(5 + offset * 7, 700, 61)):
        for name in range(number * 5, number * 5 + 5):
            assert spool.append(record(name)) == ""
        with spool.file.open("ab") as file:
            file.write(b"\ntorn %d\n" % number)
        done = subprocess.run([sys.executable, "-c", DIES, str(at), str(state)], check=False, capture_output=True)
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    drain(spool, store)
    assert killed > 5
    assert list_asides(spool.directory) == []
    assert sorted(int(name.removeprefix("id-")) for name in ids(store)) == list(range(number * 5 + 5))
    assert len(store.unread()) == number + 1
    assert list(find_breaks(store.entries(), store.checkpoints())) == []
