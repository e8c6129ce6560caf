"""Helpers for tests: workspaces, hooks files, calls of Trotline, data files and counted work."""

import json
import os
import select
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterable
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import msgspec

import trotline
from trotline import Engine
from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.audit.query.query import Query
from trotline.audit.store.audit_log import get_spool
from trotline.audit.store.log_schema import INDEX_TABLES, VERSION
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.config.hooks_json.configuration import Configuration, LayerRead, load_configuration
from trotline.config.paths import Platform, Roots
from trotline.config.problems import Problem
from trotline.conversation.sessions import StoredSession, _parse_session
from trotline.domain.contracts import Surface
from trotline.domain.events import EVENTS, Event
from trotline.domain.outcomes import Call
from trotline.domain.verdicts import Permission, Verdict
from trotline.hook.process import handle_call, write_detail

CORPUS = Path(__file__).parent / "corpus"
PACKAGE = str(Path(trotline.__file__).parent)

MARK = "‸"
"""Marks the place in a text where a Problem is expected; it is removed before the text is written."""

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


class Workspace(NamedTuple):
    """A directory with the roots home, system and project."""

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
        """Write a file, named by its path or by a key of FILES, without the mark."""
        path = self.path / FILES.get(name, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else remove_mark(text).encode())
        path.chmod(mode)
        return path

    def configure_hooks(self, hooks: dict[str, list[dict[str, Any]]]) -> None:
        """Write the user's hooks file with these entries by event."""
        self.write("user", json.dumps({"version": 1, "hooks": hooks}))

    def configure_event(self, event: str, *entries: dict[str, Any]) -> None:
        """Write the user's hooks file with these entries of one event."""
        self.configure_hooks({event: list(entries)})

    def script(self, name: str, text: str = "#!/bin/sh\n") -> Path:
        return self.write(name, text, 0o755)

    def roots(self, *more: Path, platform: Platform = "linux", search_path: tuple[str, ...] = ()) -> Roots:
        projects = (self.project, *more)
        return Roots(home=self.home, system=self.system, projects=projects, platform=platform, search_path=search_path)

    def load(
        self,
        edition_name: str = NEWEST_EDITION,
        *,
        roots: Roots | None = None,
        claude: bool = True,
        surface: Surface | None = None,
    ) -> Configuration:
        return load_configuration(roots or self.roots(), get_edition(edition_name), claude=claude, surface=surface)

    def layer(self, name: str, edition_name: str = NEWEST_EDITION) -> LayerRead:
        """Load the layer whose file has this name in FILES."""
        file = str(self.path / FILES[name])
        return next(read for read in self.load(edition_name).layers if read.layer.file == file)

    def run(self, *arguments: str, environment: dict[str, str] | None = None) -> "subprocess.CompletedProcess[str]":
        """Run the command line in the project of this workspace."""
        return run_trotline(*arguments, *self.options, cwd=self.project, environment=environment)

    @property
    def options(self) -> list[str]:
        """Command-line options for this workspace."""
        return ["--home", str(self.home), "--system", str(self.system), "--project", str(self.project)]


def make_workspace(path: Path) -> Workspace:
    workspace = Workspace(path)
    for root in (workspace.home, workspace.system, workspace.project):
        root.mkdir()
    return workspace


def load_engine(workspace: Workspace, **options: Any) -> Engine:
    return Engine.load(project=workspace.project, home=workspace.home, system=workspace.system, **options)


def build_verdict(fields: dict[str, Any]) -> Verdict:
    """Build a verdict from JSON fields."""
    converted = dict(fields)
    if "permission" in fields:
        converted["permission"] = Permission[fields["permission"].upper()]
    if "plugin_paths" in fields:
        converted["plugin_paths"] = tuple(fields["plugin_paths"])
    return Verdict(**converted)


def build_event(fields: dict[str, Any]) -> Event:
    """Build an event from JSON fields with its name under `event`."""
    return msgspec.convert(fields, type=EVENTS[fields["event"]])


def format_toml(table: dict[str, Any], name: str = "") -> str:
    """Format a table as TOML; JSON and TOML write texts, numbers, booleans and lists alike."""
    plain = [f"{key} = {json.dumps(value)}" for key, value in table.items() if not isinstance(value, dict)]
    nested = {f"{name}.{key}" if name else key: value for key, value in table.items() if isinstance(value, dict)}
    tables = [f"[{key}]\n{format_toml(value, key)}" for key, value in nested.items()]
    return "".join(f"{line}\n" for line in plain + tables)


def build_hooks_file(*entries: str, event: str = "stop") -> str:
    """Build a hooks.json with these entries, one per line from line 5 on, at column 7."""
    listed = ",\n".join(f"      {entry}" for entry in entries)
    return f'{{\n  "version": 1,\n  "hooks": {{\n    "{event}": [\n{listed}\n    ]\n  }}\n}}\n'


def reply_with(**reply: Any) -> dict[str, Any]:
    """Build a hook entry whose command prints this reply."""
    return {"command": f"cat >/dev/null; echo '{json.dumps(reply)}'"}


def remove_mark(text: str) -> str:
    return text.replace(MARK, "")


def find_mark(text: str) -> tuple[int, int]:
    """Return line and column of the mark, starting at 1."""
    before = text[: text.index(MARK)]
    return before.count("\n") + 1, len(before) - before.rfind("\n")


def locate_problems(problems: Iterable[Problem], *, without: Iterable[str] = ()) -> list[tuple[str, int, int]]:
    """Return code, line and column of every Problem except those with codes in `without`."""
    left_out = set(without)
    return [
        (problem.code, problem.place.line, problem.place.column) for problem in problems if problem.code not in left_out
    ]


def run_trotline(
    *arguments: str, cwd: Path, environment: dict[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run the command line in a minimal environment."""
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


def count_steps(call: Callable[[], object], inside: str = PACKAGE) -> int:
    """Return how many lines of the files below `inside` a call runs: the same on every machine."""
    count = 0

    def count_line(_frame: FrameType, event: str, _argument: Any) -> Any:
        nonlocal count
        count += event == "line"
        return count_line

    def trace_frame(called: FrameType, _event: str, _argument: Any) -> Any:
        return count_line if called.f_code.co_filename.startswith(inside) else None

    before = sys.gettrace()
    sys.settrace(trace_frame)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def has_ended(pid: int, seconds: float = 30) -> bool:
    """Wait until a process ends: a killed process still runs for a moment. Return whether it ended in time."""
    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return True
    try:
        return bool(select.select([handle], [], [], seconds)[0])
    finally:
        os.close(handle)


def build_shell_payload(workspace: Workspace, command: str, conversation: str = "c1") -> dict[str, Any]:
    """Build the payload that Cursor sends before a command."""
    return {
        "hook_event_name": "beforeShellExecution",
        "conversation_id": conversation,
        "generation_id": "g1",
        "workspace_roots": [str(workspace.project)],
        "user_email": "ann@acme.io",
        "command": command,
        "cwd": str(workspace.project),
    }


def call_hook(workspace: Workspace, payload: dict[str, Any], agent: str = "cursor") -> None:
    """Run a hook process and wait until its detail is written."""
    argv = [sys.executable, "-I", "-m", "trotline", "hook", agent, "--home", str(workspace.home)]
    subprocess.run(argv, input=json.dumps(payload).encode(), capture_output=True, check=False)
    spool = get_spool(workspace.roots().state)
    while any("detail" not in one for one in spool.read().records):
        os.sched_yield()


def call_in_process(
    workspace: Workspace, payload: dict[str, Any], number: int, agent: str = "cursor", event: str = ""
) -> None:
    """Handle a call in this process, as the service does."""
    argv = ("--agent", agent, "--home", str(workspace.home), *(("--event", event) if event else ()))
    made = Call(id=f"call-{number}", argv=argv, payload=json.dumps(payload).encode(), received_us=1_800_000 + number)
    outcome = handle_call(made, (), guarded=True)[1]
    assert outcome is not None
    write_detail(outcome, str(workspace.home))


def read_stats(workspace: Workspace, *words: str) -> dict[str, Any]:
    """Return the data of `trotline log stats --json`."""
    done = run_trotline("log", "stats", "--json", *words, *workspace.options, cwd=workspace.project)
    return dict(json.loads(done.stdout)["data"])


def build_payload(name: str, **fields: Any) -> dict[str, Any]:
    return {"hook_event_name": name, "conversation_id": "c", "generation_id": "g", **fields}


def build_edit_payload(path: str, old: str, new: str, name: str = "afterFileEdit") -> dict[str, Any]:
    return build_payload(name, file_path=path, edits=[{"old_string": old, "new_string": new}])


def age_audit_log(file: Path) -> None:
    """Make an audit log look as if an older version wrote it: no index table, and an older schema version."""
    db = sqlite3.connect(file)
    for table in INDEX_TABLES:
        db.execute(f"DROP TABLE {table}")
    db.execute(f"PRAGMA user_version = {VERSION - 1}")
    db.commit()
    db.close()


def count_query_steps(store: SqliteStore, query: Query) -> int:
    """Return how many database steps a query takes: the same on every machine."""
    taken = 0

    def step() -> int:
        nonlocal taken
        taken += 1
        return 0

    store._db.set_progress_handler(step, 1)
    assert list(store.search(query))
    store._db.set_progress_handler(None, 1)
    return taken


def read_data(name: str) -> str:
    """Read a text file of tests/corpus."""
    return (CORPUS / name).read_text("utf-8")


def read_rows(file: str, table: str, *, as_tuples: bool = False) -> list[Any]:
    """Read the rows of a table in tests/corpus/FILE, for parametrize; `as_tuples` also converts lists in rows."""
    rows: list[Any] = read_corpus(file)[table]
    convert = convert_lists if as_tuples else lambda value: value
    return [tuple(map(convert, row)) if isinstance(row, list) else row for row in rows]


@cache
def read_corpus(file: str) -> dict[str, Any]:
    """Read tests/corpus/FILE.json and FILE.toml: tables by name."""
    json_file, toml_file = CORPUS / f"{file}.json", CORPUS / f"{file}.toml"
    tables: dict[str, Any] = json.loads(json_file.read_text("utf-8")) if json_file.exists() else {}
    return {**tables, **tomllib.loads(toml_file.read_text("utf-8"))} if toml_file.exists() else tables


def convert_lists(value: Any) -> Any:
    """Convert lists to tuples at every depth."""
    if isinstance(value, list):
        return tuple(map(convert_lists, value))
    return {key: convert_lists(inner) for key, inner in value.items()} if isinstance(value, dict) else value


def fill_in(value: Any, **texts: str) -> Any:
    """Replace `{name}` in the strings of a value at every depth: data files contain no secrets."""
    if isinstance(value, str):
        for name, text in texts.items():
            value = value.replace(f"{{{name}}}", text)
        return value
    if isinstance(value, list | tuple):
        return type(value)(fill_in(inner, **texts) for inner in value)
    return {key: fill_in(inner, **texts) for key, inner in value.items()} if isinstance(value, dict) else value


def build_text(parts: list[Any], number: int = 1) -> str:
    """Join strings and pairs of a string and its repetitions, which are multiplied by `number`."""
    return "".join(part if isinstance(part, str) else part[0] * int(part[1] * number) for part in parts)


def read_sessions(directory: Path) -> list[StoredSession]:
    """Return all stored sessions of a directory."""
    return [_parse_session(file, file.read_bytes()) for file in sorted(directory.glob("*.json"))]
