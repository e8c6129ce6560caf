"""Times several commands in one interleaved run, so that their ratios mean something on a busy machine.

Each round runs every command once, in rotating order. CPU time of the child is steadier than wall time; both are kept.
"""

import os
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple


class Timing(NamedTuple):
    """Milliseconds of one command over all rounds."""

    name: str
    cpu: float
    wall: float
    best: float


def measure(commands: Mapping[str, Sequence[str]], *, rounds: int, cwd: Path) -> list[Timing]:
    """The medians of every command; a command that fails to start ends the bench."""
    cpu: dict[str, list[float]] = {name: [] for name in commands}
    wall: dict[str, list[float]] = {name: [] for name in commands}
    names = list(commands)
    for turn in range(rounds + 1):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            spent, took = _run(commands[name], cwd)
            if turn:  # the first round warms the page cache
                cpu[name].append(spent)
                wall[name].append(took)
    return [
        Timing(name, statistics.median(cpu[name]), statistics.median(wall[name]), min(wall[name])) for name in names
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
    took = time.perf_counter() - started
    os.close(quiet)
    if os.waitstatus_to_exitcode(status) not in {0, 1}:
        raise SystemExit(f"{argv} ended with {status}")
    return (usage.ru_utime + usage.ru_stime) * 1000, took * 1000


def report(title: str, timings: list[Timing], *, against: str) -> dict[str, float]:
    """Print a table and give each command's ratio (by CPU time) to the floor."""
    floor = next(timing for timing in timings if timing.name == against)
    ratios = {timing.name: timing.cpu / floor.cpu for timing in timings}
    print(f"{title}\n\n| what | cpu ms | wall ms | best ms | ratio |\n|---|---|---|---|---|")
    for timing in timings:
        numbers = f"{timing.cpu:.1f} | {timing.wall:.1f} | {timing.best:.1f} | {ratios[timing.name]:.2f}"
        print(f"| {timing.name} | {numbers} |")
    return ratios
