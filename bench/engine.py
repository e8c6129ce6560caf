"""Compare the engine's process loop with a C floor and with the usual ways to start processes in Python.

Every round runs each of them once, in rotating order, and each round's times are compared with that round's floor, so
that a busy machine disturbs all of them alike. The floor is compiled here from bench/floor.c; without a C compiler
there is nothing to compare with, and the bench ends.
"""

import asyncio
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio

from interleaved import Goal, check_goal, compute_ratio, find_compiler, rotate
from trotline.system.processes import Job, run_all

HERE = Path(__file__).parent
Engine = Callable[[str, int, bytes], None]
MEGABYTE = 1_000_000


class Load(NamedTuple):
    """The number of parallel hooks and the bytes for each; `bare` hooks have no C library and start fastest."""

    hooks: int
    size: int
    bare: bool = True

    def __str__(self) -> str:
        return f"{self.hooks} {'bare' if self.bare else 'native'}, {self.size:,} B"


ONE = Load(1, 1000, bare=False)
MANY = (Load(8, 1000), Load(32, 1000), Load(128, 1000))
LARGE = Load(8, 5 * MEGABYTE)


GOALS = (
    (ONE, "C floor", 1.25),
    *((load, "C floor", 2.0) for load in MANY),
    *((load, "asyncio", 0.6) for load in MANY),
    (LARGE, "C floor", 1.0),
)
"""A load, a contender, and the maximum of the engine's ratio to it."""


class Floor:
    """The C program. It stays running and times itself, so that its start is not measured."""

    def __init__(self, program: Path, hook: Path) -> None:
        self.hook = str(hook)
        self._process = subprocess.Popen(
            [program, hook], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def measure(self, load: Load) -> float:
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit("the floor has no pipes")
        self._process.stdin.write(f"{load.hooks} {load.size}\n")
        return float(self._process.stdout.readline())


ENVIRONMENT = dict(os.environ)


def run_with_engine(hook: str, count: int, payload: bytes) -> None:
    job = Job((hook,), "/", ENVIRONMENT, 60.0, "bench")
    ended = run_all([job] * count, payload)
    if any(end.stdout != b"{}" for end in ended):
        raise SystemExit("the engine lost an answer")


def run_in_turn(hook: str, count: int, payload: bytes) -> None:
    for _ in range(count):
        subprocess.run([hook], input=payload, capture_output=True, check=True)


def run_with_asyncio(hook: str, count: int, payload: bytes) -> None:
    async def run_one() -> None:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(hook, stdin=pipe, stdout=pipe, stderr=pipe)
        await process.communicate(payload)

    async def run_all_hooks() -> None:
        await asyncio.gather(*(run_one() for _ in range(count)))

    asyncio.run(run_all_hooks())


def run_with_anyio(hook: str, count: int, payload: bytes) -> None:
    async def run_all_hooks() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(lambda: anyio.run_process([hook], input=payload))

    anyio.run(run_all_hooks)


ENGINES: dict[str, Engine] = {
    "engine": run_with_engine,
    "subprocess.run in turn": run_in_turn,
    "asyncio": run_with_asyncio,
    "anyio": run_with_anyio,
}


def measure(floor: Floor, load: Load, rounds: int) -> dict[str, list[float]]:
    """Return the microseconds per hook of every engine, round by round."""
    payload = b"x" * load.size
    times: dict[str, list[float]] = {name: [] for name in ("C floor", *ENGINES)}
    for name, counts in rotate(times, rounds):
        if name == "C floor":
            micros = floor.measure(load)
        else:
            start = time.perf_counter()
            ENGINES[name](floor.hook, load.hooks, payload)
            micros = (time.perf_counter() - start) * 1e6
        if counts:
            times[name].append(micros / load.hooks)
    return times


def build_programs(directory: Path) -> tuple[Path, Path, Path]:
    """Compile the floor, a native hook and a bare hook."""
    compiler = find_compiler()
    floor, native, bare = (directory / name for name in ("floor", "native", "bare"))
    warn = [compiler, "-O2", "-Wall", "-Werror"]
    subprocess.run([*warn, HERE / "floor.c", "-o", floor], check=True)
    subprocess.run([*warn, HERE / "hook.c", "-o", native], check=True)
    without_library = ["-DBARE", "-static", "-nostdlib", "-ffreestanding", "-fno-stack-protector"]
    subprocess.run([*warn, *without_library, HERE / "hook.c", "-o", bare], check=True)
    return floor, native, bare


def main() -> int:
    quick = "--quick" in sys.argv
    with tempfile.TemporaryDirectory() as scratch:
        program, native, bare = build_programs(Path(scratch))
        floors = {True: Floor(program, bare), False: Floor(program, native)}
        print(f"Python {sys.version.split()[0]} ({sys.executable}), load {os.getloadavg()[0]:.1f}\n")
        print("| hooks | " + " | ".join(("C floor", *ENGINES)) + " |")
        print("|---|" + "---|" * (len(ENGINES) + 1))
        measured = {}
        for load in (ONE, *MANY, LARGE):
            rounds = 10 if quick else 25 if load is LARGE else 60
            times = measured[load] = measure(floors[load.bare], load, rounds)
            cells = [
                f"{statistics.median(t):.0f} us ({compute_ratio(times, name, 'C floor'):.2f}x)"
                for name, t in times.items()
            ]
            print(f"| {load} | {' | '.join(cells)} |", flush=True)
        print("\nper hook, median of the rounds; in brackets the median of each round's ratio to its floor\n")
        are_met = [
            check_goal(Goal(str(load), other, max_ratio), compute_ratio(measured[load], "engine", other))
            for load, other, max_ratio in GOALS
        ]
        are_met += [check_memory(floors[True].hook), check_large_parent(floors[True].hook, 5 if quick else 40)]
        few, many = (statistics.median(measured[load]["engine"]) for load in (MANY[0], MANY[-1]))
        print(f"linear: a hook among {MANY[-1].hooks} costs {many / few:.2f}x of one among {MANY[0].hooks}")
    return 0 if all(are_met) else 1


def check_memory(hook: str) -> bool:
    """Measure how much the parent grows while it feeds 5 MB to 8 hooks."""
    payload = b"x" * (5 * MEGABYTE)
    run_with_engine(hook, 8, b"x")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    run_with_engine(hook, 8, payload)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000
    print(f"{'met' if grown < 5 else 'MISSED'}: parent grew by {grown:.1f} MB with 5 MB for 8 hooks, goal below 5")
    return grown < 5


def check_large_parent(hook: str, rounds: int) -> bool:
    """Compare the start of a hook in a process of one gigabyte with that in a small one."""
    small = _median_start(hook, rounds)
    ballast = bytearray(1_000 * MEGABYTE)
    ballast[::4096] = b"x" * len(ballast[::4096])
    large = _median_start(hook, rounds)
    ratio = large / small
    print(f"{'met' if ratio <= 1.2 else 'MISSED'}: with 1 GB in the parent {ratio:.2f}x of a small one, goal 1.2x")
    return ratio <= 1.2


def _median_start(hook: str, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        start = time.perf_counter()
        run_with_engine(hook, 1, b"x")
        times.append(time.perf_counter() - start)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
