"""trotline guards: every guard with its level, and where that comes from."""

from typing import Any

import click

from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, problem_data
from trotline.config.places import Roots
from trotline.config.policies import Policies, read_policies
from trotline.errors import UsageError
from trotline.guards import guards
from trotline.guards.guard import PRESETS, Guard
from trotline.machine import today

HELP = """List the guards, what each may do, and which layer says so; with a name, everything about one.

\b
  trotline guards
  trotline guards deletion
  trotline guards --json

A guard is `enforce` unless a policy says otherwise: `~/.config/trotline/policy.toml`, and in a project, which can only
be stricter, `.trotline/policy.toml`.
"""


@click.command("guards", help=HELP)
@click.argument("name", required=False)
@json_option
@roots_options
@click.pass_context
def command(context: click.Context, roots: Roots, *, name: str | None, as_json: bool) -> None:
    read = read_policies(roots, roots.projects, today=today())
    chosen = [guard for guard in guards() if name in {None, guard.name}]
    if not chosen:
        known = ", ".join(guard.name for guard in guards())
        raise UsageError(f"there is no guard `{name}`", hint=f"known: {known}")
    if as_json:
        data = {"preset": read.policy.preset, "guards": [_data(guard, read) for guard in chosen]}
        problems = [problem_data(problem) for problem in read.problems]
        click.echo(envelope("trotline.guards/1", ok=not problems, data=data, problems=problems))
    elif name:
        _show(chosen[0], read)
    else:
        _table(chosen, read)
    for problem in read.problems if not as_json else ():
        click.echo(f"{problem.place.file}:{problem.place.line}: {problem.message} {problem.hint}", err=True)
    context.exit(1 if read.problems else 0)


def _table(chosen: list[Guard], read: Policies) -> None:
    policy = read.policy
    click.echo(f"preset {bold(policy.preset)} {dim(f'({policy.preset_layer})')}")
    width = max(len(guard.name) for guard in chosen)
    for guard in chosen:
        agent, tab = policy.setting(guard.name), policy.setting(guard.name, tab=True)
        apart = f", Tab {tab.level}" if tab.level != agent.level else ""
        click.echo(f"  {guard.name:{width}}  {agent.level:8} {dim(agent.layer):12}{apart}  {guard.danger}")


def _show(guard: Guard, read: Policies) -> None:
    setting = read.policy.setting(guard.name)
    click.echo(f"{bold(guard.name)}: {guard.danger}")
    click.echo(f"{setting.level} {dim(f'({setting.layer})')}; looks at {', '.join(sorted(guard.kinds))}")
    width = max(len(row.name) for row in guard.rows)
    click.echo(dim(f"  {'':{width}}  {'  '.join(f'{preset:8}' for preset in PRESETS)}"))
    for row in guard.rows:
        says = "  ".join(f"{word:8}" for word in row.says.split())
        click.echo(f"  {row.name:{width}}  {says}  {row.reason}{dim(' (floor)') if row.floor else ''}")
    click.echo(dim("stops, in strict:  ") + "  ".join(guard.stops[:3]))
    click.echo(dim("lets pass:         ") + "  ".join(guard.passes[:3]))


def _data(guard: Guard, read: Policies) -> dict[str, Any]:
    agent, tab = (read.policy.setting(guard.name, tab=tab) for tab in (False, True))
    return {
        "name": guard.name,
        "danger": guard.danger,
        "level": agent.level,
        "layer": agent.layer,
        "tab": tab.level,
        "effects": sorted(guard.kinds),
        "rows": [
            {"name": row.name, "says": dict(zip(PRESETS, row.says.split(), strict=True)), "floor": row.floor}
            for row in guard.rows
        ],
    }
