"""Many processes call, and the service is killed again and again: every answer right, every record there, and once.

    python scripts/soak_service.py [CALLS [CALLERS [SECONDS]]]      150 calls from each of 64 processes, while a service
                                                                    lives for 1.2 seconds at most: some five minutes

A call that was answered was acknowledged. Meanwhile somebody asks the trail now and then, which brings what waits in
the spool into it; at the end the trail has everything, and what it has is compared with what was acknowledged. The
tests use the same with fewer calls, and a copy of the package as a wheel would install it: what is being edited
meanwhile does not matter then, and our libraries stand beside our package.
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
BESIDE_US = (*LIBRARIES, "click", "httpx2")
STATE = ".local/state/trotline/v1"
CLIENT = "trotline-hook"
PAUSES = (0.05, 1.2)
"""Seconds that a service may live, more or less."""

SECONDS_FOR_WORDS = 20.0
"""How long none may come before it is said that none will."""


BESIDE = ("_re2*.so", "typing_extensions.py")
"""What libraries have beside their directory."""


class Ended(NamedTuple):
    """What an agent saw of a call."""

    stdout: bytes
    stderr: bytes
    code: int


class Site(NamedTuple):
    """A copy of our package with its libraries beside it."""

    path: Path

    @property
    def service(self) -> Path:
        return self.path / "trotline" / "service"

    def line(self, home: Path, *more: str, client: str = CLIENT, event: str = "beforeShellExecution") -> list[str]:
        """The words of an installed line, for a client or, as `python_client.py`, for its twin."""
        words = ["--agent", "cursor", "--event", event, "--home", str(home), *more]
        program = self.service / client
        if program.suffix == ".py":
            return ["/usr/bin/env", "-i", sys.executable, "-I", "-S", str(program), *words]
        return [str(program), sys.executable, *words]


def install(path: Path, *ways: str) -> Site:
    """Our package, its libraries and the client: the usual one, or one for each of these ways, named after it."""
    package = Path(trotline.__file__).parent
    shutil.copytree(package, path / "trotline", ignore=shutil.ignore_patterns("__pycache__", f"{CLIENT}*", "cases"))
    for name in BESIDE_US:
        library = __import__(name)
        (path / name).symlink_to(Path(str(library.__file__)).parent)
    for part in BESIDE:
        for file in Path(str(library.__file__)).parent.parent.glob(part):
            (path / file.name).symlink_to(file)
    site = Site(path.resolve())
    keep_bytecode(site.path)
    for way in ways or ("",):
        target = site.service / (f"{CLIENT}-{way}" if way else CLIENT)
        build = [sys.executable, str(ROOT / "client" / "build.py"), str(target), *filter(None, [way])]
        subprocess.run(build, check=True, capture_output=True)
    return site


def state_of(home: Path) -> Path:
    return home / STATE


def records(home: Path) -> list[dict[str, Any]]:
    return Spool(state_of(home) / "spool").read().records


def payload(conversation: str, command: str = "ls", **fields: Any) -> bytes:
    body = {"hook_event_name": "beforeShellExecution", "cursor_version": "3.21.16", "cwd": "/", **fields}
    return json.dumps({**body, "conversation_id": conversation, "command": command}).encode()


def call(words: Sequence[str], data: bytes, **options: Any) -> Ended:
    done = subprocess.run(list(words), input=data, capture_output=True, check=False, **options)
    return Ended(done.stdout, done.stderr, done.returncode)


def pid_of(home: Path) -> int | None:
    holder = RunDirectory(state_of(home) / "run").holder()
    return holder.get("pid") if holder else None


def wait_for_service(home: Path, seconds: float = 20.0) -> int:
    """Until it listens; the process that does."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        found = pid_of(home)
        with socket.socket(socket.AF_UNIX) as service, contextlib.suppress(OSError):
            service.connect(str(state_of(home) / "run" / "s"))
            if found is not None:
                return found
        time.sleep(0.01)
    raise TimeoutError(f"no service for {home}")


def end(home: Path, seconds: float = 20.0) -> None:
    """Whatever serves this home is killed, also one that has only just been started; then nobody serves it."""
    directory = RunDirectory(state_of(home) / "run")
    until = time.monotonic() + seconds
    while (holder := directory.holder()) is not None:
        if "pid" in holder:
            with contextlib.suppress(ProcessLookupError):
                os.kill(holder["pid"], signal.SIGKILL)
        if time.monotonic() > until:
            raise TimeoutError(f"the service for {home} does not end")
        time.sleep(0.005)


def allow_start(home: Path, killed: int, seconds: float = 20.0) -> None:
    """No pause before the next service after one that was killed. Who holds the lock writes into it, and nobody else:
    by now somebody may have started another, and without what it wrote down nobody would find it to end it."""
    directory = RunDirectory(state_of(home) / "run")
    until = time.monotonic() + seconds
    while (lock := directory.lock()) is None and pid_of(home) == killed and time.monotonic() < until:
        time.sleep(0.001)  # it is dead when its lock is free
    if lock is not None:
        write_lock_facts(lock)
        os.close(lock)


def worker(words: list[str], number: int, calls: int) -> int:
    """One of the processes that call; prints what it got."""
    got = Counter[str]()
    for turn in range(calls):
        refused = (number + turn) % 3 == 0
        command = f"echo {CANARY_WORD}" if refused else "ls"
        ended = call(words, payload(f"{number}-{turn}", command))
        right = ended.code == 0 and json.loads(ended.stdout or b"{}").get("permission") == (
            "deny" if refused else "allow"
        )
        got["right" if right else "wrong"] += 1
        got["loud"] += bool(ended.stderr)
    print(json.dumps(got))
    return 0


class Soaked(NamedTuple):
    """What came of it."""

    right: int
    wrong: int = 0
    loud: int = 0
    lost: int = 0
    doubled: int = 0
    torn: int = 0
    breaks: int = 0
    wordless: int = 0
    asked: int = 0
    kills: int = 0

    @property
    def is_fine(self) -> bool:
        bad = (self.wrong, self.lost, self.doubled, self.torn, self.breaks, self.wordless)
        return not any(bad) and self.kills > 0 and self.asked > 0


def soak(
    site: Site, words: list[str], home: Path, *, callers: int, calls: int, seed: int, pauses: tuple[float, float]
) -> Soaked:
    """Each caller calls so often; meanwhile the service is killed at moments that nobody chose."""
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    argv = [sys.executable, __file__, "--worker", json.dumps(words)]
    working = [
        subprocess.Popen([*argv, str(number), str(calls)], stdout=subprocess.PIPE, text=True)
        for number in range(callers)
    ]
    kills = asked = 0
    asking: subprocess.Popen[str] | None = None
    while any(one.poll() is None for one in working):
        time.sleep(chance.uniform(*pauses))
        kills += _kill(home)
        if asking is None or asking.poll() is not None:
            asked += _answered(asking)
            asking = _ask(site, home)
    asked += _answered(asking)
    got = Counter[str]()
    for one in working:
        got.update(json.loads(one.communicate()[0] or '{"wrong": 1}'))
    wanted = {f"{number}-{turn}" for number in range(callers) for turn in range(calls)}
    found = _at_last(home, wanted)
    return found._replace(right=got["right"], wrong=got["wrong"], loud=got["loud"], kills=kills, asked=asked)


def _at_last(home: Path, wanted: set[str]) -> Soaked:
    """When no more words come: they are written when nobody waits, also by processes whose call or service is over."""
    found, last, since = Soaked(right=0), -1, time.monotonic()
    while found.wordless != last or (found.wordless and time.monotonic() - since < SECONDS_FOR_WORDS):
        since = since if found.wordless == last else time.monotonic()
        last = found.wordless
        with audit_log.open_audit_log(state_of(home)) as store:
            found = _compared(store, wanted)
    return found


def _ask(site: Site, home: Path) -> "subprocess.Popen[str]":
    """As a person does meanwhile, by the same copy of our code."""
    words = [sys.executable, "-m", "trotline", "log", "--count", f"--home={home}"]
    environment = {**os.environ, "PYTHONPATH": str(site.path)}
    return subprocess.Popen(words, cwd="/", env=environment, stdout=subprocess.PIPE, text=True)


def _answered(asking: "subprocess.Popen[str] | None") -> int:
    if asking is None:
        return 0
    said = asking.communicate()[0]
    if asking.returncode:
        raise RuntimeError(f"`trotline log --count` ended with {asking.returncode}")
    return said.strip().isdigit()


def _compared(store: SqliteStore, wanted: set[str]) -> Soaked:
    """What the trail has, against what callers were told."""
    seen, of, worded = Counter[str](), dict[str, str](), set[str]()
    for entry in store.entries():
        if entry.kind == "record":
            of[entry.id] = json.loads(entry.body or "{}").get("conversation", "")
            seen[of[entry.id]] += 1
        elif entry.kind == "detail":
            worded.add(entry.id)
    return Soaked(
        right=0,
        lost=len(wanted - set(seen)),
        doubled=sum(seen.values()) - len(seen),
        torn=len(store.unread()),
        breaks=sum(1 for _ in find_breaks(store.entries(), store.checkpoints())),
        wordless=len(of.keys() - worded),
    )


def _kill(home: Path) -> int:
    """One service less, and no pause before the next may be started."""
    found = pid_of(home)
    if found is None:
        return 0
    try:
        os.kill(found, signal.SIGKILL)
    except ProcessLookupError:
        return 0
    allow_start(home, found)
    return 1


def main() -> int:
    given = [float(word) for word in sys.argv[1:]]
    calls, callers, seconds = (*given, *(150.0, 64.0, PAUSES[1])[len(given) :])
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "home")
        home.mkdir()
        site = install(Path(scratch, "site"))
        begun = time.monotonic()
        counts: dict[str, Any] = {"callers": int(callers), "calls": int(calls), "pauses": (PAUSES[0], seconds)}
        soaked = soak(site, site.line(home), home, **counts, seed=random.getrandbits(32))
        seconds = time.monotonic() - begun
        end(home)
    print(f"{sum(soaked[:2])} calls from {callers:.0f} processes in {seconds:.0f} s, {soaked.kills} services killed:")
    print(f"{soaked.wrong} wrong answers, {soaked.lost} records lost, {soaked.doubled} doubled, {soaked.torn} torn,")
    print(f"{soaked.breaks} breaks in the chain, {soaked.wordless} without their words; the trail was asked")
    print(f"{soaked.asked} times meanwhile; {soaked.loud} calls said that they went cold")
    return 0 if soaked.is_fine else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        sys.exit(worker(json.loads(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])))
    sys.exit(main())
