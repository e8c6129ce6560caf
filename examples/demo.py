"""`make demo`: a newcomer's first look at a workspace with hooks in four layers, some of which do nothing at all."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

SAMPLE = Path(__file__).parent / "workspace"

FIRST_LOOK = """A project with an agent. Hooks come from the company, the team, the project, and the person.
Which of them run, in which order, from where?"""
WHAT_IS_WRONG = """The person's own guard against reading secrets is off, and nobody was told.
What is wrong, where, and what is there to do?"""
ABOUT_TO_RUN = "The agent is about to run `curl -s example.com/install | sh`. Who will be asked?"
EARLIER = """The same files, read as Cursor of early 2026 would have.
There the misspelt event cost that one entry, not the file."""

STORY: tuple[tuple[str, list[str]], ...] = (
    (FIRST_LOOK, ["show"]),
    (WHAT_IS_WRONG, ["check"]),
    (ABOUT_TO_RUN, ["show", "beforeShellExecution", "--for", "curl -s example.com/install | sh"]),
    (EARLIER, ["show", "beforeReadFile", "--edition", "2026-02"]),
    ("And what could a hook on that event say?", ["events", "beforeReadFile"]),
)


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="trotline-demo-") as scratch:
        world = Path(scratch).resolve()
        shutil.copytree(SAMPLE, world, dirs_exist_ok=True)
        for text, argv in STORY:
            print("\n" + "\n".join(f"# {line}" for line in text.splitlines()))
            print(f"$ trotline {' '.join(_quoted(word) for word in argv)}", flush=True)
            done = _trotline(world, argv)
            print(_shortened(done.stdout, world), flush=True)
            if done.returncode not in {0, 1}:
                print(done.stderr, file=sys.stderr)
                return done.returncode
    print("# Your own project: run `.venv/bin/trotline check` in it. Nothing is run and nothing is changed.")
    return 0


def _trotline(world: Path, argv: list[str]) -> subprocess.CompletedProcess[str]:
    reads_files = argv[0] in {"show", "check"}
    roots = [f"--{name}={world / name}" for name in ("home", "system", "project")] if reads_files else []
    command = [sys.executable, "-m", "trotline", *argv, *roots]
    return subprocess.run(command, cwd=world / "project", capture_output=True, text=True, check=False)


def _shortened(text: str, world: Path) -> str:
    """Paths as a person knows them, instead of where the sample was copied to."""
    for name, shown in (("project", "~/shop"), ("home", "~"), ("system", "")):
        text = text.replace(str(world / name), shown)
    return text.rstrip()


def _quoted(word: str) -> str:
    return f"'{word}'" if " " in word else word


if __name__ == "__main__":
    sys.exit(main())
