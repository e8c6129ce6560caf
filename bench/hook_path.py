"""What an agent waits for: the installed line with and without a service, against the cheapest hooks that there are.

Every round runs each of them once, in rotating order, and each round's times are compared with that round's floor. The
package is a copy as a wheel installs it. The timed call is the installed line, word for word, and its record must be in
the spool afterwards. Without a C compiler there is nothing to compare with, and the bench says so. With `--peers` other
projects' hooks are installed into a directory of your choice and take part in the same rounds.

    python bench/hook_path.py [--peers DIRECTORY] [ROUNDS]
"""

import argparse
import contextlib
import importlib
import itertools
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from peers import CURSOR, Contender
from peers import contenders as peers_in

HERE = Path(__file__).parent
PAYLOAD = json.dumps(CURSOR).encode()
OBSERVED = json.dumps({**CURSOR, "hook_event_name": "afterShellExecution", "output": "ok"}).encode()
TURNS = itertools.count()

FLOOR, WARM, WARM_JUDGED, TWIN, COLD, JUDGED, JSON = (
    "static C hook",
    "C client, warm, nothing to judge",
    "C client, warm, judged",
    "Python twin, warm",
    "cold path, nothing to judge",
    "cold path, judged",
    "python -I -S, json",
)
JSON_HOOK = "import sys, json; json.load(sys.stdin); print('{}')"
CALLERS = 16
LOAD = Path("/proc/loadavg")
PATIENCE = 40 if LOAD.exists() else 0
"""How often it is looked, before a round, whether somebody else is running; twenty times a second."""


class Goal(NamedTuple):
    """At most this many times the other, at the median."""

    what: str
    other: str
    at_most: float


GOALS = (Goal(WARM, FLOOR, 1.6), Goal(WARM, JSON, 0.1), Goal(COLD, JSON, 2.5), Goal(JUDGED, JSON, 5.0))
TIMES_AS_MANY = 10.0


def run(one: Contender) -> float:
    """Milliseconds from starting it to its end, as an agent sees it."""
    reading, writing = os.pipe()
    os.write(writing, one.payload.replace(b"@turn", b"%d" % next(TURNS)))
    os.close(writing)
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begun = time.perf_counter()
    child = os.posix_spawn(one.words[0], one.words, one.environment, file_actions=actions)
    _, status = os.waitpid(child, 0)
    took = time.perf_counter() - begun
    os.close(reading)
    if status:
        raise SystemExit(f"{one.words} ended with {status}")
    return took * 1000


def measure(commands: Mapping[str, Contender], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    names = list(commands)
    for turn in range(rounds + 2):
        settle()
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            took = run(commands[name])
            if turn > 1:  # the first two warm up
                times[name].append(took)
    return times


def settle() -> None:
    """Wait a little while somebody else is running: what they take from a round is noise."""
    for _ in range(PATIENCE):
        if int(LOAD.read_text().split()[3].partition("/")[0]) <= 1:
            return
        time.sleep(0.05)


def ratio(times: Mapping[str, list[float]], what: str, other: str) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(times[what], times[other], strict=True))


def throughput(one: Contender, calls: int) -> float:
    """Calls per second from sixteen callers at once: processes, since threads would wait for each other, and not for
    what is measured."""
    begun = time.perf_counter()
    callers = [os.fork() or _call_often(one, number, calls // CALLERS) for number in range(CALLERS)]
    if any(os.waitpid(caller, 0)[1] for caller in callers):
        raise SystemExit(f"{one.words} failed")
    return calls // CALLERS * CALLERS / (time.perf_counter() - begun)


def _call_often(one: Contender, number: int, calls: int) -> NoReturn:
    with contextlib.suppress(SystemExit):
        for turn in range(calls):
            run(one._replace(payload=one.payload.replace(b"@turn", b"%d-%d" % (number, turn))))
        os._exit(0)
    os._exit(1)


def build_floor(directory: Path) -> Path:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("no C compiler here (cc, gcc or clang): neither the floor nor the client can be built")
    floor = directory / "floor"
    flags = ["-O2", "-Wall", "-Werror"]
    for more in (["-static"], []):
        if subprocess.run([compiler, *flags, *more, HERE / "hook.c", "-o", floor], check=False).returncode == 0:
            break
    return floor


def build_hook_line(site: Path, home: Path) -> list[str]:
    """The words of the line that `trotline install` writes for this copy."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from trotline.service.line import build_hook_line; "
    code += "print(build_hook_line('cursor', 'beforeShellExecution', sys.argv[2], timeout=60))"
    words = [sys.executable, "-c", code, str(site), str(home)]
    return shlex.split(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def observed(words: list[str]) -> list[str]:
    """The line of the event after the command, which no guard has an opinion on."""
    return ["afterShellExecution" if word == "beforeShellExecution" else word for word in words]


def ours(directory: Path, soak: Any) -> tuple[dict[str, Contender], Path]:
    """Our line and what it is held against, by the names above; and the home whose service is asked."""
    site = soak.install(directory / "site")
    home = directory / "home"
    apart = directory / ("far" + "x" * 100)  # a home whose socket could have no name: no service is ever asked
    home.mkdir()
    apart.mkdir()
    warm = build_hook_line(site.path, home)
    cold = [str(apart) if word == str(home) else word for word in warm]
    commands = {
        FLOOR: [str(build_floor(directory))],
        WARM: observed(warm),
        WARM_JUDGED: warm,
        TWIN: [sys.executable, "-I", "-S", str(site.service / "python_client.py"), *warm[2:]],
        JSON: [sys.executable, "-I", "-S", "-c", JSON_HOOK],
        JUDGED: cold,
        COLD: observed(cold),
    }
    print(f"the installed line: {shlex.join(warm).replace(str(directory), '...')}\n")
    payloads = dict.fromkeys((COLD, WARM), OBSERVED)
    return {name: Contender(tuple(words), payloads.get(name, PAYLOAD)) for name, words in commands.items()}, home


def main() -> int:
    sys.path.insert(0, str(HERE.parent / "scripts"))
    soak = importlib.import_module("soak_service")
    rounds, peers = arguments()
    others = peers_in(peers) if peers else {}
    with tempfile.TemporaryDirectory(prefix="tl-") as scratch:
        commands, home = ours(Path(scratch).resolve(), soak)
        commands |= others
        run(commands[WARM])
        pid = soak.wait_for_service(home)
        times = measure(commands, rounds)
        calls = 3 * (rounds + 2)  # with those of the twin
        missing = calls + 1 - len(soak.records(home))
        asked = importlib.import_module("trotline.service.wire").ask_status(soak.state_of(home) / "run" / "s")
        many = {name: throughput(commands[name], calls) for name, calls in ((WARM_JUDGED, 1600), (JSON, 160))}
        stayed = soak.pid_of(home) == pid
        os.kill(pid, 9)
    report(times, rounds)
    met = [_judged(goal, ratio(times, goal.what, goal.other)) for goal in GOALS]
    times_as_many = many[WARM_JUDGED] / many[JSON]
    met.append(times_as_many >= TIMES_AS_MANY)
    word = "met" if met[-1] else "MISSED"
    print(
        f"{word}: {CALLERS} at once: {many[WARM_JUDGED]:.0f} calls/s warm and judged, {many[JSON]:.0f} cold Python, ",
        end="",
    )
    print(f"{times_as_many:.1f}x, goal {TIMES_AS_MANY}x")
    whole = missing == 0 and stayed and asked is not None and asked["answered"] == calls
    print(f"{'met' if whole else 'MISSED'}: one service answered every timed call, and {missing} records are missing")
    return 0 if all(met) and whole else 1


def arguments() -> tuple[int, Path | None]:
    reader = argparse.ArgumentParser(description="what an agent waits for")
    reader.add_argument("rounds", nargs="?", type=int, default=100)
    reader.add_argument("--peers", type=Path, help="a directory outside of the repository to install others into")
    given = reader.parse_args()
    return given.rounds, given.peers


def report(times: Mapping[str, list[float]], rounds: int) -> None:
    version = sys.version.split()[0]
    print(f"Python {version}, {rounds} rounds, one interleaved run, load {os.getloadavg()[0]:.1f}\n")
    print(f"| what | median ms | best ms | of the {FLOOR} | of {JSON} |\n|---|---|---|---|---|")
    for name, all_times in times.items():
        numbers = f"{statistics.median(all_times):.2f} | {min(all_times):.2f}"
        print(f"| {name} | {numbers} | {ratio(times, name, FLOOR):.2f}x | {ratio(times, name, JSON):.3f}x |")
    print("\nratios are the median of each round's\n")


def _judged(goal: Goal, got: float) -> bool:
    met = got <= goal.at_most
    print(f"{'met' if met else 'MISSED'}: {goal.what}: {got:.2f}x of {goal.other}, goal {goal.at_most}x")
    return met


if __name__ == "__main__":
    sys.exit(main())
