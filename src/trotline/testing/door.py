"""Our own engine behind the door of the conformance kit: a line with a situation comes in, a line with what was seen
goes out. `python -m trotline.testing.door` is what `trotline conform` plays when no other engine is named.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from trotline.config.configuration import Configuration
from trotline.config.places import Roots
from trotline.engine.engine import Engine, Options
from trotline.hosts.cursor import read_event
from trotline.outcomes import Run, Voice
from trotline.verdicts import Decision


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """What our engine sees in this situation, with a real process for every hook."""
    roots = Roots(
        home=Path(request["home"]),
        system=Path(request["system"]),
        projects=tuple(Path(project) for project in request["projects"]),
        platform=request["platform"],
    )
    environ = {"PATH": request["path"], "HOME": request["home"]}
    options = Options(edition_name=request["edition"], claude=request["claude"])
    looked = Engine(roots, environ, lambda: 1, options)
    digests = tuple(looked.trust(root).coverage.digest for root in roots.projects)
    engine = Engine(roots, environ, lambda: 1, msgspec.structs.replace(options, trusted_digests=digests))
    seen = seen_in_files(engine.current.configuration, Path(request["world"]))
    for payload in request["events"]:
        outcome = engine.dispatch(read_event(json.dumps(payload)))
        lines = {run.author: run.hook.line for run in outcome.voices if isinstance(run, Run)}
        seen |= seen_in_decision(outcome.decision, outcome.voices, lines)
        seen["ran"] = list(lines.values())
    return seen


def seen_in_files(configuration: Configuration, world: Path) -> dict[str, Any]:
    def name(file: str) -> str:
        return Path(file).relative_to(world).as_posix()

    loud = [problem for problem in configuration.problems if problem.severity != "note"]
    return {
        "void": [name(read.layer.file) for read in configuration.layers if read.void],
        "void_because": [read.void for read in configuration.layers if read.void],
        "problems": [f"{problem.code} {problem.place.line}:{problem.place.column}" for problem in loud],
        "notes": sorted({problem.code for problem in configuration.problems if problem.severity == "note"}),
        "messages": [problem.message for problem in loud],
        "hints": [problem.hint for problem in loud],
        "order": [f"{hook.layer.kind} {hook.line}" for hook in configuration.hooks],
        "cwd": [name(hook.layer.cwd) for hook in configuration.hooks],
        "timeouts": [hook.timeout for hook in configuration.hooks],
        "loop_limits": ["none" if hook.loop_limit is None else hook.loop_limit for hook in configuration.hooks],
        "needs_trust": [hook.line for hook in configuration.hooks if hook.layer.kind.needs_trust],
        "listed": [f"{hook.layer.kind} {hook.line}" for read in configuration.layers for hook in read.hooks],
    }


def seen_in_decision(decision: Decision, voices: Sequence[Voice], names: dict[str, str]) -> dict[str, Any]:
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


def main() -> None:
    for line in sys.stdin:
        print(json.dumps(answer(json.loads(line))), flush=True)


if __name__ == "__main__":
    main()
