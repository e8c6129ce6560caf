"""Conformance cases without processes: the output of each hook is known, so that no process has to run."""

import json
from pathlib import Path
from typing import Any

import msgspec

from trotline.agents.cursor.cursor_editions import get_edition
from trotline.agents.cursor.payloads import read_event
from trotline.config.hooks_json.configuration import Configuration, load_configuration
from trotline.config.hooks_json.lookaround import search
from trotline.config.paths import Roots
from trotline.domain.events import Event
from trotline.domain.hooks import Hook
from trotline.domain.outcomes import Response, decide
from trotline.engine.hook_output import build_run
from trotline.system.processes import ProcessResult, StopReason
from trotline.testing.conformance import HANG_TIMEOUT, ConformanceCase, set_up_case
from trotline.testing.conformance_engine import describe_decision, describe_files

FAILED_RESULTS = {
    "timed out": ProcessResult(stopped=StopReason.TIME),
    "killed": ProcessResult(exit_code=-9),
    "too much output": ProcessResult(stopped=StopReason.OUTPUT),
    "crashed": ProcessResult(exit_code=1),
    "not found": ProcessResult(exit_code=127),
    "not executable": ProcessResult(exit_code=126, stderr=b"permission denied"),
}


def play(case: ConformanceCase, workspace: Path) -> dict[str, Any]:
    """Run a case in an empty directory, and describe the result."""
    request = set_up_case(case, workspace)
    roots = Roots(
        home=workspace / "home",
        system=workspace / "system",
        projects=tuple(Path(project) for project in request["projects"]),
        platform=request["platform"],
    )
    configuration = load_configuration(roots, get_edition(case.edition), claude=request["claude"])
    result = describe_files(configuration, workspace)
    if request["events"]:
        result |= describe_event(case, configuration, read_event(json.dumps(request["events"][-1])))
    return result


def describe_event(case: ConformanceCase, configuration: Configuration, event: Event) -> dict[str, Any]:
    contract = configuration.edition
    fits = [(hook, hook.fit(event, search)) for hook in configuration.hooks]
    running = [hook for hook, fit in fits if fit.applies]
    responses = [build_response(hook, case, event, configuration) for hook in running]
    decision = decide(event.contract, responses, contract)
    return {
        **describe_decision(decision, responses, {}),
        "ran": [hook.label for hook in running],
        "why": [fit.why for hook, fit in fits if hook.event == event.wire_name],
    }


def build_response(hook: Hook, case: ConformanceCase, event: Event, configuration: Configuration) -> Response:
    script = get_script(hook.label, case)
    if script.get("fails") == "timed out":
        hook = msgspec.structs.replace(hook, timeout=HANG_TIMEOUT)
    run = build_run(hook, build_process_result(script), event, configuration.edition, "")
    return msgspec.structs.replace(run, author=hook.label)


def get_script(command: str, case: ConformanceCase) -> dict[str, Any]:
    """Return the configured reply of the hook with this command."""
    hooks: list[dict[str, Any]] = case.body.get("hooks", [])
    if command.startswith("hook-"):
        return hooks[int(command.removeprefix("hook-")) - 1]
    answers: dict[str, dict[str, Any]] = case.body.get("answers", {})
    return answers.get(command, {})


def build_process_result(script: dict[str, Any]) -> ProcessResult:
    """Build the result that a process would have."""
    if "fails" in script:
        return FAILED_RESULTS[script["fails"]]
    return ProcessResult(
        exit_code=script.get("exit", 0),
        stdout=script.get("says", "").encode(),
        stderr=script.get("stderr", "").encode(),
    )
