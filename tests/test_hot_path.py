"""What a call asks of the machine, counted: a clock says the truth on a quiet machine only."""

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

from soak_service import Site, call, install, payload, state_of
from trotline.agents import AGENTS, get_agent
from trotline.agents.agent import _VERSION_PATTERN, MAX_VERSION_LENGTH, parse_version
from trotline.analysis.analyze import EVENT_ANALYZERS
from trotline.domain.outcomes import Call
from trotline.hook.answer import CANARY_WORD
from trotline.hook.process import handle_call, write_detail
from trotline.service import server, watch, wire
from trotline.service.bootstrap import LAZY_MODULES, STAND_IN_TYPES
from trotline.service.bytecode import keep_bytecode
from trotline.service.directory import get_service_roots
from trotline.service.server import Service
from trotline.service.watch import CodeWatch

MOST_FUNCTION_CALLS = {"afterShellExecution": 160, "beforeShellExecution": 1080}
"""Of a call that nobody has an opinion on, ours and Python's; before things were found once, the first was 890."""

MOST_PATTERNS = {"afterShellExecution": 8, "beforeShellExecution": 20}
"""That a cold call compiles, Python's own among them; before it was done when they are used, the second was 76."""

SYSTEM = {"posix", "socket", "_socket", "select", "_signal"}
"""Where the functions are that ask the kernel; reading a clock does not count."""

WARM_CALL = {
    "poll": 1,
    "_accept": 1,
    "getsockopt": 1,  # whose it is
    "recv": 2,  # the call, and whether its caller is still there
    "stat": 5,  # the home, two directories of configuration, the working directory; the place of the spool
    "setitimer": 2,
    "open": 1,  # the record
    "fstat": 1,
    "getuid": 1,
    "write": 1,
    "send": 2,  # its words to the scribe, then the answer
    "close": 2,
}
"""All that a call of the service asks of the kernel, where nothing is configured."""

SERVICE = Path(server.__file__).parent
SOURCE = SERVICE.parent

WITHOUT_ASKING = {"fspath", "getdefaulttimeout", "gettimeout"}


class Counted:
    """The functions that were called: all of them, and by name those that ask the kernel."""

    def __init__(self) -> None:
        self.all = 0
        self.system = Counter[str]()

    def __call__(self, _frame: FrameType, event: str, called: Any) -> None:
        self.all += event in {"call", "c_call"}
        owner = getattr(called, "__module__", None) or type(getattr(called, "__self__", None)).__module__
        if event == "c_call" and owner in SYSTEM and called.__name__ not in WITHOUT_ASKING:
            self.system[called.__name__] += 1


def counted(work: Callable[[], object]) -> Counted:
    counting = Counted()
    sys.setprofile(counting)
    try:
        work()
    finally:
        sys.setprofile(None)
    return counting


def a_call(home: Path, number: int, event: str = "afterShellExecution") -> Call:
    """One that tells what was, unless another is wanted: what guards look at is for them to count."""
    line = ("--agent", "cursor", "--event", event, "--home", str(home), "--deadline", "55")
    body = payload("c", f"npm test -- --shard={number} && git status --short", hook_event_name=event)
    return Call(id=str(number), argv=line, payload=body, received_us=5)


# A call in a process that has answered one before


def test_a_record_is_one_file_opened_looked_at_written_and_closed(tmp_path: Path) -> None:
    handle_call(a_call(tmp_path, 1), [], guarded=True)
    counting = counted(lambda: handle_call(a_call(tmp_path, 2), [], guarded=True))
    assert counting.system == {"open": 1, "fstat": 1, "getuid": 1, "write": 1, "stat": 1, "close": 1}


@pytest.mark.parametrize("event", MOST_FUNCTION_CALLS)
def test_what_is_the_same_for_every_call_is_found_once(tmp_path: Path, event: str) -> None:
    for number in (1, 2):
        handle_call(a_call(tmp_path, number, event), [], guarded=True)
    counting = counted(lambda: handle_call(a_call(tmp_path, 3, event), [], guarded=True))
    assert counting.all <= MOST_FUNCTION_CALLS[event]


@given(st.from_regex(r"v?[0-9.]{0,60}.*", fullmatch=True))
def test_of_a_version_only_the_beginning_counts_and_is_kept(version: str) -> None:
    whole = _VERSION_PATTERN.match(version)
    assert len(whole[0] if whole else "") <= MAX_VERSION_LENGTH
    assert parse_version(version) == parse_version(version[:MAX_VERSION_LENGTH])
    agent = get_agent("cursor")
    assert agent.at(version) is agent.at(version[:MAX_VERSION_LENGTH])


# A call of the service


def served(home: Path, calls: int) -> Counted:
    """All that a service did to answer so many calls, which had come before it looked; then nobody called."""
    roots = get_service_roots(home)
    (roots.state / "run").mkdir(parents=True)
    counting = Counted()
    service = Service(roots, CodeWatch(roots), os.getuid())
    listener = server.listen(roots.state / "run" / "s")
    callers = [calling(home, number) for number in range(calls)]
    threading.setprofile(counting)
    serving = threading.Thread(target=service.serve, args=(listener, 0.1))
    serving.start()
    threading.setprofile(None)
    said = [heard(caller) for caller in callers]
    serving.join()
    assert {answer[4:5] for answer in said} == {wire.TAKEN}
    return counting


def calling(home: Path, number: int) -> socket.socket:
    """A caller who has said everything."""
    caller = connected(home)
    caller.sendall(said_by(home, number))
    return caller


def said_by(home: Path, number: int) -> bytes:
    known = a_call(home, number)
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


def connected(home: Path) -> socket.socket:
    caller = socket.socket(socket.AF_UNIX)
    caller.settimeout(20)
    caller.connect(str(state_of(home) / "run" / "s"))
    return caller


def heard(caller: socket.socket) -> bytes:
    with caller:
        return b"".join(iter(lambda: caller.recv(65_536), b""))


def test_a_warm_call_asks_the_kernel_for_little(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, outcome = handle_call(a_call(tmp_path, 0), [], guarded=True)
    write_detail(outcome, str(tmp_path))  # what a call imports is there
    monkeypatch.setattr(watch, "SECONDS_BETWEEN_LOOKS_AT_CODE", 3600.0)
    with (
        tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as one,
        tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as many,
    ):
        first, rest = served(Path(one), 1).system, served(Path(many), 11).system
    each = {name: (rest[name] - first[name]) / 10 for name in rest if rest[name] != first[name]}
    assert each == WARM_CALL


def test_who_speaks_late_is_answered_by_what_is_true_then() -> None:
    """Our configuration is looked at when somebody comes, and once more if it has to be waited for."""
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        roots = get_service_roots(home)
        (roots.state / "run").mkdir(parents=True)
        roots.config.mkdir(parents=True)
        service = Service(roots, CodeWatch(roots), os.getuid())
        listener = server.listen(roots.state / "run" / "s")
        ended: list[str] = []
        serving = threading.Thread(target=lambda: ended.append(service.serve(listener, 20)))
        serving.start()
        caller = connected(Path(home))
        while not service._connections:
            time.sleep(0.001)
        (roots.config / "trotline.toml").write_text("")
        caller.sendall(said_by(Path(home), 1))
        assert heard(caller)[4:5] == wire.COLD
        serving.join()
    assert ended == ["code or configuration has changed"]


class Looking(CodeWatch):
    """Counts how often our code was looked at."""

    looks = 0

    def check_code(self) -> None:
        self.looks += 1
        super().check_code()


@pytest.mark.parametrize("likely,looks", [(60.0, 1), (0.0, 0)])
def test_while_calls_are_likely_code_is_looked_at_between_them(
    monkeypatch: pytest.MonkeyPatch, likely: float, looks: int
) -> None:
    monkeypatch.setattr(server, "CALLS_ARE_LIKELY", likely)
    with tempfile.TemporaryDirectory(prefix="tl-", ignore_cleanup_errors=True) as home:
        roots = get_service_roots(home)
        (roots.state / "run").mkdir(parents=True)
        looking = Looking(roots)
        service = Service(roots, looking, os.getuid())
        assert service.serve(server.listen(roots.state / "run" / "s"), 0.01) == "nobody called"
    assert looking.looks == looks


def test_a_call_that_comes_soon_after_a_look_does_not_look_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert server.SECONDS_BETWEEN_LOOKS_AHEAD < watch.SECONDS_BETWEEN_LOOKS_AT_CODE
    looking = CodeWatch(get_service_roots(tmp_path))
    monkeypatch.setattr(watch, "SECONDS_BETWEEN_LOOKS_AT_CODE", 3600.0)
    assert counted(looking.has_changed).system == {"stat": 3}
    monkeypatch.setattr(watch, "SECONDS_BETWEEN_LOOKS_AT_CODE", 0.0)
    assert counted(looking.has_changed).system["stat"] > 100


# A call without a service


OURS = set(
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
"""The files of ours that a cold call of Cursor reads when there is nothing to judge; a new one belongs here only if
every call needs it."""


def cold(site: Site, home: Path, agent: str, event: str) -> list[str]:
    words = ["i", "5", "9000", "unfit", "--agent", agent, "--event", event, "--home", str(home)]
    return [sys.executable, "-I", "-S", str(site.service / "cold.py"), *words]


TELLING = """
import os, sys
end, out = os._exit, sys.argv.pop(1)
def told(code):
    with open(out, "w") as file:
        file.write(" ".join(name for name, module in sys.modules.items() if type(module).__name__ != "LazyModule"))
        file.write(f" patterns:{len(sys.modules['re']._cache)}")
    end(code)
os._exit = told
sys.argv = sys.argv[1:]
with open(sys.argv[0]) as file:
    exec(compile(file.read(), sys.argv[0], "exec"), {"__name__": "__main__", "__file__": sys.argv[0]})
"""
"""The cold path, with a list of what it has loaded when it ends; its own descriptors are gone by then."""


def loaded(site: Site, home: Path, event: str) -> set[str]:
    python, *flags, program = (words := cold(site, home, "cursor", event))[:4]
    line = [python, *flags, "-c", TELLING, str(home / "out"), program, *words[4:]]
    ended = call(line, payload("c", hook_event_name=event))
    assert (ended.stderr, ended.code) == (b"", 0)
    return set((home / "out").read_text().split())


def test_a_cold_call_with_nothing_to_judge_reads_these_files_of_ours_and_no_others(site: Site, tmp_path: Path) -> None:
    names = loaded(site, tmp_path, "afterShellExecution")
    assert {name.removeprefix("trotline.") for name in names if name.startswith("trotline.")} == OURS


def test_guards_judge_only_what_can_be_refused() -> None:
    """Which is why the others need not be read for the rest."""
    assert all(event.contract.refusable for event in EVENT_ANALYZERS)


@pytest.mark.parametrize("event", MOST_FUNCTION_CALLS)
def test_a_cold_call_does_without_what_few_calls_use(site: Site, tmp_path: Path, event: str) -> None:
    names = loaded(site, tmp_path, event)
    wanted_at_once = {"fnmatch"} if sys.version_info >= (3, 12) else set()  # by pathlib
    assert not (LAZY_MODULES.keys() - wanted_at_once) & names
    assert not {"asyncio", "click", "re2", "regress", "socket", "sqlite3", "subprocess", "_hashlib"} & names
    assert not STAND_IN_TYPES.keys() & names
    assert "typing_extensions" not in names
    assert int(next(name for name in names if name.startswith("patterns:")).partition(":")[2]) <= MOST_PATTERNS[event]
    assert "site" not in names  # our libraries are beside us


def test_nobody_asks_for_a_part_of_what_is_put_off() -> None:
    """What stands in for a module is no package."""
    asked = {name for file in SOURCE.rglob("*.py") for name in _imports(file)}
    assert not [name for name in asked for later in LAZY_MODULES if name.startswith(f"{later}.")]


def _imports(file: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(file.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


@pytest.mark.parametrize("name", AGENTS)
def test_what_is_put_off_is_there_when_an_agent_wants_it(site: Site, tmp_path: Path, name: str) -> None:
    """The same refusal as from a process that has loaded everything."""
    agent = get_agent(name)
    event = next((theirs for theirs, ours in agent.events.items() if ours in {"beforeShellExecution", "preToolUse"}))
    words = cold(site, tmp_path, name, event)
    body = payload("c", f"echo {CANARY_WORD}", hook_event_name=event)
    ended = call(words, body)
    sent, _ = handle_call(Call(id="i", argv=tuple(words[8:]), payload=body, received_us=5), [], guarded=True)
    assert (ended.stdout.decode(), ended.code) == (sent.stdout, sent.exit_code)


# Our code as Python keeps it


def test_a_call_writes_no_bytecode_and_a_service_writes_all_of_it_whole(tmp_path: Path) -> None:
    """What Python writes under a limit is cut off, and breaks every later call."""
    site = install(tmp_path / "site")
    for kept in site.path.rglob("trotline/**/*.pyc"):
        kept.unlink()
    limited = ["/bin/sh", "-c", 'ulimit -f 1; exec "$@"', "sh", *cold(site, tmp_path, "cursor", "beforeShellExecution")]
    assert call(limited, payload("c", f"echo {CANARY_WORD}")).code == 0
    assert list(site.path.rglob("trotline/**/*.pyc")) == []
    keep_bytecode(site.path)
    source = site.path / "trotline" / "evaluation/machine_panel.py"
    kept = Path(cache_from_source(str(source)))
    whole = kept.read_bytes()
    kept.write_bytes(whole[:-100])
    assert keep_bytecode(site.path) == 1
    assert kept.read_bytes() == whole
    assert keep_bytecode(site.path) == 0


def test_bytecode_that_we_keep_is_what_python_reads(tmp_path: Path) -> None:
    site = install(tmp_path / "site")
    said = call([sys.executable, "-I", "-S", "-v", *cold(site, tmp_path, "cursor", "afterShellExecution")[3:]], b"{}")
    compiled = [line for line in said.stderr.decode().splitlines() if line.startswith("# code object from")]
    ours = [line for line in compiled if str(site.path / "trotline") in line]
    assert ours
    assert all(".pyc" in line for line in ours)
