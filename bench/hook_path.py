"""What a host waits for: the installed line with and without a service, against the cheapest hooks that there are.

Every round runs each of them once, in rotating order, and each round's times are compared with that round's floor. The
package is a copy as a wheel installs it. The timed call is the installed line, word for word, and its record must be in
the spool afterwards. Without a C compiler there is nothing to compare with, and the bench says so.

    python bench/hook_path.py [ROUNDS]
"""

import importlib
import json
import os
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

HERE = Path(__file__).parent
EVENT = {
    "hook_event_name": "beforeShellExecution",
    "conversation_id": "bench",
    "generation_id": "g",
    "cursor_version": "3.21.16",
    "workspace_roots": ["/home/somebody/shop"],
    "command": "npm test -- --watch=false && git status --short",
    "cwd": "/home/somebody/shop",
}
PAYLOAD = json.dumps(EVENT).encode()

FLOOR, WARM, TWIN, COLD, JSON = (
    "static C hook",
    "C client, warm",
    "Python twin, warm",
    "cold path",
    "python -I -S, json",
)
JSON_HOOK = "import sys, json; json.load(sys.stdin); print('{}')"
CALLERS = 16


class Goal(NamedTuple):
    """At most this many times the other, at the median."""

    what: str
    other: str
    at_most: float


GOALS = (Goal(WARM, FLOOR, 1.6), Goal(WARM, JSON, 0.1), Goal(COLD, JSON, 2.5))
TIMES_AS_MANY = 10.0


def run(words: Sequence[str]) -> float:
    """Milliseconds from starting it to its end, as a host sees it."""
    reading, writing = os.pipe()
    os.write(writing, PAYLOAD)
    os.close(writing)
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    begun = time.perf_counter()
    child = os.posix_spawn(words[0], list(words), {}, file_actions=actions)
    _, status = os.waitpid(child, 0)
    took = time.perf_counter() - begun
    os.close(reading)
    if status:
        raise SystemExit(f"{words} ended with {status}")
    return took * 1000


def measure(commands: Mapping[str, Sequence[str]], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    names = list(commands)
    for turn in range(rounds + 2):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            took = run(commands[name])
            if turn > 1:  # the first two warm up
                times[name].append(took)
    return times


def ratio(times: Mapping[str, list[float]], what: str, other: str) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(times[what], times[other], strict=True))


def throughput(words: Sequence[str], calls: int) -> float:
    """Calls per second from sixteen callers at once."""

    def work() -> None:
        for _ in range(calls // CALLERS):
            run(words)

    callers = [threading.Thread(target=work) for _ in range(CALLERS)]
    begun = time.perf_counter()
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join()
    return calls // CALLERS * CALLERS / (time.perf_counter() - begun)


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


def installed_line(site: Path, home: Path) -> list[str]:
    """The words of the line that `trotline install` writes for this copy."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from trotline.service.line import installed_line; "
    code += "print(installed_line('cursor', 'beforeShellExecution', sys.argv[2], timeout=60))"
    words = [sys.executable, "-c", code, str(site), str(home)]
    return shlex.split(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def contenders(directory: Path, soak: Any) -> tuple[dict[str, list[str]], Path]:
    site = soak.install(directory / "site")
    home = directory / "home"
    apart = directory / ("far" + "x" * 100)  # a home whose socket could have no name: no service is ever asked
    home.mkdir()
    apart.mkdir()
    warm = installed_line(site.path, home)
    commands = {
        FLOOR: [str(build_floor(directory))],
        WARM: warm,
        TWIN: [sys.executable, "-I", "-S", str(site.service / "twin.py"), *warm[2:]],
        JSON: [sys.executable, "-I", "-S", "-c", JSON_HOOK],
        COLD: [*warm[:2], *[str(apart) if word == str(home) else word for word in warm[2:]]],
    }
    print(f"the installed line: {shlex.join(warm).replace(str(directory), '...')}\n")
    return commands, home


def main() -> int:
    sys.path.insert(0, str(HERE.parent / "scripts"))
    soak = importlib.import_module("soak_service")
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with tempfile.TemporaryDirectory(prefix="tl-") as scratch:
        commands, home = contenders(Path(scratch).resolve(), soak)
        run(commands[WARM])
        pid = soak.wait_for_service(home)
        times = measure(commands, rounds)
        missing = 2 * (rounds + 2) + 1 - len(soak.records(home))  # the twin's calls as well
        asked = importlib.import_module("trotline.service.question").asked(soak.state_of(home) / "run" / "s")
        many = {name: throughput(commands[name], calls) for name, calls in ((WARM, 1600), (JSON, 160))}
        stayed = soak.pid_of(home) == pid
        os.kill(pid, 9)
    report(times, rounds)
    met = [_judged(goal, ratio(times, goal.what, goal.other)) for goal in GOALS]
    times_as_many = many[WARM] / many[JSON]
    met.append(times_as_many >= TIMES_AS_MANY)
    word = "met" if met[-1] else "MISSED"
    print(f"{word}: {CALLERS} at once: {many[WARM]:.0f} calls/s warm, {many[JSON]:.0f} cold Python, ", end="")
    print(f"{times_as_many:.1f}x, goal {TIMES_AS_MANY}x")
    whole = missing == 0 and stayed and asked is not None and asked["answered"] == 2 * (rounds + 2)
    print(f"{'met' if whole else 'MISSED'}: one service answered every timed call, and {missing} records are missing")
    return 0 if all(met) and whole else 1


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
