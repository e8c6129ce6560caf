"""The detail writer: after any crash the detail of an answered call is written, or recorded as missing."""

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from kit import read_data
from soak_service import Site, call, end, find_pid, get_state, payload, records, wait_for_service
from test_service import build_argv
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.verify.chain import find_breaks
from trotline.domain.outcomes import Outcome
from trotline.hook.process import build_call, handle_call, write_detail
from trotline.service import detail_writer as detail_writer_module
from trotline.service.detail_writer import DetailWriter
from trotline.service.directory import RunDirectory

HERE = Path(__file__).parent
PATIENCE = 30.0
"""Seconds after which a wait fails."""


def wait_until(condition: Callable[[], Any]) -> Any:
    """Wait until the condition is true, and return its value."""
    deadline = time.monotonic() + PATIENCE
    while not (result := condition()) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert result
    return result


def answer_call(home: Path, command: str = "ls", **fields: Any) -> Outcome:
    """Answer a call without writing its detail."""
    line = ["--agent", "cursor", "--event", "beforeShellExecution", "--home", str(home)]
    return handle_call(build_call(line, payload("c", command, **fields)), [], guarded=True)[1]


def list_detailed_commands(home: Path) -> list[str]:
    """Return the commands that have detail, in the order of the calls."""
    return [record["detail"]["payload"]["command"] for record in records(home) if "payload" in record.get("detail", {})]


def list_children(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def list_descriptors(pid: int) -> list[str]:
    """Return the targets of the open file descriptors of a process."""
    result = []
    for descriptor in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed by now
            result.append(str(descriptor.readlink()))
    return result


@pytest.fixture
def writer(home: Path) -> Iterator[DetailWriter]:
    directory = RunDirectory(get_state(home) / "run")
    directory.path.mkdir(parents=True, mode=0o700)
    descriptor = DetailWriter(directory)
    descriptor.begin()
    yield descriptor
    descriptor.end()


def test_service_killed_after_its_answer_loses_no_detail(site: Site, home: Path) -> None:
    call(build_argv(site, home), payload("c", "echo cold"))
    for number in range(5):
        service = wait_for_service(home)
        call(build_argv(site, home), payload("c", f"echo {number}"))
        os.kill(service, signal.SIGKILL)
        wait_until(lambda: find_pid(home) is None)
        (get_state(home) / "run" / "lock").write_text("{}")  # no pause before the next
        call(build_argv(site, home), payload("c", "echo next"))
    expected = {"echo cold", "echo next", *(f"echo {number}" for number in range(5))}
    wait_until(lambda: set(list_detailed_commands(home)) == expected)


def test_terminated_service_leaves_its_detail_to_be_written(site: Site, home: Path) -> None:
    call(build_argv(site, home), payload("c", "echo cold"))
    service = wait_for_service(home)
    call(build_argv(site, home), payload("c", "echo warm"))
    os.kill(service, signal.SIGTERM)
    wait_until(lambda: "echo warm" in list_detailed_commands(home))


def test_killed_detail_writer_is_replaced_and_no_detail_is_lost(site: Site, home: Path) -> None:
    call(build_argv(site, home), payload("c", "echo cold"))
    service = wait_for_service(home)
    for number in range(4):
        call(build_argv(site, home), payload("c", f"echo {number}"))
        for child in list_children(service):
            os.kill(child, signal.SIGKILL)
    wait_until(lambda: len(set(list_detailed_commands(home))) == 5)
    assert find_pid(home) == service
    assert "detail writer died" in (get_state(home) / "run" / "log").read_text()


def test_detail_writer_does_not_inherit_lock_and_socket(site: Site, home: Path) -> None:
    call(build_argv(site, home), payload("c"))
    service = wait_for_service(home)
    (child,) = wait_until(lambda: list_children(service))
    wait_until(lambda: not [name for name in list_descriptors(child) if name.endswith("/lock")])
    os.kill(child, signal.SIGSTOP)
    try:
        end(home)
        assert RunDirectory(get_state(home) / "run").read_service_facts() is None
        assert len([name for name in list_descriptors(child) if name.startswith("socket:")]) == 1
    finally:
        os.kill(child, signal.SIGCONT)


DYING_SERVICE = read_data("scripts/dying_service.py.txt")
"""Handles a call as a service does, and is killed before or after a system call."""


def build_outcome(home: Path, number: int) -> Outcome:
    line = ["--agent", "cursor", "--event", "beforeShellExecution", "--home", str(home)]
    built = build_call(line, payload("c", f"echo {number}"))
    return handle_call(msgspec.structs.replace(built, id=f"call-{number}", received_us=number), [], guarded=True)[1]


def test_service_killed_at_any_system_call_loses_and_doubles_nothing(home: Path) -> None:
    """A call without an answer is repeated with the same ID and time, as a client does on the cold path."""
    RunDirectory(get_state(home) / "run").path.mkdir(parents=True, mode=0o700)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (HERE, HERE.parent / "scripts")))}
    at, is_answered = 0, False
    while not is_answered:
        at += 1
        argv = [sys.executable, "-c", DYING_SERVICE, str(at), str(home)]
        done = subprocess.run(argv, env=environment, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        is_answered = done.stdout == b"answered"
        if not is_answered:
            write_detail(build_outcome(home, at), str(home))
    assert at > 6
    wait_until(lambda: len(set(list_detailed_commands(home))) == at)
    with audit_log.open_audit_log(get_state(home)) as store:
        result = [(record.id, record.payload["command"]) for record in store.search(Query())]
        assert sorted(result) == sorted((f"call-{number}", f"echo {number}") for number in range(1, at + 1))
        assert (store.unread(), list(find_breaks(store.entries(), store.checkpoints()))) == ([], [])


def test_detail_is_written_in_the_order_of_the_calls(writer: DetailWriter, home: Path) -> None:
    commands = [f"echo {number}" for number in range(50)]
    for command in commands:
        writer.send(answer_call(home, command), str(home))
    writer.end()
    assert list_detailed_commands(home) == commands


def test_detail_larger_than_a_pipe_is_sent_in_pieces(writer: DetailWriter, home: Path) -> None:
    for number in range(3):
        writer.send(answer_call(home, f"echo {number}", more=["x" * 1_000_000] * 3), str(home))
    writer.end()
    assert not writer.is_behind
    assert list_detailed_commands(home) == ["echo 0", "echo 1", "echo 2"]


def test_detail_that_crashes_its_writer_is_dropped_and_recorded_as_missing(
    writer: DetailWriter,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    writer.end()  # the next process has the patched function
    real = write_detail

    def deadly(outcome: Outcome, where: str) -> str:
        if "poison" in outcome.call.payload.decode():
            os.kill(os.getpid(), signal.SIGSEGV)
        return real(outcome, where)

    monkeypatch.setattr(detail_writer_module, "write_detail", deadly)
    for command in ("echo before", "echo poison", "echo after"):
        writer.send(answer_call(home, command), str(home))
    writer.end()
    assert list_detailed_commands(home) == ["echo before", "echo after"]
    missing = [record["detail"].get("missing") for record in records(home)]
    assert missing == [None, "what was said could not be kept: the detail writer crashed on it", None]


def test_stopped_detail_writer_is_replaced(
    writer: DetailWriter,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(detail_writer_module, "MAX_WAITING_CALLS", 2)
    (child,) = list_children(os.getpid())[-1:]
    os.kill(child, signal.SIGSTOP)
    for number in range(4):
        writer.send(answer_call(home, f"echo {number}"), str(home))
    assert not writer.has_capacity()
    monkeypatch.setattr(detail_writer_module, "MAX_SECONDS_PER_CALL", -1.0)  # its time is over
    writer.catch_up()
    monkeypatch.undo()
    writer.end()
    assert list_detailed_commands(home) == [f"echo {number}" for number in range(4)]


def test_service_ends_despite_a_stopped_detail_writer(writer: DetailWriter) -> None:
    (child,) = list_children(os.getpid())[-1:]
    os.kill(child, signal.SIGSTOP)
    writer.end()
    assert child not in list_children(os.getpid())


def test_detail_written_before_a_kill_is_not_recorded_as_missing(site: Site, home: Path) -> None:
    call(build_argv(site, home), payload("c", "echo cold"))
    service = wait_for_service(home)
    for number in range(8):
        call(build_argv(site, home), payload("c", f"echo {number}"))
        wait_until(lambda: f"echo {number}" in list_detailed_commands(home))  # noqa: B023 - at once
        for child in list_children(service):
            os.kill(child, signal.SIGKILL)
    assert sorted(list_detailed_commands(home)) == sorted(["echo cold", *(f"echo {number}" for number in range(8))])
    details = [
        line for line in (get_state(home) / "spool" / "spool.log").read_text().splitlines() if "detail/1" in line
    ]
    assert not [line for line in details if '"missing"' in line]


def test_detail_writer_receives_while_it_writes(
    writer: DetailWriter, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.end()
    started, go_on = home / "begun", home / "go-on"

    def slow(outcome: Outcome, where: str) -> str:
        started.touch()
        wait_until(go_on.exists)
        return write_detail(outcome, where)

    monkeypatch.setattr(detail_writer_module, "write_detail", slow)
    writer.send(answer_call(home, "echo 0"), str(home))
    wait_until(started.exists)
    for number in range(1, 4):
        writer.send(answer_call(home, f"echo {number}", more=["x" * 400_000]), str(home))
    while writer.is_behind:
        writer.catch_up()
    go_on.touch()
    writer.end()
    assert list_detailed_commands(home) == [f"echo {number}" for number in range(4)]


def test_failed_write_of_detail_is_retried(writer: DetailWriter, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    writer.end()
    full = home / "full"
    full.touch()

    def tried(outcome: Outcome, where: str) -> str:
        if full.exists():
            full.unlink()
            return "no space left on device"
        return write_detail(outcome, where)

    monkeypatch.setattr(detail_writer_module, "write_detail", tried)
    monkeypatch.setattr(detail_writer_module, "SECONDS_BETWEEN_TRIES", 0.01)
    writer.send(answer_call(home, "echo again"), str(home))
    writer.end()
    assert list_detailed_commands(home) == ["echo again"]


def test_detail_that_cannot_be_written_is_logged(
    writer: DetailWriter, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    writer.end()
    monkeypatch.setattr(detail_writer_module, "write_detail", lambda *_: "no space left on device")
    monkeypatch.setattr(detail_writer_module, "SECONDS_BETWEEN_TRIES", 0.01)
    writer.send(answer_call(home, "echo never"), str(home))
    writer.end()
    log = (get_state(home) / "run" / "log").read_text()
    assert "not written: the detail of a call: no space left on device" in log


def test_writer_does_not_sleep_after_the_last_try(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries: list[Outcome] = []
    sleeps: list[float] = []

    def fail(outcome: Outcome, _: str) -> str:
        tries.append(outcome)
        return "no space left on device"

    monkeypatch.setattr(detail_writer_module, "write_detail", fail)
    monkeypatch.setattr(time, "sleep", sleeps.append)
    packed = detail_writer_module.PREFIX.pack(0) + pickle.dumps((answer_call(home, "echo never"), str(home)))
    directory = RunDirectory(get_state(home) / "run")
    detail_writer_module._write_with_retries(packed, directory)
    assert (len(tries), len(sleeps)) == (detail_writer_module.MAX_TRIES, detail_writer_module.MAX_TRIES - 1)


def test_service_writes_detail_itself_if_it_cannot_fork(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    directory = RunDirectory(get_state(home) / "run")
    directory.path.mkdir(parents=True, mode=0o700)
    writer = DetailWriter(directory)
    monkeypatch.setattr(os, "fork", refused)
    writer.begin()
    writer.send(answer_call(home, "echo here"), str(home))
    assert list_detailed_commands(home) == ["echo here"]
    assert "no detail writer" in directory.log_file.read_text()


def test_detail_that_cannot_be_sent_is_written_at_once(writer: DetailWriter, home: Path) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    assert json.dumps(deep)
    writer.send(answer_call(home, "echo deep", deep=deep), str(home))
    writer.end()
    assert len(records(home)) == 1
    assert "detail" in records(home)[0]
