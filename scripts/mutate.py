"""Mutation testing of the domain: change one thing at a time, and check that a fast test fails.

python scripts/mutate.py            start from scratch (half an hour on two cores)
python scripts/mutate.py --keep     only changes since the last run

[tool.mutmut] in pyproject.toml configures the files and tests. A surviving mutant is either a missing test or a change
without effect; each is printed for review.
"""

import argparse
import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parent.parent
MUTANTS = ROOT / "mutants"
NOT_KILLED = ("survived", "no tests", "timeout", "suspicious", "segfault")


def main() -> int:
    arguments = argparse.ArgumentParser(description="mutation testing of the domain with mutmut")
    arguments.add_argument("--keep", action="store_true", help="keep the results of the last run")
    options = arguments.parse_args()
    if importlib.util.find_spec("mutmut") is None:
        print("mutmut is not installed; `make soak` installs it, or: pip install --require-hashes -r locks/soak.txt")
        return 1
    if not options.keep:
        shutil.rmtree(MUTANTS, ignore_errors=True)
    print("==> mutation testing; this takes a while", flush=True)
    run = _run_mutmut("run", "--max-children", str(os.cpu_count() or 1), show=sys.stdout.isatty())
    if run.returncode:
        print(run.stdout[-4000:] if run.stdout else "mutmut failed")
        return 1
    results = [line.strip().rpartition(": ") for line in _run_mutmut("results", "--all", "true").stdout.splitlines()]
    survivors = [(name, status) for name, _, status in results if status in NOT_KILLED]
    for name, status in survivors:
        print(f"\n{status}: {name}\n{_read_changes(name)}")
    print(f"\n{sum(bool(name) for name, _, _ in results)} mutants, {len(survivors)} not killed")
    return 0


def _read_changes(name: str) -> str:
    """Return the lines that a mutant changes."""
    lines = _run_mutmut("show", name).stdout.splitlines()
    return "\n".join(line for line in lines if line[:1] in "+-" and not line.startswith(("+++", "---")))


def _run_mutmut(*arguments: str, show: bool = False) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "mutmut", *arguments]
    return subprocess.run(command, cwd=ROOT, stdout=None if show else subprocess.PIPE, text=True, check=False)


if __name__ == "__main__":
    sys.exit(main())
