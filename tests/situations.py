"""Plays a situation of tests/cases: writes its files into an empty world, raises its event, and says what was seen.

A situation is TOML. `[[hooks]]` is shorthand for files: each becomes an entry in its layer's file, with an answer that
is scripted here (exit, stdout, stderr, or a way to fail). `[files]` gives files verbatim, under the roots `project`,
`home` and `system`. `[[earlier]]` are events of the same conversation that were raised before; such a situation needs
the engine. Everything in `[want]` must be seen, and is compared whole.
"""

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trotline.config.configuration import Configuration, load
from trotline.config.lookaround import search
from trotline.config.places import Roots
from trotline.editions import Edition
from trotline.engine.answers import run_of
from trotline.engine.engine import Engine, Options
from trotline.engine.processes import Ended, Stopped
from trotline.events import Event
from trotline.hooks import Hook
from trotline.hosts.claude_code import EVENT_MAP
from trotline.hosts.cursor import read_event
from trotline.hosts.cursor_editions import edition
from trotline.outcomes import Run, Voice, decide
from trotline.verdicts import Decision

CASES = Path(__file__).parent / "cases"

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
ANSWER_KEYS = {"layer", "event", "says", "exit", "stderr", "fails"}


class Case(NamedTuple):
    name: str
    body: dict[str, Any]

    @property
    def want(self) -> dict[str, Any]:
        wanted: dict[str, Any] = self.body["want"]
        return wanted


def all_cases() -> list[Case]:
    return [Case(path.stem, tomllib.loads(path.read_text("utf-8"))) for path in sorted(CASES.glob("*.toml"))]


def play(case: Case, world: Path) -> dict[str, Any]:
    """What is seen when this situation is played in an empty directory."""
    roots = _build(case, world)
    contract = edition(case.body.get("edition", "2026-09"))
    configuration = load(roots, contract, claude=case.body.get("claude", True))
    seen = _seen_in_files(configuration, world)
    if "event" in case.body:
        payload = {"workspace_roots": [str(world / "project")], **case.body["event"]}
        event = read_event(json.dumps(payload))
        seen |= _seen_of_event(case, configuration, event)
    return seen


def play_for_real(case: Case, world: Path) -> dict[str, Any]:
    """The same through the engine, with a real process for every hook."""
    roots = _build(case, world)
    _write_programs(case, world / "bin")
    name = case.body.get("edition", "2026-09")
    environ = {"PATH": f"{world / 'bin'}:/usr/bin:/bin", "HOME": str(roots.home)}
    looked = Engine(roots, environ, lambda: 1, Options(edition_name=name, claude=case.body.get("claude", True)))
    digests = tuple(looked.trust(root).coverage.digest for root in roots.projects)
    options = msgspec.structs.replace(looked.options, trusted_digests=digests)
    engine = Engine(roots, environ, lambda: 1, options)
    for read in engine.current.configuration.layers:
        read.hooks = [_impatient(hook, case) for hook in read.hooks]
    for body in [*case.body.get("earlier", []), case.body["event"]]:
        payload = {"workspace_roots": [str(world / "project")], "conversation_id": "a-case", **body}
        outcome = engine.dispatch(read_event(json.dumps(payload)))
    lines = {run.author: run.hook.line for run in outcome.voices if isinstance(run, Run)}
    return {
        **_seen_in_files(engine.current.configuration, world),
        **_seen_in_decision(outcome.decision, list(outcome.voices), lines),
        "ran": [run.hook.line for run in outcome.voices if isinstance(run, Run)],
    }


def _impatient(hook: Hook, case: Case) -> Hook:
    """Hooks that are to hang are not waited for longer than a test may take."""
    hangs = _script(hook, case).get("fails") == "timed out"
    return msgspec.structs.replace(hook, timeout=QUICK) if hangs else hook


QUICK = 0.3

WAYS_TO_FAIL = {
    "not executable": "echo 'permission denied' >&2; exit 126",
    "timed out": "sleep 60",
    "killed": "kill -9 $$",
    "too much output": "exec yes",
    "crashed": "exit 1",
}


def _write_programs(case: Case, directory: Path) -> None:
    """A program for every scripted hook, found by its name on the PATH."""
    directory.mkdir()
    scripts = {f"hook-{number}": hook for number, hook in enumerate(case.body.get("hooks", []), 1)}
    for name, script in {**case.body.get("answers", {}), **scripts}.items():
        fails = script.get("fails", "")
        if "/" in name or fails == "not found":
            continue
        answer = directory / f".{name}"
        answer.with_suffix(".out").write_bytes(script.get("says", "").encode())
        answer.with_suffix(".err").write_bytes(script.get("stderr", "").encode())
        ends = WAYS_TO_FAIL.get(fails, f"exit {script.get('exit', 0)}")
        text = f"#!/bin/sh\ncat '{answer}.out'\ncat '{answer}.err' >&2\n{ends}\n"
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)


def _build(case: Case, world: Path) -> Roots:
    for root in ("home", "system", "project"):
        (world / root).mkdir()
    for name, text in {**_shorthand(case.body), **case.body.get("files", {})}.items():
        path = world / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    for name, data in case.body.get("bytes", {}).items():
        path = world / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(bytes.fromhex(data))
    extra = tuple(world / name for name in case.body.get("more_projects", []))
    return Roots(
        home=world / "home",
        system=world / "system",
        projects=(world / "project", *extra),
        platform=case.body.get("platform", "linux"),
    )


def _shorthand(body: dict[str, Any]) -> dict[str, str]:
    """The files that `[[hooks]]` stands for; the n-th hook runs the command `hook-n`."""
    layers: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for number, hook in enumerate(body.get("hooks", []), 1):
        event = hook.get("event") or body["event"]["hook_event_name"]
        quick = {"timeout": 0.3} if hook.get("fails") == "timed out" else {}
        entry = {
            "command": f"hook-{number}",
            **quick,
            **{key: value for key, value in hook.items() if key not in ANSWER_KEYS},
        }
        layer = hook["layer"]
        if layer.startswith("claude-"):
            event = next((theirs for theirs, ours in EVENT_MAP.items() if ours == event), event)
            matcher = {"matcher": entry.pop("matcher")} if "matcher" in entry else {}
            entry = {**matcher, "hooks": [{"type": "command", **entry}]}
        layers.setdefault(layer, {}).setdefault(event, []).append(entry)
    return {
        FILES[layer]: json.dumps({"hooks": events} if layer.startswith("claude-") else {"version": 1, "hooks": events})
        for layer, events in layers.items()
    }


def _seen_in_files(configuration: Configuration, world: Path) -> dict[str, Any]:
    def name(file: str) -> str:
        return Path(file).relative_to(world).as_posix()

    return {
        "void": [name(read.layer.file) for read in configuration.layers if read.void],
        "void_because": [read.void for read in configuration.layers if read.void],
        "problems": [
            f"{problem.code} {problem.place.line}:{problem.place.column}"
            for problem in configuration.problems
            if problem.severity != "note"
        ],
        "notes": sorted({problem.code for problem in configuration.problems if problem.severity == "note"}),
        "messages": [problem.message for problem in configuration.problems if problem.severity != "note"],
        "hints": [problem.hint for problem in configuration.problems if problem.severity != "note"],
        "order": [f"{hook.layer.kind} {hook.line}" for hook in configuration.hooks],
        "cwd": [name(hook.layer.cwd) for hook in configuration.hooks],
        "timeouts": [hook.timeout for hook in configuration.hooks],
        "loop_limits": ["none" if hook.loop_limit is None else hook.loop_limit for hook in configuration.hooks],
        "needs_trust": [hook.line for hook in configuration.hooks if hook.layer.kind.needs_trust],
        "listed": [f"{hook.layer.kind} {hook.line}" for read in configuration.layers for hook in read.hooks],
    }


def _seen_of_event(case: Case, configuration: Configuration, event: Event) -> dict[str, Any]:
    contract = configuration.edition
    fits = [(hook, hook.fit(event, search)) for hook in configuration.hooks]
    running = [hook for hook, fit in fits if fit.applies]
    voices = [_voice(hook, case, event, contract) for hook in running]
    decision = decide(event.contract, voices, contract)
    return {
        **_seen_in_decision(decision, voices, {}),
        "ran": [hook.line for hook in running],
        "why": [fit.why for hook, fit in fits if hook.event == event.wire_name],
    }


def _seen_in_decision(decision: Decision, voices: Sequence[Voice], names: dict[str, str]) -> dict[str, Any]:
    def name(author: str) -> str:
        return names.get(author, author)

    verdict = decision.verdict
    return {
        "permission": decision.permission.word,
        "deciders": [name(author) for author in decision.deciders],
        "overruled": [f"{one.field}: {name(one.kept)} over {name(one.lost)}" for one in decision.overruled],
        "user_message": verdict.user_message,
        "agent_message": verdict.agent_message,
        "context": verdict.context,
        "follow_up": verdict.follow_up,
        "env": verdict.env,
        "edited_input": verdict.edited_input,
        "replaced_output": verdict.replaced_output,
        "plugin_paths": list(verdict.plugin_paths),
        "warnings": [warning for voice in voices for warning in voice.warnings],
        "failures": [f"{name(voice.author)} {voice.failure.kind}" for voice in voices if voice.failure],
    }


def _voice(hook: Hook, case: Case, event: Event, contract: Edition) -> Voice:
    run = run_of(_impatient(hook, case), _ended(_script(hook, case)), event, contract, "")
    return msgspec.structs.replace(run, author=hook.line)


def _script(hook: Hook, case: Case) -> dict[str, Any]:
    """What this hook was told to answer."""
    hooks: list[dict[str, Any]] = case.body.get("hooks", [])
    if hook.command.startswith("hook-"):
        return hooks[int(hook.command.removeprefix("hook-")) - 1]
    answers: dict[str, dict[str, Any]] = case.body.get("answers", {})
    return answers.get(hook.line, {})


FAILED = {
    "timed out": Ended(stopped=Stopped.TIME),
    "killed": Ended(exit_code=-9),
    "too much output": Ended(stopped=Stopped.OUTPUT),
    "crashed": Ended(exit_code=1),
    "not found": Ended(exit_code=127),
    "not executable": Ended(exit_code=126, stderr=b"permission denied"),
}


def _ended(script: dict[str, Any]) -> Ended:
    """How the process would have ended, had there been one."""
    if "fails" in script:
        return FAILED[script["fails"]]
    return Ended(
        exit_code=script.get("exit", 0),
        stdout=script.get("says", "").encode(),
        stderr=script.get("stderr", "").encode(),
    )
