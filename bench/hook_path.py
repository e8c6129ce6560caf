"""Measure what an agent waits for: the installed line with and without a service, compared with the cheapest hooks.

Every round runs each of them once, in rotating order, and each round's times are compared with that round's floor. The
package is a copy as a wheel installs it. The timed call is the installed line, word for word, and its record must be in
the spool afterwards. Without a C compiler there is nothing to compare with, and the bench ends. With `--peers` the
hooks of other projects are installed into a directory of your choice and take part in the same rounds.

    python bench/hook_path.py [--peers DIRECTORY] [ROUNDS]
"""

import argparse
import contextlib
import importlib
import itertools
import json
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NoReturn

from interleaved import Goal, check_goal, compute_ratio, find_compiler, rotate
from peers import CURSOR, Contender, install_peers

HERE = Path(__file__).parent
PAYLOAD = json.dumps(CURSOR).encode()
OBSERVED = json.dumps({**CURSOR, "hook_event_name": "afterShellExecution", "output": "ok"}).encode()
TURNS = itertools.count()

FLOOR, WARM, WARM_GUARDED, PYTHON_CLIENT, COLD, COLD_GUARDED, JSON = (
    "static C hook",
    "C client, warm, no guard",
    "C client, warm, guards",
    "Python client, warm",
    "cold path, no guard",
    "cold path, guards",
    "python -I -S, json",
)
JSON_HOOK = "import sys, json; json.load(sys.stdin); print('{}')"
CALLERS = 16
WARM_UP = 2
LOAD = Path("/proc/loadavg")
MAX_CHECKS = 40 if LOAD.exists() else 0
"""Maximum checks of the load before a round, at twenty per second."""


GOALS = (Goal(WARM, FLOOR, 1.6), Goal(WARM, JSON, 0.1), Goal(COLD, JSON, 2.5), Goal(COLD_GUARDED, JSON, 5.0))
MIN_THROUGHPUT_RATIO = 10.0


def run(contender: Contender) -> float:
    """Return the milliseconds from its start to its end, as an agent sees it."""
    reading, writing = os.pipe()
    os.write(writing, contender.payload.replace(b"@turn", b"%d" % next(TURNS)))
    os.close(writing)
    actions = [(os.POSIX_SPAWN_DUP2, reading, 0), (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    start = time.perf_counter()
    child = os.posix_spawn(contender.words[0], contender.words, contender.environment, file_actions=actions)
    _, status = os.waitpid(child, 0)
    seconds = time.perf_counter() - start
    os.close(reading)
    if status:
        raise SystemExit(f"{contender.words} ended with {status}")
    return seconds * 1000


def measure(commands: Mapping[str, Contender], rounds: int) -> dict[str, list[float]]:
    times: dict[str, list[float]] = {name: [] for name in commands}
    for position, (name, counts) in enumerate(rotate(commands, rounds, WARM_UP)):
        if position % len(commands) == 0:
            wait_for_idle_machine()
        milliseconds = run(commands[name])
        if counts:
            times[name].append(milliseconds)
    return times


def wait_for_idle_machine() -> None:
    """Wait a moment while other processes run, because they disturb a round."""
    for _ in range(MAX_CHECKS):
        if int(LOAD.read_text().split()[3].partition("/")[0]) <= 1:
            return
        time.sleep(0.05)


def measure_throughput(contender: Contender, calls: int) -> float:
    """Return the calls per second of parallel callers: processes, because threads would wait for each other."""
    start = time.perf_counter()
    callers = [os.fork() or _call_often(contender, number, calls // CALLERS) for number in range(CALLERS)]
    if any(os.waitpid(caller, 0)[1] for caller in callers):
        raise SystemExit(f"{contender.words} failed")
    return calls // CALLERS * CALLERS / (time.perf_counter() - start)


def _call_often(contender: Contender, number: int, calls: int) -> NoReturn:
    with contextlib.suppress(SystemExit):
        for turn in range(calls):
            run(contender._replace(payload=contender.payload.replace(b"@turn", b"%d-%d" % (number, turn))))
        os._exit(0)
    os._exit(1)


def build_floor(directory: Path) -> Path:
    """Compile the cheapest hook, static if possible."""
    compiler = find_compiler()
    floor = directory / "floor"
    flags = ["-O2", "-Wall", "-Werror"]
    for static_flag in (["-static"], []):
        if subprocess.run([compiler, *flags, *static_flag, HERE / "hook.c", "-o", floor], check=False).returncode == 0:
            break
    return floor


def build_hook_line(site: Path, home: Path) -> list[str]:
    """Return the words of the line that `trotline install` writes for this copy."""
    code = "import sys; sys.path.insert(0, sys.argv[1]); from trotline.service.line import build_hook_line; "
    code += "print(build_hook_line('cursor', 'beforeShellExecution', sys.argv[2], timeout=60))"
    words = [sys.executable, "-c", code, str(site), str(home)]
    return shlex.split(subprocess.run(words, capture_output=True, text=True, check=True).stdout)


def rename_event(words: list[str]) -> list[str]:
    """Return the line for the event after the command, for which no guard has an opinion."""
    return ["afterShellExecution" if word == "beforeShellExecution" else word for word in words]


def build_contenders(directory: Path, soak: Any) -> tuple[dict[str, Contender], Path]:
    """Return our lines and the hooks for comparison, and the home of the service."""
    site = soak.install(directory / "site")
    home = directory / "home"
    other_home = directory / ("far" + "x" * 100)  # too long for the address of a socket, so no service is called
    home.mkdir()
    other_home.mkdir()
    warm = build_hook_line(site.path, home)
    cold = [str(other_home) if word == str(home) else word for word in warm]
    commands = {
        FLOOR: [str(build_floor(directory))],
        WARM: rename_event(warm),
        WARM_GUARDED: warm,
        PYTHON_CLIENT: [sys.executable, "-I", "-S", str(site.service / "python_client.py"), *warm[2:]],
        JSON: [sys.executable, "-I", "-S", "-c", JSON_HOOK],
        COLD_GUARDED: cold,
        COLD: rename_event(cold),
    }
    print(f"the installed line: {shlex.join(warm).replace(str(directory), '...')}\n")
    payloads = dict.fromkeys((COLD, WARM), OBSERVED)
    return {name: Contender(tuple(words), payloads.get(name, PAYLOAD)) for name, words in commands.items()}, home


def main() -> int:
    sys.path.insert(0, str(HERE.parent / "scripts"))
    soak = importlib.import_module("soak_service")
    rounds, peers = parse_arguments()
    others = install_peers(peers) if peers else {}
    with tempfile.TemporaryDirectory(prefix="tl-") as scratch:
        commands, home = build_contenders(Path(scratch).resolve(), soak)
        commands |= others
        run(commands[WARM])
        pid = soak.wait_for_service(home)
        times = measure(commands, rounds)
        calls = 3 * (rounds + WARM_UP)  # two by the C client, one by the Python client
        missing = calls + 1 - len(soak.records(home))
        status = importlib.import_module("trotline.service.wire").ask_status(soak.get_state(home) / "run" / "s")
        throughput = {
            name: measure_throughput(commands[name], calls) for name, calls in ((WARM_GUARDED, 1600), (JSON, 160))
        }
        has_stayed = soak.find_pid(home) == pid
        os.kill(pid, 9)
    report(times, rounds)
    met = [check_goal(goal, compute_ratio(times, goal.name, goal.other)) for goal in GOALS]
    throughput_ratio = throughput[WARM_GUARDED] / throughput[JSON]
    met.append(throughput_ratio >= MIN_THROUGHPUT_RATIO)
    word = "met" if met[-1] else "MISSED"
    warm, cold = throughput[WARM_GUARDED], throughput[JSON]
    print(f"{word}: {CALLERS} at once: {warm:.0f} calls/s warm with guards, {cold:.0f} cold Python, ", end="")
    print(f"{throughput_ratio:.1f}x, goal {MIN_THROUGHPUT_RATIO}x")
    is_complete = missing == 0 and has_stayed and status is not None and status["answered"] == calls
    word = "met" if is_complete else "MISSED"
    print(f"{word}: one service answered every timed call, and {missing} records are missing")
    return 0 if all(met) and is_complete else 1


def parse_arguments() -> tuple[int, Path | None]:
    parser = argparse.ArgumentParser(description="measure what an agent waits for")
    parser.add_argument("rounds", nargs="?", type=int, default=100)
    parser.add_argument("--peers", type=Path, help="a directory outside of the repository to install others into")
    arguments = parser.parse_args()
    return arguments.rounds, arguments.peers


def report(times: Mapping[str, list[float]], rounds: int) -> None:
    version = sys.version.split()[0]
    print(f"Python {version}, {rounds} rounds, one interleaved run, load {os.getloadavg()[0]:.1f}\n")
    print(f"| what | median ms | best ms | of the {FLOOR} | of {JSON} |\n|---|---|---|---|---|")
    for name, all_times in times.items():
        numbers = f"{statistics.median(all_times):.2f} | {min(all_times):.2f}"
        ratios = f"{compute_ratio(times, name, FLOOR):.2f}x | {compute_ratio(times, name, JSON):.3f}x"
        print(f"| {name} | {numbers} | {ratios} |")
    print("\nratios are the median of each round's\n")


if __name__ == "__main__":
    sys.exit(main())
