"""The clients that agents run: every call is answered completely, whatever state the service is in.

Every build of the C client runs the same tests, one of them with sanitizers; so does the Python client. Where only the
way to the cold path matters, a shell script stands in for Python and prints its input.
"""

import contextlib
import hashlib
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from soak_service import ROOT, CallOutput, Site, call, get_state, install, payload, records, wait_for_service
from trotline.agents import get_agent
from trotline.domain.outcomes import MAX_PAYLOAD_BYTES, Call
from trotline.domain.verdicts import Permission
from trotline.hook.process import OLD_LINE, handle_call
from trotline.service import cold_path, python_client, wire
from trotline.system.files import ensure_private_directory

COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
HAS_BARE_CLIENT = sys.platform == "linux" and os.uname().machine in {"x86_64", "aarch64"}
COMPILED = [f"trotline-hook-{way}" for way in (["bare"] if HAS_BARE_CLIENT else []) + ["dynamic", "sanitized"]]
PYTHON_CLIENT = "python_client.py"

compiled = pytest.mark.skipif(
    COMPILER is None, reason="NO C COMPILER: the client itself is not tested, only the Python one"
)
each_client = pytest.mark.parametrize(
    "client", [*(pytest.param(name, marks=compiled) for name in COMPILED), PYTHON_CLIENT]
)
each_compiled = pytest.mark.parametrize("client", [pytest.param(name, marks=compiled) for name in COMPILED])

STAND_IN_SCRIPT = """#!/bin/sh
printf '%s\\n' "$@"
echo environment: $(env | grep -v -e ^_= -e ^PWD= -e ^SHLVL= -e ^OLDPWD= | sort)
echo payload: $(sha256sum | cut -d' ' -f1)
"""
"""Stands in for Python: prints its arguments, its environment and a digest of its standard input."""


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as scratch:
        ways = [name.removeprefix("trotline-hook-") for name in COMPILED] if COMPILER else []
        yield install(Path(scratch), *ways)


class ColdCall(NamedTuple):
    """The input of the stand-in."""

    id: str
    received_us: int
    remaining_ms: int
    cold_reason: str
    words: list[str]
    environment: str
    digest: str


def parse_cold_call(ended: CallOutput) -> ColdCall:
    *given, environment, digest = ended.stdout.decode("utf-8", "surrogateescape").splitlines()
    assert (given[:2], Path(given[2]).name) == (["-I", "-S"], "run_bootstrap.py"), ended
    call_id, received, left, cold_reason, *words = given[3:]
    return ColdCall(call_id, int(received), int(left), cold_reason, words, environment.partition(": ")[2], digest[9:])


def build_stand_in_line(site: Site, home: Path, client: str, *options: str) -> list[str]:
    script = home / "python"
    script.write_text(STAND_IN_SCRIPT)
    script.chmod(0o755)
    line = site.line(home, *options, client=client)
    return [line[0], str(script), *line[2:]]


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


Behaviour = Callable[[socket.socket], None]


@contextlib.contextmanager
def serve_once(home: Path, behaviour: Behaviour, backlog: int = 5) -> Iterator[list[bytes]]:
    """Listen where the service should, for one connection; the yielded list contains what it read."""
    run = get_state(home) / "run"
    ensure_private_directory(run)
    received: list[bytes] = []
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(run / "s"))
        listener.listen(backlog)

        def serve() -> None:
            with contextlib.suppress(OSError):
                connection, _ = listener.accept()
                with connection:
                    connection.settimeout(10)
                    received.append(read_call(connection))
                    behaviour(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        yield received
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        thread.join()


def read_call(connection: socket.socket) -> bytes:
    data = b""
    while len(data) < wire.PREFIX.size or len(data) < (wire.read_sizes(data) or wire.CallSizes(0, 0, 0)).total:
        piece = connection.recv(1 << 16)
        if not piece:
            return data
        data += piece
    return data


GREETING = wire.encode_greeting(wire.TAKEN, b"0" * 16)
ANSWER = GREETING + wire.ANSWER.pack(3, 5, 4) + b"hello" + b"oops"


def send_pieces(*pieces: bytes, pause: float = 0.0) -> Behaviour:
    def behaviour(connection: socket.socket) -> None:
        for piece in pieces:
            connection.sendall(piece)
            time.sleep(pause)

    return behaviour


def wait(connection: socket.socket) -> None:
    connection.recv(1)


def send_half_an_answer(connection: socket.socket) -> None:
    connection.sendall(ANSWER[:-1])
    connection.recv(1)


ODD_SERVICES: dict[str, tuple[Behaviour, str]] = {
    "hangs up": (send_pieces(), "lost"),
    "hangs up in the greeting": (send_pieces(GREETING[:7]), "lost"),
    "hangs up after the greeting": (send_pieces(GREETING), "lost"),
    "hangs up in the answer": (send_pieces(ANSWER[:-1]), "lost"),
    "is busy": (send_pieces(wire.encode_greeting(wire.BUSY, b"0" * 16)), "busy"),
    "sends away": (send_pieces(wire.encode_greeting(wire.COLD, b"0" * 16)), "cold"),
    "has another version": (send_pieces(b"TL2\0" + ANSWER[4:]), "odd"),
    "has another word": (send_pieces(wire.encode_greeting(b"x", b"0" * 16)), "odd"),
    "promises too much": (send_pieces(GREETING + wire.ANSWER.pack(0, 2**32 - 1, 2**32 - 1)), "odd"),
    "speaks http": (send_pieces(b"HTTP/1.1 400 Bad Request\r\n\r\n"), "odd"),
    "says nothing": (wait, "busy"),
    "says half an answer": (send_half_an_answer, "slow"),
}


@each_compiled
@pytest.mark.parametrize("behaviour,cold_reason", ODD_SERVICES.values(), ids=ODD_SERVICES)
def test_odd_service_leads_to_the_cold_path_with_the_whole_payload(
    site: Site, home: Path, client: str, behaviour: Behaviour, cold_reason: str
) -> None:
    data = payload("c", "x" * 200_000)
    with serve_once(home, behaviour) as received:
        result = parse_cold_call(call(build_stand_in_line(site, home, client, "--deadline", "1.5"), data))
    assert (result.cold_reason, result.digest) == (cold_reason, hash_bytes(data))
    assert received[0].endswith(data)
    assert 0 < result.remaining_ms <= 1500


@each_client
def test_reply_of_the_service_reaches_the_agent(site: Site, home: Path, client: str) -> None:
    data = payload("c")
    with serve_once(home, send_pieces(*(bytes([byte]) for byte in ANSWER), pause=0.001)) as received:
        ended = call(site.line(home, client=client), data, cwd=home)
    assert ended == (b"hello", b"oops", 3)
    sizes = wire.read_sizes(received[0])
    assert sizes is not None
    header = json.loads(received[0][wire.PREFIX.size :][: sizes.header])
    status = home.stat()
    assert uuid.UUID(header["id"]).version == 7
    assert abs(header["received_us"] / 1e6 - time.time()) < 60
    assert header["argv"] == site.line(home, client=client)[2 if client != PYTHON_CLIENT else 6 :]
    assert (header["cwd"], header["cwd_identity"]) == (str(home), [status.st_dev, status.st_ino])
    code = site.service.stat()
    assert (header["environ"], header["code"]) == ({}, str(site.service))
    assert header["code_identity"] == [code.st_dev, code.st_ino]
    assert received[0][wire.PREFIX.size + sizes.header :] == data


@each_client
def test_large_answer_arrives_complete(site: Site, home: Path, client: str) -> None:
    out, err = b"o" * 3_000_000, b"e" * 100_000
    with serve_once(home, send_pieces(GREETING + wire.ANSWER.pack(0, len(out), len(err)) + out + err)):
        assert call(site.line(home, client=client), b"{}") == (out, err, 0)


@each_client
def test_arguments_and_directories_with_any_characters_are_json(site: Site, home: Path, client: str) -> None:
    odd = home / 'a "quoted" \\ name\twith\nlines \N{SNOWMAN}'
    odd.mkdir()
    with serve_once(home, send_pieces(ANSWER)) as received:
        call(site.line(home, "--word", 'x"\\\x01\N{SNOWMAN}', client=client), b"{}", cwd=odd)
    sizes = wire.read_sizes(received[0])
    assert sizes is not None
    header = json.loads(received[0][wire.PREFIX.size :][: sizes.header])
    assert (header["cwd"], header["argv"][-1]) == (str(odd), 'x"\\\x01\N{SNOWMAN}')


SIZES = [0, 1, 65_535, 65_536, 65_537, 1_000_000, 5_000_000]


@each_compiled
@pytest.mark.parametrize("size", SIZES)
def test_payload_of_any_size_reaches_service_and_cold_path(site: Site, home: Path, client: str, size: int) -> None:
    data = os.urandom(size)
    with serve_once(home, send_pieces(GREETING)) as received:
        result = parse_cold_call(call(build_stand_in_line(site, home, client), data))
    assert (result.cold_reason, result.digest) == ("lost", hash_bytes(data))
    assert received[0][len(received[0]) - size :] == data


@each_compiled
def test_oversized_payload_takes_the_cold_path_uncut(site: Site, home: Path, client: str) -> None:
    data = os.urandom(1_000_000) * 70
    with serve_once(home, send_pieces(ANSWER)):
        result = parse_cold_call(call(build_stand_in_line(site, home, client), data))
    assert (result.cold_reason, result.digest) == ("large", hash_bytes(data))


@each_compiled
def test_payload_is_passed_on_if_memory_is_short(site: Site, home: Path, client: str) -> None:
    if "sanitized" in client:
        pytest.skip("the sanitizer needs all the addresses there are")
    data = os.urandom(17_000_000)
    line = ["/bin/sh", "-c", 'ulimit -v 20000; exec "$@"', "sh", *build_stand_in_line(site, home, client)]
    with serve_once(home, send_pieces(ANSWER)):
        result = parse_cold_call(call(line, data))
    assert (result.cold_reason, result.digest) == ("large", hash_bytes(data))


@each_compiled
def test_missing_service_leads_to_the_cold_path(site: Site, home: Path, client: str) -> None:
    data = payload("c")
    assert parse_cold_call(call(build_stand_in_line(site, home, client), data))[3:] == (
        "absent",
        build_stand_in_line(site, home, client)[2:],
        "PATH=/usr/bin:/bin",
        hash_bytes(data),
    )
    ensure_private_directory(get_state(home) / "run")
    assert parse_cold_call(call(build_stand_in_line(site, home, client), data)).cold_reason == "absent"


@each_compiled
def test_stale_socket_counts_as_absent(site: Site, home: Path, client: str) -> None:
    run = get_state(home) / "run"
    ensure_private_directory(run)
    with socket.socket(socket.AF_UNIX) as gone:
        gone.bind(str(run / "s"))
    assert parse_cold_call(call(build_stand_in_line(site, home, client), b"{}")).cold_reason == "absent"


@each_compiled
def test_full_queue_counts_as_busy(site: Site, home: Path, client: str) -> None:
    run = get_state(home) / "run"
    ensure_private_directory(run)
    with contextlib.ExitStack() as stack:
        listener = stack.enter_context(socket.socket(socket.AF_UNIX))
        listener.bind(str(run / "s"))
        listener.listen(0)
        for _ in range(3):
            waiting = stack.enter_context(socket.socket(socket.AF_UNIX))
            waiting.setblocking(False)
            with contextlib.suppress(BlockingIOError):
                waiting.connect(str(run / "s"))
        started = time.monotonic()
        assert parse_cold_call(call(build_stand_in_line(site, home, client), b"{}")).cold_reason == "busy"
        assert time.monotonic() - started < 5


@each_compiled
def test_service_of_another_user_is_not_used(site: Site, home: Path, client: str) -> None:
    with serve_once(home, send_pieces(ANSWER)) as received:
        result = parse_cold_call(
            call(build_stand_in_line(site, home, client, "--uid", str(os.getuid() + 1)), payload("c"))
        )
    assert (result.cold_reason, received) == ("foreign", [])


@each_compiled
@pytest.mark.skipif(os.getuid() != 0, reason="only root may give a directory away")
def test_directory_of_another_user_is_not_used(site: Site, home: Path, client: str) -> None:
    with serve_once(home, send_pieces(ANSWER)) as received:
        os.chown(get_state(home) / "run", 12345, 12345)
        result = parse_cold_call(call(build_stand_in_line(site, home, client), payload("c")))
        as_theirs = parse_cold_call(call(build_stand_in_line(site, home, client, "--uid", "12345"), payload("c")))
        os.chown(get_state(home) / "run", 0, 0)
    assert (result.cold_reason, as_theirs.cold_reason, b"".join(received)) == ("foreign", "foreign", b"")


@each_client
def test_symlinked_directory_is_not_followed(site: Site, home: Path, client: str) -> None:
    elsewhere = home / "elsewhere"
    with serve_once(elsewhere, send_pieces(ANSWER)) as received:
        get_state(home).mkdir(parents=True)
        (get_state(home) / "run").symlink_to(get_state(elsewhere) / "run")
        ended = call(site.line(home, client=client), payload("c"))
    assert (json.loads(ended.stdout), received) == ({"permission": "allow"}, [])
    assert cold_path.REPORTED_REASONS["foreign"] in ended.stderr.decode()


@each_compiled
def test_environment_variables_have_no_effect(site: Site, home: Path, client: str) -> None:
    evil = {"HOME": "/evil", "XDG_STATE_HOME": "/evil", "PYTHONPATH": "/evil", "PATH": "/evil", "TROTLINE_OFF": "1"}
    result = parse_cold_call(call(build_stand_in_line(site, home, client), b"{}", env=evil))
    assert (result.cold_reason, result.environment) == ("absent", "PATH=/usr/bin:/bin")
    with serve_once(home, send_pieces(ANSWER)) as received:
        assert call(site.line(home, client=client), b"{}", env=evil).code == 3
    assert b"evil" not in received[0]


@compiled
@pytest.mark.skipif(not HAS_BARE_CLIENT, reason="there is no bare client for this machine")
def test_bare_client_loads_no_library(site: Site, home: Path) -> None:
    preload = {"LD_PRELOAD": "/nonexistent/evil.so", "LD_LIBRARY_PATH": "/evil", "LD_DEBUG": "all"}
    with serve_once(home, send_pieces(ANSWER)):
        assert call(site.line(home, client="trotline-hook-bare"), b"{}", env=preload) == (b"hello", b"oops", 3)


@compiled
def test_home_defaults_to_the_password_file(site: Site, home: Path) -> None:
    known = home / "passwd"
    lines = [
        "daemon:x:99999:1::/nowhere:/bin/sh",
        "far:x:4294967294:1::/nowhere:/bin/sh",
        "",
        "broken",
        f"me:x:{os.getuid()}:0:A, B:{home}:/bin/sh",
        "last:x:1:1:",
    ]
    known.write_text("\n".join(lines))
    client = site.service / f"trotline-hook-{home.name}"
    define = f'-DPASSWD="{known}"'
    code = "import build, pathlib, sys; build.build(pathlib.Path(sys.argv[1]), extra=(sys.argv[2],))"
    subprocess.run([sys.executable, "-c", code, client, define], cwd=ROOT / "client", check=True)
    line = [str(client), build_stand_in_line(site, home, client.name)[1], "--agent", "cursor"]
    with serve_once(home, send_pieces(ANSWER)):
        assert call(line, b"{}", env={"HOME": "/evil"}).code == 3
    known.write_text("me:x:99999:0::/nowhere:/bin/sh\n")
    assert parse_cold_call(call(line, b"{}")).cold_reason == "unfit"
    known.unlink()
    assert parse_cold_call(call(line, b"{}")).cold_reason == "unfit"


@each_client
def test_unknown_arguments_are_ignored(site: Site, home: Path, client: str) -> None:
    odd = ["--deadline", "soon", "--uid", "me", "--fail", "perhaps", "--more"]
    with serve_once(home, send_pieces(ANSWER)):
        assert call(site.line(home, *odd, client=client), b"{}").code == 3


UNFIT = {
    "a home that is not absolute": ["--agent", "cursor", "--home", "here"],
    "a home too long for a socket": ["--agent", "cursor", "--home", "/" + "x" * 120],
    "no agent": ["--event", "stop", "--home", "/tmp"],
}


@each_compiled
@pytest.mark.parametrize("words", UNFIT.values(), ids=UNFIT)
def test_unfit_line_takes_the_cold_path(site: Site, home: Path, client: str, words: list[str]) -> None:
    result = parse_cold_call(call([*build_stand_in_line(site, home, client)[:2], *words], b"{}"))
    assert (result.cold_reason, result.words, result.digest) == ("unfit", words, hash_bytes(b"{}"))


@each_client
def test_deleted_working_directory_does_not_refuse_the_call(site: Site, home: Path, client: str) -> None:
    gone = home / "gone"
    gone.mkdir()
    with serve_once(home, send_pieces(ANSWER)):
        line = ["/bin/sh", "-c", 'rmdir "$PWD"; exec "$@"', "sh", *site.line(home, client=client)]
        ended = call(line, payload("c"), cwd=gone)
    assert (json.loads(ended.stdout), ended.code) == ({"permission": "allow"}, 0)
    assert [record["conversation"] for record in records(home)] == ["c"]


@each_compiled
@pytest.mark.parametrize("options,code", [((), 2), (("--fail", "open"), 0), (("--fail", "closed"), 2)])
def test_missing_interpreter_exits_as_the_line_configures(
    site: Site, home: Path, client: str, options: tuple[str, ...], code: int
) -> None:
    program, _, *words = site.line(home, *options, client=client)
    ended = call([program, "/nonexistent/python", *words], b"{}")
    assert (ended.stdout, ended.code) == (b"", code)
    assert ended.stderr == b"trotline: cannot answer: /nonexistent/python (error 2)\n"


@pytest.mark.parametrize("options,code", [((), 2), (("--fail", "open"), 0)])
def test_broken_code_fails_without_a_traceback(
    site: Site, home: Path, tmp_path: Path, options: tuple[str, ...], code: int
) -> None:
    broken = Site(tmp_path)
    shutil.copytree(site.path, tmp_path, symlinks=True, dirs_exist_ok=True)
    (tmp_path / "trotline" / "hook/answer.py").write_text("an upgrade (that was interrupted")
    ended = call(broken.line(home, *options, client=PYTHON_CLIENT), payload("c"))
    assert (ended.stdout, ended.code) == (b"", code)
    assert re.fullmatch(rb"trotline: cannot answer: SyntaxError\(.*\)\n", ended.stderr)


@each_client
def test_payload_that_never_ends_is_denied_at_the_deadline(site: Site, home: Path, client: str) -> None:
    with serve_once(home, send_pieces(ANSWER)):
        process = subprocess.Popen(
            site.line(home, "--deadline", "0.3", client=client),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.write(payload("c")[:10])
        process.stdin.flush()
        reply, errors = json.loads(process.stdout.read()), process.stderr.read().decode()
        process.stdin.close()
        assert process.wait() == 0
        process.stdout.close()
        process.stderr.close()
    assert (reply["permission"], reply["user_message"]) == ("deny", cold_path.DEADLINE_MESSAGE)
    assert cold_path.DEADLINE_MESSAGE in errors


@each_client
def test_client_waits_for_a_slow_agent(site: Site, home: Path, client: str) -> None:
    data = payload("c")
    with serve_once(home, send_pieces(ANSWER)) as received:
        process = subprocess.Popen(
            site.line(home, client=client), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=-1
        )
        assert process.stdin is not None
        for at in range(0, len(data), 20):
            process.stdin.write(data[at : at + 20])
            process.stdin.flush()
            time.sleep(0.005)
        out, _ = process.communicate()
    assert (out, process.returncode) == (b"hello", 3)
    assert received[0].endswith(data)


@each_compiled
def test_stopped_and_continued_client_loses_nothing(site: Site, home: Path, client: str) -> None:
    def slowly(connection: socket.socket) -> None:
        for byte in ANSWER:
            connection.sendall(bytes([byte]))
            time.sleep(0.01)

    with serve_once(home, slowly):
        process = subprocess.Popen(
            site.line(home, client=client), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=-1
        )
        assert process.stdin is not None
        process.stdin.write(b"{}")
        process.stdin.close()
        process.stdin = None
        for _ in range(10):
            process.send_signal(signal.SIGSTOP)
            time.sleep(0.005)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.005)
        out, err = process.communicate()
    assert (out, err, process.returncode) == (b"hello", b"oops", 3)


@each_compiled
def test_nonblocking_input_is_read(site: Site, home: Path, client: str) -> None:
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    with serve_once(home, send_pieces(ANSWER)):
        process = subprocess.Popen(site.line(home, client=client), stdin=reading, stdout=-1, stderr=-1)
        time.sleep(0.05)
        os.write(writing, b"{}")
        os.close(writing)
        os.close(reading)
        assert process.communicate() == (b"hello", b"oops")


@each_client
@pytest.mark.parametrize("closed", ["<&-", ">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_descriptors_are_not_reused_as_sockets(site: Site, home: Path, client: str, closed: str) -> None:
    if client == PYTHON_CLIENT and "<" in closed:
        pytest.skip("Python opens the null device there by itself")
    with serve_once(home, send_pieces(ANSWER)) as received:
        ended = call(["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *site.line(home, client=client)], b"{}")
    assert ended.code == 3
    assert ended.stdout == (b"" if ">" in closed.replace("2>", "") else b"hello")
    sizes = wire.read_sizes(received[0])
    assert sizes is not None
    assert sizes.payload == (0 if "<" in closed else 2)


@each_client
def test_agent_that_closes_its_output_does_not_kill_the_client(site: Site, home: Path, client: str) -> None:
    with serve_once(home, send_pieces(ANSWER)):
        process = subprocess.Popen(site.line(home, client=client), stdin=-1, stdout=-1, stderr=subprocess.DEVNULL)
        assert process.stdout is not None
        process.stdout.close()
        process.stdout = None
        process.communicate(b"{}")
    assert process.returncode == 3


@each_client
def test_first_call_starts_a_service_that_answers_the_next(site: Site, home: Path, client: str) -> None:
    first = call(site.line(home, client=client), payload("first"))
    wait_for_service(home)
    refused = call(site.line(home, client=client), payload("second", "echo trotline-canary"))
    second = call(site.line(home, client=client), payload("third"))
    assert first == second == (b'{"permission": "allow"}', b"", 0)
    assert json.loads(refused.stdout)["permission"] == "deny"
    assert [record["conversation"] for record in records(home)] == ["first", "second", "third"]
    assert {uuid.UUID(record["id"]).version for record in records(home)} == {7}
    shown = subprocess.run(
        [sys.executable, "-m", "trotline", "service", "status", "--json", "--home", home],
        capture_output=True,
        check=False,
    )
    assert json.loads(shown.stdout)["data"]["counts"]["answered"] == 2


def test_python_client_imports_only_builtin_modules(site: Site, home: Path) -> None:
    with serve_once(home, send_pieces(ANSWER)):
        line = [sys.executable, "-I", "-S", "-X", "importtime", *site.line(home, client=PYTHON_CLIENT)[5:]]
        loaded = call(line, b"{}").stderr.decode()
    names = {name.rpartition("|")[2].strip() for name in loaded.splitlines() if "|" in name}
    bare = call([sys.executable, "-I", "-S", "-X", "importtime", "-c", ""], b"").stderr.decode()
    known = {name.rpartition("|")[2].strip() for name in bare.splitlines() if "|" in name}
    assert names - known <= {"_socket", "select"}


@pytest.mark.parametrize(
    "client", [*(pytest.param(name, marks=compiled) for name in COMPILED), PYTHON_CLIENT, "twin.py"]
)
def test_line_of_an_older_version_is_guarded_and_reported(site: Site, home: Path, client: str) -> None:
    line = ["--host" if word == "--agent" else word for word in site.line(home, client=client)]
    for _ in range(2):
        result = call(line, payload("c", "rm -rf /", workspace_roots=[str(home)]))
        assert json.loads(result.stdout)["permission"] == "deny"
        assert OLD_LINE in result.stderr.decode()
    assert [record["agent"] for record in records(home)] == ["cursor", "cursor"]
    assert [record["alarms"] for record in records(home)] == [1, 1]


@each_client
def test_line_of_an_older_version_takes_the_cold_path(site: Site, home: Path, client: str) -> None:
    if client == PYTHON_CLIENT:
        pytest.skip("the Python client answers in the same process")
    line = ["--host" if word == "--agent" else word for word in build_stand_in_line(site, home, client)]
    result = parse_cold_call(call(line, b"{}"))
    assert (result.cold_reason, result.words[:2]) == ("unfit", ["--host", "cursor"])


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini-cli", "copilot"])
def test_line_of_an_older_version_protects_an_agent_that_only_it_names(agent: str, home: Path) -> None:
    event = next(name for name, ours in get_agent(agent).events.items() if ours == "preToolUse")
    argv = ("--host", agent, "--event", event, "--home", str(home))
    reply, outcome = handle_call(Call(id="1", argv=argv, payload=b"{"), [], guarded=True)
    assert outcome.decision.verdict.permission is Permission.DENY
    assert OLD_LINE in reply.stderr


def test_failing_line_of_an_older_version_is_reported(tmp_path: Path) -> None:
    call_ = Call(id="1", argv=("--host", "cursor", "--event", "stop", "--home", str(tmp_path)), payload=b"{")
    reply, outcome = handle_call(call_, [], guarded=True)
    assert OLD_LINE in outcome.alarms
    assert OLD_LINE in reply.stderr


def test_clients_and_service_use_the_same_limits() -> None:
    source = (ROOT / "client" / "trotline_hook.c").read_text("utf-8")
    limits = {name: int(value) for name, value in re.findall(r"^    ([A-Z_]+) = (\d+),", source, re.MULTILINE)}
    sizes = (MAX_PAYLOAD_BYTES, wire.MAX_HEADER_BYTES)
    assert (limits["MAX_PAYLOAD_BYTES"], limits["MAX_HEADER_BYTES"]) == sizes
    assert sizes == (python_client.MAX_PAYLOAD_BYTES, python_client.MAX_HEADER_BYTES)
    assert limits["MAX_SERVICE_TIMEOUT"] == python_client.MAX_SERVICE_TIMEOUT * 1000
    assert limits["DEFAULT_DEADLINE"] == python_client.DEFAULT_DEADLINE * 1000
    formats = (wire.PREFIX.size, wire.GREETING.size, wire.ANSWER.size)
    assert (limits["PREFIX"], limits["GREETING"], limits["ANSWER"]) == formats
    cold_reasons = set(re.findall(r'(?:go_cold\(|\? |: )"([a-z]+)"', source))
    assert cold_reasons >= cold_path.LAUNCHING_REASONS | set(cold_path.REPORTED_REASONS)
    assert cold_reasons - cold_path.LAUNCHING_REASONS - set(cold_path.REPORTED_REASONS) == {"unfit", "late"}
