"""trotline guards: every guard with its level, and the lists of malicious packages."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import click

from trotline.cli.command import declare, declare_group
from trotline.cli.output import Result, bold, dim, format_problems, plural, printable
from trotline.config.malicious import PackageReports, read_list_heads, write_list
from trotline.config.paths import Roots, list_malicious_files
from trotline.config.policies import Policies, read_policies
from trotline.domain.errors import TrotlineError, UsageError
from trotline.guards import load_guards
from trotline.guards.cases import load_cases
from trotline.guards.guard import PRESETS, Guard
from trotline.machine import get_today

HELP = """List the guards, what each may do, and which layer says so; with a name, everything about one.

\b
  trotline guards
  trotline guards deletion
  trotline guards --json
  trotline guards packages                         also which lists of malicious packages there are, and how old
  trotline guards packages load all.zip            reports in the OSV format; replaces what was loaded
  trotline guards packages check pkg:npm/left-pad  what the lists say about a package

A guard is `enforce` unless a policy says otherwise: `~/.config/trotline/trotline.toml`, and in a project, which can
only be stricter, `.trotline/trotline.toml`.
"""
PACKAGES = "packages"
NO_LIST = "no list is loaded; `trotline guards packages load PATH` takes one in the OSV format"


class GuardGroup(click.Group):
    """A group whose subcommands are `packages` and the names of all guards."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the subcommand that the arguments name, or `show` with the name of a guard."""
        if args and args[0] not in self.commands:
            return "show", show_guard, args
        return super().resolve_command(ctx, args)


@declare_group("guards", "trotline.guards/1", help=HELP, kind=GuardGroup)
def command(roots: Roots) -> Result:
    return _build_result(load_guards(), roots, _format_table)


@declare("show", "trotline.guards/1")
@click.argument("name")
def show_guard(name: str, roots: Roots) -> Result:
    """Show one guard."""
    return _show_guard(name, roots)


def _show_guard(name: str, roots: Roots) -> Result:
    chosen = [guard for guard in load_guards() if guard.name == name]
    if not chosen:
        known = ", ".join(guard.name for guard in load_guards())
        raise UsageError(f"there is no guard `{name}`", hint=f"known: {known}")
    return _build_result(chosen, roots, _format_guard)


def _build_result(guards: Any, roots: Roots, form: Any) -> Result:
    read = read_policies(roots, roots.projects, today=get_today())
    data = {"preset": read.policy.preset, "guards": [_build_data(guard, read) for guard in guards]}
    warnings = [
        f"{problem.place.file}:{problem.place.line}: {problem.message} {problem.hint}" for problem in read.problems
    ]
    lines = list(form(guards, read))
    return Result(data, lines, read.problems, ok=not read.problems, warnings=warnings)


def _format_table(guards: list[Guard], read: Policies) -> Iterator[str]:
    policy = read.policy
    yield f"preset {bold(policy.preset)} {dim(f'({policy.preset_layer})')}"
    width = max(len(guard.name) for guard in guards)
    for guard in guards:
        agent, tab = policy.get_setting(guard.name), policy.get_setting(guard.name, tab=True)
        apart = f", Tab {tab.level}" if tab.level != agent.level else ""
        yield f"  {guard.name:{width}}  {agent.level:8} {dim(agent.layer):12}{apart}  {guard.danger}"


def _format_guard(guards: list[Guard], read: Policies) -> Iterator[str]:
    (guard,) = guards
    setting = read.policy.get_setting(guard.name)
    yield f"{bold(guard.name)}: {guard.danger}"
    yield f"{setting.level} {dim(f'({setting.layer})')}; looks at {', '.join(sorted(guard.kinds))}"
    width = max(len(rule.name) for rule in guard.rules)
    yield dim(f"  {'':{width}}  {'  '.join(f'{preset:8}' for preset in PRESETS)}")
    for rule in guard.rules:
        actions = "  ".join(f"{action:8}" for action in rule.actions)
        yield f"  {rule.name:{width}}  {actions}  {rule.reason}{dim(' (mandatory)') if rule.mandatory else ''}"
    cases = load_cases(guard.name)
    yield dim("stops, in strict:  ") + "  ".join(cases.commands[:3])
    yield dim("lets pass:         ") + "  ".join(cases.passes[:3])


def _build_data(guard: Guard, read: Policies) -> dict[str, Any]:
    agent, tab = (read.policy.get_setting(guard.name, tab=tab) for tab in (False, True))
    return {
        "name": guard.name,
        "danger": guard.danger,
        "level": agent.level,
        "layer": agent.layer,
        "tab": tab.level,
        "effects": sorted(guard.kinds),
        "rules": [
            {
                "name": rule.name,
                "actions": dict(zip(PRESETS, rule.actions, strict=True)),
                "mandatory": rule.mandatory,
            }
            for rule in guard.rules
        ],
    }


# Lists of malicious packages


@declare_group(PACKAGES, "trotline.guards.packages/1")
def packages(roots: Roots) -> Result:
    """The guard, and the lists of malicious packages that installs are judged by. Nothing is fetched."""
    shown, lists = _show_guard(PACKAGES, roots), read_list_heads(roots)
    lines = [*format_problems(lists.problems), *(_format_list(file, head) for file, head in lists.heads)]
    problems = [*shown.problems, *lists.problems]
    data = {**shown.data, "lists": [{"file": file, **head} for file, head in lists.heads]}
    return shown._replace(data=data, lines=[*shown.lines, *(lines or [NO_LIST])], problems=problems, ok=not problems)


def _format_list(file: str, head: Mapping[str, Any]) -> str:
    newest = f", newest of {printable(str(head['newest']))[:10]}" if head.get("newest") else ""
    return f"{printable(file)}: {plural(int(head.get('entries', 0)), 'report')}{newest}"


@declare("load", "trotline.guards.packages.load/1", parent=packages)
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="PATH...")
def load(paths: tuple[Path, ...], roots: Roots) -> Result:
    """Make a list of all entries below these paths; it takes the place of the one that was loaded before."""
    from trotline.config.osv import OsvReader

    osv = OsvReader()
    rows = list(osv.read_rows(paths))
    if not rows:
        why = printable(osv.problems[0].message) if osv.problems else "no entry has an id that begins with MAL-"
        raise TrotlineError(f"nothing was loaded, and what was there before stays: {why}", hint="give files of OSV")
    count = write_list(roots, rows, {"entries": osv.entries, "newest": osv.newest})
    data = {"entries": osv.entries, "packages": count, "newest": osv.newest, "left_out": dict(osv.left_out)}
    left_out = [dim(f"  {reason}: {number}") for reason, number in osv.left_out.most_common()]
    line = f"{bold(plural(osv.entries, 'report'))} loaded, {plural(count, 'package')}"
    return Result(data, [*format_problems(osv.problems), line, *left_out], osv.problems, ok=not osv.problems)


@declare("check", "trotline.guards.packages.check/1", parent=packages)
@click.argument("names", nargs=-1, required=True, metavar="PURL...")
def check(names: tuple[str, ...], roots: Roots) -> Result:
    """Look up packages, given as package URLs, in the lists. Exit 1 when one of them is reported."""
    files = [str(file) for file in list_malicious_files(roots) if file.exists()]
    if not files:
        hint = "`trotline guards packages load PATH` takes one in the OSV format"
        raise TrotlineError("no list is loaded", hint=hint)
    reports = PackageReports(files)
    reported = {name: reports.find_report(name) for name in names}
    lines = [f"{printable(name)}: {printable(report) or 'not reported'}" for name, report in reported.items()]
    return Result(reported, lines, ok=not any(reported.values()))


command.add_command(packages)
