"""The corpus: situations that any engine can be put into, each a file of TOML that says what is there and what is seen.

`[[hooks]]` is shorthand for files: each becomes an entry in its layer's file, with an answer that is scripted here
(exit, stdout, stderr, or a way to fail). `[files]` gives files verbatim, under the roots `project`, `home` and
`system`. `[[earlier]]` are events of the same conversation that were raised before. Everything in `[want]` must be
seen, and is compared whole. `measured` says what Cursor's own engine was seen to do, where somebody has looked.
"""

import json
import tomllib
from pathlib import Path
from typing import Any, NamedTuple

from trotline.hosts.claude_code import EVENT_MAP
from trotline.hosts.cursor_editions import NEWEST

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
ANSWER_KEYS = frozenset({"layer", "event", "says", "exit", "stderr", "fails"})

RULES = {
    "void": "what voids a file, and what does not",
    "layer": "which files are read, in which order, from where hooks run",
    "match": "what a matcher lets through",
    "reply": "how a reply is read",
    "fail": "what a failure decides",
    "merge": "how many answers become one",
    "loop": "how often a follow-up is taken",
}
"""The parts of the contract; a situation's name begins with its part."""

QUICK = 0.3
"""Hooks that are to hang are not waited for longer than a test may take."""

WAYS_TO_FAIL = {
    "not executable": "echo 'permission denied' >&2; exit 126",
    "timed out": "sleep 60",
    "killed": "kill -9 $$",
    "too much output": "exec yes",
    "crashed": "exit 1",
}


class Case(NamedTuple):
    """One situation."""

    name: str
    body: dict[str, Any]

    @property
    def want(self) -> dict[str, Any]:
        wanted: dict[str, Any] = self.body["want"]
        return wanted

    @property
    def rule(self) -> str:
        return self.name.partition("_")[0]

    @property
    def edition(self) -> str:
        return str(self.body.get("edition", NEWEST))

    @property
    def measured(self) -> str:
        """`agrees`, `differs: ...`, or empty when nobody has looked."""
        return str(self.body.get("measured", ""))


def all_cases(directory: Path = CASES) -> list[Case]:
    return [Case(path.stem, tomllib.loads(path.read_text("utf-8"))) for path in sorted(directory.glob("*.toml"))]


def set_up(case: Case, world: Path) -> dict[str, Any]:
    """Write the situation into an empty directory; what comes back is all that an engine is told."""
    for root in ("home", "system", "project", "bin"):
        (world / root).mkdir()
    for name, text in {**_shorthand(case.body), **case.body.get("files", {})}.items():
        _write(world / name, text.encode("utf-8"))
    for name, data in case.body.get("bytes", {}).items():
        _write(world / name, bytes.fromhex(data))
    _write_programs(case, world / "bin")
    raised = [*case.body.get("earlier", []), case.body["event"]] if "event" in case.body else []
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
        "events": [{**common, **event} for event in raised],
    }


def given_to_hooks(world: Path) -> list[tuple[str, bytes]]:
    """What an engine wrote to the standard input of each hook that it ran: the hook's name, and the bytes."""
    kept = sorted((world / "bin").glob(".*.in.*"))
    return [(file.name.split(".in.")[0].removeprefix("."), file.read_bytes()) for file in kept]


def _write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)


def _write_programs(case: Case, directory: Path) -> None:
    """A program for every scripted hook, found by its name on the PATH; it keeps what it was given."""
    scripts = {f"hook-{number}": hook for number, hook in enumerate(case.body.get("hooks", []), 1)}
    for name, script in {**case.body.get("answers", {}), **scripts}.items():
        fails = script.get("fails", "")
        if "/" in name or fails == "not found":
            continue
        answer = directory / f".{name}"
        answer.with_suffix(".out").write_bytes(script.get("says", "").encode())
        answer.with_suffix(".err").write_bytes(script.get("stderr", "").encode())
        ends = WAYS_TO_FAIL.get(fails, f"exit {script.get('exit', 0)}")
        text = f"#!/bin/sh\ncat > '{answer}.in.'$$\ncat '{answer}.out'\ncat '{answer}.err' >&2\n{ends}\n"
        (directory / name).write_text(text)
        (directory / name).chmod(0o755)


def _shorthand(body: dict[str, Any]) -> dict[str, str]:
    """The files that `[[hooks]]` stands for; the n-th hook runs the command `hook-n`."""
    layers: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for number, hook in enumerate(body.get("hooks", []), 1):
        event = hook.get("event") or body["event"]["hook_event_name"]
        quick = {"timeout": QUICK} if hook.get("fails") == "timed out" else {}
        told = {key: value for key, value in hook.items() if key not in ANSWER_KEYS}
        entry = {"command": f"hook-{number}", **quick, **told}
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
