"""trotline fire: play the host for one event, and tell hook by hook what happened."""

import json
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.cli.hosting import hosting_engine
from trotline.cli.options import claude_option, json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable
from trotline.config.lookaround import search
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.engine.engine import Engine, Options
from trotline.engine.launch import Shell
from trotline.engine.resolution import resolve
from trotline.errors import UnreadablePayload, UsageError
from trotline.events import EVENTS, Event
from trotline.hooks import Hook
from trotline.hosts.cursor import read_event, write_event
from trotline.hosts.cursor_editions import NAMES
from trotline.hosts.cursor_words import refusal_text
from trotline.outcomes import Outcome, Run, verdict_of
from trotline.verdicts import Permission

HELP = """Play the host for one event: run every hook of every layer that applies, and show what each said.

Hooks of a project run only if it is trusted (`trotline trust`). Exit 0 when the action may go on, 10 when a person is
to be asked, 20 when it is denied, 1 when the event could not be played.

\b
  trotline fire beforeShellExecution --set command='curl example.com'
  trotline fire stop --set status=completed --set loop_count=2
  trotline fire preToolUse --payload event.json
  trotline fire beforeShellExecution --set command=ls --dry-run   resolve only, run nothing
  trotline fire stop --set status=completed --trail               and keep a record of it
  trotline fire sessionStart --edition 2026-09 --login-shell      exactly as Cursor does it
"""

EXIT = {Permission.SILENT: 0, Permission.ALLOW: 0, Permission.ASK: 10, Permission.DENY: 20}
CONVERSATION = "trotline-fire"
HOST = "fire"


@click.command("fire", help=HELP)
@click.argument("event", required=False)
@click.option("--set", "assignments", metavar="FIELD=VALUE", multiple=True, help="A field of the event.")
@click.option("--payload", type=click.File("rb"), help="The whole event as JSON, from a file or - for stdin.")
@click.option("--dry-run", is_flag=True, help="Resolve only: say what would run, and run nothing.")
@click.option("--edition", "edition_name", type=click.Choice(NAMES), help="Play exactly the Cursor of this date.")
@click.option("--login-shell", is_flag=True, help="Run commands with `sh -lc`, as Cursor does.")
@click.option("--clean-env", is_flag=True, help="Do not pass the environment on.")
@click.option(
    "--trust-digest", multiple=True, metavar="DIGEST", help="Trust this content, for CI; see `trotline trust`."
)
@click.option("--trail", is_flag=True, help="Keep a record, as of an agent's own event.")
@json_option
@claude_option
@roots_options
def command(
    event: str | None,
    assignments: tuple[str, ...],
    payload: Any,
    dry_run: bool,
    edition_name: str | None,
    login_shell: bool,
    clean_env: bool,
    trust_digest: tuple[str, ...],
    trail: bool,
    as_json: bool,
    claude: bool,
    roots: Roots,
) -> int:
    body = payload.read() if payload else None
    roots = (
        _roots_of(body, roots) if body is not None and not click.get_current_context().params.get("projects") else roots
    )
    raised = _event(event, assignments, body, roots)
    options = Options(
        edition_name=edition_name,
        claude=claude,
        shell=Shell.LOGIN if login_shell else Shell.PLAIN,
        clean_environment=clean_env,
        trusted_digests=trust_digest,
    )
    engine = hosting_engine(roots, options)
    if dry_run:
        return _dry(engine, raised, as_json=as_json)
    outcome = engine.dispatch(raised)
    if trail:
        _keep(outcome, roots)
    click.echo(_as_json(outcome, engine) if as_json else _story(outcome, engine))
    untrusted = [entry for entry in outcome.not_run if entry.hook.layer.kind.needs_trust]
    if untrusted:
        click.echo(f"warning: {plural(len(untrusted), 'hook')} of the project did not run", err=True)
        click.echo("hint: look at them with `trotline trust`; in CI pass --trust-digest", err=True)
    return EXIT[outcome.decision.permission]


def _keep(outcome: Outcome, roots: Roots) -> None:
    from trotline.audit.keeping import keeping_of
    from trotline.guarding import effects_of

    keep = keeping_of(roots, HOST, effects_of(roots))
    unkept = keep(outcome, max((voice.micros for voice in outcome.voices), default=0))
    if unkept:
        click.echo(f"warning: {unkept}", err=True)


def _event(name: str | None, assignments: tuple[str, ...], payload: bytes | None, roots: Roots) -> Event:
    """The event from a payload, or from nothing, with the fields that were set."""
    body: dict[str, Any] = json.loads(write_event(read_event(payload))) if payload is not None else {}
    name = name or body.get("hook_event_name")
    if name is None:
        raise UsageError("which event?", hint="`trotline events` lists them")
    if name not in EVENTS:
        raise UsageError(f"there is no event `{name}`", hint="`trotline events` lists them")
    defaults = {
        "conversation_id": CONVERSATION,
        "generation_id": CONVERSATION,
        "workspace_roots": [str(root) for root in roots.projects],
    }
    given = dict(_assignment(EVENTS[name], text) for text in assignments)
    try:
        event = read_event(json.dumps({**defaults, **body, **given, "hook_event_name": name}))
    except UnreadablePayload as error:
        raise UnreadablePayload(error.message, hint=f"add it with --set; `trotline events {name}` shows all") from None
    wrong = [field for field in given if field in event.raw]
    if wrong:
        raise UsageError(f"{name} has no field `{wrong[0]}` that takes that value", hint=f"`trotline events {name}`")
    return event


def _roots_of(payload: bytes, roots: Roots) -> Roots:
    """The workspace that the payload names, when the command line names none."""
    named = [Path(root) for root in read_event(payload).workspace_roots if Path(root).is_dir()]
    return msgspec.structs.replace(roots, projects=tuple(root.resolve() for root in named)) if named else roots


def _assignment(cls: type[Event], text: str) -> tuple[str, Any]:
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


def _dry(engine: Engine, event: Event, *, as_json: bool) -> int:
    now = engine.look(event)
    hooks, not_run = resolve(now.configuration, event, now.trusted.__getitem__, search)
    if as_json:
        data = {
            "would_run": [_hook_data(hook) for hook in hooks],
            "would_not": [{**_hook_data(entry.hook), "why": entry.why} for entry in not_run],
        }
        click.echo(envelope("trotline.fire/1", ok=True, data=data, problems=[]))
        return 0
    for number, hook in enumerate(hooks, 1):
        click.echo(f"{number:>3}. {hook.layer.kind:<14} {printable(hook.line)}")
    for entry in not_run:
        click.echo(f"  -  {entry.hook.layer.kind:<14} {printable(entry.hook.line)}: {printable(entry.why)}")
    click.echo(dim("nothing was run"))
    return 0


def _hook_data(hook: Hook) -> dict[str, Any]:
    return {"id": hook.id, "layer": hook.layer.kind, "line": hook.line, "place": str(hook.place)}


def _as_json(outcome: Outcome, engine: Engine) -> str:
    verdict = outcome.decision.verdict
    decision = {**msgspec.to_builtins(verdict), "permission": outcome.decision.permission.word}
    data = {
        "call": outcome.call.id,
        "event": json.loads(write_event(outcome.event)),
        "edition": engine.edition.name,
        "decision": {
            **decision,
            "deciders": list(outcome.decision.deciders),
            "overruled": msgspec.to_builtins(outcome.decision.overruled),
        },
        "told_to_the_model": _told(outcome),
        "runs": [_run_data(run, outcome, engine) for run in outcome.voices if isinstance(run, Run)],
        "not_run": [{**_hook_data(entry.hook), "why": entry.why} for entry in outcome.not_run],
        "losses": msgspec.to_builtins(outcome.losses),
        "alarms": list(outcome.alarms),
    }
    ok = outcome.decision.permission < Permission.ASK
    return envelope("trotline.fire/1", ok=ok, data=data, problems=[])


def _told(outcome: Outcome) -> str | None:
    """The text that stands in for the result of a refused action."""
    verdict = outcome.decision.verdict
    if verdict.permission is not Permission.DENY:
        return None
    return refusal_text(outcome.event.wire_name, verdict.user_message or verdict.agent_message)


def _run_data(run: Run, outcome: Outcome, engine: Engine) -> dict[str, Any]:
    counted = verdict_of(run, outcome.event.contract, engine.edition)
    return {
        **_hook_data(run.hook),
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


def _story(outcome: Outcome, engine: Engine) -> str:
    event = outcome.event
    size = len(write_event(event))
    lines = [f"{bold(event.wire_name)}  {printable(event.subject or '')}  {dim(f'({size} bytes on stdin)')}"]
    for number, run in enumerate(outcome.voices, 1):
        if isinstance(run, Run):
            lines += _run_lines(number, run, outcome, engine)
    for entry in outcome.not_run:
        lines.append(f"  -  {entry.hook.layer.kind:<14} {printable(entry.hook.line)}")
        lines.append(paint(f"     not run: {printable(entry.why)}", Severity.WARNING))
    lines += [paint(f"alarm: {printable(alarm)}", Severity.ERROR) for alarm in outcome.alarms]
    lines += [f"lost: {printable(loss.what)}: {printable(loss.why)}" for loss in outcome.losses]
    return "\n".join([*lines, *_decision_lines(outcome)])


def _run_lines(number: int, run: Run, outcome: Outcome, engine: Engine) -> list[str]:
    counted = verdict_of(run, outcome.event.contract, engine.edition)
    ended = f"exit {run.exit_code}" if run.exit_code is not None else "no exit"
    said = counted.permission.word if counted.permission else ("failed, goes on" if run.failure else "no opinion")
    lines = [f"{number:>3}. {run.hook.layer.kind:<14} {printable(run.hook.line)}"]
    lines.append(f"     {run.micros / 1000:.1f} ms, {ended}: {bold(said)}")
    if run.failure:
        lines.append(paint(f"     {run.failure.kind}: {printable(run.failure.detail)}", Severity.WARNING))
    for name, output in (("stdout", run.stdout), ("stderr", run.stderr)):
        text = output.decode("utf-8", "replace").strip()
        lines += [dim(f"     {name}: {printable(line)[:200]}") for line in text.splitlines()[:5]]
    return [*lines, *(paint(f"     warning: {printable(warning)}", Severity.WARNING) for warning in run.warnings)]


def _decision_lines(outcome: Outcome) -> list[str]:
    decision, verdict = outcome.decision, outcome.decision.verdict
    names = {run.author: f"{run.hook.layer.kind} {run.hook.line}" for run in outcome.voices if isinstance(run, Run)}
    by = ", ".join(names.get(author, author) for author in decision.deciders)
    lines = [bold(f"decision: {decision.permission.word}") + (f"  by {printable(by)}" if by else "")]
    said = {
        "to the person": verdict.user_message,
        "to the agent": verdict.agent_message,
        "context": verdict.context,
        "follow-up": verdict.follow_up,
        "env": ", ".join(f"{name}={value}" for name, value in verdict.env.items()),
        "input becomes": json.dumps(verdict.edited_input) if verdict.edited_input else "",
        "output becomes": json.dumps(verdict.replaced_output) if verdict.replaced_output else "",
    }
    for title, text in said.items():
        lines += [f"  {title}: {printable(line)}" for line in text.splitlines()[:1]]
        lines += [f"    {printable(line)}" for line in text.splitlines()[1:]]
    overruled = [f"{one.field} of {names.get(one.lost, one.lost)}" for one in decision.overruled]
    return lines + [f"  overruled: {printable(text)}" for text in overruled]
