"""What `make demo` is played on: a copy of the sample, in which a person thinks, types and changes files."""

import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
from pathlib import Path
from threading import Timer
from typing import NamedTuple

FINE = {0, 1, 10, 20}
"""Exit codes of a program that works: 1 says that something was found, 10 and 20 that a guard would ask, or deny."""

WIDEST = 120
"""Characters of a line; a longer one is shown as far as that."""

PATIENCE = 60.0
"""Seconds after which somebody who watches goes home."""

TRAIL = ".local/state/trotline/v1/trail.db"


class Step(NamedTuple):
    """What the person thinks, what they type, and what the program reads.

    `{denied}` is the number of the newest call that was refused, `{cursor}` that of the newest of Cursor.
    """

    thought: str
    argv: list[str]
    payload: str = ""
    home: str = "home"


class Repair(NamedTuple):
    """What the person changes in a file; of a new one all is new."""

    thought: str
    file: str
    old: str
    new: str


class Tampering(NamedTuple):
    """A copy of the home, in which somebody is at the trail with a tool for databases."""

    thought: str
    home: str
    sql: str


class Watching(NamedTuple):
    """What somebody types who watches, until they have seen what another one types meanwhile."""

    thought: str
    argv: list[str]
    meanwhile: Step
    sees: str


Scene = Step | Repair | Tampering | Watching


class Stage(NamedTuple):
    world: Path

    def play(self, scene: Scene) -> bool:
        print(f"\n# {scene.thought}")
        match scene:
            case Step():
                return self._type(scene)
            case Repair():
                return self._repair(scene)
            case Tampering():
                return self._tamper(scene)
            case Watching():
                return self._watch(scene)

    def seen(self, text: str) -> str:
        """Paths as a person knows them, instead of where the sample was copied to."""
        for name, shown in (("project", "~/shop"), ("home", "~"), ("copy", "~"), ("system", "")):
            text = text.replace(str(self.world / name), shown)
        return "\n".join(line if len(line) <= WIDEST else f"{line[: WIDEST - 2]} …" for line in text.split("\n"))

    def _type(self, step: Step) -> bool:
        words = [self._filled(word) for word in step.argv]
        print(f"$ trotline {' '.join(_quoted(self.seen(word)) for word in words)}", flush=True)
        done = self._run(words, step.payload, step.home)
        print(self.seen(done.stdout).rstrip(), flush=True)
        if done.returncode in FINE:
            return True
        print(done.stderr, file=sys.stderr)
        return False

    def _run(self, words: list[str], payload: str = "", home: str = "home") -> "subprocess.CompletedProcess[str]":
        return subprocess.run(
            self._line(words, home),
            cwd=self.world / "project",
            env={**os.environ, "TMPDIR": str(self.world)},
            input=payload,
            capture_output=True,
            text=True,
            check=False,
        )

    def _line(self, words: list[str], home: str = "home") -> list[str]:
        places = {"home": home, "system": "system", "project": "project"}
        roots = [f"--{name}={self.world / place}" for name, place in places.items()]
        return [sys.executable, "-m", "trotline", *words, *roots]

    def _filled(self, word: str) -> str:
        newest = {"{denied}": ["--verdict", "denied"], "{cursor}": ["--host", "cursor"]}
        if word in newest:
            found = json.loads(self._run(["log", "--json", "-n", "1", *newest[word]]).stdout)
            return str(found["data"]["records"][0]["seq"])
        return word.replace("~", str(self.world / "home"), 1) if word.startswith("~/") else word

    def _repair(self, repair: Repair) -> bool:
        path = self.world / repair.file
        path.parent.mkdir(parents=True, exist_ok=True)
        new = repair.new.replace("~/", f"{self.world / 'home'}/")
        path.write_text(path.read_text("utf-8").replace(repair.old, new) if repair.old else new, "utf-8")
        for sign, text in (("-", repair.old), ("+", repair.new)):
            for line in text.splitlines():
                print(f"{sign} {line}")
        return True

    def _tamper(self, tampering: Tampering) -> bool:
        shutil.copytree(self.world / "home", self.world / tampering.home, ignore=shutil.ignore_patterns("run"))
        print(f"sqlite> {tampering.sql}")
        with sqlite3.connect(self.world / tampering.home / TRAIL) as trail:
            trail.execute(tampering.sql)
        trail.close()
        return True

    def _watch(self, watching: Watching) -> bool:
        print(f"$ trotline {' '.join(watching.argv)}", flush=True)
        line = self._line(watching.argv)
        with subprocess.Popen(line, cwd=self.world / "project", stdout=subprocess.PIPE, text=True) as watcher:
            patience = Timer(PATIENCE, watcher.terminate)
            patience.start()
            told = watcher.stdout or ()
            print(self.seen(next(iter(told))).rstrip(), flush=True)  # it is there, and shows what was last
            ok = self.play(watching.meanwhile)
            print("\n# And on the other screen:")
            found = next((seen for seen in told if watching.sees in seen), "")
            print(self.seen(found).rstrip(), flush=True)
            patience.cancel()
            watcher.terminate()
        return ok and bool(found)


def _quoted(word: str) -> str:
    """As a person would type it."""
    if word.startswith("~/"):
        return word
    return f'"{word}"' if "'" in word and not set(word) & set('"$`') else shlex.quote(word)
