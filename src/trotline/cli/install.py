"""trotline install: find the agents on this machine, propose, ask, write our line into their hooks, and verify it."""

import os
from collections.abc import Iterator
from typing import Any

import click

from trotline.agents import AGENTS
from trotline.agents.agent import Agent
from trotline.cli.command import check_home, declare, may_ask, wants_json
from trotline.cli.output import Result, bold, dim, paint, plural, printable
from trotline.config.install.hook_entries import HookFileTarget, get_location
from trotline.config.install.installation import FileResult, InstallOutcome
from trotline.config.paths import Roots
from trotline.config.problems import Problem, Severity
from trotline.config.settings import MONITOR, read_settings
from trotline.doctor.canary_call import MAX_SECONDS, CanaryResult
from trotline.doctor.examination import describe_manual_setup
from trotline.doctor.hook_lines import format_check_command
from trotline.doctor.installed_agents import InstalledAgent, find_installed_agents
from trotline.doctor.monitoring import describe_monitor_mode
from trotline.doctor.setup import (
    InstallPlan,
    InstallTerms,
    SetupResult,
    check_mode,
    choose_fail_mode,
    find_place,
    get_worst_outcome,
    plan_install,
    run_install,
)
from trotline.domain.errors import UsageError
from trotline.hook.answer import CANARY_WORD

HELP = """Begin here: find the agents on this machine, put our line into their hooks, and see that refusals arrive.

You are shown what would be written and asked for every agent. Nothing else in their files moves by a byte, and
`trotline uninstall` gives them back. Doing it again changes nothing, or brings our lines up to date. At the end a
canary goes through each line: a shell command that must be refused.

\b
  trotline install                     every agent found here, for you
  trotline install cursor codex        only these
  trotline install --dry-run           what would change, as a diff
  trotline install --monitor           write down what would be refused, and refuse nothing yet
  trotline install --enforce           from now on, refuse
  trotline install codex --layer project
"""

LAYERS = ("user", "project", "enterprise")
NO_TERMINAL = "nobody can be asked here, so nothing was written"
ASK_FAIL_CLOSED = "If Trotline itself breaks, shall the agent's action be blocked (fail closed)?"
ASK_END_MONITORING = "Monitor mode is on: nothing is refused. Refuse from now on?"
MODES = {
    "enforce": "enforce: what is to be refused is refused",
    MONITOR: "monitor: what would be refused is written down, and nothing is refused",
}


@declare("install", "trotline.install/1", help=HELP)
@click.argument("agents", nargs=-1, type=click.Choice(list(AGENTS)), metavar="[AGENT]...")
@click.option("--layer", type=click.Choice(LAYERS), default="user", show_default=True)
@click.option("--monitor", "mode", flag_value=MONITOR, help="Judge and write down, and refuse nothing.")
@click.option("--enforce", "mode", flag_value="enforce", help="Refuse what is to be refused; ends monitor mode.")
@click.option("--fail-closed/--fail-open", default=None, help="Whether an action is blocked when our line breaks.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
@click.option("--yes", is_flag=True, help="Do not ask.")
def command(
    agents: tuple[str, ...],
    layer: str,
    mode: str | None,
    fail_closed: bool | None,
    dry_run: bool,
    yes: bool,
    roots: Roots,
) -> Result:
    here = find_installed_agents(roots, agents)
    manual = [installed.agent for installed in here if installed.agent.wiring is None]
    here = [installed for installed in here if installed.agent.wiring is not None]
    if not agents:
        here = [installed for installed in here if installed.agent.wiring and layer in installed.agent.wiring.files]
    if not here and not manual:
        raise UsageError("no agent was found on this machine", hint=f"name one: {', '.join(AGENTS)}")
    asks = may_ask(yes=yes, dry_run=dry_run)
    _show(_format_found(here, manual, layer, roots))
    if layer == "user" and (yes or dry_run or asks):
        check_home(roots, asks=asks or dry_run)
    can_close = any(installed.agent.wiring and installed.agent.wiring.fail_closed for installed in here)
    terms = _choose_terms(mode, fail_closed, layer, roots, asks=asks, can_close=can_close)
    plans = [plan_install(installed, roots, terms) for installed in here]
    _show(_format_plans(plans, terms))
    if not (yes or dry_run or asks):
        raise UsageError(NO_TERMINAL, hint="--yes does it, --dry-run shows the diff")
    chosen = [plan for plan in plans if not plan.why and (not asks or _is_confirmed(plan))]
    setup = run_install(chosen, roots, terms, dry_run=dry_run)
    is_ok = setup.holds and not any(plan.why for plan in plans)
    problems = [problem for files in setup.files for file in files for problem in file.problems]
    return Result(
        _build_data(setup, plans, manual, terms), _format_setup(setup, roots, dry_run=dry_run), problems, ok=is_ok
    )


def _show(lines: Iterator[str]) -> None:
    """Print at once, so that a person sees it before being asked."""
    if not wants_json():
        for line in lines:
            click.echo(line)


def _choose_terms(
    mode: str | None, fail_closed: bool | None, layer: str, roots: Roots, *, asks: bool, can_close: bool
) -> InstallTerms:
    """Take terms from the options, and ask for the rest."""
    if mode is None:
        mode = read_settings(roots).mode
        if mode == MONITOR and asks and click.confirm(ASK_END_MONITORING, default=True):
            mode = "enforce"
    check_mode(mode, roots)
    closed = choose_fail_mode(fail_closed, mode=mode, in_ci=os.environ.get("CI") == "true")
    if closed is None:
        closed = click.confirm(ASK_FAIL_CLOSED, default=True) if asks and can_close else True
    return InstallTerms(mode, closed, layer)


def _format_found(here: list[InstalledAgent], manual: list[Agent], layer: str, roots: Roots) -> Iterator[str]:
    yield bold("Found here")
    for installed in here:
        version, place = installed.version or "version unknown", str(find_place(installed, layer, roots))
        yield f"  {installed.agent.title:<20} {printable(version):<20} {printable(place)}"
    yield from (f"  {describe_manual_setup(agent)}" for agent in manual)


def _format_plans(plans: list[InstallPlan], terms: InstallTerms) -> Iterator[str]:
    yield from ("", bold("To be done"))
    yield from (f"  {plan.installed.agent.title:<20} {_format_plan(plan, terms)}" for plan in plans)
    yield from (f"  {'Mode':<20} {MODES[terms.mode]}", "")


def _format_plan(plan: InstallPlan, terms: InstallTerms) -> str:
    if plan.why:
        return paint(f"cannot be done: {printable(plan.why)}", Severity.ERROR)
    wiring = plan.targets[0].wiring
    events = plural(len(wiring.events), "event")
    if plan.outcome is InstallOutcome.REFUSED:
        return paint(f"refused: {_describe_refusal(plan)}", Severity.ERROR)
    if plan.outcome is InstallOutcome.NOTHING:
        return f"nothing to do: our line is at all of its {events}"
    if wiring.owns_file:
        return f"{plural(len(plan.targets), 'file')} of our own for {events}, failing closed"
    if not wiring.fail_closed:
        return f"our line at {events}; it has no setting that makes a broken hook block"
    return f"our line at {events}, failing {'closed' if terms.fail_closed else 'open'}"


def _describe_refusal(plan: InstallPlan) -> str:
    messages = [
        problem.message for file in plan.planned if file.outcome is InstallOutcome.REFUSED for problem in file.problems
    ]
    return printable(messages[0]) if messages and plan.targets[0].wiring.owns_file else "the file cannot be read"


def _is_confirmed(plan: InstallPlan) -> bool:
    """Ask, unless the files stay as they are."""
    if all(file.outcome is not InstallOutcome.WRITTEN for file in plan.planned):
        return True
    return click.confirm(f"Write this into {printable(str(get_location(plan.targets)))}?", default=True)


def _format_setup(setup: SetupResult, roots: Roots, *, dry_run: bool) -> Iterator[str]:
    if setup.settings.outcome is InstallOutcome.WRITTEN:
        yield f"{bold('Settings')}  {printable(str(setup.settings.path))}: {'would be ' * dry_run}written"
        if dry_run:
            yield from (f"  {line}" for line in setup.settings.difference.splitlines())
    targets = [target for plan in setup.plans for target in plan.targets]
    yield from format_files(targets, [file for files in setup.files for file in files], dry_run=dry_run)
    if dry_run:
        return
    yield ""
    for result in setup.canaries:
        yield from format_canary(result) if result is not None else ()
    if monitors := describe_monitor_mode(roots):
        yield paint(monitors, Severity.WARNING)
    yield from ("", f"next: {_find_next_step(setup, roots)}")


def format_canary(result: CanaryResult) -> Iterator[str]:
    """Yield one line about the canary of an agent, and the output of a line that did not refuse it."""
    words = [f"NOT loaded: {printable(result.fatal)}" if result.fatal else "valid"]
    words[0] += "" if result.current else ", not current: run `trotline install`"
    words.append("executed" if result.executed else "not executed")
    words.append("refused" if result.refused else "NOT refused")
    severity = Severity.NOTE if result.holds else Severity.ERROR
    yield f"{bold(result.title)}  {paint(' / '.join(words), severity)}  {dim(f'{result.seconds * 1000:.0f} ms')}"
    if result.fatal:
        yield f"  `{format_check_command(result.file)}` shows where"
    if not (result.executed and result.refused):
        yield f"  {printable(result.output)[:300]}"
    if result.seconds > MAX_SECONDS:
        yield f"  slower than {MAX_SECONDS * 1000:.0f} ms, as a first call may be"


def _find_next_step(setup: SetupResult, roots: Roots) -> str:
    fatal = [result.file for result in setup.canaries if result is not None and result.fatal]
    if fatal:
        return format_check_command(fatal[0])
    if not setup.files:
        return "trotline install, and say yes to one of them"
    if not setup.holds:
        return "trotline doctor"
    if read_settings(roots).monitors:
        return "work as usual; `trotline doctor` then says what enforcing would have stopped"
    titles = [plan.installed.agent.title for plan in setup.plans]
    started = titles[0] if len(titles) == 1 else "these agents"
    must = f"ask for `echo {CANARY_WORD}`: it must be refused"
    return f"start {started} anew and {must}. `trotline uninstall` takes all back"


def _build_data(
    setup: SetupResult, plans: list[InstallPlan], manual: list[Agent], terms: InstallTerms
) -> dict[str, Any]:
    canaries = setup.canaries or [None] * len(setup.plans)
    agents = [
        {
            "agent": plan.installed.agent.name,
            "version": plan.installed.version,
            "layer": terms.layer,
            "done": get_worst_outcome(files),
            "files": [build_file_data(file) for file in files],
            "canary": result._asdict() if result else None,
            "note": plan.targets[0].wiring.note,
        }
        for plan, files, result in zip(setup.plans, setup.files, canaries, strict=True)
    ]
    return {
        "agents": agents,
        "blocked": [{"agent": plan.installed.agent.name, "why": plan.why} for plan in plans if plan.why],
        "manual": [agent.name for agent in manual],
        "mode": terms.mode,
        "fail_closed": terms.fail_closed,
        "settings": {"file": str(setup.settings.path), "done": setup.settings.outcome},
    }


def build_file_data(file: FileResult) -> dict[str, Any]:
    """Return the data of a file for --json."""
    return {
        "file": str(file.path),
        "done": file.outcome,
        "difference": file.difference,
        "backup": str(file.backup) if file.backup else None,
    }


def format_files(targets: list[HookFileTarget], results: list[FileResult], *, dry_run: bool) -> Iterator[str]:
    """Yield what was done to each file, its problems, and its backup."""
    for target, file in zip(targets, results, strict=True):
        would = "would be " if dry_run and file.outcome is not InstallOutcome.NOTHING else ""
        yield f"{bold(target.agent.title)}  {printable(str(file.path))}: {would}{file.outcome}"
        yield from (f"  {line}" for line in file.difference.splitlines() if dry_run)
        for problem in file.problems:
            yield from _format_problem(problem)
        if file.backup:
            yield dim(f"  what was there is kept as {printable(str(file.backup))}")
        if target.wiring.note and file.outcome is InstallOutcome.WRITTEN:
            yield f"  {target.wiring.note}"
    yield dim(f"{plural(len(results), 'file')} looked at")


def _format_problem(problem: Problem) -> Iterator[str]:
    yield paint(f"  {problem.code} {printable(str(problem.place))}: {problem.message}", Severity.WARNING)
    if problem.hint:
        yield f"    hint: {problem.hint}"
