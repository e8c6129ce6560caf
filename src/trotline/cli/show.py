"""trotline show: the resolved hooks, in the order in which they run."""

from typing import Any, NamedTuple

import click
import msgspec

from trotline.cli.options import claude_option, edition_option, json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, problem_data
from trotline.config.configuration import Configuration, load
from trotline.config.lookaround import search
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.config.trust import Digests, Trust, TrustStore, coverage_of
from trotline.editions import Edition
from trotline.errors import UsageError
from trotline.events import EVENTS, Event
from trotline.hooks import Fit, Hook
from trotline.hosts.cursor_editions import edition

HELP = """The hooks of all layers, in the order in which they run and speak, with those that do not run and why.

\b
  trotline show                          everything
  trotline show stop                     one event
  trotline show --for 'curl -s x | sh'   which hooks would see this command, and why
  trotline show --tool Write             which would see this tool
  trotline show --subagent explore       which would see this sub-agent
"""


class Row(NamedTuple):
    """One hook in the list: whether its file is in force, and how it fits the action that was asked about."""

    number: int
    hook: Hook
    off: str
    fit: Fit | None


@click.command("show", help=HELP)
@click.argument("event", required=False)
@click.option("--for", "text", metavar="TEXT", help="Say which hooks a command, or any subject of EVENT, would meet.")
@click.option("--tool", metavar="NAME", help="Say which hooks the use of a tool would meet.")
@click.option("--subagent", metavar="TYPE", help="Say which hooks a sub-agent would meet.")
@json_option
@edition_option
@claude_option
@roots_options
def command(
    event: str | None,
    text: str | None,
    tool: str | None,
    subagent: str | None,
    as_json: bool,
    edition_name: str,
    claude: bool,
    roots: Roots,
) -> int:
    if event is not None and event not in EVENTS:
        raise UsageError(f"there is no event `{event}`", hint="`trotline events` lists them")
    asked = _asked(event, text, tool, subagent)
    configuration = load(roots, edition(edition_name), claude=claude)
    trusts = _trusts(configuration, roots)
    rows = _rows(configuration, asked or ([event] if event else list(EVENTS)), asked)
    if as_json:
        click.echo(_as_json(configuration, rows, trusts))
    else:
        _print(configuration, rows, trusts)
    return 0


def _trusts(configuration: Configuration, roots: Roots) -> list[Trust]:
    """How things stand with each project that has hooks."""
    with_hooks = {read.layer.root for read in configuration.layers if read.hooks and read.layer.kind.needs_trust}
    store, digests = TrustStore(roots.state / "trust"), Digests()
    projects = [root for root in roots.projects if str(root) in with_hooks]
    return [store.judge(coverage_of(root, configuration.layers, roots, digests)) for root in projects]


def _asked(event: str | None, text: str | None, tool: str | None, subagent: str | None) -> dict[str, Event]:
    """The events to try, by name; empty when nothing particular was asked about."""
    given = {"command": text, "tool_name": tool, "subagent_type": subagent}
    if sum(value is not None for value in given.values()) > 1:
        raise UsageError("--for, --tool and --subagent ask different questions", hint="give one of them")
    if event is not None and any(value is not None for value in given.values()):
        value = next(value for value in given.values() if value is not None)
        field = EVENTS[event].contract.subject.field
        return {event: _event(event, field, value)}
    field = next((name for name, value in given.items() if value is not None), "")
    value = given.get(field) or ""
    names = [name for name, cls in EVENTS.items() if field and cls.contract.subject.field == field]
    asked = {name: _event(name, field, value) for name in names}
    if field == "command":  # a command is also the use of a tool
        tools = [name for name, cls in EVENTS.items() if cls.contract.generic]
        asked |= {name: _event(name, "tool_name", "Shell") for name in tools}
    return asked


def _event(name: str, field: str, value: str) -> Event:
    cls = EVENTS[name]
    required: dict[str, Any] = {entry.name: "" for entry in msgspec.structs.fields(cls) if entry.required}
    return cls(**{**required, **({field: value} if field else {})})


def _rows(configuration: Configuration, names: Any, asked: dict[str, Event]) -> list[Row]:
    rows = []
    for name in names:
        number = 0
        for read in configuration.layers:
            for hook in (hook for hook in read.hooks if hook.event == name):
                off = configuration.off(read, hook)
                fit = hook.fit(asked[name], search) if name in asked else None
                runs = not off and (fit is None or fit.applies)
                number += runs
                rows.append(Row(number if runs else 0, hook, off, fit))
    return rows


def _as_json(configuration: Configuration, rows: list[Row], trusts: list[Trust]) -> str:
    layers = [
        {"layer": read.layer.kind, "file": read.layer.file, "exists": read.exists, "void": read.void or None}
        for read in configuration.layers
    ]
    data = {
        "edition": configuration.edition.name,
        "layers": layers,
        "trust": {one.coverage.root: {"state": one.state, "not_covered": one.coverage.not_covered} for one in trusts},
        "hooks": [_row_data(row, configuration) for row in rows],
    }
    problems = [problem_data(problem) for problem in configuration.problems]
    return envelope("trotline.show/1", ok=True, data=data, problems=problems)


def _row_data(row: Row, configuration: Configuration) -> dict[str, Any]:
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
        "fails": _fail_mode(hook, configuration.edition),
        "loop_limit": hook.loop_limit,
        "needs_trust": hook.layer.kind.needs_trust,
        "off": row.off or None,
        "applies": row.fit.applies if row.fit else None,
        "why": row.fit.why if row.fit else None,
    }


def _fail_mode(hook: Hook, chosen: Edition) -> str:
    """What becomes of the action when this hook fails; on an event that only observes, nothing."""
    if not chosen.refuses(hook.event, refusable=EVENTS[hook.event].contract.refusable):
        return "without effect"
    return "closed" if hook.fail_closed or hook.event in chosen.closed_by_default else "open"


def _print(configuration: Configuration, rows: list[Row], trusts: list[Trust]) -> None:
    event = ""
    for row in rows:
        if row.hook.event != event:
            event = row.hook.event
            click.echo(f"{bold(event)}  {dim(EVENTS[event].contract.when)}")
        _print_row(row, configuration)
    if not rows:
        click.echo("no hook is configured for that")
    running = sum(1 for row in rows if row.number)
    waiting = sum(1 for row in rows if row.number and row.hook.layer.kind.needs_trust)
    trust = f" ({waiting} of them only in a trusted workspace)" if waiting else ""
    click.echo(f"\n{plural(running, 'hook')} would run{trust}; {len(rows) - running} would not")
    for one in trusts:
        click.echo(f"{printable(one.coverage.root)}: {one.state}")
        for word in one.coverage.not_covered:
            click.echo(dim(f"  used, and not covered by trust: {printable(word)}"))
    worst = [problem for problem in configuration.problems if problem.severity in {Severity.VOID, Severity.ERROR}]
    if worst:
        click.echo(paint(f"{plural(len(worst), 'problem')} in these files: run `trotline check`", Severity.WARNING))


def _asks(hook: Hook, configuration: Configuration) -> str:
    """Whom a prompt hook asks."""
    chosen = configuration.models.choose(hook.model) if hook.prompt else None
    nobody = "; nobody answers it" if hook.prompt else ""
    return f"; asks {chosen.model} of {chosen.provider.name}" if chosen else nobody


def _print_row(row: Row, configuration: Configuration) -> None:
    hook = row.hook
    number = f"{row.number:>3}." if row.number else "  - "
    kind = f"{hook.layer.kind:<14}"
    click.echo(f"{number} {kind} {printable(hook.line)}")
    matcher = f"matcher {hook.matcher.source}" if hook.matcher else "no matcher"
    trust = ", needs trust" if hook.layer.kind.needs_trust else ""
    loops = f", {hook.loop_limit or 'no limit of'} follow-ups" if hook.event in {"stop", "subagentStop"} else ""
    fails = _fail_mode(hook, configuration.edition)
    where = _asks(hook, configuration) or f"; in {hook.layer.cwd or '?'}"
    about = f"{matcher}; {hook.timeout:g} s; fails {fails}{loops}{trust}{where}"
    click.echo(dim(f"     {printable(about)}"))
    click.echo(dim(f"     {printable(str(hook.place))}"))
    if row.off:
        click.echo(f"     {paint('off: ' + printable(row.off), Severity.VOID)}")
    elif row.fit:
        click.echo(f"     {'runs' if row.fit.applies else 'does not run'}: {printable(row.fit.why)}")
