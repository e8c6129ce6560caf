"""trotline fire: raise one event, or the events of a scripted conversation, and show what every hook answers."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.agents.cursor.cursor_editions import EDITION_NAMES
from trotline.agents.cursor.payloads import read_event, write_event
from trotline.agents.cursor.replies import format_refusal
from trotline.cli.command import claude_option, declare, wants_json
from trotline.cli.dispatcher import build_dispatcher
from trotline.cli.output import PERMISSION_EXITS, Result, bold, dim, paint, plural, printable, shorten
from trotline.config.hooks_json.lookaround import search
from trotline.config.paths import Roots
from trotline.config.problems import Severity
from trotline.domain.errors import UnreadablePayload, UsageError
from trotline.domain.events import Event, get_event_class
from trotline.domain.hooks import Hook
from trotline.domain.ids import uuid7
from trotline.domain.outcomes import Outcome, Response, Run, get_effective_verdict
from trotline.domain.verdicts import Permission
from trotline.engine.dispatch import Dispatcher, Options, select_hooks
from trotline.engine.hook_command import Shell
from trotline.machine import read_clock
from trotline.testing.conversation_script import ScriptRunner, StepResult, describe_outcome, read_script

HELP = """Play the agent for one event: run every hook of every layer that applies, and show what each said.

Hooks of a project run only if it is trusted (`trotline trust`). Exit 0 when the action may go on, 10 when a person is
to be asked, 20 when it is denied, 1 when the event could not be played.

\b
  trotline fire beforeShellExecution --set command='curl example.com'
  trotline fire stop --set status=completed --set loop_count=2
  trotline fire preToolUse --payload event.json
  trotline fire beforeShellExecution --set command=ls --dry-run   list the hooks, run nothing
  trotline fire stop --set status=completed --record               and keep a record of it
  trotline fire sessionStart --edition 2026-09 --login-shell      exactly as Cursor does it
  trotline fire --script conversation.toml                        a whole conversation

A script is TOML with [[steps]], or JSON lines (*.jsonl). A step names an event and the fields that matter; the rest of
its payload is made up. `then` holds steps that follow unless it is refused, `on_deny` what the agent does instead,
`on_ask` what the person answers ("no" if nothing is said), `on_follow_up` the steps of the next message, or "again".
With `expect` a step says what should come of it, and the script ends with 1 if it does not.

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
"""

SEVERITIES = {"deny": Severity.ERROR, "ask": Severity.WARNING}
CONVERSATION = "trotline-fire"
AGENT = "fire"
SCRIPT = click.Path(path_type=Path, exists=True, dir_okay=False)
MAX_TEXT = 300


@declare("fire", "trotline.fire/1", help=HELP)
@click.argument("event", required=False)
@click.option("--set", "assignments", metavar="FIELD=VALUE", multiple=True, help="A field of the event.")
@click.option("--payload", type=click.File("rb"), help="The whole event as JSON, from a file or - for stdin.")
@click.option("--script", type=SCRIPT, help="Raise the events of this script, TOML or JSON lines.")
@click.option("--dry-run", is_flag=True, help="Resolve only: say what would run, and run nothing.")
@click.option(
    "--edition", "edition_name", type=click.Choice(EDITION_NAMES), help="Play exactly the Cursor of this date."
)
@click.option("--login-shell", is_flag=True, help="Run commands with `sh -lc`, as Cursor does.")
@click.option("--clean-env", is_flag=True, help="Do not pass the environment on.")
@click.option(
    "--trust-digest", multiple=True, metavar="DIGEST", help="Trust this content, for CI; see `trotline trust`."
)
@click.option("--record", is_flag=True, help="Keep a record, as of an agent's own event.")
@claude_option
def command(event: str | None, payload: Any, script: Path | None, roots: Roots, **options: Any) -> Result:
    engine_options = Options(
        edition_name=options["edition_name"],
        claude=options["claude"],
        shell=Shell.LOGIN if options["login_shell"] else Shell.PLAIN,
        clean_environment=options["clean_env"],
        trusted_digests=options["trust_digest"],
    )
    if script is not None:
        if event or payload or options["assignments"] or options["dry_run"] or options["record"]:
            hint = "leave out the event, --set, --payload, --dry-run and --record"
            raise UsageError("--script names the events that are raised", hint=hint)
        return _run_script(script, build_dispatcher(Dispatcher, roots, engine_options))
    body = payload.read() if payload else None
    if body is not None and not click.get_current_context().params.get("projects"):
        roots = _find_workspaces(body, roots)
    raised = _build_event(event, options["assignments"], body, roots)
    dispatcher = build_dispatcher(Dispatcher, roots, engine_options)
    if options["dry_run"]:
        return _list_selected_hooks(dispatcher, raised)
    outcome = dispatcher.dispatch(raised)
    if options["record"]:
        _write_record(outcome, roots)
    permission = outcome.decision.permission
    return Result(
        _build_data(outcome, dispatcher),
        _format_outcome(outcome, dispatcher),
        ok=permission < Permission.ASK,
        exit_code=PERMISSION_EXITS[permission],
        warnings=_warn_of_untrusted(outcome),
    )


def _warn_of_untrusted(outcome: Outcome) -> list[str]:
    untrusted = [entry for entry in outcome.not_run if entry.hook.layer.kind.needs_trust]
    if not untrusted:
        return []
    warning = f"warning: {plural(len(untrusted), 'hook')} of the project did not run"
    return [warning, "hint: look at them with `trotline trust`; in CI pass --trust-digest"]


def _write_record(outcome: Outcome, roots: Roots) -> None:
    from trotline.audit.record.sink import open_sink
    from trotline.evaluation.machine_panel import build_effect_finder

    write = open_sink(roots, AGENT, build_effect_finder(roots))
    problem = write(outcome, max((response.micros for response in outcome.responses), default=0))
    if problem:
        click.echo(f"warning: {problem}", err=True)


def _build_event(name: str | None, assignments: tuple[str, ...], payload: bytes | None, roots: Roots) -> Event:
    """Return the event of a payload or of a name, with the fields that were set."""
    body: dict[str, Any] = json.loads(write_event(read_event(payload))) if payload is not None else {}
    name = name or body.get("hook_event_name")
    if name is None:
        raise UsageError("which event?", hint="`trotline events` lists them")
    event_class = get_event_class(name)
    defaults = {
        "conversation_id": CONVERSATION,
        "generation_id": CONVERSATION,
        "workspace_roots": [str(root) for root in roots.projects],
    }
    assigned = dict(_parse_assignment(event_class, text) for text in assignments)
    try:
        event = read_event(json.dumps({**defaults, **body, **assigned, "hook_event_name": name}))
    except UnreadablePayload as error:
        raise UnreadablePayload(error.message, hint=f"add it with --set; `trotline events {name}` shows all") from None
    wrong = [field for field in assigned if field in event.raw]
    if wrong:
        raise UsageError(f"{name} has no field `{wrong[0]}` that takes that value", hint=f"`trotline events {name}`")
    return event


def _find_workspaces(payload: bytes, roots: Roots) -> Roots:
    """Return the roots with the workspaces that the payload names."""
    named = [Path(root) for root in read_event(payload).workspace_roots if Path(root).is_dir()]
    return msgspec.structs.replace(roots, projects=tuple(root.resolve() for root in named)) if named else roots


def _parse_assignment(cls: type[Event], text: str) -> tuple[str, Any]:
    field, equals, value = text.partition("=")
    if not equals:
        raise UsageError(f"`--set {text}` is not FIELD=VALUE")
    declared = {entry.name: entry.type for entry in msgspec.structs.fields(cls)}
    if declared.get(field) in {str, str | None}:
        return field, value
    try:
        return field, json.loads(value)
    except ValueError:
        return field, value


def _list_selected_hooks(dispatcher: Dispatcher, event: Event) -> Result:
    """Return which hooks would run, and which not and why."""
    snapshot = dispatcher.take_snapshot(event)
    hooks, not_run = select_hooks(snapshot, event, search)
    data = {
        "would_run": [_build_hook(hook) for hook in hooks],
        "would_not": [{**_build_hook(entry.hook), "why": entry.why} for entry in not_run],
    }
    lines = [f"{number:>3}. {hook.layer.kind:<14} {printable(hook.label)}" for number, hook in enumerate(hooks, 1)]
    lines += [
        f"  -  {entry.hook.layer.kind:<14} {printable(entry.hook.label)}: {printable(entry.why)}" for entry in not_run
    ]
    return Result(data, [*lines, dim("nothing was run")])


def _build_hook(hook: Hook) -> dict[str, Any]:
    return {"id": hook.id, "layer": hook.layer.kind, "line": hook.label, "place": str(hook.place)}


def _build_data(outcome: Outcome, dispatcher: Dispatcher) -> dict[str, Any]:
    verdict = outcome.decision.verdict
    decision = {**msgspec.to_builtins(verdict), "permission": outcome.decision.permission.word}
    return {
        "call": outcome.call.id,
        "event": json.loads(write_event(outcome.event)),
        "edition": dispatcher.edition.name,
        "decision": {
            **decision,
            "deciders": list(outcome.decision.deciders),
            "overruled": msgspec.to_builtins(outcome.decision.overruled),
        },
        "model_text": _get_model_text(outcome),
        "runs": [_build_run(run, outcome, dispatcher) for run in outcome.responses if isinstance(run, Run)],
        "not_run": [{**_build_hook(entry.hook), "why": entry.why} for entry in outcome.not_run],
        "losses": msgspec.to_builtins(outcome.losses),
        "alarms": list(outcome.alarms),
    }


def _get_model_text(outcome: Outcome) -> str | None:
    """Return the text that replaces the result of a denied action."""
    verdict = outcome.decision.verdict
    if verdict.permission is not Permission.DENY:
        return None
    return format_refusal(outcome.event.wire_name, verdict.user_message or verdict.agent_message)


def _build_run(run: Run, outcome: Outcome, dispatcher: Dispatcher) -> dict[str, Any]:
    counted = get_effective_verdict(run, outcome.event.contract, dispatcher.edition)
    return {
        **_build_hook(run.hook),
        "run": run.id,
        "micros": run.micros,
        "exit": run.exit_code,
        "stdin_bytes": len(write_event(outcome.event)),
        "stdout": run.stdout.decode("utf-8", "replace"),
        "stderr": run.stderr.decode("utf-8", "replace"),
        "permission": counted.permission.word,
        "failure": {"kind": run.failure.kind, "detail": run.failure.detail} if run.failure else None,
        "warnings": list(run.warnings),
    }


def _format_outcome(outcome: Outcome, dispatcher: Dispatcher) -> list[str]:
    event = outcome.event
    size = len(write_event(event))
    lines = [f"{bold(event.wire_name)}  {printable(event.subject or '')}  {dim(f'({size} bytes on stdin)')}"]
    for number, run in enumerate(outcome.responses, 1):
        if isinstance(run, Run):
            lines += _format_run(number, run, outcome, dispatcher)
    for entry in outcome.not_run:
        lines.append(f"  -  {entry.hook.layer.kind:<14} {printable(entry.hook.label)}")
        lines.append(paint(f"     not run: {printable(entry.why)}", Severity.WARNING))
    lines += [paint(f"alarm: {printable(alarm)}", Severity.ERROR) for alarm in outcome.alarms]
    lines += [f"lost: {printable(loss.what)}: {printable(loss.why)}" for loss in outcome.losses]
    return [*lines, *_format_decision(outcome)]


def _format_run(number: int, run: Run, outcome: Outcome, dispatcher: Dispatcher) -> list[str]:
    counted = get_effective_verdict(run, outcome.event.contract, dispatcher.edition)
    ended = f"exit {run.exit_code}" if run.exit_code is not None else "no exit"
    answer = counted.permission.word if counted.permission else ("failed, goes on" if run.failure else "no opinion")
    lines = [f"{number:>3}. {run.hook.layer.kind:<14} {printable(run.hook.label)}"]
    lines.append(f"     {run.micros / 1000:.1f} ms, {ended}: {bold(answer)}")
    if run.failure:
        lines.append(paint(f"     {run.failure.kind}: {printable(run.failure.detail)}", Severity.WARNING))
    for name, output in (("stdout", run.stdout), ("stderr", run.stderr)):
        text = output.decode("utf-8", "replace").strip()
        lines += [dim(f"     {name}: {printable(line)[:200]}") for line in text.splitlines()[:5]]
    return [*lines, *(paint(f"     warning: {printable(warning)}", Severity.WARNING) for warning in run.warnings)]


def _format_decision(outcome: Outcome) -> list[str]:
    decision, verdict = outcome.decision, outcome.decision.verdict
    names = {run.author: f"{run.hook.layer.kind} {run.hook.label}" for run in outcome.responses if isinstance(run, Run)}
    by = ", ".join(names.get(author, author) for author in decision.deciders)
    lines = [bold(f"decision: {decision.permission.word}") + (f"  by {printable(by)}" if by else "")]
    texts = {
        "to the person": verdict.user_message,
        "to the agent": verdict.agent_message,
        "context": verdict.context,
        "follow-up": verdict.follow_up,
        "env": ", ".join(f"{name}={value}" for name, value in verdict.env.items()),
        "input becomes": json.dumps(verdict.edited_input) if verdict.edited_input else "",
        "output becomes": json.dumps(verdict.replaced_output) if verdict.replaced_output else "",
    }
    for title, text in texts.items():
        lines += [f"  {title}: {printable(line)}" for line in text.splitlines()[:1]]
        lines += [f"    {printable(line)}" for line in text.splitlines()[1:]]
    overruled = [f"{loss.field} of {names.get(loss.loser, loss.loser)}" for loss in decision.overruled]
    return lines + [f"  overruled: {printable(text)}" for text in overruled]


# Scripts


def _run_script(script: Path, dispatcher: Dispatcher) -> Result:
    """Raise the events of a script and show each at once."""
    runner = ScriptRunner(dispatcher, f"simulate-{uuid7(read_clock(), os.urandom(10))}")
    played: list[StepResult] = []
    for step in runner.run(read_script(script)):
        if not wants_json():
            known = {alarm for earlier in played for alarm in earlier.outcome.alarms}
            click.echo("\n".join(_format_step(step, known)))
        played.append(step)
    is_ok = not any(step.mismatch for step in played)
    data = {"events": [_build_step(step) for step in played]}
    return Result(data, [_format_summary(played)], ok=is_ok, schema="trotline.fire.script/1")


def _format_step(played: StepResult, known_alarms: set[str]) -> Iterator[str]:
    indent, outcome = "  " * played.depth, played.outcome
    if played.step.say:
        yield f"{indent}{dim('# ' + printable(played.step.say))}"
    word = outcome.decision.permission.word
    subject = f"  {printable(shorten(outcome.event.subject))}" if outcome.event.subject else ""
    shown = paint(word, SEVERITIES[word]) if word in SEVERITIES else word
    yield f"{indent}{bold(outcome.event.wire_name)}{subject}: {shown}"
    for response in outcome.responses:
        name = f"{response.layer or 'function'} {printable(shorten(response.name))}"
        yield f"{indent}  {name}: {printable(shorten(response.summary))}"
        yield from (paint(f"{indent}    {printable(text)}", Severity.WARNING) for text in response.warnings)
    for entry in outcome.not_run:
        text = f"{entry.hook.layer.kind} {entry.hook.label}: not run, {entry.why}"
        yield paint(f"{indent}  {printable(text)}", Severity.WARNING)
    for name, value in describe_outcome(outcome).items():
        yield f"{indent}  {name}: {printable(shorten(str(value), MAX_TEXT))}"
    yield from (f"{indent}  {text}" for text in (played.note,) if text)
    new = [alarm for alarm in outcome.alarms if alarm not in known_alarms]
    yield from (paint(f"{indent}  alarm: {printable(text)}", Severity.ERROR) for text in new)
    if played.mismatch:
        yield paint(f"{indent}  {played.mismatch}", Severity.ERROR)


def _format_summary(played: list[StepResult]) -> str:
    refused = sum(step.is_refused for step in played)
    runs = sum(len(step.outcome.responses) for step in played)
    failed = sum(response.failure is not None for step in played for response in step.outcome.responses)
    parts = [plural(len(played), "event"), plural(runs, "answer"), f"{refused} refused", plural(failed, "failure")]
    idle = {entry.hook.id for step in played for entry in step.outcome.not_run}
    parts += [f"{plural(len(idle), 'hook')} not run"] if idle else []
    wrong = sum(bool(step.mismatch) for step in played)
    return "\n" + "; ".join([*parts, *([f"{plural(wrong, 'expectation')} not met"] if wrong else [])])


def _build_step(played: StepResult) -> dict[str, Any]:
    outcome = played.outcome
    return {
        "event": outcome.event.wire_name,
        "subject": outcome.event.subject,
        "depth": played.depth,
        "permission": outcome.decision.permission.word,
        "refused": played.is_refused,
        "texts": describe_outcome(outcome),
        "responses": [_build_response(response) for response in outcome.responses],
        "not_run": [{"line": entry.hook.label, "why": entry.why} for entry in outcome.not_run],
        "alarms": list(outcome.alarms),
        "expected": played.step.expect or None,
        "mismatch": played.mismatch or None,
    }


def _build_response(response: Response) -> dict[str, Any]:
    failure = response.failure
    return {
        "layer": response.layer,
        "name": response.name,
        "permission": response.verdict.permission.word,
        "failure": {"kind": failure.kind, "detail": failure.detail} if failure else None,
        "warnings": list(response.warnings),
        "micros": response.micros,
    }
