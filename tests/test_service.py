"""The warm service: same answers as cold, and no loss if it is killed, hangs or is foreign."""

import base64
import contextlib
import json
import os
import re
import resource
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kit import read_corpus, read_rows, read_sessions, run_trotline
from soak_service import (
    CallOutput,
    Site,
    allow_start,
    call,
    find_pid,
    get_state,
    payload,
    records,
    soak,
    wait_for_service,
)
from trotline.agents import AGENTS, get_agent
from trotline.audit.record.record_builder import RECORD_SCHEMA
from trotline.domain.editions import LOOP_LIMIT
from trotline.domain.outcomes import MAX_PAYLOAD_BYTES
from trotline.service import cold_path, line, server, wire
from trotline.service.directory import RunDirectory, get_service_roots, write_lock_facts
from trotline.service.server import Service
from trotline.service.start import SECONDS_BETWEEN_STARTS, launch_service
from trotline.service.watch import CodeWatch
from trotline.testing.conformance import load_cases
from trotline.testing.sample_payloads import build_payload as sample


def kill(home: Path, number: int = signal.SIGKILL) -> None:
    found = find_pid(home)
    if found is not None:
        with contextlib.suppress(ProcessLookupError):
            os.kill(found, number)


def get_client(site: Site) -> str:
    """Return the compiled client, or the Python client if there is no compiler."""
    return line.CLIENT.name if (site.service / line.CLIENT.name).exists() else "python_client.py"


def build_argv(site: Site, home: Path, *more: str, event: str = "beforeShellExecution") -> list[str]:
    return site.line(home, *more, client=get_client(site), event=event)


def start_service(site: Site, home: Path) -> int:
    """Start a service for this home with a call, and return its process id."""
    call(build_argv(site, home), payload("start"))
    return wait_for_service(home)


def change_code(site: Site, path: Path, changes: dict[str, tuple[str, str]]) -> Site:
    """Copy a site with replaced texts in its files."""
    shutil.copytree(site.path, path, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
    for name, (before, after) in changes.items():
        file = path / "trotline" / name
        text = file.read_text("utf-8")
        assert text.count(before) == 1
        file.write_text(text.replace(before, after), "utf-8")
    return Site(path.resolve())


def has_service_ended(home: Path, seconds: float = 15.0) -> bool:
    until = time.monotonic() + seconds
    while find_pid(home) is not None and time.monotonic() < until:
        time.sleep(0.01)
    return find_pid(home) is None


def read_log(home: Path) -> str:
    return "\n".join(RunDirectory(get_state(home) / "run").read_log_lines())


def send_header(home: Path, build_header: dict[str, Any], data: bytes = b"") -> bytes:
    """Send a call with any header to the service, and return its answer."""
    head = json.dumps(build_header).encode()
    return send_bytes(home, wire.PREFIX.pack(wire.MAGIC, len(head), len(data)) + head + data)


def send_bytes(home: Path, data: bytes, *, half: bool = False) -> bytes:
    with socket.socket(socket.AF_UNIX) as service:
        service.settimeout(20)
        service.connect(str(get_state(home) / "run" / "s"))
        with contextlib.suppress(BrokenPipeError):
            service.sendall(data)
        if half:
            service.shutdown(socket.SHUT_WR)
        got = b""
        with contextlib.suppress(ConnectionResetError):  # the service may close before it has read everything
            while piece := service.recv(65_536):
                got += piece
    return got


def build_header(site: Site, home: Path, **change_code: Any) -> dict[str, Any]:
    status = home.stat()
    identity = [status.st_dev, status.st_ino]
    argv = ["--agent", "cursor", "--event", "beforeShellExecution", "--home", str(home)]
    known = {"id": "i", "argv": argv, "cwd": str(home), "cwd_identity": identity, "received_us": 5}
    return {**known, "code": str(site.service), "code_identity": code_identity(site), **change_code}


def code_identity(site: Site) -> tuple[int, int]:
    status = site.service.stat()
    return status.st_dev, status.st_ino


ZYGOTE = """
import base64, json, os, sys, time
sys.path.insert(0, sys.argv[1])
from trotline.service.cold_path import ClientCall, answer_client
for line in sys.stdin:
    words, data = json.loads(line)
    pipes = [os.pipe(), os.pipe()]
    child = os.fork()
    if child == 0:
        for number, (_, end) in enumerate(pipes, 1):
            os.dup2(end, number)
        answer_client(ClientCall("", 0, 9000, "unfit", words, base64.b64decode(data), time.monotonic()))
    for _, end in pipes:
        os.close(end)
    out, err = (os.fdopen(end, "rb").read().decode() for end, _ in pipes)
    print(json.dumps([out, err, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])]), flush=True)
"""
"""Run each cold call in a forked process, without the start of a Python interpreter."""


def run_cold(site: Site, calls: list[tuple[list[str], bytes]]) -> list[CallOutput]:
    lines = "".join(json.dumps([argv, base64.b64encode(data).decode()]) + "\n" for argv, data in calls)
    done = subprocess.run(
        [sys.executable, "-c", ZYGOTE, site.path], input=lines, capture_output=True, text=True, check=True
    )
    answers = [json.loads(answer) for answer in done.stdout.splitlines()]
    return [CallOutput(out.encode(), err.encode(), code) for out, err, code in answers]


def call_service(home: Path, site: Site, argv: list[str], data: bytes, number: int) -> CallOutput:
    status = home.stat()
    head = wire.CallHeader(
        id=str(number),
        argv=tuple(argv),
        cwd=str(home),
        cwd_identity=(status.st_dev, status.st_ino),
        code=str(site.service),
        code_identity=code_identity(site),
    )
    got = send_bytes(home, wire.encode_call(head, data))
    assert got[4:5] == wire.TAKEN, (argv, got)
    code, out, _ = wire.ANSWER.unpack_from(got, wire.GREETING.size)
    texts = got[wire.GREETING.size + wire.ANSWER.size :]
    return CallOutput(texts[:out], texts[out:], code)


def list_calls() -> list[tuple[list[str], bytes]]:
    """Return every event of the conformance cases, every event of every agent, and unreadable payloads."""
    calls = []
    for case in load_cases():
        for event in [*case.body.get("earlier", []), *filter(None, [case.body.get("event")])]:
            body = event.get("event", event)
            calls.append(
                (["--agent", "cursor", "--event", str(body.get("hook_event_name", ""))], json.dumps(body).encode())
            )
    for name in AGENTS:
        for theirs, ours in get_agent(name).events.items():
            body = {**sample(ours), "hook_event_name": theirs}
            calls.append((["--agent", name, "--event", theirs], json.dumps(body).encode()))
    for data in (b"", b"{", b"[]", b"\xff\xfe", b'{"hook_event_name": "beforeShellExecution", "command": "\\ud83d"}'):
        calls += [(["--agent", name, "--event", "beforeShellExecution"], data) for name in AGENTS]
    unique = dict.fromkeys((tuple(argv), data) for argv, data in calls)
    return [(list(argv), data) for argv, data in unique]


def read_comparable_records(home: Path) -> list[dict[str, Any]]:
    forgotten = {"id", "at_us", "micros", "responses", "detail"}
    return [
        {key: value for key, value in record.items() if key not in forgotten}
        | {"responses": [{**response, "micros": 0} for response in record["responses"]]}
        | {"findings": [finding[:3] for finding in record["findings"]]}  # digests are made with the key of a home
        for record in records(home)
    ]


def test_warm_and_cold_answers_are_equal(site: Site, home: Path) -> None:
    calls = list_calls()
    assert len(calls) > 250
    warm_home, cold_home = home / "w", home / "c"
    warm_home.mkdir()
    cold_home.mkdir()
    start_service(site, warm_home)
    (get_state(warm_home) / "spool" / "spool.log").unlink()
    warm = [
        call_service(warm_home, site, [*argv, "--home", str(warm_home)], data, number)
        for number, (argv, data) in enumerate(calls)
    ]
    kill(warm_home)  # an idle service would drain the spool
    cold = run_cold(site, [([*argv, "--home", str(cold_home)], data) for argv, data in calls])
    different = [one for one, one_warm, one_cold in zip(calls, warm, cold, strict=True) if one_warm != one_cold]
    assert different == []
    assert read_comparable_records(warm_home) == read_comparable_records(cold_home)


def test_a_service_inherits_nothing_from_the_call_that_started_it(site: Site, home: Path) -> None:
    reading, writing = os.pipe()
    os.set_inheritable(writing, True)
    environment = {"LD_PRELOAD": "", "PYTHONPATH": "/evil", "SECRET": "x"}
    call(build_argv(site, home), payload("c"), cwd=home, env=environment, pass_fds=[writing])
    pid = wait_for_service(home)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        assert pipe.read() == b""  # no process holds the other end
    if not Path("/proc").is_dir():
        return
    process = Path(f"/proc/{pid}")
    assert (process / "environ").read_bytes().replace(b"LC_CTYPE=C.UTF-8\0", b"") == b"PATH=/usr/bin:/bin\0"
    assert (process / "cwd").readlink() == Path("/")
    assert os.getsid(pid) == pid
    opened = []
    for file in (process / "fd").iterdir():
        with contextlib.suppress(FileNotFoundError):  # the connection of wait_for_service
            opened.append(str(file.readlink()))
    assert opened.count("/dev/null") == 3
    assert not [name for name in opened if "pipe" in name]


def test_concurrent_first_calls_start_one_service(site: Site, home: Path) -> None:
    got: list[CallOutput] = []
    callers = [
        threading.Thread(target=lambda number=number: got.append(call(build_argv(site, home), payload(str(number)))))
        for number in range(16)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    wait_for_service(home)
    assert {answer.stdout for answer in got} == {b'{"permission": "allow"}'}
    assert len(records(home)) == 16
    assert read_log(home).count(" started: ") == 1


def test_a_service_that_died_at_once_is_not_started_by_every_call(home: Path) -> None:
    roots = get_service_roots(home)
    directory = RunDirectory(roots.state / "run")
    lock = directory.lock()
    assert lock is not None
    write_lock_facts(lock, launched_us=1_000_000)
    os.close(lock)
    pause = int(SECONDS_BETWEEN_STARTS * 1_000_000)
    assert not launch_service(roots, 1_000_000 + pause - 1)
    assert launch_service(roots, 999_999)  # a clock that was set back
    wait_for_service(home)
    assert not launch_service(roots, 1_000_000 + 10 * pause)  # one is running


def test_an_idle_service_ends(home: Path) -> None:
    roots = get_service_roots(home)
    lock = RunDirectory(roots.state / "run").lock()
    assert lock is not None
    done = run_trotline("service", "run", "--idle", "0.1", "--home", str(home), cwd=home)
    assert done.returncode == 75
    assert "a service is running already" in done.stderr
    os.close(lock)
    done = run_trotline("service", "run", "--idle", "0.1", "--home", str(home), cwd=home)
    assert (done.returncode, done.stderr) == (0, "nobody called\n")
    assert re.search(r"started: digest [0-9a-f]{16}\n.* ended: nobody called; 0 calls answered$", read_log(home))
    assert not (roots.state / "run" / "s").exists()


COMMAND = "import sys; sys.path.insert(0, sys.argv.pop(1)); from trotline.__main__ import main; main()"
"""The command line of the copied site, which can tell whether its service is current."""


def _touch_code(site: Site, _home: Path) -> None:
    file = site.path / "trotline" / "hook/answer.py"
    os.utime(file, (file.stat().st_atime, file.stat().st_mtime + 3600))  # a wrong clock is a change as well
    time.sleep(0.6)


def _new_setting(_site: Site, home: Path) -> None:
    settings = home / ".config" / "trotline" / "trotline.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('ask_fallback = "ask"')


def _another_home(_site: Site, home: Path) -> None:
    moved = home.with_name(home.name + "-moved")
    home.rename(moved)
    home.mkdir()
    (moved / ".local").rename(home / ".local")
    moved.rmdir()


@pytest.mark.parametrize("change", [_touch_code, _new_setting, _another_home])
def test_a_service_with_outdated_code_or_configuration_is_replaced(site: Site, home: Path, change: Any) -> None:
    old = start_service(site, home)
    change(site, home)
    shown = call([sys.executable, "-c", COMMAND, str(site.path), "service", "status", "--home", str(home)], b"")
    assert b"0 calls answered" in shown.stdout
    assert b"code or configuration has changed since" in shown.stdout or change is _another_home
    assert call(build_argv(site, home), payload("after")) == (b'{"permission": "allow"}', b"", 0)
    assert "ended: code or configuration has changed" in read_log(home)
    with contextlib.suppress(ProcessLookupError):
        assert find_pid(home) != old
    assert [record["conversation"] for record in records(home)] == ["start", "after"]


def test_a_changed_setting_applies_to_the_next_call(site: Site, home: Path) -> None:
    start_service(site, home)
    before = find_pid(home)
    config = home / ".config" / "trotline"
    config.mkdir(parents=True)
    for number in range(3):
        (config / "trotline.toml").write_text('ask_fallback = "ask"' + " " * number)
        call(build_argv(site, home), payload(f"{number}"))
        assert find_pid(home) != before


@pytest.mark.parametrize("lost", ["the socket", "the home"])
def test_an_unreachable_service_ends(home: Path, monkeypatch: pytest.MonkeyPatch, lost: str) -> None:
    monkeypatch.setattr(server, "SECONDS_BETWEEN_CHECKS", 0.02)
    roots = get_service_roots(home)
    (roots.state / "run").mkdir(parents=True)
    service = Service(roots, CodeWatch(roots), os.getuid())
    ends: list[str] = []
    serving = threading.Thread(target=lambda: ends.append(service.serve(server.listen(roots.state / "run" / "s"), 60)))
    serving.start()
    time.sleep(0.05)
    if lost == "the socket":
        (roots.state / "run" / "s").unlink()
    else:
        shutil.rmtree(home / ".local")
    serving.join(10)
    assert ends == ["nobody can reach it"]


def test_status_and_stop_report_the_service(site: Site, home: Path) -> None:
    def run(*arguments: str) -> "subprocess.CompletedProcess[str]":
        return run_trotline("service", *arguments, "--home", str(home), cwd=home)

    assert run("status").stdout == "no service is running; the next call starts one\n"
    assert run("status").returncode == 1
    assert run("stop").stdout == "no service is running\n"
    pid = start_service(site, home)
    call(build_argv(site, home), payload("c"))
    shown = run("status")
    assert re.match(rf"running  process {pid}, digest [0-9a-f]{{16}}\n  1 call answered, 0 sent away\n", shown.stdout)
    assert f"it is of another installation: {site.service}" in shown.stdout
    facts = json.loads(run("status", "--json").stdout)
    assert (facts["schema"], facts["ok"], facts["data"]["pid"]) == ("trotline.service/1", True, pid)
    assert run("stop").stdout == "stopped\n"
    assert find_pid(home) is None
    assert call(build_argv(site, home), payload("d")).stdout == b'{"permission": "allow"}'


STARTING = """
import os, sys, time
from pathlib import Path
from trotline.service.directory import RunDirectory, write_lock_facts

lock = RunDirectory(Path(sys.argv[1])).lock()
write_lock_facts(lock, launched_us=1)
print("locked", flush=True)
time.sleep(float(sys.argv[2]))
write_lock_facts(lock, launched_us=1, pid=os.getpid())
time.sleep(60)
"""


def test_a_starting_service_can_be_stopped(home: Path) -> None:
    """The process holds the lock, and has not written its id yet."""
    run = str(get_state(home) / "run")
    argv = [sys.executable, "-c", STARTING, run, "0.4"]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as starting:
        assert starting.stdout
        assert starting.stdout.readline() == "locked\n"
        assert run_trotline("service", "stop", "--home", str(home), cwd=home).stdout == "stopped\n"
        assert starting.wait(10) == -signal.SIGTERM


def test_a_kill_at_any_moment_changes_no_verdict_and_loses_no_record(site: Site, home: Path) -> None:
    """A short version of scripts/soak_service.py; at the end all records are in the audit log and the chain holds."""
    soaked = soak(site, build_argv(site, home), home, callers=8, calls=40, seed=7, pauses=(0.05, 0.4))
    assert soaked.is_fine, soaked
    assert soaked.right == 320


def test_a_kill_between_record_and_answer_leaves_one_record(site: Site, home: Path) -> None:
    """A client whose service was killed repeats the call with the same id."""
    given = ["i-am-one-call", "5", "9000", "lost", *build_argv(site, home)[2:]]
    cold = [sys.executable, "-I", "-S", str(site.service / "run_bootstrap.py"), *given]
    start_service(site, home)
    send_header(home, build_header(site, home, id="i-am-one-call"), payload("c"))
    call(cold, payload("c"))
    lines = (get_state(home) / "spool" / "spool.log").read_text().count(f'"{RECORD_SCHEMA}","id":"i-am-one-call"')
    assert (lines, [record["id"] for record in records(home)].count("i-am-one-call")) == (2, 1)


def test_a_kill_between_follow_up_and_answer_counts_it_once(site: Site, home: Path, tmp_path: Path) -> None:
    """A service counts the follow-up of each stop and dies; its client repeats the call cold with the same id."""
    always = (
        "    responses = [*guarded.responses,",
        '    responses = [Response(author="canary", verdict=Verdict(follow_up="on")), *guarded.responses,',
    )
    dies = '        reply = build()\n        if "followup" in reply.stdout:\n            os.kill(os.getpid(), 9)\n'
    faulty = {"hook/answer.py": always, "service/server.py": ("        reply = build()\n", dies)}
    site = change_code(site, tmp_path / "site", faulty)
    stop = json.dumps({"hook_event_name": "stop", "conversation_id": "c", "status": "completed"}).encode()
    ends = []
    for _ in range(LOOP_LIMIT + 1):
        pid = start_service(site, home)
        ends.append(json.loads(call(build_argv(site, home, event="stop"), stop).stdout).get("followup_message", ""))
        assert (find_pid(home) != pid) == bool(ends[-1])
        if ends[-1]:
            allow_start(home, pid)
    assert ends == ["on"] * LOOP_LIMIT + [""]
    (session,) = read_sessions(get_state(home) / "sessions")
    assert session.session.follow_ups == {"canary": LOOP_LIMIT}
    stops = [record["id"] for record in records(home) if record["event"] == "stop"]
    assert len(stops) == LOOP_LIMIT + 1
    assert (get_state(home) / "spool" / "spool.log").read_text().count(f'"{RECORD_SCHEMA}","id":"{stops[0]}"') == 2


def test_a_call_that_hangs_ends_with_the_service_and_in_the_fail_mode(site: Site, home: Path, tmp_path: Path) -> None:
    verdict = "    verdict = NO_OPINION\n"
    hangs = f'    __import__("time").sleep(60 * ("secret" in event.command))\n{verdict}'
    site = change_code(site, tmp_path / "site", {"hook/answer.py": (verdict, hangs)})
    start_service(site, home)
    started_at = time.monotonic()
    got = call(build_argv(site, home, "--deadline", "2.5"), payload("c", "secret words"))
    took = time.monotonic() - started_at
    assert json.loads(got.stdout)["permission"] == "deny"
    assert cold_path.DEADLINE_MESSAGE in json.loads(got.stdout)["user_message"]
    assert cold_path.REPORTED_REASONS["busy"] in got.stderr.decode()
    assert took < 10
    assert has_service_ended(home)
    text = read_log(home)
    assert "hook/answer.py" in text  # where it hung
    assert "secret" not in text
    assert "busy: a call was answered cold" in text
    shown = run_trotline("service", "status", "--home", str(home), cwd=home).stdout
    assert "1 call went cold: busy" in shown


def test_a_suspended_service_is_reported_and_the_call_runs_cold(site: Site, home: Path) -> None:
    pid = start_service(site, home)
    os.kill(pid, signal.SIGSTOP)
    got = call(build_argv(site, home), payload("c"))
    assert got.stdout == b'{"permission": "allow"}'
    assert got.stderr.decode() == f"trotline: {cold_path.REPORTED_REASONS['busy']}; this call was answered without it\n"
    os.kill(pid, signal.SIGCONT)
    assert call(build_argv(site, home), payload("d")).stderr == b""
    conversations = [record["conversation"] for record in records(home)]
    assert conversations == ["start", "c", "d"]  # the waiting call was not evaluated twice


def test_a_stale_socket_is_replaced(site: Site, home: Path) -> None:
    run = get_state(home) / "run"
    run.mkdir(parents=True, mode=0o755)
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(run / "s"))
    start_service(site, home)
    assert run.stat().st_mode & 0o777 == 0o700
    assert (run / "s").stat().st_mode & 0o077 == 0
    assert call(build_argv(site, home), payload("c")).stderr == b""


def test_a_directory_that_others_may_enter_is_closed_before_it_is_used(site: Site, home: Path) -> None:
    start_service(site, home)
    (get_state(home) / "run").chmod(0o755)
    assert call(build_argv(site, home), payload("c")).stdout == b'{"permission": "allow"}'
    assert (get_state(home) / "run").stat().st_mode & 0o777 == 0o700


def test_a_foreign_directory_is_reported_and_not_used(site: Site, home: Path) -> None:
    elsewhere = home / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    get_state(home).mkdir(parents=True)
    (get_state(home) / "run").symlink_to(elsewhere)
    got = call(build_argv(site, home), payload("c"))
    assert got.stdout == b'{"permission": "allow"}'
    assert cold_path.REPORTED_REASONS["foreign"] in got.stderr.decode()
    assert list(elsewhere.iterdir()) == []
    assert len(records(home)) == 1


def test_callers_of_other_users_are_disconnected(home: Path) -> None:
    roots = get_service_roots(home)
    (roots.state / "run").mkdir(parents=True)
    service = Service(roots, CodeWatch(roots), uid=os.getuid() + 1)
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(roots.state / "run" / "s"))
    listener.listen()
    serving = threading.Thread(target=service.serve, args=(listener, 1.0))
    serving.start()
    assert send_bytes(home, wire.encode_call(wire.CallHeader(id="", ask="status"))) == b""
    serving.join()
    assert service.counts["refused"] == 1
    assert f"refused: a caller of user {os.getuid()}" in read_log(home)


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process")
def test_a_full_disk_changes_no_answer_and_is_reported(site: Site, home: Path) -> None:
    pid = start_service(site, home)
    used = (get_state(home) / "spool" / "spool.log").stat().st_size
    resource.prlimit(pid, resource.RLIMIT_FSIZE, (used + 50, used + 50))
    got = call(build_argv(site, home), payload("c", "echo trotline-canary"))
    assert json.loads(got.stdout)["permission"] == "deny"
    assert "only in part: no space left?" in got.stderr.decode()
    got = call(build_argv(site, home), payload("d", "echo trotline-canary"))
    assert json.loads(got.stdout)["permission"] == "deny"
    assert "the record of this call could not be written" in got.stderr.decode()
    kill(home)
    assert call(build_argv(site, home), payload("e")).stderr == b""
    read = records(home)
    assert [record["conversation"] for record in read] == ["start", "e"]


@pytest.mark.skipif(not hasattr(resource, "prlimit"), reason="only Linux limits another process")
def test_a_service_is_not_started_where_it_could_not_write(site: Site, home: Path) -> None:
    limited = ["/bin/sh", "-c", 'ulimit -f 100; exec "$@"', "sh", *build_argv(site, home)]
    assert call(limited, payload("c")).stdout == b'{"permission": "allow"}'
    until = time.monotonic() + 15
    while "limits the size of files" not in read_log(home) and time.monotonic() < until:
        time.sleep(0.02)
    assert "not started: whoever started it limits the size of files" in read_log(home)
    assert has_service_ended(home)


def test_a_home_that_cannot_be_written_is_answered_cold_every_time(site: Site, home: Path) -> None:
    (home / ".local").write_text("in the way")
    for _ in range(2):
        got = call(build_argv(site, home), payload("c", "echo trotline-canary"))
        assert json.loads(got.stdout)["permission"] == "deny"
        assert got.stderr.decode() == "trotline: the record of this call could not be written: not a directory\n"


@pytest.mark.skipif(os.getuid() == 0, reason="root writes wherever it likes")
def test_a_home_that_may_not_be_written_is_answered_cold(site: Site, home: Path) -> None:
    home.chmod(0o500)
    got = call(build_argv(site, home), payload("c", "echo trotline-canary"))
    home.chmod(0o700)
    assert json.loads(got.stdout)["permission"] == "deny"
    assert "could not be written" in got.stderr.decode()


@pytest.mark.parametrize("received", [0, -5_000_000, 2**62])
def test_a_wrong_clock_changes_no_verdict(site: Site, home: Path, received: int) -> None:
    start_service(site, home)
    refused = payload("c", "echo trotline-canary")
    got = send_header(home, build_header(site, home, received_us=received), refused)
    assert b'"deny"' in got
    cold = [sys.executable, "-I", "-S", str(site.service / "run_bootstrap.py"), "j", str(received), "9000", "unfit"]
    assert json.loads(call([*cold, *build_argv(site, home)[2:]], refused).stdout)["permission"] == "deny"
    assert [record["at_us"] for record in records(home)][1:] == [received, received]


ELSEWHERE: dict[str, dict[str, Any]] = read_corpus("service")["foreign_headers"]


@pytest.mark.parametrize("change_code", ELSEWHERE.values(), ids=ELSEWHERE)
def test_a_call_that_needs_a_new_process_is_rejected(site: Site, home: Path, change_code: dict[str, Any]) -> None:
    start_service(site, home)
    assert send_header(home, build_header(site, home, **change_code), payload("c"))[:5] == wire.MAGIC + wire.COLD
    assert b'"allow"' in send_header(home, build_header(site, home), payload("c"))


def test_a_home_by_another_name_is_the_same_home(site: Site, home: Path) -> None:
    start_service(site, home)
    link = home / "link"
    link.symlink_to(home)
    assert b'"allow"' in send_header(
        home, build_header(site, home, argv=["--agent", "cursor", "--home", str(link)]), payload("c")
    )


NOISE = {
    "nothing": b"",
    "another protocol": b"GET / HTTP/1.1\r\n\r\n",
    "another version": wire.PREFIX.pack(b"TL2\0", 2, 0) + b"{}",
    "a header too large": wire.PREFIX.pack(wire.MAGIC, wire.MAX_HEADER_BYTES + 1, 0),
    "a payload too large": wire.PREFIX.pack(wire.MAGIC, 2, MAX_PAYLOAD_BYTES + 1),
    "no JSON": wire.PREFIX.pack(wire.MAGIC, 2, 0) + b"{]",
    "no UTF-8": wire.PREFIX.pack(wire.MAGIC, 12, 0) + b'{"id":"\xff\xfe"} ',
    "half a prefix": wire.MAGIC + b"\0",
}


def test_invalid_input_is_rejected_without_harm(site: Site, home: Path) -> None:
    pid = start_service(site, home)
    for data in NOISE.values():
        assert send_bytes(home, data, half=True)[4:5] in {b"", wire.COLD}
    assert (find_pid(home), call(build_argv(site, home), payload("c")).stderr) == (pid, b"")


def test_silent_callers_make_the_service_busy_and_not_slow(site: Site, home: Path) -> None:
    start_service(site, home)
    with contextlib.ExitStack() as stack:
        for _ in range(server.MAX_CONNECTIONS):
            silent = stack.enter_context(socket.socket(socket.AF_UNIX))
            silent.connect(str(get_state(home) / "run" / "s"))
        time.sleep(0.1)
        assert send_bytes(home, wire.encode_call(wire.CallHeader(id="", ask="status")))[:5] == wire.MAGIC + wire.BUSY
        got = call(build_argv(site, home), payload("c"))
    assert got.stdout == b'{"permission": "allow"}'
    assert cold_path.REPORTED_REASONS["busy"] in got.stderr.decode()


def test_oversized_announcements_make_the_service_busy(site: Site, home: Path) -> None:
    start_service(site, home)
    with contextlib.ExitStack() as stack:
        for _ in range(2):
            large = stack.enter_context(socket.socket(socket.AF_UNIX))
            large.connect(str(get_state(home) / "run" / "s"))
            large.sendall(wire.PREFIX.pack(wire.MAGIC, 2, MAX_PAYLOAD_BYTES))
        time.sleep(0.1)
        assert send_header(home, build_header(site, home), payload("c"))[:5] == wire.MAGIC + wire.BUSY


@pytest.fixture
def client_file(monkeypatch: pytest.MonkeyPatch, site: Site) -> Path:
    client = site.service / line.CLIENT.name
    if not client.exists():
        pytest.skip("NO C COMPILER: there is no client to install")
    monkeypatch.setattr(line, "CLIENT", client)
    return client


def test_the_built_hook_line_runs(site: Site, home: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(site.path)!r}); from trotline.service.line import build_hook_line; "
    made = f"print(build_hook_line('cursor', 'beforeShellExecution', {str(home)!r}, timeout=60))"
    text = call([sys.executable, "-c", code + made], b"").stdout.decode().strip()
    for _ in range(2):
        got = call(["/bin/sh", "-c", text], payload("c"), cwd=home, env={})
        assert got == (b'{"permission": "allow"}', b"", 0)
        wait_for_service(home)


def test_the_line_names_everything_absolutely(client_file: Path) -> None:
    made = line.build_hook_line("cursor", "beforeShellExecution", timeout=60)
    wanted = ["--agent", "cursor", "--event", "beforeShellExecution", "--deadline", "55"]
    assert shlex.split(made)[-8:] == [str(client_file), sys.executable, *wanted]
    assert "//" not in made
    assert "'" not in made


def test_without_the_c_client_the_python_client_runs_without_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "CLIENT", Path("/nonexistent/trotline-hook"))
    made = shlex.split(line.build_hook_line("cursor", "stop", timeout=60))
    assert made[:6] == ["/usr/bin/env", "-i", sys.executable, "-I", "-S", str(line.PYTHON_CLIENT)]


def test_a_client_that_loads_libraries_is_run_without_variables(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    script = tmp_path / "trotline-hook"
    script.write_text("#!/bin/sh\n")
    monkeypatch.setattr(line, "CLIENT", script)
    assert line.build_hook_line("cursor", "stop", timeout=60).startswith("/usr/bin/env -i /")
    monkeypatch.setattr(line, "CLIENT", Path(sys.executable).resolve())
    assert line.build_hook_line("cursor", "stop", timeout=60).startswith("/usr/bin/env -i /")


@pytest.mark.parametrize("timeout,deadline", [(60, "55"), (30, "27"), (5, "4.5"), (0.5, "0.45"), (600, "595")])
def test_the_deadline_is_before_the_timeout_of_the_agent(timeout: float, deadline: str) -> None:
    made = shlex.split(line.build_hook_line("cursor", "stop", timeout=timeout))
    assert made[made.index("--deadline") + 1] == deadline


def test_the_line_names_its_fail_mode(client_file: Path) -> None:
    assert client_file.name == "trotline-hook"
    assert "--fail" not in line.build_hook_line("cursor", "preToolUse", timeout=60)
    assert "--fail" not in line.build_hook_line("cursor", "", timeout=60)
    assert line.build_hook_line("cursor", "stop", timeout=60).endswith("--fail open")


OURS = read_rows("service", "hook_lines")
OLD = [
    "/a/trotline/service/trotline-hook /b/python --host cursor --event stop --deadline 55 --fail open",
    "/usr/bin/env -i /b/python -I -S /a/trotline/service/twin.py --host cursor --event stop",
    "/usr/bin/env -i /b/python -I -S /a/trotline/service/twin.py --agent cursor --event stop",
]
NOT_OURS = read_rows("service", "other_lines")


@pytest.mark.parametrize("command", OURS)
def test_hook_lines_are_recognised(command: str) -> None:
    assert line.is_hook_line(command)


@pytest.mark.parametrize("command", OLD)
def test_lines_of_older_versions_are_recognised(command: str) -> None:
    assert line.is_hook_line(command)
    assert line.is_old_hook_line(command)
    assert not any(line.is_old_hook_line(command) for command in OURS)


@pytest.mark.parametrize("command", NOT_OURS)
def test_other_lines_are_not_recognised(command: str) -> None:
    assert not line.is_hook_line(command)


@pytest.mark.parametrize("agent", AGENTS)
def test_every_installed_line_is_recognised(agent: str) -> None:
    for event in get_agent(agent).events:
        made = line.build_hook_line(agent, event, "/home/some body", timeout=60)
        assert line.is_hook_line(made), made
