"""trotline check: report problems of hooks, policies and settings, and run the tests of policy rules."""

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.agents.cursor.cursor_editions import get_edition
from trotline.cli.annotations import build_sarif, format_github
from trotline.cli.command import claude_option, declare, edition_option
from trotline.cli.output import Result, bold, dim, format_problems, paint, plural, printable
from trotline.config.config_keys import find_old_files
from trotline.config.hooks_json.configuration import Configuration, LayerRead, read_layers
from trotline.config.hooks_json.layers import find_layers, get_layer
from trotline.config.paths import Roots, list_config_layers
from trotline.config.problems import Problem, Severity, load_codes
from trotline.domain.contracts import Surface
from trotline.domain.errors import UsageError
from trotline.domain.hooks import LayerKind
from trotline.machine import get_today

HELP = """Read every layer of this project, or the files named, and say what is wrong: where, why, what to do.

Nothing is run and nothing is changed. Exit 0 when there is nothing but notes, 1 when there is a problem.

\b
  trotline check                         all layers of the current project
  trotline check .cursor/hooks.json      this file
  trotline check .trotline/trotline.toml this policy
  trotline check ../other-project        all layers of that project
  trotline check --test                  the tests that stand beside the rules of the policies
  trotline check --surface cli           also what never fires there
  trotline check --edition 2026-02       by the Cursor of early 2026
  trotline check --format sarif > a.json for code scanning
  trotline check --explain TL107         what a code means
"""


@declare("check", "trotline.check/1", help=HELP)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("--layer", type=click.Choice([kind.value for kind in LayerKind]), help="Read the files as this layer.")
@click.option("--surface", type=click.Choice([surface.value for surface in Surface]), help="Where the agent runs.")
@click.option("--format", "form", type=click.Choice(["human", "json", "github", "sarif"]), default="human")
@click.option("--test", "tests", is_flag=True, help="Run the tests of policy rules. Nothing is executed.")
@click.option("--explain", metavar="CODE", help="Say what a code means, and stop.")
@edition_option
@claude_option
def command(
    paths: tuple[Path, ...],
    layer: str | None,
    surface: str | None,
    form: str,
    tests: bool,
    explain: str | None,
    edition_name: str,
    claude: bool,
    roots: Roots,
) -> Result:
    if explain is not None:
        return _explain(explain)
    if tests:
        return _run_tests(roots)
    chosen = get_edition(edition_name)
    named = [_find_path(path) for path in paths]
    files = [path for path in named if not path.is_dir()]
    policies = [path for path in files if path.suffix == ".toml"]
    roots = msgspec.structs.replace(roots, projects=tuple(filter(Path.is_dir, named)) or roots.projects)
    kind = LayerKind(layer) if layer else None
    layers = [get_layer(path, roots, chosen, kind) for path in files if path not in policies]
    if len(files) < len(named) or not named:
        layers += find_layers(roots, chosen, claude=claude)
    unique = {layer.file: layer for layer in reversed(layers)}
    where = Surface(surface) if surface else None
    configuration = read_layers([*reversed(unique.values())], roots, chosen, surface=where)
    _add_config_problems(configuration, roots, policies)
    return _build_result(configuration, form)


def _add_config_problems(configuration: Configuration, roots: Roots, named: list[Path]) -> None:
    """Read trotline.toml only where there is one, because reading its policy imports the guards."""
    layers = list_config_layers(roots, map(str, roots.projects))
    if named or any(os.path.lexists(file) or find_old_files(file) for _, file in layers):
        from trotline.config.alerts_file import read_alerts
        from trotline.config.export_file import read_exports
        from trotline.config.policies import parse_policy, read_policies
        from trotline.system.files import read_file

        policies = read_policies(roots, roots.projects, today=get_today())
        problems = [*policies.problems, *read_exports(roots).problems, *read_alerts(roots).problems]
        others = [file for file in named if str(file) not in policies.files]
        for file in others:
            problems += parse_policy("user", str(file), read_file(file), get_today())[1]
        configuration.other_problems = problems
        configuration.config_files = (*policies.files, *map(str, others))


def _find_path(path: Path) -> Path:
    """Return a file, or the project of a directory."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the links that are reported
    try:
        absolute.stat()
    except (OSError, ValueError):
        hint = "name a hooks.json, a settings.json or a project"
        raise UsageError(f"there is no file `{str(path)[:200]}`", hint=hint) from None
    return absolute.parent if absolute.is_dir() and absolute.name in {".cursor", ".claude"} else absolute


def _build_result(configuration: Configuration, form: str) -> Result:
    problems = configuration.problems
    lines: Iterable[str] = _format(configuration)
    if form == "github":
        lines = format_github(problems)
    elif form == "sarif":
        lines = [json.dumps(build_sarif(problems), indent=2)]
    is_ok = all(problem.severity is Severity.NOTE for problem in problems)
    return Result(_build_data(configuration), lines, problems, ok=is_ok)


def _build_data(configuration: Configuration) -> dict[str, Any]:
    files = [
        {
            "layer": read.layer.kind,
            "file": read.layer.file,
            "exists": read.exists,
            "fatal_reason": read.fatal_reason or None,
            "hooks": len(read.hooks),
        }
        for read in configuration.layers
    ]
    return {
        "edition": configuration.edition.name,
        "files": files,
        "providers": sorted(configuration.models.providers),
        "config_files": list(configuration.config_files),
    }


def _format(configuration: Configuration) -> Iterator[str]:
    read = [layer for layer in configuration.layers if layer.exists]
    for layer in read:
        yield from _format_layer(layer)
    problems = configuration.config_problems
    for file in dict.fromkeys([*configuration.config_files, *(problem.place.file for problem in problems)]):
        yield from _format_config_file(file, problems)
    if not read:
        layer_names = ", ".join(dict.fromkeys(layer.layer.kind for layer in configuration.layers))
        yield f"no hooks are configured here (looked at: {layer_names})"
    counts = Counter(problem.severity for problem in configuration.problems)
    hooks = sum(len(layer.hooks) for layer in read if not layer.fatal_reason)
    names = {Severity.FATAL: "fatal problem"}
    tail = ", ".join(
        plural(counts[severity], names.get(severity, severity)) for severity in Severity if counts[severity]
    )
    ignored = sum(bool(layer.fatal_reason) for layer in read)
    note = f", {ignored} ignored" if ignored else ""
    yield f"{plural(len(read), 'file')} read{note}; {plural(hooks, 'hook')} in force; {tail or 'no problems'}"


def _format_layer(layer: LayerRead) -> Iterator[str]:
    yield f"{bold(printable(layer.layer.file))}  {dim(f'({layer.layer.kind})')}"
    if layer.layer.note:
        yield dim(f"  {layer.layer.note}")
    for problem in layer.problems:
        yield from _format_problem(problem)
    if layer.fatal_reason:
        sentence = f"Cursor will load nothing from this file, because {layer.fatal_reason}"
        yield f"  {paint(printable(sentence), Severity.FATAL)}"
    if not layer.problems:
        yield f"  {plural(len(layer.hooks), 'hook')}, nothing to say"
    yield ""


def _format_config_file(file: str, problems: list[Problem]) -> Iterator[str]:
    """Yield the problems of a file that only Trotline reads."""
    yield f"{bold(printable(file))}  {dim('(configuration)')}"
    file_problems = [problem for problem in problems if problem.place.file == file]
    for problem in file_problems:
        yield from _format_problem(problem)
    if not file_problems:
        yield "  nothing to say"
    yield ""


def _format_problem(problem: Problem) -> Iterator[str]:
    label = paint(f"{problem.severity} {problem.code}", problem.severity)
    where = f"{problem.place.line}:{problem.place.column}"
    yield f"  {label} {where}  {printable(problem.message)}"
    if problem.severity is Severity.NOTE:
        return
    if problem.source:
        line, column = printable(problem.source).replace("\t", " "), problem.source_column
        yield dim(f"    {problem.place.line:>5} | ") + line
        caret = "^" * max(1, min(problem.width, len(line) - column + 1))
        yield dim("          | ") + " " * (column - 1) + paint(caret, problem.severity)
    if problem.hint:
        yield f"          hint: {printable(problem.hint)}"
    yield dim(f"          see {problem.docs}")


def _explain(code: str) -> Result:
    codes = load_codes()
    known = codes.get(code.upper())
    if known is None:
        raise UsageError(f"there is no code `{code}`", hint=f"codes run from {min(codes)} to {max(codes)}")
    data = {"code": code.upper(), "severity": known.severity, "title": known.title, "about": known.about}
    line = f"{bold(code.upper())}  {known.title}  ({known.severity})\n\n{known.about}"
    return Result(data, [line], schema="trotline.check.explain/1")


def _run_tests(roots: Roots) -> Result:
    """Evaluate the commands that policy rules name as tests."""
    from trotline.config.policies import read_policies
    from trotline.evaluation.explain import run_rule_tests
    from trotline.evaluation.machine_panel import build_environment, build_scanning

    read = read_policies(roots, roots.projects, today=get_today())
    world = build_environment(roots, [str(project) for project in roots.projects])
    scanning, rules = build_scanning(roots), read.policy.rules
    failed = [failure for rule in rules for failure in run_rule_tests(rule, world, scanning)]
    ran = sum(len(rule.stop) + len(rule.let_pass) for rule in rules)
    untested = [rule.name for rule in rules if not rule.stop and not rule.let_pass]
    data = {"tests": ran, "failed": [failure._asdict() for failure in failed], "untested": untested}
    lines = [*format_problems(read.problems, len(read.problems))]
    for failure in failed:
        lines.append(f"{printable(failure.place)}: {paint('failed', Severity.ERROR)} rule {printable(failure.rule)}")
        lines.append(f"    {failure.wanted}, but {failure.got}: {printable(failure.line)}")
    lines += [dim(f"rule {printable(name)} has no tests") for name in untested]
    lines.append(f"{plural(ran, 'test')} of {plural(len(rules), 'rule')}, {len(failed)} failed")
    is_ok = not failed and not read.problems
    return Result(data, lines, read.problems, ok=is_ok, schema="trotline.check.test/1")
