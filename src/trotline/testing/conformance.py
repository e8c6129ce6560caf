"""The conformance corpus: situations in TOML, and a runner that puts any engine into them.

A situation describes files, hooks and events, and what an engine must do. `[[hooks]]` is shorthand for files: each
becomes an entry in its layer's file, with a scripted answer (exit, stdout, stderr, or a way to fail). `[files]` gives
files verbatim, under the roots `project`, `home` and `system`. `[[earlier]]` are events of the same conversation that
were fired before. Every value in `[want]` is compared whole. `measured` says what Cursor's own engine does, where that
was measured.

An engine runs as a process: one line with the situation in, one line with its results out. Values that it does not
report are not compared.
"""

import json
import select
import subprocess
import tempfile
import time
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from trotline.agents.claude_code import EVENT_MAP
from trotline.agents.cursor.cursor_editions import NEWEST_EDITION
from trotline.agents.cursor.payloads import read_event
from trotline.domain.errors import TrotlineError

DEFAULT_SECONDS = 30.0
MAX_LINE_BYTES = 4_000_000

CASES_DIRECTORY = Path(__file__).parent / "cases"

LAYER_FILES = {
    "enterprise": "system/etc/cursor/hooks.json",
    "team": "home/.local/state/trotline/v1/team/hooks.json",
    "project": "project/.cursor/hooks.json",
    "user": "home/.cursor/hooks.json",
    "claude-local": "project/.claude/settings.local.json",
    "claude-project": "project/.claude/settings.json",
    "claude-user": "home/.claude/settings.json",
    "plugin": "home/.cursor/plugins/local/sample/hooks/hooks.json",
}
ANSWER_KEYS = frozenset({"layer", "event", "says", "exit", "stderr", "fails"})

CASE_GROUPS = {
    "fatal": "what makes Cursor ignore a file, and what does not",
    "layer": "which files are read, in which order, from where hooks run",
    "match": "what a matcher lets through",
    "reply": "how a reply is read",
    "fail": "what a failure decides",
    "merge": "how many answers become one",
    "loop": "how often a follow-up is taken",
}
"""The groups of situations; the name of a situation begins with its group."""

HANG_TIMEOUT = 0.3
"""The timeout of hooks that hang, so that tests stay fast."""

FAILURE_SCRIPTS = {
    "not executable": "echo 'permission denied' >&2; exit 126",
    "timed out": "sleep 60",
    "killed": "kill -9 $$",
    "too much output": "exec yes",
    "crashed": "exit 1",
}


class ConformanceCase(NamedTuple):
    """A situation of the corpus."""

    name: str
    body: dict[str, Any]

    @property
    def want(self) -> dict[str, Any]:
        """The expected values."""
        want: dict[str, Any] = self.body["want"]
        return want

    @property
    def group(self) -> str:
        """The group, which is the first word of the name."""
        return self.name.partition("_")[0]

    @property
    def edition(self) -> str:
        """The name of the edition."""
        return str(self.body.get("edition", NEWEST_EDITION))

    @property
    def measured(self) -> str:
        """`agrees`, `differs: ...`, or empty if it was not measured."""
        return str(self.body.get("measured", ""))


def load_cases(directory: Path = CASES_DIRECTORY) -> list[ConformanceCase]:
    """Load all situations of a directory, sorted by name."""
    return [
        ConformanceCase(path.stem, tomllib.loads(path.read_text("utf-8"))) for path in sorted(directory.glob("*.toml"))
    ]


def set_up_case(case: ConformanceCase, world: Path) -> dict[str, Any]:
    """Write the situation into an empty directory and return the request for an engine."""
    for root in ("home", "system", "project", "bin"):
        (world / root).mkdir()
    for name, text in {**_expand_hooks(case.body), **case.body.get("files", {})}.items():
        _write(world / name, text.encode("utf-8"))
    for name, data in case.body.get("bytes", {}).items():
        _write(world / name, bytes.fromhex(data))
    _write_programs(case, world / "bin")
    events = [*case.body.get("earlier", []), case.body["event"]] if "event" in case.body else []
    common = {"workspace_roots": [str(world / "project")], "conversation_id": "a-case"}
    return {
        "protocol": "trotline.conform/1",
        "case": case.name,
        "edition": case.edition,
        "platform": case.body.get("platform", "linux"),
        "claude": case.body.get("claude", True),
        "world": str(world),
        "home": str(world / "home"),
        "system": str(world / "system"),
        "projects": [str(world / name) for name in ("project", *case.body.get("more_projects", []))],
        "path": f"{world / 'bin'}:/usr/bin:/bin",
        "events": [{**common, **event} for event in events],
    }


def read_hook_inputs(world: Path) -> list[tuple[str, bytes]]:
    """Return the name and the standard input of each hook that an engine ran."""
    files = sorted((world / "bin").glob(".*.in.*"))
    return [(file.name.split(".in.")[0].removeprefix("."), file.read_bytes()) for file in files]


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _write_programs(case: ConformanceCase, directory: Path) -> None:
    """Write a program for each scripted hook into a directory on the PATH; it stores its standard input."""
    scripts = {f"hook-{number}": hook for number, hook in enumerate(case.body.get("hooks", []), 1)}
    for name, script in {**case.body.get("answers", {}), **scripts}.items():
        failure = script.get("fails", "")
        if "/" in name or failure == "not found":
            continue
        answer = directory / f".{name}"
        answer.with_suffix(".out").write_bytes(script.get("says", "").encode())
        answer.with_suffix(".err").write_bytes(script.get("stderr", "").encode())
        ending = FAILURE_SCRIPTS.get(failure, f"exit {script.get('exit', 0)}")
        text = f"#!/bin/sh\ncat > '{answer}.in.'$$\ncat '{answer}.out'\ncat '{answer}.err' >&2\n{ending}\n"
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)


def _expand_hooks(body: dict[str, Any]) -> dict[str, str]:
    """Return the files that `[[hooks]]` stands for; the n-th hook runs the command `hook-n`."""
    layers: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for number, hook in enumerate(body.get("hooks", []), 1):
        event = hook.get("event") or body["event"]["hook_event_name"]
        timeout = {"timeout": HANG_TIMEOUT} if hook.get("fails") == "timed out" else {}
        settings = {key: value for key, value in hook.items() if key not in ANSWER_KEYS}
        entry = {"command": f"hook-{number}", **timeout, **settings}
        layer = hook["layer"]
        if layer.startswith("claude-"):
            event = next((name for name, mapped in EVENT_MAP.items() if mapped == event), event)
            matcher = {"matcher": entry.pop("matcher")} if "matcher" in entry else {}
            entry = {**matcher, "hooks": [{"type": "command", **entry}]}
        layers.setdefault(layer, {}).setdefault(event, []).append(entry)
    return {
        LAYER_FILES[layer]: json.dumps(
            {"hooks": events} if layer.startswith("claude-") else {"version": 1, "hooks": events}
        )
        for layer, events in layers.items()
    }


class CaseResult(NamedTuple):
    """The results of an engine in a situation, and their differences from the expected ones."""

    case: ConformanceCase
    results: dict[str, Any]
    differences: tuple[str, ...] = ()
    error: str = ""

    @property
    def status(self) -> str:
        """The result in one word."""
        if self.error:
            return "failed"
        if self.differences:
            return "differs"
        if not set(self.results) & set(self.case.want):
            return "not told"
        return "agrees"


class EngineProcess:
    """The process of an engine, started when it is needed and again after it failed."""

    def __init__(self, command: Sequence[str], seconds: float = DEFAULT_SECONDS) -> None:
        self.command = command
        self.seconds = seconds
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Send a request and return the results; raise if they are not an object on one line."""
        process = self._process or self._start()
        try:
            if process.stdin is None:
                raise BrokenPipeError
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            return _parse_object(self._read_line(process).strip())
        except (OSError, ValueError) as error:
            self.close()
            raise TrotlineError(str(error) or "it hung up") from None

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                stream.close()
        process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        try:
            self._process = subprocess.Popen(self.command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603 - the command that the person typed
        except OSError as error:
            hint = "write the command behind `--`, such as `trotline conform -- ./adapter`"
            raise TrotlineError(f"`{self.command[0]}` could not be started: {error.strerror}", hint=hint) from None
        return self._process

    def _read_line(self, process: subprocess.Popen[bytes]) -> bytes:
        """Read a line before the timeout. Reads single chunks, because the engine may not finish the line."""
        if process.stdout is None:
            raise BrokenPipeError
        deadline, line = time.monotonic() + self.seconds, bytearray()
        while not line.endswith(b"\n") and len(line) < MAX_LINE_BYTES:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not select.select([process.stdout], [], [], remaining)[0]:
                raise TimeoutError(f"it did not answer in {self.seconds:g} s")
            chunk = process.stdout.read1(65536) if hasattr(process.stdout, "read1") else b""
            if not chunk:
                raise BrokenPipeError("it ended without an answer")
            line += chunk
        return bytes(line)


def run_cases(engine: EngineProcess, cases: Iterable[ConformanceCase]) -> Iterator[CaseResult]:
    """Run each situation in a temporary directory."""
    for case in cases:
        with tempfile.TemporaryDirectory(prefix="trotline-conform-") as directory:
            yield _run_case(engine, case, Path(directory).resolve())


def _run_case(engine: EngineProcess, case: ConformanceCase, world: Path) -> CaseResult:
    try:
        results = engine.ask(set_up_case(case, world))
    except TrotlineError as error:
        if error.hint:
            raise  # the engine could not be started
        return CaseResult(case, {}, error=error.message)
    differences = _list_differences(case.want, _strip_world(results, world))
    return CaseResult(case, results, (*differences, *_check_payloads(case, world)))


def _check_payloads(case: ConformanceCase, world: Path) -> Iterator[str]:
    """Report payloads of hooks that do not match the schemas."""
    names = {
        str(body["hook_event_name"]) for body in [*case.body.get("earlier", []), case.body.get("event", {})] if body
    }
    for hook, payload in read_hook_inputs(world):
        try:
            event = read_event(payload)
        except TrotlineError as error:
            yield f"the payload of {hook}: {error.message}"
            continue
        wrong = sorted(set(event.raw) & set(type(event).__struct_fields__))
        if event.wire_name not in names:
            yield f"the payload of {hook}: {event.wire_name} instead of {', '.join(sorted(names))}"
        elif wrong:
            yield f"the payload of {hook}: `{wrong[0]}` has the wrong type"


def _list_differences(want: dict[str, Any], results: dict[str, Any]) -> tuple[str, ...]:
    return tuple(
        f"{key}: {_shorten(results[key])} instead of {_shorten(value)}"
        for key, value in want.items()
        if key in results and results[key] != value
    )


def _strip_world(results: dict[str, Any], world: Path) -> dict[str, Any]:
    """Make paths relative to the situation's directory; engines may report them either way."""
    prefix = f"{world}/"
    return {
        key: [item.removeprefix(prefix) if isinstance(item, str) else item for item in value]
        if isinstance(value, list)
        else value
        for key, value in results.items()
    }


def _parse_object(line: bytes) -> dict[str, Any]:
    try:
        body = json.loads(line)
    except ValueError:
        raise ValueError(f"its answer is not JSON: {_shorten(line.decode('utf-8', 'replace'))}") from None
    if not isinstance(body, dict):
        raise ValueError("its answer is not an object")  # noqa: TRY004 - wrong output of the engine, not a wrong argument
    return body


def _shorten(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 100 else text[:97] + "..."
