"""Costs of a call, counted as function calls, system calls and imports, because times depend on the machine."""

import ast
import os
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from importlib.util import cache_from_source
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit import read_corpus, read_data
from soak_service import Site, call, get_state, install, payload
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import _VERSION_PATTERN, MAX_VERSION_LENGTH, parse_version
from trotline.analysis.analyze import EVENT_ANALYZERS
from trotline.domain.outcomes import Call
from trotline.hook.answer import CANARY_WORD
from trotline.hook.process import handle_call, write_detail
from trotline.service import server, watch, wire
from trotline.service.bootstrap import LAZY_MODULES, STAND_IN_TYPES
from trotline.service.bytecode import keep_bytecode
from trotline.service.detail_writer import DetailWriter
from trotline.service.directory import get_service_roots
from trotline.service.server import Service
from trotline.service.watch import CodeWatch

MAX_FUNCTION_CALLS = {"afterShellExecution": 160, "beforeShellExecution": 1080}
"""Function calls of a warm call without an opinion, including Python's; without caches the first was 890."""

MAX_PATTERNS = {"afterShellExecution": 8, "beforeShellExecution": 20}
"""Regexes that a cold call compiles, including Python's; before they were lazy, the second was 76."""

SYSTEM = {"posix", "socket", "_socket", "select", "_signal"}
"""Modules of functions that make system calls; reading a clock does not count."""

WARM_CALL = read_corpus("hot_path")["warm_call"]
"""All system calls of a call of the service without configuration."""

SERVICE = Path(server.__file__).parent
SOURCE = SERVICE.parent

NO_SYSTEM_CALLS = {"fspath", "getdefaulttimeout", "gettimeout"}


class CallCounter:
    """Counts function calls, and system calls by name."""

    def __init__(self) -> None:
        self.all = 0
        self.system = Counter[str]()

    def __call__(self, _frame: FrameType, event: str, called: Any) -> None:
        self.all += event in {"call", "c_call"}
        owner = getattr(called, "__module__", None) or type(getattr(called, "__self__", None)).__module__
        if event == "c_call" and owner in SYSTEM and called.__name__ not in NO_SYSTEM_CALLS:
            self.system[called.__name__] += 1


def count_calls(work: Callable[[], object]) -> CallCounter:
    counter = CallCounter()
    sys.setprofile(counter)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counter


def build_call(home: Path, number: int, event: str = "afterShellExecution") -> Call:
    """Build a call of an observing event by default, which guards do not evaluate."""
    line = ("--agent", "cursor", "--event", event, "--home", str(home), "--deadline", "55")
    body = payload("c", f"npm test -- --shard={number} && git status --short", hook_event_name=event)
    return Call(id=str(number), argv=line, payload=body, received_us=5)


# A call in a process that has answered one before


def test_record_takes_one_open_write_and_close(tmp_path: Path) -> None:
    handle_call(build_call(tmp_path, 1), [], guarded=True)
    counter = count_calls(lambda: handle_call(build_call(tmp_path, 2), [], guarded=True))
    assert counter.system == {"open": 1, "fstat": 1, "getuid": 1, "write": 1, "stat": 1, "close": 1}


@pytest.mark.parametrize("event", MAX_FUNCTION_CALLS)
def test_warm_call_makes_few_function_calls(tmp_path: Path, event: str) -> None:
    for number in (1, 2):
        handle_call(build_call(tmp_path, number, event), [], guarded=True)
    counter = count_calls(lambda: handle_call(build_call(tmp_path, 3, event), [], guarded=True))
    assert counter.all <= MAX_FUNCTION_CALLS[event]


@given(st.from_regex(r"v?[0-9.]{0,60}.*", fullmatch=True))
def test_only_the_beginning_of_a_version_is_cached(version: str) -> None:
    whole = _VERSION_PATTERN.match(version)
    assert len(whole[0] if whole else "") <= MAX_VERSION_LENGTH
    assert parse_version(version) == parse_version(version[:MAX_VERSION_LENGTH])
    agent = get_agent("cursor")
    assert agent.for_version(version) is agent.for_version(version[:MAX_VERSION_LENGTH])


# A call of the service


def count_served_calls(home: Path, calls: int) -> CallCounter:
    """Count what a service does for this many waiting calls until it is idle."""
    roots = get_service_roots(home)
    (roots.state / "run").mkdir(parents=True)
    counter = CallCounter()
    service = Service(roots, CodeWatch(roots), os.getuid())
    service.detail_writer = UncountedDetailWriter(service.directory)
    listener = server.listen(roots.state / "run" / "s")
    callers = [send_call(home, number) for number in range(calls)]
    threading.setprofile(counter)
    serving = threading.Thread(target=service.serve, args=(listener, 0.1))
    serving.start()
    threading.setprofile(None)
    replies = [read_reply(caller) for caller in callers]
    serving.join()
    assert {answer[4:5] for answer in replies} == {wire.TAKEN}
    return counter


class UncountedDetailWriter(DetailWriter):
    """Ends without being counted: the number of its system calls depends on when the process acknowledges details."""

    def end(self) -> None:
        sys.setprofile(None)
        super().end()


def send_call(home: Path, number: int) -> socket.socket:
    """Connect and send a complete call."""
    caller = connect(home)
    caller.sendall(encode_call(home, number))
    return caller


def encode_call(home: Path, number: int) -> bytes:
    known = build_call(home, number)
    cwd, code = home.stat(), SERVICE.stat()
    header = wire.CallHeader(
        id=known.id,
        argv=known.argv,
        cwd=str(home),
        cwd_identity=(cwd.st_dev, cwd.st_ino),
        code=str(SERVICE),
        code_identity=(code.st_dev, code.st_ino),
    )
    return wire.encode_call(header, known.payload)


def connect(home: Path) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(20)
    caller.connect(str(get_state(home) / "run" / "s"))
    return caller


def read_reply(caller: socket.socket) -> bytes:
    with caller:
        return b"".join(iter(lambda: caller.recv(65_536), b""))


def test_warm_call_makes_few_system_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, outcome = handle_call(build_call(tmp_path, 0), [], guarded=True)
    write_detail(outcome, str(tmp_path))  # imports everything
    monkeypatch.setattr(watch, "MAX_SECONDS_BETWEEN_CODE_CHECKS", 3600.0)
    with (
        tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as single_home,
        tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as busy_home,
    ):
        first, rest = count_served_calls(Path(single_home), 1).system, count_served_calls(Path(busy_home), 11).system
    each = {name: (rest[name] - first[name]) / 10 for name in rest if rest[name] != first[name]}
    assert each == WARM_CALL


def test_late_call_sees_changed_configuration() -> None:
    """The configuration is checked when a caller connects, and again if its call comes later."""
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        roots = get_service_roots(home)
        (roots.state / "run").mkdir(parents=True)
        roots.config.mkdir(parents=True)
        service = Service(roots, CodeWatch(roots), os.getuid())
        listener = server.listen(roots.state / "run" / "s")
        ended: list[str] = []
        serving = threading.Thread(target=lambda: ended.append(service.serve(listener, 20)))
        serving.start()
        caller = connect(Path(home))
        while not any(connection.is_registered for connection in tuple(service._connections)):
            time.sleep(0.001)  # until the service has checked the configuration and waits for the call
        (roots.config / "trotline.toml").write_text("")
        caller.sendall(encode_call(Path(home), 1))
        assert read_reply(caller)[4:5] == wire.COLD
        serving.join()
    assert ended == ["code or configuration has changed"]


class CountingCodeWatch(CodeWatch):
    """Counts checks of the code."""

    looks = 0

    def check_code(self) -> None:
        self.looks += 1
        super().check_code()


@pytest.mark.parametrize("likely,looks", [(60.0, 1), (0.0, 0)])
def test_code_is_checked_between_calls_while_they_are_likely(
    monkeypatch: pytest.MonkeyPatch, likely: float, looks: int
) -> None:
    monkeypatch.setattr(server, "LIKELY_CALL_SECONDS", likely)
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        roots = get_service_roots(home)
        (roots.state / "run").mkdir(parents=True)
        code_watch = CountingCodeWatch(roots)
        service = Service(roots, code_watch, os.getuid())
        assert service.serve(server.listen(roots.state / "run" / "s"), 0.01) == "nobody called"
    assert code_watch.looks == looks


def test_call_soon_after_a_check_does_not_check_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert server.SECONDS_BETWEEN_CODE_CHECKS < watch.MAX_SECONDS_BETWEEN_CODE_CHECKS
    code_watch = CodeWatch(get_service_roots(tmp_path))
    monkeypatch.setattr(watch, "MAX_SECONDS_BETWEEN_CODE_CHECKS", 3600.0)
    assert count_calls(code_watch.has_changed).system == {"stat": 3}
    monkeypatch.setattr(watch, "MAX_SECONDS_BETWEEN_CODE_CHECKS", 0.0)
    assert count_calls(code_watch.has_changed).system["stat"] > 100


# A call without a service


COLD_MODULES = set(
    """
    agents agents.agent agents.cursor agents.cursor.cursor agents.cursor.cursor_editions agents.cursor.payloads
    agents.cursor.replies agents.recognition agents.agent_json agents.derived_events agents.translation
    audit audit.record audit.record.record_builder audit.store audit.store.spool config config.paths
    conversation conversation.follow_ups conversation.functions conversation.sessions domain domain.contracts
    domain.editions domain.effects domain.errors domain.event_records domain.event_texts domain.events
    domain.findings domain.history domain.hooks domain.ids domain.outcomes domain.verdicts formats formats.lazy_regex
    hook hook.answer hook.process machine service service.bootstrap service.cold_path system system.files
    """.split()
)
"""The modules that a cold call of Cursor imports without guards; add a module only if every call needs it."""


def build_cold_argv(site: Site, home: Path, agent: str, event: str) -> list[str]:
    words = ["i", "5", "9000", "unfit", "--agent", agent, "--event", event, "--home", str(home)]
    return [sys.executable, "-I", "-S", str(site.service / "run_bootstrap.py"), *words]


REPORTING_SCRIPT = read_data("scripts/report_modules.py.txt")
"""The cold path, which writes a list of loaded modules at its end; its own descriptors are closed by then."""


def list_loaded_modules(site: Site, home: Path, event: str) -> set[str]:
    python, *flags, program = (words := build_cold_argv(site, home, "cursor", event))[:4]
    line = [python, *flags, "-c", REPORTING_SCRIPT, str(home / "out"), program, *words[4:]]
    ended = call(line, payload("c", hook_event_name=event))
    assert (ended.stderr, ended.code) == (b"", 0)
    return set((home / "out").read_text().split())


def test_cold_call_without_guards_imports_only_listed_modules(site: Site, tmp_path: Path) -> None:
    names = list_loaded_modules(site, tmp_path, "afterShellExecution")
    assert {name.removeprefix("trotline.") for name in names if name.startswith("trotline.")} == COLD_MODULES


def test_guards_evaluate_only_refusable_events() -> None:
    """Other events therefore need no guards."""
    assert all(event.contract.refusable for event in EVENT_ANALYZERS)


@pytest.mark.parametrize("event", MAX_FUNCTION_CALLS)
def test_cold_call_imports_no_rarely_used_modules(site: Site, tmp_path: Path, event: str) -> None:
    names = list_loaded_modules(site, tmp_path, event)
    needed_at_once = {"fnmatch"} if sys.version_info >= (3, 12) else set()  # by pathlib
    assert not (LAZY_MODULES.keys() - needed_at_once) & names
    assert not {"asyncio", "click", "re2", "regress", "socket", "sqlite3", "subprocess", "_hashlib"} & names
    assert not STAND_IN_TYPES.keys() & names
    assert "typing_extensions" not in names
    assert int(next(name for name in names if name.startswith("patterns:")).partition(":")[2]) <= MAX_PATTERNS[event]
    assert "site" not in names  # the libraries are in the same directory


def test_no_submodule_of_a_lazy_module_is_imported() -> None:
    """The stand-in for a lazy module is not a package."""
    imported = {name for file in SOURCE.rglob("*.py") for name in list_imports(file)}
    assert not [name for name in imported for later in LAZY_MODULES if name.startswith(f"{later}.")]


def list_imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("name", AGENTS)
def test_lazy_modules_are_loaded_when_needed(site: Site, tmp_path: Path, name: str) -> None:
    """The denial equals that of a process that has loaded everything."""
    agent = get_agent(name)
    event = next((theirs for theirs, ours in agent.events.items() if ours in {"beforeShellExecution", "preToolUse"}))
    words = build_cold_argv(site, tmp_path, name, event)
    body = payload("c", f"echo {CANARY_WORD}", hook_event_name=event)
    ended = call(words, body)
    sent, _ = handle_call(Call(id="i", argv=tuple(words[8:]), payload=body, received_us=5), [], guarded=True)
    assert (ended.stdout.decode(), ended.code) == (sent.stdout, sent.exit_code)


# Bytecode


def test_call_writes_no_bytecode_and_a_service_writes_complete_files(tmp_path: Path) -> None:
    """Bytecode that Python writes under a file size limit is truncated, and breaks every later call."""
    site = install(tmp_path / "site")
    for bytecode in site.path.rglob("trotline/**/*.pyc"):
        bytecode.unlink()
    limited = [
        "/bin/sh",
        "-c",
        'ulimit -f 1; exec "$@"',
        "sh",
        *build_cold_argv(site, tmp_path, "cursor", "beforeShellExecution"),
    ]
    assert call(limited, payload("c", f"echo {CANARY_WORD}")).code == 0
    assert list(site.path.rglob("trotline/**/*.pyc")) == []
    keep_bytecode(site.path)
    source = site.path / "trotline" / "evaluation/machine_panel.py"
    bytecode = Path(cache_from_source(str(source)))
    whole = bytecode.read_bytes()
    bytecode.write_bytes(whole[:-100])
    assert keep_bytecode(site.path) == 1
    assert bytecode.read_bytes() == whole
    assert keep_bytecode(site.path) == 0


def test_python_reads_the_written_bytecode(tmp_path: Path) -> None:
    site = install(tmp_path / "site")
    replies = call(
        [sys.executable, "-I", "-S", "-v", *build_cold_argv(site, tmp_path, "cursor", "afterShellExecution")[3:]], b"{}"
    )
    compiled = [line for line in replies.stderr.decode().splitlines() if line.startswith("# code object from")]
    ours = [line for line in compiled if str(site.path / "trotline") in line]
    assert ours
    assert all(".pyc" in line for line in ours)
