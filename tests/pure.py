"""A situation played without processes: what each hook would have printed is known, so nothing has to run."""

import json
from pathlib import Path
from typing import Any

import msgspec

from trotline.config.configuration import Configuration, load
from trotline.config.lookaround import search
from trotline.config.places import Roots
from trotline.engine.answers import run_of
from trotline.engine.processes import Ended, Stopped
from trotline.events import Event
from trotline.hooks import Hook
from trotline.hosts.cursor import read_event
from trotline.hosts.cursor_editions import edition
from trotline.outcomes import Voice, decide
from trotline.testing.door import seen_in_decision, seen_in_files
from trotline.testing.situations import QUICK, Case, set_up

FAILED = {
    "timed out": Ended(stopped=Stopped.TIME),
    "killed": Ended(exit_code=-9),
    "too much output": Ended(stopped=Stopped.OUTPUT),
    "crashed": Ended(exit_code=1),
    "not found": Ended(exit_code=127),
    "not executable": Ended(exit_code=126, stderr=b"permission denied"),
}


def play(case: Case, world: Path) -> dict[str, Any]:
    """What is seen when this situation is played in an empty directory."""
    request = set_up(case, world)
    roots = Roots(
        home=world / "home",
        system=world / "system",
        projects=tuple(Path(project) for project in request["projects"]),
        platform=request["platform"],
    )
    configuration = load(roots, edition(case.edition), claude=request["claude"])
    seen = seen_in_files(configuration, world)
    if request["events"]:
        seen |= _seen_of_event(case, configuration, read_event(json.dumps(request["events"][-1])))
    return seen


def _seen_of_event(case: Case, configuration: Configuration, event: Event) -> dict[str, Any]:
    contract = configuration.edition
    fits = [(hook, hook.fit(event, search)) for hook in configuration.hooks]
    running = [hook for hook, fit in fits if fit.applies]
    voices = [_voice(hook, case, event, configuration) for hook in running]
    decision = decide(event.contract, voices, contract)
    return {
        **seen_in_decision(decision, voices, {}),
        "ran": [hook.line for hook in running],
        "why": [fit.why for hook, fit in fits if hook.event == event.wire_name],
    }


def _voice(hook: Hook, case: Case, event: Event, configuration: Configuration) -> Voice:
    script = _script(hook.line, case)
    if script.get("fails") == "timed out":
        hook = msgspec.structs.replace(hook, timeout=QUICK)
    run = run_of(hook, _ended(script), event, configuration.edition, "")
    return msgspec.structs.replace(run, author=hook.line)


def _script(command: str, case: Case) -> dict[str, Any]:
    """What the hook with this command was told to answer."""
    hooks: list[dict[str, Any]] = case.body.get("hooks", [])
    if command.startswith("hook-"):
        return hooks[int(command.removeprefix("hook-")) - 1]
    answers: dict[str, dict[str, Any]] = case.body.get("answers", {})
    return answers.get(command, {})


def _ended(script: dict[str, Any]) -> Ended:
    """How the process would have ended, had there been one."""
    if "fails" in script:
        return FAILED[script["fails"]]
    return Ended(
        exit_code=script.get("exit", 0),
        stdout=script.get("says", "").encode(),
        stderr=script.get("stderr", "").encode(),
    )
