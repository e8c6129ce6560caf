"""Measure how long a verdict takes per line, compared with `shlex.split` of the same line.

    python bench/verdicts.py

The lines are those of ../shared/corpora, or the cases of the guards if there is no such directory.
"""

import json
import shlex
import statistics
import time
from collections.abc import Callable
from pathlib import Path

from trotline.analysis.analyze import analyze_command
from trotline.analysis.shell.shell_state import Environment
from trotline.domain.verdicts import Permission
from trotline.evaluation.evaluate import evaluate
from trotline.guards import GUARD_NAMES
from trotline.guards.cases import load_cases
from trotline.policy.policy import DEFAULT_POLICY

CORPUS = Path(__file__).parents[2] / "shared" / "corpora" / "commands.jsonl"
ENVIRONMENT = Environment("/home/dev/project", ("/home/dev/project",), "/home/dev", "dev")
ROUNDS = 3
LONG = {
    "10 kB of words": "echo " + "word " * 2000,
    "10 kB in one word": "echo '" + "x" * 10_000 + "'",
    "10,000 nested `$(`": "$(" * 10_000,
    "24 kB of `a=(`": "a=(" * 8_000,
    "1 MB here-document": "cat > notes.md <<'END'\n" + "some text in a line\n" * 50_000 + "END\n",
    "100,000 `;`": ";" * 100_000,
}


def read_lines() -> list[str]:
    if CORPUS.exists():
        return [json.loads(line)["command"] for line in CORPUS.read_text("utf-8").splitlines()]
    print("../shared/corpora is not here: the guards' own cases")
    cases = [load_cases(name) for name in GUARD_NAMES]
    return [line for guard in cases for line in (*guard.commands, *guard.passes)]


def evaluate_line(line: str) -> Permission:
    return evaluate(analyze_command(line, ENVIRONMENT).effects, ENVIRONMENT, DEFAULT_POLICY).permission


def split(line: str) -> None:
    try:
        shlex.split(line)
    except ValueError:
        return


def measure_shortest(work: Callable[[str], object], line: str) -> float:
    """Return the milliseconds of the fastest round; every round gets a different line, so that no cache answers."""
    times = []
    for number in range(ROUNDS):
        fresh = line + " " * number
        start = time.perf_counter_ns()
        work(fresh)
        times.append(time.perf_counter_ns() - start)
    return min(times) / 1e6


def main() -> None:
    all_lines = read_lines()
    for line in all_lines:
        evaluate_line(line)  # imports every family of programs
    for name, work in (("shlex.split", split), ("verdict", evaluate_line)):
        times = sorted(measure_shortest(work, line) for line in all_lines)
        last = times[int(len(times) * 0.99)]
        median, slowest = statistics.median(times), times[-1]
        print(f"{name:12} median {median:.3f} ms, 99th percentile {last:.2f} ms, most {slowest:.2f} ms")
    for name, line in LONG.items():
        print(f"{name:20} {measure_shortest(evaluate_line, line):8.2f} ms  {evaluate_line(line).word}")


if __name__ == "__main__":
    main()
