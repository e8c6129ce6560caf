"""Compiles the client with whatever C compiler is there: without a C library, else static, else as it can be linked.

python client/build.py TARGET [bare|static|dynamic|sanitized]
"""

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent / "trotline_hook.c"
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wno-sign-conversion"]
FREESTANDING = ["-ffreestanding", "-fno-stack-protector", "-fno-tree-loop-distribute-patterns", "-fno-pie", "-no-pie"]
WAYS = {
    "bare": ["-O2", "-s", "-DBARE", "-static", "-nostdlib", *FREESTANDING],
    "static": ["-O2", "-s", "-static"],
    "dynamic": ["-O2", "-s"],
    "sanitized": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
USUAL = ("bare", "static", "dynamic")
"""The quickest first; a machine or a compiler that cannot do it gets the next."""


def compiler() -> str | None:
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(target: Path, *ways: str, extra: tuple[str, ...] = ()) -> str:
    """Compile it in the first way that works, and give the name of the way; nothing when none does."""
    found = compiler()
    if found is None or sys.platform == "win32":
        return ""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f"{target.name}.new")
    complaints = []
    for way in ways or USUAL:
        words = [found, *WARNINGS, *WAYS[way], *extra, str(SOURCE), "-o", str(new)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)  # noqa: S603 - a compiler, our file
        if done.returncode == 0 and _runs(new):
            new.replace(target)  # in one step: an agent may be running the old one
            return way
        complaints.append(done.stderr)
    print(*complaints, file=sys.stderr)
    return ""


def _runs(program: Path) -> bool:
    """Whether it starts on this machine at all; without words it has nothing to do and says so."""
    try:
        done = subprocess.run([str(program)], capture_output=True, timeout=10, check=False)  # noqa: S603 - just built
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 2 and done.stderr.startswith(b"trotline: cannot answer")


if __name__ == "__main__":
    made = build(Path(sys.argv[1]), *sys.argv[2:])
    print(f"the client was built: {made}" if made else "no client: its twin in Python does its work")
