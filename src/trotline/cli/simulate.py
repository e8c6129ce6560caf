"""trotline simulate: play a conversation against the configured hooks."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from trotline.cli.hosting import hosting_engine
from trotline.cli.options import claude_option, json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.engine.engine import Options
from trotline.hosts.cursor_editions import NAMES
from trotline.ids import uuid7
from trotline.machine import clock
from trotline.testing.scripts import read_script
from trotline.testing.simulation import Played, Simulation, told

HELP = """Play a conversation against the hooks that are configured here, and tell its story.

SCRIPT is TOML with [[steps]], or JSON lines (*.jsonl). A step names an event and the fields that matter; the rest of
its payload is made up. `then` holds steps that follow unless it is refused, `on_deny` what the agent does instead,
`on_ask` what the person answers ("no" if nothing is said), `on_follow_up` the steps of the next message, or "again".
With `expect` a step says what should come of it, and the simulation ends with 1 if it does not.

\b
  [[steps]]
  event = "sessionStart"
  [[steps]]
  event = "beforeShellExecution"
  command = "git push --force"
  expect = "deny"
  [[steps.on_deny]]
  event = "beforeShellExecution"
  command = "git push"

\b
  trotline simulate conversation.toml
  trotline simulate conversation.jsonl --json
"""


@click.command("simulate", help=HELP)
@click.argument("script", type=click.Path(path_type=Path, exists=True, dir_okay=False))
@click.option("--edition", "edition_name", type=click.Choice(NAMES), help="Play exactly the Cursor of this date.")
@click.option("--trust-digest", multiple=True, metavar="DIGEST", help="Trust the project's hooks if they are these.")
@json_option
@claude_option
@roots_options
def command(
    script: Path,
    edition_name: str | None,
    trust_digest: tuple[str, ...],
    as_json: bool,
    claude: bool,
    roots: Roots,
) -> int:
    steps = read_script(script)
    engine = hosting_engine(roots, Options(edition_name=edition_name, claude=claude, trusted_digests=trust_digest))
    simulation = Simulation(engine, f"simulate-{uuid7(clock(), os.urandom(10))}")
    played: list[Played] = []
    for one in simulation.play(steps):
        if not as_json:
            heard = {alarm for earlier in played for alarm in earlier.outcome.alarms}
            click.echo("\n".join(_lines(one, heard)))
        played.append(one)
    disappointed = [one for one in played if one.disappointed]
    click.echo(_as_json(played) if as_json else _summary(played))
    return 1 if disappointed else 0


def _lines(played: Played, heard: set[str]) -> Iterable[str]:
    indent, outcome = "  " * played.depth, played.outcome
    if played.step.say:
        yield f"{indent}{dim('# ' + printable(played.step.say))}"
    word = outcome.decision.permission.word
    subject = f"  {printable(_short(outcome.event.subject))}" if outcome.event.subject else ""
    yield f"{indent}{bold(outcome.event.wire_name)}{subject}: {_painted(word)}"
    for voice in outcome.voices:
        yield f"{indent}  {voice.layer or 'function'} {printable(_short(voice.name))}: {printable(_short(voice.said))}"
        yield from (paint(f"{indent}    {printable(text)}", Severity.WARNING) for text in voice.warnings)
    for entry in outcome.not_run:
        text = f"{entry.hook.layer.kind} {entry.hook.line}: not run, {entry.why}"
        yield paint(f"{indent}  {printable(text)}", Severity.WARNING)
    for name, value in told(outcome).items():
        yield f"{indent}  {name}: {printable(_short(str(value), 300))}"
    yield from (f"{indent}  {text}" for text in (played.note,) if text)
    news = [alarm for alarm in outcome.alarms if alarm not in heard]
    yield from (paint(f"{indent}  alarm: {printable(text)}", Severity.ERROR) for text in news)
    if played.disappointed:
        yield paint(f"{indent}  {played.disappointed}", Severity.ERROR)


def _painted(word: str) -> str:
    severity = {"deny": Severity.ERROR, "ask": Severity.WARNING}.get(word)
    return paint(word, severity) if severity else word


def _short(text: str, most: int = 90) -> str:
    line = " ".join(text.split())
    return line if len(line) <= most else line[: most - 3] + "..."


def _summary(played: list[Played]) -> str:
    refused = sum(one.refused for one in played)
    runs = sum(len(one.outcome.voices) for one in played)
    failed = sum(voice.failure is not None for one in played for voice in one.outcome.voices)
    parts = [plural(len(played), "event"), plural(runs, "answer"), f"{refused} refused", plural(failed, "failure")]
    idle = {entry.hook.id for one in played for entry in one.outcome.not_run}
    parts += [f"{plural(len(idle), 'hook')} not run"] if idle else []
    wrong = sum(bool(one.disappointed) for one in played)
    return "\n" + "; ".join([*parts, *([f"{plural(wrong, 'expectation')} not met"] if wrong else [])])


def _as_json(played: list[Played]) -> str:
    data = {"events": [_data(one) for one in played]}
    return envelope("trotline.simulate/1", ok=not any(one.disappointed for one in played), data=data, problems=[])


def _data(played: Played) -> dict[str, Any]:
    outcome = played.outcome
    return {
        "event": outcome.event.wire_name,
        "subject": outcome.event.subject,
        "depth": played.depth,
        "permission": outcome.decision.permission.word,
        "refused": played.refused,
        "told": told(outcome),
        "voices": [
            {
                "layer": voice.layer,
                "name": voice.name,
                "permission": voice.verdict.permission.word,
                "failure": {"kind": voice.failure.kind, "detail": voice.failure.detail} if voice.failure else None,
                "warnings": list(voice.warnings),
                "micros": voice.micros,
            }
            for voice in outcome.voices
        ],
        "not_run": [{"line": entry.hook.line, "why": entry.why} for entry in outcome.not_run],
        "alarms": list(outcome.alarms),
        "expected": played.step.expect or None,
        "disappointed": played.disappointed or None,
    }
