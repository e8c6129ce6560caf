"""Soak test of the service: many processes call while it is killed repeatedly. Every reply must be right, and every
record must exist once.

    python scripts/soak_service.py [CALLS [CALLERS [SECONDS]]]      150 calls from each of 64 processes, while a service
                                                                    lives for 1.2 seconds at most: some five minutes

A call with a reply is acknowledged. Meanwhile the audit log is queried now and then, which drains the spool; at the end
its records are compared with the acknowledged calls. The tests use the same code with fewer calls, and a copy of the
package as a wheel installs it, so that edits of the source do not matter and the libraries are next to the package.
"""

import contextlib
import json
import os
import random
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import trotline
from trotline.audit.store import audit_log
from trotline.audit.store.spool import Spool
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.verify.chain import find_breaks
from trotline.hook.answer import CANARY_WORD
from trotline.service.bootstrap import LIBRARIES
from trotline.service.bytecode import keep_bytecode
from trotline.service.directory import RunDirectory, write_lock_facts

ROOT = Path(__file__).parent.parent
COPIED_LIBRARIES = (*LIBRARIES, "click", "httpx2")
STATE = ".local/state/trotline/v1"
CLIENT = "trotline-hook"
PAUSES = (0.05, 1.2)
"""The minimum and maximum seconds until the service is killed."""

MAX_DETAIL_SECONDS = 20.0
"""The wait without new details after which the missing ones count as lost."""

LIBRARY_FILES = ("_re2*.so", "typing_extensions.py")
"""Files of libraries outside of their packages."""


class CallOutput(NamedTuple):
    """The output of a call as the agent gets it."""

    stdout: bytes
    stderr: bytes
    code: int


class Site(NamedTuple):
    """A copy of our package with its libraries."""

    path: Path

    @property
    def service(self) -> Path:
        return self.path / "trotline" / "service"

    def line(self, home: Path, *more: str, client: str = CLIENT, event: str = "beforeShellExecution") -> list[str]:
        """Return the words of an installed line for the C client, or for `python_client.py`."""
        words = ["--agent", "cursor", "--event", event, "--home", str(home), *more]
        program = self.service / client
        if program.suffix == ".py":
            return ["/usr/bin/env", "-i", sys.executable, "-I", "-S", str(program), *words]
        return [str(program), sys.executable, *words]


def install(path: Path, *builds: str) -> Site:
    """Copy our package and its libraries, and build the client: the default one, or one for each of these builds."""
    package = Path(trotline.__file__).parent
    shutil.copytree(package, path / "trotline", ignore=shutil.ignore_patterns("__pycache__", f"{CLIENT}*", "cases"))
    for module in COPIED_LIBRARIES:
        library = __import__(module)
        (path / module).symlink_to(Path(str(library.__file__)).parent)
    for part in LIBRARY_FILES:
        for file in Path(str(library.__file__)).parent.parent.glob(part):
            (path / file.name).symlink_to(file)
    site = Site(path.resolve())
    keep_bytecode(site.path)
    for name in builds or ("",):
        target = site.service / (f"{CLIENT}-{name}" if name else CLIENT)
        build = [sys.executable, str(ROOT / "client" / "build.py"), str(target), *filter(None, [name])]
        subprocess.run(build, check=True, capture_output=True)
    return site


def get_state(home: Path) -> Path:
    return home / STATE


def records(home: Path) -> list[dict[str, Any]]:
    return Spool(get_state(home) / "spool").read().records


def payload(conversation: str, command: str = "ls", **fields: Any) -> bytes:
    body = {"hook_event_name": "beforeShellExecution", "cursor_version": "3.21.16", "cwd": "/", **fields}
    return json.dumps({**body, "conversation_id": conversation, "command": command}).encode()


def call(words: Sequence[str], data: bytes, **options: Any) -> CallOutput:
    done = subprocess.run(list(words), input=data, capture_output=True, check=False, **options)
    return CallOutput(done.stdout, done.stderr, done.returncode)


def find_pid(home: Path) -> int | None:
    holder = RunDirectory(get_state(home) / "run").read_service_facts()
    return holder.get("pid") if holder else None


def wait_for_service(home: Path, seconds: float = 20.0) -> int:
    """Wait until the service listens, and return its process."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        pid = find_pid(home)
        with socket.socket(socket.AF_UNIX) as service, contextlib.suppress(OSError):
            service.connect(str(get_state(home) / "run" / "s"))
            if pid is not None:
                return pid
        time.sleep(0.01)
    raise TimeoutError(f"no service for {home}")


def end(home: Path, seconds: float = 20.0) -> None:
    """Kill the service of a home, also one that has just started, and wait until it has ended."""
    directory = RunDirectory(get_state(home) / "run")
    until = time.monotonic() + seconds
    while (holder := directory.read_service_facts()) is not None:
        if "pid" in holder:
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder["pid"], signal.SIGKILL)
        if time.monotonic() > until:
            raise TimeoutError(f"the service for {home} does not end")
        time.sleep(0.005)


def allow_start(home: Path, killed: int, seconds: float = 20.0) -> None:
    """Remove the pause before the next service after a killed one.

    Only the holder of the lock may write into it: another service may have started, and its facts are needed to find
    it.
    """
    directory = RunDirectory(get_state(home) / "run")
    until = time.monotonic() + seconds
    while (lock := directory.lock()) is None and find_pid(home) == killed and time.monotonic() < until:
        time.sleep(0.001)  # it is dead when its lock is free
    if lock is not None:
        write_lock_facts(lock)
        os.close(lock)


def worker(words: list[str], number: int, calls: int) -> int:
    """Make calls in one of many processes; print the counts of right and wrong replies."""
    counts = Counter[str]()
    for turn in range(calls):
        is_canary = (number + turn) % 3 == 0
        command = f"echo {CANARY_WORD}" if is_canary else "ls"
        output = call(words, payload(f"{number}-{turn}", command))
        expected = "deny" if is_canary else "allow"
        is_right = output.code == 0 and json.loads(output.stdout or b"{}").get("permission") == expected
        counts["right" if is_right else "wrong"] += 1
        counts["cold"] += bool(output.stderr)
    print(json.dumps(counts))
    return 0


class SoakResult(NamedTuple):
    """The counts of a soak test."""

    right: int
    wrong: int = 0
    cold: int = 0
    lost: int = 0
    doubled: int = 0
    torn: int = 0
    breaks: int = 0
    without_detail: int = 0
    queries: int = 0
    kills: int = 0

    @property
    def is_fine(self) -> bool:
        bad = (self.wrong, self.lost, self.doubled, self.torn, self.breaks, self.without_detail)
        return not any(bad) and self.kills > 0 and self.queries > 0


def soak(
    site: Site, words: list[str], home: Path, *, callers: int, calls: int, seed: int, pauses: tuple[float, float]
) -> SoakResult:
    """Run the callers while the service is killed at random moments, and return the counts."""
    chance = random.Random(seed)  # noqa: S311 - random moments, not secrets
    argv = [sys.executable, __file__, "--worker", json.dumps(words)]
    workers = [
        subprocess.Popen([*argv, str(number), str(calls)], stdout=subprocess.PIPE, text=True)
        for number in range(callers)
    ]
    kills = queries = 0
    query: subprocess.Popen[str] | None = None
    while any(worker.poll() is None for worker in workers):
        time.sleep(chance.uniform(*pauses))
        kills += _kill(home)
        if query is None or query.poll() is not None:
            queries += _finish_query(query)
            query = _start_query(site, home)
    queries += _finish_query(query)
    counts = Counter[str]()
    for worker in workers:
        counts.update(json.loads(worker.communicate()[0] or '{"wrong": 1}'))
    wanted = {f"{number}-{turn}" for number in range(callers) for turn in range(calls)}
    result = _wait_for_details(home, wanted)
    return result._replace(
        right=counts["right"], wrong=counts["wrong"], cold=counts["cold"], kills=kills, queries=queries
    )


def _wait_for_details(home: Path, wanted: set[str]) -> SoakResult:
    """Wait until no more details arrive: they are written after the reply, also when the service has ended."""
    result, last, since = SoakResult(right=0), -1, time.monotonic()
    while result.without_detail != last or (result.without_detail and time.monotonic() - since < MAX_DETAIL_SECONDS):
        since = since if result.without_detail == last else time.monotonic()
        last = result.without_detail
        with audit_log.open_audit_log(get_state(home)) as store:
            result = _compare(store, wanted)
    return result


def _start_query(site: Site, home: Path) -> "subprocess.Popen[str]":
    """Query the audit log by the same copy of our code."""
    words = [sys.executable, "-m", "trotline", "log", "--count", f"--home={home}"]
    environment = {**os.environ, "PYTHONPATH": str(site.path)}
    return subprocess.Popen(words, cwd="/", env=environment, stdout=subprocess.PIPE, text=True)


def _finish_query(query: "subprocess.Popen[str] | None") -> int:
    """Return 1 if the query printed a number."""
    if query is None:
        return 0
    output = query.communicate()[0]
    if query.returncode:
        raise RuntimeError(f"`trotline log --count` ended with {query.returncode}")
    return output.strip().isdigit()


def _compare(store: SqliteStore, wanted: set[str]) -> SoakResult:
    """Compare the audit log with the acknowledged calls."""
    seen, conversations, detailed = Counter[str](), dict[str, str](), set[str]()
    for entry in store.entries():
        if entry.kind == "record":
            conversations[entry.id] = json.loads(entry.body or "{}").get("conversation", "")
            seen[conversations[entry.id]] += 1
        elif entry.kind == "detail":
            detailed.add(entry.id)
    return SoakResult(
        right=0,
        lost=len(wanted - set(seen)),
        doubled=sum(seen.values()) - len(seen),
        torn=len(store.unread()),
        breaks=sum(1 for _ in find_breaks(store.entries(), store.checkpoints())),
        without_detail=len(conversations.keys() - detailed),
    )


def _kill(home: Path) -> int:
    """Kill the service, and allow the next one to start at once; return 1 if there was one."""
    pid = find_pid(home)
    if pid is None:
        return 0
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    allow_start(home, pid)
    return 1


def main() -> int:
    arguments = [float(word) for word in sys.argv[1:]]
    calls, callers, seconds = (*arguments, *(150.0, 64.0, PAUSES[1])[len(arguments) :])
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        home.mkdir()
        site = install(Path(scratch, "site"))
        start = time.monotonic()
        counts: dict[str, Any] = {"callers": int(callers), "calls": int(calls), "pauses": (PAUSES[0], seconds)}
        result = soak(site, site.line(home), home, **counts, seed=random.getrandbits(32))
        seconds = time.monotonic() - start
        end(home)
    print(f"{sum(result[:2])} calls from {callers:.0f} processes in {seconds:.0f} s, {result.kills} services killed:")
    print(f"{result.wrong} wrong answers, {result.lost} records lost, {result.doubled} doubled, {result.torn} torn,")
    print(f"{result.breaks} breaks in the chain, {result.without_detail} without detail; the audit log was queried")
    print(f"{result.queries} times meanwhile; {result.cold} calls were answered by the cold path")
    return 0 if result.is_fine else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        sys.exit(worker(json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
    sys.exit(main())
