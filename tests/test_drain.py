"""The drain: each line of the spool is stored once, despite concurrent writers, readers and crashes."""

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

from kit import read_data
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

WRITERS, RECORDS_PER_WRITER = 16, 40


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def spool(state: Path) -> Spool:
    return audit_log.get_spool(state)


@pytest.fixture
def store(state: Path) -> Iterator[SqliteStore]:
    with SqliteStore(state / "audit_log.db") as opened:
        yield opened


def test_drain_moves_records_into_the_store(spool: Spool, store: SqliteStore) -> None:
    spool.append(record(1))
    spool.append(detail(1, command="make"))
    assert drain(spool, store) == DrainResult(lines=2, files=1)
    assert ids(store, command="make") == ["id-1"]
    assert not spool.waits
    assert spool.read().records == []


def test_drain_of_an_empty_spool_does_nothing(spool: Spool, store: SqliteStore) -> None:
    assert drain(spool, store) == DrainResult()


def test_detail_is_joined_to_a_drained_record(spool: Spool, store: SqliteStore, state: Path) -> None:
    spool.append(record(1))
    drain(spool, store)
    spool.append(detail(1, command="make"))
    assert audit_log.read_records(state).records[0].payload == {"command": "make"}
    drain(spool, store)
    assert ids(store, command="make") == ["id-1"]


def test_torn_lines_are_counted_and_stored(spool: Spool, store: SqliteStore, state: Path) -> None:
    spool.append(record(1))
    with spool.file.open("ab") as file:
        file.write(b'\n0badc0de {"id": "torn')
        file.write(b"\n" + b"[" * 100_000)
    spool.append(record(2))
    assert audit_log.read_records(state).unread == 2
    drain(spool, store)
    assert ids(store) == ["id-2", "id-1"]
    assert [unread.why for unread in store.unread()] == ["torn", "torn"]
    assert audit_log.read_records(state).unread == 2


def test_named_pipe_is_not_drained(spool: Spool, store: SqliteStore) -> None:
    spool.directory.mkdir(parents=True)
    os.mkfifo(spool.file)
    with pytest.raises(TrotlineError, match="not a regular file"):
        drain(spool, store)


def test_drain_without_waiting_skips_a_locked_spool(spool: Spool, store: SqliteStore) -> None:
    spool.append(record(1))
    holder = "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, 2); print(1, flush=True); input()"
    argv = [sys.executable, "-c", holder, str(spool.directory / "drain.lock")]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert drain(spool, store, wait=False) is None
        process.communicate("\n")
    assert drain(spool, store, wait=False) == DrainResult(lines=1, files=1)


def test_wait_for_a_hanging_drain_is_limited(spool: Spool, store: SqliteStore, monkeypatch: pytest.MonkeyPatch) -> None:
    spool.append(record(1))
    monkeypatch.setattr(drain_module, "LOCK_TIMEOUT", 0.1)
    with lock_file(spool.directory / "drain.lock") as descriptor:
        os.write(descriptor, b"%d\n" % os.getpid())
        with pytest.raises(TryAgain, match=f"process {os.getpid()} is draining the spool") as caught:
            drain(spool, store)
        assert str(spool.directory / "drain.lock") in caught.value.hint
    assert drain(spool, store) == DrainResult(lines=1, files=1)


@pytest.mark.parametrize("moment", ["_open_file", "_is_in_its_place"], ids=["before it writes", "after it wrote"])
def test_writer_continues_in_a_new_file_during_a_drain(
    spool: Spool, store: SqliteStore, monkeypatch: pytest.MonkeyPatch, moment: str
) -> None:
    method = getattr(Spool, moment)

    def slow(self: Spool, *arguments: Any) -> Any:
        monkeypatch.undo()
        opened = method(self) if moment == "_open_file" else None
        assert drain(spool, store) is not None
        return opened or method(self, *arguments)

    spool.append(record(1))
    monkeypatch.setattr(Spool, moment, slow)
    assert spool.append(record(2)) == ""
    assert spool.waits
    drain(spool, store)
    assert sorted(ids(store)) == ["id-1", "id-2"]
    assert store.unread() == []


def run_service(home: Path) -> tuple[str, str]:
    """Run a service without calls; return why it ended and its log."""
    roots = get_service_roots(str(home))
    (roots.state / "run").mkdir(parents=True, exist_ok=True)
    service = Service(roots, CodeWatch(roots), os.getuid())
    why = service.serve(listen(roots.state / "run" / "s"), 0.05)
    while service.maintenance.is_running:
        os.sched_yield()
    return why, "\n".join(service.directory.read_log_lines())


def test_idle_service_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIKELY_CALL_SECONDS", 0.0)
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        state = get_service_roots(home).state
        spool = audit_log.get_spool(state)
        spool.append(record(1))
        assert run_service(Path(home)) == ("nobody called", "")
        assert not spool.waits
        with SqliteStore(state / "audit_log.db") as store:
            assert ids(store) == ["id-1"]


def test_service_logs_an_unusable_audit_log_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIKELY_CALL_SECONDS", 0.0)
    monkeypatch.setattr(server, "SECONDS_BETWEEN_CHECKS", 0.01)
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        state = get_service_roots(home).state
        spool = audit_log.get_spool(state)
        spool.append(record(1))
        (state / "audit_log.db").write_bytes(b"no database" * 1000)
        for _ in range(2):
            why, logged = run_service(Path(home))
            assert why == "nobody called"
            assert logged.count("file is not a database") == 1
        assert len(spool.read().records) == 1


def test_service_survives_a_hanging_drain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "LIKELY_CALL_SECONDS", 0.0)
    monkeypatch.setattr(server, "Maintenance", lambda roots: Maintenance(roots, max_seconds=2.0))
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        state = get_service_roots(home).state
        spool = audit_log.get_spool(state)
        spool.append(record(1))
        with hold_sqlite(state / "audit_log.db"):
            why, logged = run_service(Path(home))
        assert why == "nobody called"
        assert "not drained: it was ended by signal 14" in logged
        assert "in drain_if_unlocked" in logged
        assert len(spool.read().records) == 1
        assert run_service(Path(home))[0] == "nobody called"
        assert not spool.waits


@contextmanager
def hold_sqlite(file: Path) -> Iterator[None]:
    """Hold a write transaction on the audit log."""
    SqliteStore(file).close()
    db = sqlite3.connect(file, isolation_level=None)
    db.execute("BEGIN IMMEDIATE")
    yield
    db.close()


def test_error_of_a_drain_is_logged_without_its_text(monkeypatch: pytest.MonkeyPatch) -> None:
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
        (line,) = directory.read_log_lines()
        assert line.split(" ", 2)[2].startswith("not drained: ValueError at test_drain.py:")


def test_service_does_not_drain_while_calls_are_likely(monkeypatch: pytest.MonkeyPatch) -> None:
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        spool = audit_log.get_spool(get_service_roots(home).state)
        spool.append(record(1))
        assert run_service(Path(home))[0] == "nobody called"
        assert spool.waits


WRITER = read_data("scripts/spool_writer.py.txt")


def test_concurrent_writers_and_drains_lose_and_double_nothing(spool: Spool, store: SqliteStore, state: Path) -> None:
    here = str(Path(__file__).parent)
    writers = [
        subprocess.Popen(
            [
                sys.executable,
                "-c",
                WRITER,
                str(spool.directory),
                str(number * RECORDS_PER_WRITER),
                here,
                str(RECORDS_PER_WRITER),
            ],
            stdout=subprocess.PIPE,
            text=True,
        )
        for number in range(WRITERS)
    ]
    count = 0
    while any(writer.poll() is None for writer in writers):
        drain(spool, store)
        current = len(audit_log.read_records(state).records)
        assert current >= count  # a reader also sees records that are being moved
        count = current
    acknowledged = [int(line) for writer in writers for line in writer.communicate()[0].split()]
    drain(spool, store)
    assert [writer.returncode for writer in writers] == [0] * WRITERS
    stored = [int(record.id.removeprefix("id-")) for record in store.search(Query())]
    assert sorted(stored) == sorted(acknowledged) == list(range(WRITERS * RECORDS_PER_WRITER))
    assert all(record.has_detail for record in store.search(Query()))
    assert store.head().seq == 2 * WRITERS * RECORDS_PER_WRITER
    assert list(find_breaks(store.entries(), store.checkpoints())) == []
    assert store.unread() == []


DYING_DRAIN = read_data("scripts/dying_drain.py.txt")
"""Drains, and is killed during any function call."""


@pytest.mark.parametrize("offset", range(3))
def test_killed_drain_loses_and_doubles_nothing(spool: Spool, store: SqliteStore, state: Path, offset: int) -> None:
    killed = 0
    for number, at in enumerate(range(5 + offset * 7, 700, 61)):
        for name in range(number * 5, number * 5 + 5):
            assert spool.append(record(name)) == ""
        with spool.file.open("ab") as file:
            file.write(b"\ntorn %d\n" % number)
        done = subprocess.run(
            [sys.executable, "-c", DYING_DRAIN, str(at), str(state)], check=False, capture_output=True
        )
        killed += done.returncode == -signal.SIGKILL
        assert done.returncode in {0, -signal.SIGKILL}, done.stderr
    drain(spool, store)
    assert killed > 5
    assert list_asides(spool.directory) == []
    assert sorted(int(name.removeprefix("id-")) for name in ids(store)) == list(range(number * 5 + 5))
    assert len(store.unread()) == number + 1
    assert list(find_breaks(store.entries(), store.checkpoints())) == []
