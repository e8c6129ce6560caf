"""trotline check: read every layer and list what is wrong with it."""

import json
import os
from collections import Counter
from pathlib import Path

import click
import msgspec

from trotline.cli.annotations import github_lines, sarif
from trotline.cli.options import claude_option, edition_option, json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, problem_data
from trotline.config.configuration import Configuration, LayerRead, read_layers
from trotline.config.layers import find_layers, layer_of
from trotline.config.places import Roots, policy_files
from trotline.config.problems import CODES, Problem, Severity
from trotline.config.toml_page import OUTWARD, is_anywhere
from trotline.contracts import Surface
from trotline.errors import UsageError
from trotline.hooks import LayerKind
from trotline.hosts.cursor_editions import edition
from trotline.machine import today

HELP = """Read every layer of this project, or the files named, and say what is wrong: where, why, what to do.

Nothing is run and nothing is changed. Exit 0 when there is nothing but notes, 1 when there is a problem.

\b
  trotline check                         all layers of the current project
  trotline check .cursor/hooks.json      this file
  trotline check ../other-project        all layers of that project
  trotline check --surface cli           also what never fires there
  trotline check --edition 2026-02       by the Cursor of early 2026
  trotline check --format sarif > a.json for code scanning
  trotline check --explain TL107         what a code means
"""


@click.command("check", help=HELP)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("--layer", type=click.Choice([kind.value for kind in LayerKind]), help="Read the files as this layer.")
@click.option("--surface", type=click.Choice([surface.value for surface in Surface]), help="Where the agent runs.")
@click.option("--format", "form", type=click.Choice(["human", "json", "github", "sarif"]), default="human")
@click.option("--explain", metavar="CODE", help="Say what a code means, and stop.")
@json_option
@edition_option
@claude_option
@roots_options
def command(
    paths: tuple[Path, ...],
    layer: str | None,
    surface: str | None,
    form: str,
    explain: str | None,
    as_json: bool,
    edition_name: str,
    claude: bool,
    roots: Roots,
) -> int:
    form = "json" if as_json else form
    if explain is not None:
        return _explain(explain, form)
    chosen = edition(edition_name)
    named = [_named(path) for path in paths]
    roots = msgspec.structs.replace(roots, projects=tuple(filter(Path.is_dir, named)) or roots.projects)
    layers = [layer_of(path, roots, chosen, LayerKind(layer) if layer else None) for path in named if not path.is_dir()]
    if len(layers) < len(named) or not named:
        layers += find_layers(roots, chosen, claude=claude)
    once = {layer.file: layer for layer in reversed(layers)}
    configuration = read_layers(
        [*reversed(once.values())], roots, chosen, surface=Surface(surface) if surface else None
    )
    _with_policies(configuration, roots)
    _with_what_leaves(configuration, roots)
    _print(configuration, form)
    return 1 if any(problem.severity is not Severity.NOTE for problem in configuration.problems) else 0


def _with_policies(configuration: Configuration, roots: Roots) -> None:
    """Few people have any, and to read them wakes the guards."""
    if any(os.path.lexists(file) for _, file in policy_files(roots, map(str, roots.projects))):
        from trotline.config.policies import read_policies

        read = read_policies(roots, roots.projects, today=today())
        configuration.policy_files, configuration.policy_problems = read.files, list(read.problems)


def _with_what_leaves(configuration: Configuration, roots: Roots) -> None:
    """Where records are sent, and who is told of them; few people have such files."""
    if any(is_anywhere(roots, name) for name in OUTWARD):
        from trotline.config.alerts_file import read_alerts
        from trotline.config.export_file import read_exports

        exports, alerts = read_exports(roots), read_alerts(roots)
        sent = dict.fromkeys(exports.files, "where records are sent")
        configuration.outward_files = {**sent, **dict.fromkeys(alerts.files, "alerts")}
        configuration.outward_problems = [*exports.problems, *alerts.problems]


def _named(path: Path) -> Path:
    """A file, or the project that a directory is or belongs to."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow the links that we report on
    try:
        whole.stat()
    except (OSError, ValueError):
        hint = "name a hooks.json, a settings.json or a project"
        raise UsageError(f"there is no file `{str(path)[:200]}`", hint=hint) from None
    return whole.parent if whole.is_dir() and whole.name in {".cursor", ".claude"} else whole


def _print(configuration: Configuration, form: str) -> None:
    if form == "json":
        click.echo(_as_json(configuration))
    elif form == "github":
        for line in github_lines(configuration.problems):
            click.echo(line)
    elif form == "sarif":
        click.echo(json.dumps(sarif(configuration.problems), indent=2))
    else:
        _print_for_people(configuration)


def _as_json(configuration: Configuration) -> str:
    files = [
        {
            "layer": read.layer.kind,
            "file": read.layer.file,
            "exists": read.exists,
            "void": read.void or None,
            "hooks": len(read.hooks),
        }
        for read in configuration.layers
    ]
    problems = [problem_data(problem) for problem in configuration.problems]
    ok = all(problem.severity is Severity.NOTE for problem in configuration.problems)
    models = {"files": configuration.models.files, "providers": sorted(configuration.models.providers)}
    data = {"edition": configuration.edition.name, "files": files, "models": models}
    data["policies"] = list(configuration.policy_files)
    return envelope("trotline.check/1", ok=ok, data=data, problems=problems)


def _print_for_people(configuration: Configuration) -> None:
    read = [layer for layer in configuration.layers if layer.exists]
    for layer in read:
        _print_layer(layer)
    models, settings = configuration.models, configuration.settings
    for file in models.files:
        _print_own(file, "models for prompt hooks", models.problems, models.void.get(file, ""))
    for file in settings.files:
        _print_own(file, "settings", settings.problems)
    for file in configuration.policy_files:
        _print_own(file, "policy", configuration.policy_problems)
    for file, about in configuration.outward_files.items():
        _print_own(file, about, configuration.outward_problems)
    if not read:
        looked = ", ".join(dict.fromkeys(layer.layer.kind for layer in configuration.layers))
        click.echo(f"no hooks are configured here (looked at: {looked})")
    counts = Counter(problem.severity for problem in configuration.problems)
    hooks = sum(len(layer.hooks) for layer in read if not layer.void)
    tail = ", ".join(plural(counts[severity], severity) for severity in Severity if counts[severity])
    void = f", {sum(1 for layer in read if layer.void)} void" if any(layer.void for layer in read) else ""
    click.echo(f"{plural(len(read), 'file')} read{void}; {plural(hooks, 'hook')} in force; {tail or 'no problems'}")


def _print_layer(layer: LayerRead) -> None:
    click.echo(f"{bold(printable(layer.layer.file))}  {dim(f'({layer.layer.kind})')}")
    if layer.layer.note:
        click.echo(dim(f"  {layer.layer.note}"))
    for problem in layer.problems:
        _print_problem(problem)
    if layer.void:
        sentence = f"Cursor will load nothing from this file, because {layer.void}"
        click.echo(f"  {paint(printable(sentence), Severity.VOID)}")
    if not layer.problems:
        click.echo(f"  {plural(len(layer.hooks), 'hook')}, nothing to say")
    click.echo()


def _print_own(file: str, about: str, problems: list[Problem], void: str = "") -> None:
    """A file that only we read."""
    click.echo(f"{bold(printable(file))}  {dim(f'({about})')}")
    own = [problem for problem in problems if problem.place.file == file]
    for problem in own:
        _print_problem(problem)
    if void:
        click.echo(f"  {paint(f'nothing of this file is in force, because {printable(void)}', Severity.VOID)}")
    if not own:
        click.echo("  nothing to say")
    click.echo()


def _print_problem(problem: Problem) -> None:
    label = paint(f"{problem.severity} {problem.code}", problem.severity)
    where = f"{problem.place.line}:{problem.place.column}"
    click.echo(f"  {label} {where}  {printable(problem.message)}")
    if problem.severity is Severity.NOTE:
        return
    if problem.source:
        line, column = printable(problem.source).replace("\t", " "), problem.source_column
        click.echo(dim(f"    {problem.place.line:>5} | ") + line)
        caret = "^" * max(1, min(problem.width, len(line) - column + 1))
        click.echo(dim("          | ") + " " * (column - 1) + paint(caret, problem.severity))
    if problem.hint:
        click.echo(f"          hint: {printable(problem.hint)}")
    click.echo(dim(f"          see {problem.docs}"))


def _explain(code: str, form: str) -> int:
    known = CODES.get(code.upper())
    if known is None:
        raise UsageError(f"there is no code `{code}`", hint=f"codes run from {min(CODES)} to {max(CODES)}")
    if form == "json":
        data = {"code": code.upper(), "severity": known.severity, "title": known.title, "about": known.about}
        click.echo(envelope("trotline.check.explain/1", ok=True, data=data, problems=[]))
    else:
        click.echo(f"{bold(code.upper())}  {known.title}  ({known.severity})\n\n{known.about}")
    return 0
