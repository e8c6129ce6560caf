"""trotline policy: what the files say, whether their rules do what they were written for, and which of them speak."""

from collections.abc import Sequence
from typing import Any

import click

from trotline.cli.options import accepts_roots, json_option, roots_options
from trotline.cli.output import as_json as shown
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, problem_data
from trotline.config.places import Roots
from trotline.config.policies import Policies, read_policies
from trotline.config.problems import Problem, Severity
from trotline.machine import today

HELP = """Rules, lists and waivers in the `policy.toml` of every layer.

\b
  trotline policy check                   is everything in them understood
  trotline policy test                    does every rule stop and let pass what stands beside it
  trotline policy explain 'npm i left-pad'  which rules and lists speak, and what they say
  trotline policy schema                  a JSON Schema for editors

The owner of the machine has `/etc/trotline/policy.toml`, you have `~/.config/trotline/policy.toml`, a project has
`.trotline/policy.toml`, and can only add what is stricter.
"""
EXIT = {"silent": 0, "allow": 0, "ask": 10, "deny": 20}


@click.group("policy", help=HELP)
def command() -> None:
    pass


@command.command("check")
@json_option
@roots_options
def check(as_json: bool, roots: Roots) -> int:
    """Read the files of all layers and say what is wrong, and where."""
    read = _read(roots)
    if as_json:
        problems = [problem_data(problem) for problem in read.problems]
        click.echo(envelope("trotline.policy-check/1", ok=not problems, data=_data(read), problems=problems))
        return 1 if problems else 0
    for problem in read.problems:
        _tell(problem)
    if not read.files:
        click.echo("nobody has written a policy; the standard is in force")
        return 0
    policy = read.policy
    for file in read.files:
        click.echo(dim(printable(file)))
    counts = ((policy.rules, "rule"), (policy.lists, "list"), (policy.waivers, "waiver"))
    held = ", ".join(plural(len(what), noun) for what, noun in counts)
    click.echo(f"{held} in force, preset {bold(policy.preset)}; {plural(len(read.problems), 'problem')}")
    return 1 if read.problems else 0


def _tell(problem: Problem) -> None:
    click.echo(f"{printable(str(problem.place))}: {paint(problem.severity, problem.severity)} {problem.message}")
    if problem.source:
        click.echo(dim(f"    {printable(problem.source)}"))
        click.echo("    " + " " * (problem.source_column - 1) + "^" * problem.width)
    if problem.hint:
        click.echo(f"    hint: {problem.hint}")


def _data(read: Policies) -> dict[str, Any]:
    policy = read.policy
    rules = [
        {"name": rule.name, "layer": rule.layer, "file": rule.file, "line": rule.line, "says": rule.says}
        for rule in policy.rules
    ]
    lists = [{"name": one.name, "layer": one.layer, "entries": one.entries} for one in policy.lists]
    waivers = [waiver._asdict() for waiver in policy.waivers]
    return {"files": list(read.files), "preset": policy.preset, "rules": rules, "lists": lists, "waivers": waivers}


@command.command("test")
@json_option
@roots_options
def test(as_json: bool, roots: Roots) -> int:
    """Run the tests that stand beside the rules. Nothing is executed: lines are only judged."""
    from trotline.explanation import failures_of
    from trotline.guarding import scanning_of, world_at

    read = _read(roots)
    world = world_at(roots, [str(project) for project in roots.projects])
    scanning = scanning_of(roots)
    failed = [failure for rule in read.policy.rules for failure in failures_of(rule, world, scanning)]
    ran = sum(len(rule.stop) + len(rule.let_pass) for rule in read.policy.rules)
    untested = [rule.name for rule in read.policy.rules if not rule.stop and not rule.let_pass]
    ok = not failed and not read.problems
    if as_json:
        data = {"tests": ran, "failed": [failure._asdict() for failure in failed], "untested": untested}
        problems = [problem_data(problem) for problem in read.problems]
        click.echo(envelope("trotline.policy-test/1", ok=ok, data=data, problems=problems))
        return 0 if ok else 1
    for problem in read.problems:
        _tell(problem)
    for failure in failed:
        click.echo(f"{printable(failure.place)}: {paint('failed', Severity.ERROR)} rule {printable(failure.rule)}")
        click.echo(f"    {failure.wanted}, but {failure.got}: {printable(failure.line)}")
    for name in untested:
        click.echo(dim(f"rule {printable(name)} has no tests"))
    click.echo(f"{plural(ran, 'test')} of {plural(len(read.policy.rules), 'rule')}, {len(failed)} failed")
    return 0 if ok else 1


@command.command("explain")
@click.argument("line", metavar="COMMAND")
@json_option
@roots_options
def explain(line: str, as_json: bool, roots: Roots) -> int:
    """Which rules and lists speak about a command line; `trotline explain` tells what the guards say as well."""
    from trotline.explanation import judged_line
    from trotline.guarding import world_at

    read = _read(roots)
    world = world_at(roots, [str(project) for project in roots.projects])
    judgement = judged_line(line, world, read.policy)
    said = [opinion for opinion in judgement.opinions if opinion.layer]
    word = judgement.permission.word
    if as_json:
        data = {"permission": word, "said": [_opinion(opinion) for opinion in said]}
        problems = [problem_data(problem) for problem in read.problems]
        click.echo(envelope("trotline.policy-explain/1", ok=EXIT[word] == 0, data=data, problems=problems))
        return EXIT[word]
    for row in map(_opinion, said):
        click.echo(f"{bold(row['says'])} {printable(row['author'])} ({row['layer']}): {printable(row['reason'])}")
        if row["instead"]:
            click.echo(dim(f"    instead: {printable(row['instead'])}"))
    silent = _silent(read, {opinion.guard for opinion in said})
    click.echo(dim(f"{plural(len(silent), 'rule')} did not speak") if said else "no rule and no list speaks about it")
    click.echo(f"with the guards: {bold(word)}")
    for problem in read.problems:
        _tell(problem)
    return EXIT[word]


def _opinion(opinion: Any) -> dict[str, str]:
    return {
        "author": opinion.guard,
        "layer": opinion.layer,
        "says": str(opinion.says),
        "reason": opinion.reason,
        "instead": opinion.row.instead,
        "effect": opinion.effect.kind,
    }


def _silent(read: Policies, authors: set[str]) -> Sequence[str]:
    return [rule.name for rule in read.policy.rules if rule.author not in authors]


@command.command("schema")
@json_option
@accepts_roots
def schema(as_json: bool) -> int:
    """Print the JSON Schema (draft 2020-12) of policy.toml."""
    from trotline.config.policy_schema import policy_schema

    made = policy_schema()
    click.echo(envelope("trotline.schema/1", ok=True, data=made, problems=[]) if as_json else shown(made))
    return 0


def _read(roots: Roots) -> Policies:
    return read_policies(roots, roots.projects, today=today())
