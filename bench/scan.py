"""Compare the scanners with one plain pass of RE2, over our own sources and documents.

The floor is a single pattern with alternatives, without keywords, entropy, allowlists or positions: the minimum cost of
any scanner that reads every byte with RE2. CPU time of this process, interleaved.
"""

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import re2

from interleaved import compute_ratio, rotate
from trotline.scanners.redaction import redact
from trotline.scanners.scan import get_scanners, scan

FLOOR = "plain RE2, one pattern"
GOAL = 10.0
"""Megabytes per second and core."""

ROOT = Path(__file__).parent.parent
SIZE = 4_000_000
PLAIN = r"(?i)(?:password|passwd|secret|token|api_?key|credential)s?[\"']?\s*[:=]\s*[\"']?([^\s\"']{8,64})"
KEY = b"a key of the bench"


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 15
    data = build_corpus()
    floor = re2.compile(PLAIN)
    scanners = get_scanners()
    contenders: dict[str, Callable[[], object]] = {
        FLOOR: lambda: list(floor.finditer(data)),
        **{name: partial(scan, data, KEY, [scanner]) for name, scanner in scanners.items()},
        "all four": lambda: scan(data, KEY, list(scanners.values())),
        "redaction": lambda: redact(data.decode(), KEY),
    }
    times = measure_times(contenders, rounds)
    print(f"Python {sys.version.split()[0]}, {len(data) / 1e6:.1f} MB, {rounds} rounds, one interleaved run\n")
    print("| what | MB/s of one core | against the plain pass |\n|---|---|---|")
    speeds = {}
    for name, seconds in times.items():
        speeds[name] = len(data) / 1e6 / statistics.median(seconds)
        ratio = compute_ratio(times, name, FLOOR)
        print(f"| {name} | {speeds[name]:.0f} | {ratio:.1f}x |")
    print(f"\ngoal: all four at {GOAL:.0f} MB/s; measured {speeds['all four']:.1f}")
    return 0 if speeds["all four"] >= GOAL else 1


def build_corpus() -> bytes:
    """Return sources, tests and documents, repeated up to the size."""
    files = [path for part in ("src", "tests", "docs") for path in sorted((ROOT / part).rglob("*")) if path.is_file()]
    text = b"".join(path.read_bytes() for path in files if path.suffix in {".py", ".md", ".json", ".toml", ".txt"})
    return (text * (SIZE // len(text) + 1))[:SIZE].decode("utf-8", "ignore").encode()


def measure_times(contenders: dict[str, Callable[[], object]], rounds: int) -> dict[str, list[float]]:
    """Return the CPU seconds of every contender, round by round."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    for name, counts in rotate(contenders, rounds):
        start = time.process_time()
        contenders[name]()
        if counts:
            times[name].append(time.process_time() - start)
    return times


if __name__ == "__main__":
    sys.exit(main())
