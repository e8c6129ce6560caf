"""The scanners over our own sources and documents, against one plain pass of RE2 over the same bytes.

The floor is a single pattern with alternatives, without keywords, entropy, allowlists or places: what any scanner that
looks at every byte with RE2 must at least cost. CPU time of this process, interleaved.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import re2

from trotline.scanners.redaction import redact
from trotline.scanners.scan import get_scanners, scan

GOAL = 10.0
"""Megabytes a second and core."""

ROOT = Path(__file__).parent.parent
SIZE = 4_000_000
PLAIN = r"(?i)(?:password|passwd|secret|token|api_?key|credential)s?[\"']?\s*[:=]\s*[\"']?([^\s\"']{8,64})"
KEY = b"a key of the bench"


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    data = corpus()
    floor = re2.compile(PLAIN)
    every = get_scanners()
    contenders: dict[str, Callable[[], object]] = {
        "plain RE2, one pattern": lambda: list(floor.finditer(data)),
        **{name: partial(scan, data, KEY, [one]) for name, one in every.items()},
        "all four": lambda: scan(data, KEY, list(every.values())),
        "redaction": lambda: redact(data.decode(), KEY),
    }
    times = timed(contenders, rounds)
    base = times["plain RE2, one pattern"]
    print(f"Python {sys.version.split()[0]}, {len(data) / 1e6:.1f} MB, {rounds} rounds, one interleaved run\n")
    print("| what | MB/s of one core | against the plain pass |\n|---|---|---|")
    speeds = {}
    for name, spent in times.items():
        speeds[name] = len(data) / 1e6 / statistics.median(spent)
        ratio = statistics.median(own / floor for own, floor in zip(spent, base, strict=True))
        print(f"| {name} | {speeds[name]:.0f} | {ratio:.1f}x |")
    print(f"\ngoal: all four at {GOAL:.0f} MB/s; measured {speeds['all four']:.1f}")
    return 0 if speeds["all four"] >= GOAL else 1


def corpus() -> bytes:
    """Sources, tests and documents, as often as it takes."""
    files = [path for part in ("src", "tests", "docs") for path in sorted((ROOT / part).rglob("*")) if path.is_file()]
    text = b"".join(path.read_bytes() for path in files if path.suffix in {".py", ".md", ".json", ".toml", ".txt"})
    return (text * (SIZE // len(text) + 1))[:SIZE].decode("utf-8", "ignore").encode()


def timed(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    spent: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(rounds + 1):
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            started = time.process_time()
            contenders[name]()
            if turn:  # the first round compiles patterns
                spent[name].append(time.process_time() - started)
    return spent


if __name__ == "__main__":
    sys.exit(main())
