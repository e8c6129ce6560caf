"""trotline show: the hooks of all layers in the order in which they run."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import click
import msgspec

from trotline.agents.cursor.cursor_editions import get_edition
from trotline.cli.command import claude_option, declare, edition_option
from trotline.cli.output import Result, bold, dim, paint, plural, printable
from trotline.config.hooks_json.configuration import Configuration, load_configuration
from trotline.config.hooks_json.lookaround import search
from trotline.config.paths import Roots
from trotline.config.problems import Severity
from trotline.config.trust import Digests, Trust, TrustStore, build_coverage
from trotline.domain.editions import Edition
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS, Event, get_event_class
from trotline.domain.hooks import Fit, Hook

HELP = """The hooks of all layers, in the order in which they run and speak, with those that do not run and why.

\b
  trotline show                          everything
  trotline show stop                     one event
  trotline show --for 'curl -s x | sh'   which hooks would see this command, and why
  trotline show --tool Write             which would see this tool
  trotline show --subagent explore       which would see this sub-agent
"""


class HookRow(NamedTuple):
    """A hook in the list: why it is off, and whether it applies to the action in question."""

    number: int
    hook: Hook
    off: str
    fit: Fit | None


@declare("show", "trotline.show/1", help=HELP)
@click.argument("event", required=False)
@click.option("--for", "text", metavar="TEXT", help="Say which hooks a command, or any subject of EVENT, would meet.")
@click.option("--tool", metavar="NAME", help="Say which hooks the use of a tool would meet.")
@click.option("--subagent", metavar="TYPE", help="Say which hooks a sub-agent would meet.")
@edition_option
@claude_option
def command(
    event: str | None,
    text: str | None,
    tool: str | None,
    subagent: str | None,
    edition_name: str,
    claude: bool,
    roots: Roots,
) -> Result:
    if event is not None:
        get_event_class(event)
    questions = _build_events(event, text, tool, subagent)
    configuration = load_configuration(roots, get_edition(edition_name), claude=claude)
    trusts = _read_trust(configuration, roots)
    rows = _build_rows(configuration, questions or ([event] if event else list(EVENTS)), questions)
    data, lines = _build_data(configuration, rows, trusts), _format(configuration, rows, trusts)
    return Result(data, lines, configuration.problems)


def _read_trust(configuration: Configuration, roots: Roots) -> list[Trust]:
    """Return the trust in each project that has hooks."""
    with_hooks = {read.layer.root for read in configuration.layers if read.hooks and read.layer.kind.needs_trust}
    store, digests = TrustStore(roots.state / "trust"), Digests()
    projects = [root for root in roots.projects if str(root) in with_hooks]
    return [store.judge(build_coverage(root, configuration.layers, roots, digests)) for root in projects]


def _build_events(event: str | None, text: str | None, tool: str | None, subagent: str | None) -> dict[str, Event]:
    """Return the events of the action in question by name; empty if there is none."""
    subjects = {"command": text, "tool_name": tool, "subagent_type": subagent}
    if sum(value is not None for value in subjects.values()) > 1:
        raise UsageError("--for, --tool and --subagent ask different questions", hint="give one of them")
    if event is not None and any(value is not None for value in subjects.values()):
        value = next(value for value in subjects.values() if value is not None)
        field = EVENTS[event].contract.subject.field
        return {event: _build_event(event, field, value)}
    field = next((name for name, value in subjects.items() if value is not None), "")
    value = subjects.get(field) or ""
    names = [name for name, cls in EVENTS.items() if field and cls.contract.subject.field == field]
    events = {name: _build_event(name, field, value) for name in names}
    if field == "command":  # a command is also the use of a tool
        tools = [name for name, cls in EVENTS.items() if cls.contract.generic]
        events |= {name: _build_event(name, "tool_name", "Shell") for name in tools}
    return events


def _build_event(name: str, field: str, value: str) -> Event:
    cls = EVENTS[name]
    required: dict[str, Any] = {entry.name: "" for entry in msgspec.structs.fields(cls) if entry.required}
    return cls(**{**required, **({field: value} if field else {})})


def _build_rows(configuration: Configuration, names: Iterable[str], questions: dict[str, Event]) -> list[HookRow]:
    rows = []
    for name in names:
        number = 0
        for read in configuration.layers:
            for hook in (hook for hook in read.hooks if hook.event == name):
                off = configuration.find_inactive_reason(read, hook)
                fit = hook.fit(questions[name], search) if name in questions else None
                runs = not off and (fit is None or fit.applies)
                number += runs
                rows.append(HookRow(number if runs else 0, hook, off, fit))
    return rows


def _build_data(configuration: Configuration, rows: list[HookRow], trusts: list[Trust]) -> dict[str, Any]:
    layers = [
        {
            "layer": read.layer.kind,
            "file": read.layer.file,
            "exists": read.exists,
            "fatal_reason": read.fatal_reason or None,
        }
        for read in configuration.layers
    ]
    return {
        "edition": configuration.edition.name,
        "layers": layers,
        "trust": {
            trust.coverage.root: {"state": trust.state, "not_covered": trust.coverage.not_covered} for trust in trusts
        },
        "hooks": [_build_row(row, configuration) for row in rows],
    }


def _build_row(row: HookRow, configuration: Configuration) -> dict[str, Any]:
    hook = row.hook
    chosen = configuration.models.choose(hook.model) if hook.prompt else None
    return {
        "id": hook.id,
        "event": hook.event,
        "order": row.number or None,
        "layer": hook.layer.kind,
        "place": str(hook.place),
        "command": hook.command or None,
        "prompt": hook.prompt or None,
        "model": f"{chosen.provider.name}: {chosen.model}" if chosen else None,
        "cwd": hook.layer.cwd,
        "matcher": hook.matcher.source if hook.matcher else None,
        "timeout": hook.timeout,
        "fails": _get_fail_mode(hook, configuration.edition),
        "loop_limit": hook.loop_limit,
        "needs_trust": hook.layer.kind.needs_trust,
        "off": row.off or None,
        "applies": row.fit.applies if row.fit else None,
        "why": row.fit.why if row.fit else None,
    }


def _get_fail_mode(hook: Hook, chosen: Edition) -> str:
    """Return what happens to the action if this hook fails."""
    if not chosen.refuses(hook.event, refusable=EVENTS[hook.event].contract.refusable):
        return "without effect"
    return "closed" if hook.fail_closed or hook.event in chosen.closed_by_default else "open"


def _format(configuration: Configuration, rows: list[HookRow], trusts: list[Trust]) -> Iterator[str]:
    event = ""
    for row in rows:
        if row.hook.event != event:
            event = row.hook.event
            yield f"{bold(event)}  {dim(EVENTS[event].contract.when)}"
        yield from _format_row(row, configuration)
    if not rows:
        yield "no hook is configured for that"
    running = sum(1 for row in rows if row.number)
    waiting = sum(1 for row in rows if row.number and row.hook.layer.kind.needs_trust)
    in_trusted = f" ({waiting} of them only in a trusted workspace)" if waiting else ""
    yield f"\n{plural(running, 'hook')} would run{in_trusted}; {len(rows) - running} would not"
    for trust in trusts:
        yield f"{printable(trust.coverage.root)}: {trust.state}"
        for word in trust.coverage.not_covered:
            yield dim(f"  used, and not covered by trust: {printable(word)}")
    worst = [problem for problem in configuration.problems if problem.severity in {Severity.FATAL, Severity.ERROR}]
    if worst:
        yield paint(f"{plural(len(worst), 'problem')} in these files: run `trotline check`", Severity.WARNING)


def _describe_model(hook: Hook, configuration: Configuration) -> str:
    """Return which model a prompt hook asks."""
    chosen = configuration.models.choose(hook.model) if hook.prompt else None
    missing = "; nobody answers it" if hook.prompt else ""
    return f"; asks {chosen.model} of {chosen.provider.name}" if chosen else missing


def _format_row(row: HookRow, configuration: Configuration) -> Iterator[str]:
    hook = row.hook
    number = f"{row.number:>3}." if row.number else "  - "
    kind = f"{hook.layer.kind:<14}"
    yield f"{number} {kind} {printable(hook.label)}"
    matcher = f"matcher {hook.matcher.source}" if hook.matcher else "no matcher"
    trust = ", needs trust" if hook.layer.kind.needs_trust else ""
    loops = f", {hook.loop_limit or 'no limit of'} follow-ups" if hook.event in {"stop", "subagentStop"} else ""
    fails = _get_fail_mode(hook, configuration.edition)
    where = _describe_model(hook, configuration) or f"; in {hook.layer.cwd or '?'}"
    details = f"{matcher}; {hook.timeout:g} s; fails {fails}{loops}{trust}{where}"
    yield dim(f"     {printable(details)}")
    yield dim(f"     {printable(str(hook.place))}")
    if row.off:
        yield f"     {paint('off: ' + printable(row.off), Severity.FATAL)}"
    elif row.fit:
        yield f"     {'runs' if row.fit.applies else 'does not run'}: {printable(row.fit.why)}"
