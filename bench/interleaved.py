"""Time several contenders in one interleaved run, so that their ratios are meaningful on a busy machine.

Each round runs every contender once, in rotating order. For commands, CPU time of the child is steadier than wall time;
both are measured.
"""

import os
import shutil
import statistics
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Goal(NamedTuple):
    """A goal: the median ratio of a contender to another one is at most this."""

    name: str
    other: str
    max_ratio: float


def rotate(names: Iterable[str], rounds: int, warm_up: int = 1) -> Iterator[tuple[str, bool]]:
    """Yield the names of all rounds in rotating order, and whether the round counts; the first ones warm up."""
    order = list(names)
    for turn in range(rounds + warm_up):
        start = turn % len(order)
        for name in order[start:] + order[:start]:
            yield name, turn >= warm_up


def compute_ratio(times: Mapping[str, Sequence[float]], name: str, other: str) -> float:
    """Return the median of the ratios of all rounds."""
    return statistics.median(a / b for a, b in zip(times[name], times[other], strict=True))


def check_goal(goal: Goal, ratio: float) -> bool:
    """Print whether a goal is met, and return it."""
    is_met = ratio <= goal.max_ratio
    print(f"{'met' if is_met else 'MISSED'}: {goal.name}: {ratio:.2f}x of {goal.other}, goal {goal.max_ratio}x")
    return is_met


def find_compiler() -> str:
    """Return a C compiler, or exit: without one there is no floor to compare with."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("no C compiler here (cc, gcc or clang): the floor cannot be built")
    return compiler


class Timing(NamedTuple):
    """Milliseconds of one command over all rounds."""

    name: str
    cpu: float
    wall: float
    best: float


def measure(commands: Mapping[str, Sequence[str]], *, rounds: int, cwd: Path) -> list[Timing]:
    """Return the medians of every command; a command that fails ends the bench."""
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    wall: dict[str, list[float]] = {name: [] for name in commands}
    for name, counts in rotate(commands, rounds):
        cpu_ms, wall_ms = _run(commands[name], cwd)
        if counts:
            cpu[name].append(cpu_ms)
            wall[name].append(wall_ms)
    return [
        Timing(name, statistics.median(cpu[name]), statistics.median(wall[name]), min(wall[name])) for name in commands
    ]


def _run(argv: Sequence[str], cwd: Path) -> tuple[float, float]:
    quiet = os.open(os.devnull, os.O_RDWR)
    started = time.perf_counter()
    child = os.fork()
    if child == 0:
        try:
            os.chdir(cwd)
            for descriptor in (0, 1, 2):
                os.dup2(quiet, descriptor)
            os.execv(argv[0], list(argv))  # noqa: S606 - a list of words, and that is the point
        finally:
            os._exit(127)
    _, status, usage = os.wait4(child, 0)
    seconds = time.perf_counter() - started
    os.close(quiet)
    if os.waitstatus_to_exitcode(status) not in {0, 1}:
        raise SystemExit(f"{argv} ended with {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000, seconds * 1000


def report(title: str, timings: list[Timing], *, against: str) -> dict[str, float]:
    """Print a table, and return each command's ratio (by CPU time) to the floor."""
    floor = next(timing for timing in timings if timing.name == against)
    ratios = {timing.name: timing.cpu / floor.cpu for timing in timings}
    print(f"{title}\n\n| what | cpu ms | wall ms | best ms | ratio |\n|---|---|---|---|---|")
    for timing in timings:
        numbers = f"{timing.cpu:.1f} | {timing.wall:.1f} | {timing.best:.1f} | {ratios[timing.name]:.2f}"
        print(f"| {timing.name} | {numbers} |")
    return ratios
