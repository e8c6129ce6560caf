"""Compile the client with any C compiler: without a C library if possible, else static, else dynamic.

python client/build.py TARGET [bare|static|dynamic|sanitized]
"""

import shutil
import subprocess
import sys
from pathlib import Path

SOURCE = Path(__file__).parent / "trotline_hook.c"
WARNINGS = ["-std=c11", "-Wall", "-Wextra", "-Werror", "-Wshadow", "-Wconversion", "-Wno-sign-conversion"]
FREESTANDING = ["-ffreestanding", "-fno-stack-protector", "-fno-tree-loop-distribute-patterns", "-fno-pie", "-no-pie"]
BUILDS = {
    "bare": ["-O2", "-s", "-DBARE", "-static", "-nostdlib", *FREESTANDING],
    "static": ["-O2", "-s", "-static"],
    "dynamic": ["-O2", "-s"],
    "sanitized": ["-O1", "-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all"],
}
DEFAULT_BUILDS = ("bare", "static", "dynamic")
"""The fastest first; if a compiler or machine does not support it, the next one is tried."""


def find_compiler() -> str | None:
    """Return the path of a C compiler, or None."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


def build(target: Path, *names: str, extra: tuple[str, ...] = ()) -> str:
    """Compile the first of these builds that works, and return its name; an empty text if none does."""
    compiler = find_compiler()
    if compiler is None or sys.platform == "win32":
        return ""
    target.parent.mkdir(parents=True, exist_ok=True)
    new = target.with_name(f"{target.name}.new")
    errors = []
    for name in names or DEFAULT_BUILDS:
        command = [compiler, *WARNINGS, *BUILDS[name], *extra, str(SOURCE), "-o", str(new)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603 - a compiler, our file
        if done.returncode == 0 and _runs(new):
            new.replace(target)  # in one step: an agent may be running the old one
            return name
        errors.append(done.stderr)
    print(*errors, file=sys.stderr)
    return ""


def _runs(program: Path) -> bool:
    """Return whether the program starts on this machine; without arguments it prints an error."""
    try:
        done = subprocess.run([str(program)], capture_output=True, timeout=10, check=False)  # noqa: S603 - just built
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 2 and done.stderr.startswith(b"trotline: cannot answer")


if __name__ == "__main__":
    name = build(Path(sys.argv[1]), *sys.argv[2:])
    print(f"the client was built: {name}" if name else "no client was built: the Python client is used")
