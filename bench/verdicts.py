"""How long a verdict takes, line by line: the whole judgement beside `shlex.split` of the same line.

    python bench/verdicts.py

Lines are those of ../shared/corpora where they are here, and the guards' own cases otherwise.
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


def lines() -> list[str]:
    if CORPUS.exists():
        return [json.loads(line)["command"] for line in CORPUS.read_text("utf-8").splitlines()]
    print("../shared/corpora is not here: the guards' own cases")
    cases = [load_cases(name) for name in GUARD_NAMES]
    return [line for guard in cases for line in (*guard.commands, *guard.passes)]


def verdict(line: str) -> Permission:
    return evaluate(analyze_command(line, ENVIRONMENT).effects, ENVIRONMENT, DEFAULT_POLICY).permission


def split(line: str) -> None:
    try:
        shlex.split(line)
    except ValueError:
        return


def shortest(work: Callable[[str], object], line: str) -> float:
    """Milliseconds of the quickest of some rounds; no line is read twice from memory."""
    times = []
    for number in range(ROUNDS):
        fresh = line + " " * number
        begun = time.perf_counter_ns()
        work(fresh)
        times.append(time.perf_counter_ns() - begun)
    return min(times) / 1e6


def main() -> None:
    all_lines = lines()
    for line in all_lines:
        verdict(line)  # every family of tools is read once
    for name, work in (("shlex.split", split), ("verdict", verdict)):
        times = sorted(shortest(work, line) for line in all_lines)
        last = times[int(len(times) * 0.99)]
        median, most = statistics.median(times), times[-1]
        print(f"{name:12} median {median:.3f} ms, 99th percentile {last:.2f} ms, most {most:.2f} ms")
    for name, line in LONG.items():
        print(f"{name:20} {shortest(verdict, line):8.2f} ms  {verdict(line).word}")


if __name__ == "__main__":
    main()
