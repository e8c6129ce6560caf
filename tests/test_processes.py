"""Hook processes: limits, deadlines and misbehaviour, many at once."""

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from trotline.config.models import Provider
from trotline.engine.providers import ProviderKeys
from trotline.system.processes import (
    MAX_PIPE_BYTES,
    MAX_STDERR_BYTES,
    RUN_VARIABLE,
    Job,
    ProcessResult,
    SharedInput,
    StopReason,
    find_processes,
    kill_survivors,
    run_all,
)

Make = Callable[..., Job]


@pytest.fixture
def job(tmp_path: Path) -> Make:
    def make(script: str, timeout: float = 20.0) -> Job:
        run_id = os.urandom(8).hex()
        env = {"PATH": "/usr/bin:/bin"}
        return Job(("/bin/sh", "-c", script), str(tmp_path), env, timeout, run_id)

    return make


def test_every_started_process_has_its_run_id(job: Make) -> None:
    script = f"printf %s ${RUN_VARIABLE}"
    one = job(script)
    assert run_all([one], b"")[0].stdout.decode() == one.run_id
    provider = Provider(name="p", protocol="openai", url="", model="m", key_command=("/bin/sh", "-c", script))
    assert (
        ProviderKeys({"PATH": "/usr/bin:/bin", RUN_VARIABLE: "of whoever started us"}).get(provider, 20.0, "ours")
        == "ours"
    )


def _descriptors() -> int:
    return sum(1 for _ in Path("/proc/self/fd").iterdir())


def test_results_are_in_job_order(job: Make) -> None:
    ended = run_all([job("sleep 0.2; echo slow"), job("echo quick")], b"")
    assert [end.stdout for end in ended] == [b"slow\n", b"quick\n"]


def test_every_process_reads_the_whole_payload_for_itself(job: Make) -> None:
    for size in (0, 1, MAX_PIPE_BYTES, MAX_PIPE_BYTES + 1, 3_000_000):
        ended = run_all([job("wc -c")] * 4, b"x" * size)
        assert [int(end.stdout) for end in ended] == [size] * 4


def test_processes_cannot_change_each_others_input(job: Make) -> None:
    payload = b"a" * (MAX_PIPE_BYTES * 2)
    vandal = job("printf bbbb 1<>/dev/stdin; printf bbbb >/proc/self/fd/0; echo done")
    ended = run_all([vandal, job("tr -d a | wc -c"), vandal, job("tr -d a | wc -c")], payload)
    assert [ended[1].stdout.split(), ended[3].stdout.split()] == [[b"0"], [b"0"]]


def test_a_process_that_does_not_read_does_not_block(job: Make) -> None:
    ended = run_all([job("exit 3"), job("exec 0<&-; echo closed")], b"x" * 1_000_000)
    assert [end.exit_code for end in ended] == [3, 0]


def test_a_process_that_hangs_is_killed_with_its_children_and_its_grandchildren(job: Make) -> None:
    hanging = job("sleep 300 & setsid sleep 300 & sh -c 'sleep 300 & wait' & wait", timeout=0.3)
    (ended,) = run_all([hanging], b"")
    assert ended.stopped is StopReason.TIME
    assert find_processes(hanging.run_id) == []


def test_too_much_output_stops_the_process_and_is_dropped(job: Make) -> None:
    (ended,) = run_all([job("exec yes")], b"")
    assert (ended.stopped, ended.stdout) == (StopReason.OUTPUT, b"")


def test_a_flood_of_complaints_is_cut_and_the_answer_still_counts(job: Make) -> None:
    (ended,) = run_all([job("head -c 900000 /dev/zero >&2; echo '{}'")], b"")
    assert (ended.stdout, len(ended.stderr), ended.cut) == (b"{}\n", MAX_STDERR_BYTES, True)


def test_a_background_child_is_reported_and_not_waited_for(job: Make) -> None:
    lingering = job("sleep 300 & echo '{}'")
    (ended,) = run_all([lingering], b"")
    assert (ended.stdout, ended.left_behind, ended.stopped) == (b"{}\n", True, StopReason.NONE)
    assert kill_survivors(lingering.run_id) == 1


def test_a_background_child_that_writes_on_does_not_hold_us(job: Make) -> None:
    chatty = job("(while :; do echo noise >&2; done) & echo '{}'")
    (ended,) = run_all([chatty], b"")
    kill_survivors(chatty.run_id)
    assert (ended.stdout, ended.exit_code) == (b"{}\n", 0)


def test_a_process_that_cannot_start_has_a_reason(job: Make, tmp_path: Path) -> None:
    plain = tmp_path / "plain.txt"
    plain.write_text("echo hello")
    env: dict[str, str] = {}
    jobs = [
        Job((str(tmp_path / "nothing"),), "/", env, 5, "a"),
        Job((str(plain),), "/", env, 5, "b"),
        Job(("/bin/true",), str(tmp_path / "nowhere"), env, 5, "c"),
    ]
    ended = run_all(jobs, b"")
    kinds = [StopReason.NOT_FOUND, StopReason.NOT_EXECUTABLE, StopReason.NOT_FOUND]
    assert [end.stopped for end in ended] == kinds
    assert all(end.detail for end in ended)


def test_a_script_without_a_first_line_is_given_to_the_shell(tmp_path: Path) -> None:
    script = tmp_path / "bare.sh"
    script.write_text("echo from the shell\n")
    script.chmod(0o755)
    env = {"PATH": "/usr/bin:/bin"}
    (ended,) = run_all([Job((str(script),), "/", env, 5, "a", fallback=("/bin/sh", "-c", str(script)))], b"")
    assert ended.stdout == b"from the shell\n"


def test_nothing_is_left_open_after_any_of_it(job: Make) -> None:
    before = _descriptors()
    run_all([job("cat"), job("sleep 300", 0.1), job("exec yes"), job("exit 1"), job("kill -9 $$")], b"x" * 200_000)
    assert _descriptors() == before


def test_more_processes_than_descriptors_run_in_turns(job: Make) -> None:
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (_descriptors() + 20, hard))
    try:
        ended = run_all([job("echo here")] * 40, b"x")
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    assert [end.stdout for end in ended] == [b"here\n"] * 40


def test_threads_do_not_mix_up_their_processes(job: Make) -> None:
    """A short version of scripts/soak.py."""
    wrong: list[object] = []

    def fire(thread: int) -> None:
        for turn in range(10):
            texts = [f"{thread}.{turn}.{hook}" for hook in range(4)]
            ended: list[ProcessResult] = run_all([job(f"cat; echo {text}") for text in texts], b"<")
            if [end.stdout.decode() for end in ended] != [f"<{text}\n" for text in texts]:
                wrong.append(ended)

    before = _descriptors()
    threads = [threading.Thread(target=fire, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert _descriptors() == before


def test_a_payload_that_no_pipe_takes_goes_by_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "memfd_create")
    with SharedInput(b"y" * (MAX_PIPE_BYTES + 5)) as feed:
        readers = [feed.open(), feed.open()]
        assert [os.read(reader, 10) for reader in readers] == [b"y" * 10] * 2
        for reader in readers:
            os.close(reader)
