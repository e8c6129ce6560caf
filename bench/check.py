"""`trotline check` on a project with four layers and fifty entries, against the import of its two libraries."""

import json
import sys
import tempfile
from pathlib import Path

from interleaved import measure, report

GOAL = 2.5
FLOOR = "python -c 'import msgspec, click'"
EVENTS = ("beforeShellExecution", "preToolUse", "afterFileEdit", "stop", "sessionStart")


def main() -> int:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    with tempfile.TemporaryDirectory() as scratch:
        world = Path(scratch)
        build_world(world)
        roots = [f"--{name}={world / name}" for name in ("home", "system", "project")]
        commands = {
            FLOOR: [sys.executable, "-c", "import msgspec, click"],
            "trotline check, 4 layers, 50 entries": [sys.executable, "-m", "trotline", "check", *roots],
            "trotline show, 4 layers, 50 entries": [sys.executable, "-m", "trotline", "show", *roots],
            "trotline --version": [sys.executable, "-m", "trotline", "--version"],
        }
        timings = measure(commands, rounds=rounds, cwd=world)
    ratios = report(f"Python {sys.version.split()[0]}, {rounds} rounds, one interleaved run", timings, against=FLOOR)
    ratio = ratios["trotline check, 4 layers, 50 entries"]
    print(f"\ngoal: check at most {GOAL} times the floor; measured {ratio:.2f}")
    return 0 if ratio <= GOAL else 1


def build_world(world: Path) -> None:
    """Write fifty entries in four layers, with all scripts, and a matcher at every fifth."""
    project, home, system = world / "project", world / "home", world / "system"
    shares = {
        system / "etc" / "cursor": 10,
        home / ".local" / "state" / "trotline" / "v1" / "team": 10,
        project / ".cursor": 15,
        home / ".cursor": 15,
    }
    for directory, count in shares.items():
        directory.mkdir(parents=True)
        base = directory.parent if directory.name == ".cursor" and directory.parent == project else directory
        hooks: dict[str, list[dict[str, object]]] = {}
        for number in range(count):
            script = base / "hooks" / f"hook{number}.sh"
            script.parent.mkdir(exist_ok=True)
            script.write_text("#!/bin/sh\nexit 0\n")
            script.chmod(0o755)
            entry: dict[str, object] = {"command": f"hooks/hook{number}.sh", "timeout": 5}
            if number % 5 == 0:
                entry["matcher"] = "curl|wget"
            hooks.setdefault(EVENTS[number % len(EVENTS)], []).append(entry)
        (directory / "hooks.json").write_text(json.dumps({"version": 1, "hooks": hooks}, indent=2))


if __name__ == "__main__":
    sys.exit(main())
