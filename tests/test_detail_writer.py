"""The scribe: whatever dies, the words of a call that was answered are written, or their record says why not."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from soak_service import Site, call, end, payload, pid_of, records, state_of, wait_for_service
from test_service import words
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.audit.verify.chain import find_breaks
from trotline.domain.outcomes import Outcome
from trotline.hook.process import build_call, handle_call, write_detail
from trotline.service import detail_writer as scribes
from trotline.service.detail_writer import DetailWriter
from trotline.service.directory import RunDirectory

HERE = Path(__file__).parent
PATIENCE = 30.0
"""Seconds after which something that does not happen never will."""


def until(is_so: Callable[[], Any]) -> Any:
    """What it gives as soon as it gives something."""
    end_ = time.monotonic() + PATIENCE
    while not (found := is_so()) and time.monotonic() < end_:
        time.sleep(0.01)
    assert found
    return found


def outcome_in(home: Path, command: str = "ls", **fields: Any) -> Outcome:
    """A call that is answered, and whose words nobody has written."""
    line = ["--agent", "cursor", "--event", "beforeShellExecution", "--home", str(home)]
    return handle_call(build_call(line, payload("c", command, **fields)), [], guarded=True)[1]


def worded(home: Path) -> list[str]:
    """Commands whose words are there, in the order of the calls."""
    return [record["detail"]["payload"]["command"] for record in records(home) if "payload" in record.get("detail", {})]


def children_of(pid: int) -> list[int]:
    return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def held_by(pid: int) -> list[str]:
    """What is behind the descriptors of a process."""
    found = []
    for one in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # closed by now
            found.append(str(one.readlink()))
    return found


@pytest.fixture
def scribe(home: Path) -> Iterator[DetailWriter]:
    directory = RunDirectory(state_of(home) / "run")
    directory.path.mkdir(parents=True, mode=0o700)
    one = DetailWriter(directory)
    one.begin()
    yield one
    one.end()


def test_a_service_that_is_killed_as_soon_as_it_has_answered_takes_no_words_along(site: Site, home: Path) -> None:
    call(words(site, home), payload("c", "echo cold"))
    for number in range(5):
        service = wait_for_service(home)
        call(words(site, home), payload("c", f"echo {number}"))
        os.kill(service, signal.SIGKILL)
        until(lambda: pid_of(home) is None)
        (state_of(home) / "run" / "lock").write_text("{}")  # no pause before the next
        call(words(site, home), payload("c", "echo next"))
    wanted = {"echo cold", "echo next", *(f"echo {number}" for number in range(5))}
    until(lambda: set(worded(home)) == wanted)


def test_a_service_that_is_told_to_end_leaves_its_words_to_be_written(site: Site, home: Path) -> None:
    call(words(site, home), payload("c", "echo cold"))
    service = wait_for_service(home)
    call(words(site, home), payload("c", "echo warm"))
    os.kill(service, signal.SIGTERM)
    until(lambda: "echo warm" in worded(home))


def test_when_its_scribe_is_killed_a_service_has_another_and_no_words_are_lost(site: Site, home: Path) -> None:
    call(words(site, home), payload("c", "echo cold"))
    service = wait_for_service(home)
    for number in range(4):
        call(words(site, home), payload("c", f"echo {number}"))
        for child in children_of(service):
            os.kill(child, signal.SIGKILL)
    until(lambda: len(set(worded(home))) == 5)
    assert pid_of(home) == service
    assert "scribe died" in (state_of(home) / "run" / "log").read_text()


def test_a_scribe_holds_neither_the_lock_nor_the_socket_of_its_service(site: Site, home: Path) -> None:
    call(words(site, home), payload("c"))
    service = wait_for_service(home)
    (child,) = until(lambda: children_of(service))
    until(lambda: not [name for name in held_by(child) if name.endswith("/lock")])
    os.kill(child, signal.SIGSTOP)
    try:
        end(home)
        assert RunDirectory(state_of(home) / "run").holder() is None
        assert len([name for name in held_by(child) if name.startswith("socket:")]) == 1
    finally:
        os.kill(child, signal.SIGCONT)


DIES = """
import os, signal, sys
from pathlib import Path
from test_detail_writer import an_outcome
from soak_service import state_of
from trotline.service.directory import RunDirectory
from trotline.service.detail_writer import DetailWriter
at, home = int(sys.argv[1]), Path(sys.argv[2])
scribe = DetailWriter(RunDirectory(state_of(home) / "run"))
scribe.begin()
counted = 0
def step(frame, event, function):
    global counted
    if event in ("c_call", "c_return") and function.__name__ in ("open", "write", "send", "close"):
        counted += 1
        if counted == at:
            os.kill(os.getpid(), signal.SIGKILL)
sys.setprofile(step)
outcome = an_outcome(home, at)
scribe.send(outcome, str(home))
sys.setprofile(None)
os.write(1, b"answered")
os.kill(os.getpid(), signal.SIGKILL)
"""
"""What a service does for a call, until it is killed before or after something that it asks of the kernel."""


def an_outcome(home: Path, number: int) -> Outcome:
    line = ["--agent", "cursor", "--event", "beforeShellExecution", "--home", str(home)]
    told = build_call(line, payload("c", f"echo {number}"))
    return handle_call(msgspec.structs.replace(told, id=f"call-{number}", received_us=number), [], guarded=True)[1]


def test_killed_at_every_write_of_a_call_nothing_is_lost_or_doubled(home: Path) -> None:
    """Whoever gets no answer asks once more, by the same id and time, as a client does that goes cold."""
    RunDirectory(state_of(home) / "run").path.mkdir(parents=True, mode=0o700)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (HERE, HERE.parent / "scripts")))}
    at, is_answered = 0, False
    while not is_answered:
        at += 1
        words_ = [sys.executable, "-c", DIES, str(at), str(home)]
        done = subprocess.run(words_, env=environment, capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL, done.stderr
        is_answered = done.stdout == b"answered"
        if not is_answered:
            write_detail(an_outcome(home, at), str(home))
    assert at > 6
    until(lambda: len(set(worded(home))) == at)
    with audit_log.open_audit_log(state_of(home)) as store:
        found = [(one["id"], one["detail"]["payload"]["command"]) for one in store.search(Query())]
        assert sorted(found) == sorted((f"call-{number}", f"echo {number}") for number in range(1, at + 1))
        assert (store.unread(), list(find_breaks(store.entries(), store.checkpoints()))) == ([], [])


def test_words_are_written_in_the_order_of_the_calls(scribe: DetailWriter, home: Path) -> None:
    commands = [f"echo {number}" for number in range(50)]
    for command in commands:
        scribe.send(outcome_in(home, command), str(home))
    scribe.end()
    assert worded(home) == commands


def test_what_is_larger_than_any_pipe_is_handed_over_in_pieces(scribe: DetailWriter, home: Path) -> None:
    for number in range(3):
        scribe.send(outcome_in(home, f"echo {number}", more=["x" * 1_000_000] * 3), str(home))
    scribe.end()
    assert not scribe.is_behind
    assert worded(home) == ["echo 0", "echo 1", "echo 2"]


def test_words_of_which_scribes_die_are_given_up_and_their_record_says_so(
    scribe: DetailWriter,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scribe.end()  # the next one learns to die
    real = write_detail

    def deadly(outcome: Outcome, where: str) -> str:
        if "poison" in outcome.call.payload.decode():
            os.kill(os.getpid(), signal.SIGSEGV)
        return real(outcome, where)

    monkeypatch.setattr(scribes, "write_detail", deadly)
    for command in ("echo before", "echo poison", "echo after"):
        scribe.send(outcome_in(home, command), str(home))
    scribe.end()
    assert worded(home) == ["echo before", "echo after"]
    missing = [record["detail"].get("missing") for record in records(home)]
    assert missing == [None, "what was said could not be kept: whoever tried to write it down died", None]


def test_a_scribe_that_somebody_stopped_makes_callers_go_elsewhere_and_is_replaced(
    scribe: DetailWriter,
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(scribes, "MAX_WAITING_CALLS", 2)
    (child,) = children_of(os.getpid())[-1:]
    os.kill(child, signal.SIGSTOP)
    for number in range(4):
        scribe.send(outcome_in(home, f"echo {number}"), str(home))
    assert not scribe.has_capacity()
    monkeypatch.setattr(scribes, "MAX_SECONDS_PER_CALL", -1.0)  # it has had time enough
    scribe.catch_up()
    monkeypatch.undo()
    scribe.end()
    assert worded(home) == [f"echo {number}" for number in range(4)]


def test_a_service_ends_although_somebody_stopped_its_scribe(scribe: DetailWriter) -> None:
    (child,) = children_of(os.getpid())[-1:]
    os.kill(child, signal.SIGSTOP)
    scribe.end()
    assert child not in children_of(os.getpid())


def test_what_a_scribe_has_written_before_it_is_killed_is_not_held_against_its_words(site: Site, home: Path) -> None:
    call(words(site, home), payload("c", "echo cold"))
    service = wait_for_service(home)
    for number in range(8):
        call(words(site, home), payload("c", f"echo {number}"))
        until(lambda: f"echo {number}" in worded(home))  # noqa: B023 - at once
        for child in children_of(service):
            os.kill(child, signal.SIGKILL)
    assert sorted(worded(home)) == sorted(["echo cold", *(f"echo {number}" for number in range(8))])
    details = [line for line in (state_of(home) / "spool" / "spool.log").read_text().splitlines() if "detail/1" in line]
    assert not [line for line in details if '"missing"' in line]


def test_while_a_scribe_writes_it_takes_what_else_is_handed_to_it(
    scribe: DetailWriter, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scribe.end()
    begun, go_on = home / "begun", home / "go-on"

    def slow(outcome: Outcome, where: str) -> str:
        begun.touch()
        until(go_on.exists)
        return write_detail(outcome, where)

    monkeypatch.setattr(scribes, "write_detail", slow)
    scribe.send(outcome_in(home, "echo 0"), str(home))
    until(begun.exists)
    for number in range(1, 4):
        scribe.send(outcome_in(home, f"echo {number}", more=["x" * 400_000]), str(home))
    while scribe.is_behind:
        scribe.catch_up()
    go_on.touch()
    scribe.end()
    assert worded(home) == [f"echo {number}" for number in range(4)]


def test_words_for_which_there_is_no_room_yet_are_tried_again(
    scribe: DetailWriter, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scribe.end()
    full = home / "full"
    full.touch()

    def tried(outcome: Outcome, where: str) -> str:
        if full.exists():
            full.unlink()
            return "no space left on device"
        return write_detail(outcome, where)

    monkeypatch.setattr(scribes, "write_detail", tried)
    monkeypatch.setattr(scribes, "SECONDS_BETWEEN_TRIES", 0.01)
    scribe.send(outcome_in(home, "echo again"), str(home))
    scribe.end()
    assert worded(home) == ["echo again"]


def test_words_that_nobody_can_write_are_said_in_the_log(
    scribe: DetailWriter, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    scribe.end()
    monkeypatch.setattr(scribes, "write_detail", lambda *_: "no space left on device")
    monkeypatch.setattr(scribes, "SECONDS_BETWEEN_TRIES", 0.01)
    scribe.send(outcome_in(home, "echo never"), str(home))
    scribe.end()
    log = (state_of(home) / "run" / "log").read_text()
    assert "not written: the words of a call: no space left on device" in log


def test_where_no_process_is_to_be_had_the_service_writes_them_itself(
    home: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refused() -> int:
        raise BlockingIOError(11, "Resource temporarily unavailable")

    directory = RunDirectory(state_of(home) / "run")
    directory.path.mkdir(parents=True, mode=0o700)
    scribe = DetailWriter(directory)
    monkeypatch.setattr(os, "fork", refused)
    scribe.begin()
    scribe.send(outcome_in(home, "echo here"), str(home))
    assert worded(home) == ["echo here"]
    assert "no scribe" in directory.log_file.read_text()


def test_what_cannot_be_handed_over_is_written_at_once(scribe: DetailWriter, home: Path) -> None:
    deep: Any = []
    for _ in range(900):
        deep = [deep]
    assert json.dumps(deep)
    scribe.send(outcome_in(home, "echo deep", deep=deep), str(home))
    scribe.end()
    assert len(records(home)) == 1
    assert "detail" in records(home)[0]
