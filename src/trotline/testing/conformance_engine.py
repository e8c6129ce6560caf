"""Our own engine as a process for the conformance corpus: one line with a situation in, one line with results out.

`trotline conform` runs this module if no other engine is named.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trotline.agents.cursor.payloads import read_event
from trotline.config.hooks_json.configuration import Configuration
from trotline.config.paths import Roots
from trotline.domain.outcomes import Response, Run
from trotline.domain.verdicts import Decision
from trotline.engine.dispatch import Dispatcher, Options


def run_case(request: dict[str, Any]) -> dict[str, Any]:
    """Run a situation with a real process for each hook and return the results."""
    roots = Roots(
        home=Path(request["home"]),
        system=Path(request["system"]),
        projects=tuple(Path(project) for project in request["projects"]),
        platform=request["platform"],
    )
    environ = {"PATH": request["path"], "HOME": request["home"]}
    options = Options(edition_name=request["edition"], claude=request["claude"])
    untrusted = Dispatcher(roots, environ, lambda: 1, options)
    digests = tuple(untrusted.get_trust(root).coverage.digest for root in roots.projects)
    engine = Dispatcher(roots, environ, lambda: 1, msgspec.structs.replace(options, trusted_digests=digests))
    results = describe_files(engine.current.configuration, Path(request["world"]))
    for payload in request["events"]:
        outcome = engine.dispatch(read_event(json.dumps(payload)))
        lines = {run.author: run.hook.label for run in outcome.responses if isinstance(run, Run)}
        results |= describe_decision(outcome.decision, outcome.responses, lines)
        results["ran"] = list(lines.values())
    return results


def describe_files(configuration: Configuration, world: Path) -> dict[str, Any]:
    """Return what the engine read from the files: layers, hooks and problems."""

    def name(file: str) -> str:
        return Path(file).relative_to(world).as_posix()

    reported = [problem for problem in configuration.problems if problem.severity != "note"]
    return {
        "ignored_files": [name(read.layer.file) for read in configuration.layers if read.fatal_reason],
        "fatal_reasons": [read.fatal_reason for read in configuration.layers if read.fatal_reason],
        "problems": [f"{problem.code} {problem.place.line}:{problem.place.column}" for problem in reported],
        "notes": sorted({problem.code for problem in configuration.problems if problem.severity == "note"}),
        "messages": [problem.message for problem in reported],
        "hints": [problem.hint for problem in reported],
        "order": [f"{hook.layer.kind} {hook.label}" for hook in configuration.hooks],
        "cwd": [name(hook.layer.cwd) for hook in configuration.hooks],
        "timeouts": [hook.timeout for hook in configuration.hooks],
        "loop_limits": ["none" if hook.loop_limit is None else hook.loop_limit for hook in configuration.hooks],
        "needs_trust": [hook.label for hook in configuration.hooks if hook.layer.kind.needs_trust],
        "listed": [f"{hook.layer.kind} {hook.label}" for read in configuration.layers for hook in read.hooks],
    }


def describe_decision(decision: Decision, responses: Sequence[Response], names: dict[str, str]) -> dict[str, Any]:
    """Return the decision about an event, with hooks under these names."""

    def name(author: str) -> str:
        return names.get(author, author)

    verdict = decision.verdict
    return {
        "permission": decision.permission.word,
        "deciders": [name(author) for author in decision.deciders],
        "overruled": [f"{loss.field}: {name(loss.winner)} over {name(loss.loser)}" for loss in decision.overruled],
        "user_message": verdict.user_message,
        "agent_message": verdict.agent_message,
        "context": verdict.context,
        "follow_up": verdict.follow_up,
        "env": verdict.env,
        "edited_input": verdict.edited_input,
        "replaced_output": verdict.replaced_output,
        "plugin_paths": list(verdict.plugin_paths),
        "warnings": [warning for response in responses for warning in response.warnings],
        "failures": [f"{name(response.author)} {response.failure.kind}" for response in responses if response.failure],
    }


def main() -> None:
    """Answer situations from standard input."""
    for line in sys.stdin:
        print(json.dumps(run_case(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
