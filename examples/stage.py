"""The steps of `make demo` and the copy of the sample in which they run."""

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

EXPECTED_EXIT_CODES = {0, 1, 10, 20}
"""Exit codes without an error: 1 means findings, 10 and 20 that a guard asks or denies."""

MAX_WIDTH = 120
"""Longer lines are cut."""

WATCH_SECONDS = 60.0
"""The timeout of a watching command."""

AUDIT_LOG = ".local/state/trotline/v1/audit_log.db"


class Step(NamedTuple):
    """A command with a comment and its standard input.

    `{denied}` is the number of the newest refused call, `{cursor}` that of the newest call of Cursor.
    """

    thought: str
    argv: list[str]
    payload: str = ""
    home: str = "home"


class Repair(NamedTuple):
    """A change of a file, or a new file."""

    thought: str
    file: str
    old: str
    new: str


class Tampering(NamedTuple):
    """A copy of the home in which the audit log is changed with SQL."""

    thought: str
    home: str
    sql: str


class Watching(NamedTuple):
    """A command that runs until it shows the effect of another one."""

    thought: str
    argv: list[str]
    meanwhile: Step
    expected: str


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

    def shorten(self, text: str) -> str:
        """Replace the paths of the copy by short ones, and cut long lines."""
        for name, shown in (("project", "~/shop"), ("home", "~"), ("copy", "~"), ("system", "")):
            text = text.replace(str(self.world / name), shown)
        return "\n".join(line if len(line) <= MAX_WIDTH else f"{line[: MAX_WIDTH - 2]} …" for line in text.split("\n"))

    def _type(self, step: Step) -> bool:
        words = [self._replace_placeholder(word) for word in step.argv]
        print(f"$ trotline {' '.join(_quote(self.shorten(word)) for word in words)}", flush=True)
        done = self._run(words, step.payload, step.home)
        print(self.shorten(done.stdout).rstrip(), flush=True)
        if done.returncode in EXPECTED_EXIT_CODES:
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

    def _replace_placeholder(self, word: str) -> str:
        newest = {"{denied}": ["--verdict", "denied"], "{cursor}": ["--agent", "cursor"]}
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
        with sqlite3.connect(self.world / tampering.home / AUDIT_LOG) as database:
            database.execute(tampering.sql)
        database.close()
        return True

    def _watch(self, watching: Watching) -> bool:
        print(f"$ trotline {' '.join(watching.argv)}", flush=True)
        line = self._line(watching.argv)
        with subprocess.Popen(line, cwd=self.world / "project", stdout=subprocess.PIPE, text=True) as watcher:
            patience = Timer(WATCH_SECONDS, watcher.terminate)
            patience.start()
            lines = watcher.stdout or ()
            print(self.shorten(next(iter(lines))).rstrip(), flush=True)  # it runs, and shows the last record
            ok = self.play(watching.meanwhile)
            print("\n# And on the other screen:")
            found = next((line for line in lines if watching.expected in line), "")
            print(self.shorten(found).rstrip(), flush=True)
            patience.cancel()
            watcher.terminate()
        return ok and bool(found)


def _quote(word: str) -> str:
    """Quote a word as a person would type it."""
    if word.startswith("~/"):
        return word
    return f'"{word}"' if "'" in word and not set(word) & set('"$`') else shlex.quote(word)
