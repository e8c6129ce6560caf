"""The engine's process loop against a C floor and against the ways in which Python usually starts processes.

Every round runs each of them once, in rotating order, and each round's times are compared with that round's floor, so
that a busy machine disturbs all of them alike. The floor is compiled here from bench/floor.c; without a C compiler
there is nothing to compare with, and the bench says so.
"""

import asyncio
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import anyio

from trotline.system.processes import Job, run_all

HERE = Path(__file__).parent
Engine = Callable[[str, int, bytes], None]
MEGABYTE = 1_000_000


class Load(NamedTuple):
    """So many hooks at once, so many bytes to each; `bare` hooks have no C library, and cost next to nothing."""

    hooks: int
    size: int
    bare: bool = True

    def __str__(self) -> str:
        return f"{self.hooks} {'bare' if self.bare else 'native'}, {self.size:,} B"


ONE = Load(1, 1000, bare=False)
MANY = (Load(8, 1000), Load(32, 1000), Load(128, 1000))
LARGE = Load(8, 5 * MEGABYTE)


class Goal(NamedTuple):
    """At most this many times the other, at the median."""

    load: Load
    other: str
    at_most: float


GOALS = (
    Goal(ONE, "C floor", 1.25),
    *(Goal(load, "C floor", 2.0) for load in MANY),
    *(Goal(load, "asyncio", 0.6) for load in MANY),
    Goal(LARGE, "C floor", 1.0),
)


class Floor:
    """The C program, kept running: it times itself, so that starting it is not counted."""

    def __init__(self, program: Path, hook: Path) -> None:
        self.hook = str(hook)
        self._process = subprocess.Popen(
            [program, hook], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )

    def microseconds(self, load: Load) -> float:
        if self._process.stdin is None or self._process.stdout is None:
            raise SystemExit("the floor has no pipes")
        self._process.stdin.write(f"{load.hooks} {load.size}\n")
        return float(self._process.stdout.readline())


ENVIRONMENT = dict(os.environ)


def with_engine(hook: str, count: int, payload: bytes) -> None:
    job = Job((hook,), "/", ENVIRONMENT, 60.0, "bench")
    ended = run_all([job] * count, payload)
    if any(end.stdout != b"{}" for end in ended):
        raise SystemExit("the engine lost an answer")


def with_run(hook: str, count: int, payload: bytes) -> None:
    for _ in range(count):
        subprocess.run([hook], input=payload, capture_output=True, check=True)


def with_asyncio(hook: str, count: int, payload: bytes) -> None:
    async def one() -> None:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(hook, stdin=pipe, stdout=pipe, stderr=pipe)
        await process.communicate(payload)

    async def every() -> None:
        await asyncio.gather(*(one() for _ in range(count)))

    asyncio.run(every())


def with_anyio(hook: str, count: int, payload: bytes) -> None:
    async def every() -> None:
        async with anyio.create_task_group() as group:
            for _ in range(count):
                group.start_soon(lambda: anyio.run_process([hook], input=payload))

    anyio.run(every)


ENGINES: dict[str, Engine] = {
    "engine": with_engine,
    "subprocess.run in turn": with_run,
    "asyncio": with_asyncio,
    "anyio": with_anyio,
}


def measure(floor: Floor, load: Load, rounds: int) -> dict[str, list[float]]:
    """Microseconds per hook of every engine, round by round."""
    payload = b"x" * load.size
    times: dict[str, list[float]] = {name: [] for name in ("C floor", *ENGINES)}
    names = list(times)
    for turn in range(rounds + 1):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            if name == "C floor":
                took = floor.microseconds(load)
            else:
                begun = time.perf_counter()
                ENGINES[name](floor.hook, load.hooks, payload)
                took = (time.perf_counter() - begun) * 1e6
            if turn:  # the first round warms up
                times[name].append(took / load.hooks)
    return times


def ratio(times: dict[str, list[float]], ours: str, other: str) -> float:
    """The median of the rounds' ratios."""
    return statistics.median(a / b for a, b in zip(times[ours], times[other], strict=True))


def build(directory: Path) -> tuple[Path, Path, Path]:
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise SystemExit("no C compiler here (cc, gcc or clang): the floor cannot be built")
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
        program, native, bare = build(Path(scratch))
        floors = {True: Floor(program, bare), False: Floor(program, native)}
        print(f"Python {sys.version.split()[0]} ({sys.executable}), load {os.getloadavg()[0]:.1f}\n")
        print("| hooks | " + " | ".join(("C floor", *ENGINES)) + " |")
        print("|---|" + "---|" * (len(ENGINES) + 1))
        measured = {}
        for load in (ONE, *MANY, LARGE):
            rounds = 10 if quick else 25 if load is LARGE else 60
            times = measured[load] = measure(floors[load.bare], load, rounds)
            cells = [
                f"{statistics.median(t):.0f} us ({ratio(times, name, 'C floor'):.2f}x)" for name, t in times.items()
            ]
            print(f"| {load} | {' | '.join(cells)} |", flush=True)
        print("\nper hook, median of the rounds; in brackets the median of each round's ratio to its floor\n")
        met = [_judged(goal, ratio(measured[goal.load], "engine", goal.other)) for goal in GOALS]
        met += [memory(floors[True].hook), large_parent(floors[True].hook, 5 if quick else 40)]
        few, many = (statistics.median(measured[load]["engine"]) for load in (MANY[0], MANY[-1]))
        print(f"linear: a hook among {MANY[-1].hooks} costs {many / few:.2f}x of one among {MANY[0].hooks}")
    return 0 if all(met) else 1


def _judged(goal: Goal, got: float) -> bool:
    met = got <= goal.at_most
    print(f"{'met' if met else 'MISSED'}: {goal.load}: {got:.2f}x of {goal.other}, goal {goal.at_most}x")
    return met


def memory(hook: str) -> bool:
    """How much the parent grows while it feeds 5 MB to 8 hooks."""
    payload = b"x" * (5 * MEGABYTE)
    with_engine(hook, 8, b"x")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with_engine(hook, 8, payload)
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1000
    print(f"{'met' if grown < 5 else 'MISSED'}: parent grew by {grown:.1f} MB with 5 MB for 8 hooks, goal below 5")
    return grown < 5


def large_parent(hook: str, rounds: int) -> bool:
    """A process of one gigabyte must start hooks as quickly as a small one."""
    small = _median_start(hook, rounds)
    ballast = bytearray(1_000 * MEGABYTE)
    ballast[::4096] = b"x" * len(ballast[::4096])
    large = _median_start(hook, rounds)
    again = large / small
    print(f"{'met' if again <= 1.2 else 'MISSED'}: with 1 GB in the parent {again:.2f}x of a small one, goal 1.2x")
    return again <= 1.2


def _median_start(hook: str, rounds: int) -> float:
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        with_engine(hook, 1, b"x")
        times.append(time.perf_counter() - begun)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
