"""A world for tests: a home, a system and a project in an empty directory, and what Trotline says about them.

Nothing here looks at the machine's own configuration. Work is counted in lines of ours that were run, never in seconds.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

import trotline
from trotline.config.configuration import Configuration, LayerRead, load
from trotline.config.places import Platform, Roots
from trotline.config.problems import Problem
from trotline.contracts import Surface
from trotline.events import EVENTS
from trotline.hosts.cursor_editions import NEWEST, edition

PACKAGE = str(Path(trotline.__file__).parent)

patient = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
"""For properties: no clock decides whether a test passes."""

MARK = "‸"
"""Stands in a text where a Problem is expected, and is taken out before the text is written."""

FILES = {
    "enterprise": "system/etc/cursor/hooks.json",
    "team": "home/.local/state/trotline/v1/team/hooks.json",
    "project": "project/.cursor/hooks.json",
    "user": "home/.cursor/hooks.json",
    "claude-local": "project/.claude/settings.local.json",
    "claude-project": "project/.claude/settings.json",
    "claude-user": "home/.claude/settings.json",
    "plugin": "home/.cursor/plugins/local/sample/hooks/hooks.json",
}

_TEXT = st.text(max_size=12) | st.sampled_from(
    ["x", "./x.sh", "python3 x.py", "echo '{}'", "$FILE", "(", "Shell", "~/x"]
)
_SCALAR = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | _TEXT
_KEY = st.sampled_from(
    ["command", "type", "prompt", "model", "timeout", "matcher", "loop_limit", "failClosed", "hooks"]
)
_ENTRY = st.dictionaries(_KEY | _TEXT, _SCALAR | st.lists(_SCALAR, max_size=2), max_size=5) | _SCALAR
_GROUP = st.fixed_dictionaries({"hooks": st.lists(_ENTRY, max_size=3)}, optional={"matcher": _SCALAR})
_EVENT = st.sampled_from([*EVENTS, "PreToolUse", "Stop", "Notification", "beforeFileEdit"]) | _TEXT
_EVENTS = st.dictionaries(_EVENT, st.lists(_ENTRY | _GROUP, max_size=4) | _SCALAR, max_size=4)
_TOP = st.fixed_dictionaries({}, optional={"version": _SCALAR, "hooks": _EVENTS | _SCALAR, "disableAllHooks": _SCALAR})
_WHOLE = st.builds(json.dumps, _TOP | _SCALAR | st.lists(_SCALAR), indent=st.sampled_from([None, 1])).map(str.encode)
_TORN = st.builds(
    lambda whole, at, lost, put: whole[: at % (len(whole) + 1)] + put + whole[at % (len(whole) + 1) + lost :],
    _WHOLE,
    st.integers(min_value=0),
    st.integers(min_value=0, max_value=5),
    st.binary(max_size=3) | st.sampled_from([b'"', b",", b"{", b"}", b"[", b"]", b"//", b"/*", b"\\", b"'"]),
)
file_contents = _WHOLE | _TORN | st.binary(max_size=100)
"""Bytes that may stand in a hooks file: mostly near the truth, and some far from it."""


class World(NamedTuple):
    """The three roots, side by side in one directory."""

    path: Path

    @property
    def home(self) -> Path:
        return self.path / "home"

    @property
    def system(self) -> Path:
        return self.path / "system"

    @property
    def project(self) -> Path:
        return self.path / "project"

    def write(self, name: str, text: str | bytes = "", mode: int = 0o644) -> Path:
        """A file of this world, by its path from the top, or by the name of a layer; a mark in it is left out."""
        path = self.path / FILES.get(name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else unmarked(text).encode())
        path.chmod(mode)
        return path

    def script(self, name: str, text: str = "#!/bin/sh\n") -> Path:
        return self.write(name, text, 0o755)

    def roots(self, *more: Path, platform: Platform = "linux", search_path: tuple[str, ...] = ()) -> Roots:
        projects = (self.project, *more)
        return Roots(home=self.home, system=self.system, projects=projects, platform=platform, search_path=search_path)

    def load(
        self,
        edition_name: str = NEWEST,
        *,
        roots: Roots | None = None,
        claude: bool = True,
        surface: Surface | None = None,
    ) -> Configuration:
        return load(roots or self.roots(), edition(edition_name), claude=claude, surface=surface)

    def layer(self, name: str, edition_name: str = NEWEST) -> LayerRead:
        """What was read of the layer whose file has this name in FILES."""
        file = str(self.path / FILES[name])
        return next(read for read in self.load(edition_name).layers if read.layer.file == file)

    @property
    def options(self) -> list[str]:
        """What makes a command stand in this world."""
        return ["--home", str(self.home), "--system", str(self.system), "--project", str(self.project)]


def new_world(path: Path) -> World:
    world = World(path)
    for root in (world.home, world.system, world.project):
        root.mkdir()
    return world


def hooks_file(*entries: str, event: str = "stop") -> str:
    """A hooks.json with these entries, each on a line of its own from line 5 on, at column 7."""
    listed = ",\n".join(f"      {entry}" for entry in entries)
    return f'{{\n  "version": 1,\n  "hooks": {{\n    "{event}": [\n{listed}\n    ]\n  }}\n}}\n'


def unmarked(text: str) -> str:
    return text.replace(MARK, "")


def marked_place(text: str) -> tuple[int, int]:
    """Line and column, from 1, of the mark in a text."""
    before = text[: text.index(MARK)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def said(problems: Iterable[Problem], *, without: Iterable[str] = ()) -> list[tuple[str, int, int]]:
    """Code, line and column of every Problem but those whose codes are left out."""
    left_out = set(without)
    return [
        (problem.code, problem.place.line, problem.place.column) for problem in problems if problem.code not in left_out
    ]


def trotline_process(
    *arguments: str, cwd: Path, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the command line as a person would, in an environment that holds no more than it must."""
    return subprocess.run(
        [sys.executable, "-m", "trotline", *arguments],
        cwd=cwd,
        env={"PATH": os.defpath, "LANG": "C.UTF-8", **(environment or {})},
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        stdin=subprocess.DEVNULL,
    )


def steps(call: Callable[[], object], inside: str = PACKAGE) -> int:
    """How many lines of the files below `inside` are run by a call."""
    count = 0

    def line_of_ours(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return line_of_ours

    def frame(called: FrameType, _event: str, _argument: Any) -> Any:
        return line_of_ours if called.f_code.co_filename.startswith(inside) else None

    before = sys.gettrace()
    sys.settrace(frame)
    try:
        call()
    finally:
        sys.settrace(before)
    return count
