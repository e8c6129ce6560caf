"""trotline packages: the list of malicious packages that installs are judged by, loaded from files on this machine."""

from collections.abc import Sequence
from pathlib import Path

import click

from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, paint, plural, printable, problem_data
from trotline.config.malicious import Reports, loaded, write_list
from trotline.config.places import Roots, malicious_files
from trotline.config.problems import Problem
from trotline.errors import TrotlineError

HELP = """Reports of malicious packages in the OSV format, kept here and asked before every install. Nothing is fetched.

\b
  trotline packages load all.zip            entries from an archive, a directory or a file; replaces what was loaded
  trotline packages check pkg:npm/left-pad  what the list says about a package
  trotline packages                         which lists there are, and how old
"""
MOST_TOLD = 10
EXIT = {False: 0, True: 1}


@click.group("packages", help=HELP, invoke_without_command=True)
@json_option
@roots_options
@click.pass_context
def command(context: click.Context, as_json: bool, roots: Roots) -> int:
    if context.invoked_subcommand is not None:
        return 0
    lists = loaded(roots)
    problems = lists.problems
    if as_json:
        shown = [problem_data(problem) for problem in problems]
        data = {"lists": [{"file": file, **head} for file, head in lists.heads]}
        click.echo(envelope("trotline.packages/1", ok=not problems, data=data, problems=shown))
        return EXIT[bool(problems)]
    for file, head in lists.heads:
        newest = f", newest of {printable(str(head['newest']))[:10]}" if head.get("newest") else ""
        click.echo(f"{printable(file)}: {plural(int(head.get('entries', 0)), 'report')}{newest}")
    _tell(problems)
    if not lists.heads and not problems:
        click.echo("no list is loaded; `trotline packages load PATH` takes one in the OSV format")
    return EXIT[bool(problems)]


@command.command("load")
@click.argument("paths", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path), metavar="PATH...")
@json_option
@roots_options
def load(paths: tuple[Path, ...], as_json: bool, roots: Roots) -> int:
    """Make a list of all entries below these paths; it takes the place of the one that was loaded before."""
    from trotline.config.osv import Osv

    osv = Osv()
    rows = list(osv.rows(paths))
    if not rows:
        why = printable(osv.problems[0].message) if osv.problems else "no entry has an id that begins with MAL-"
        raise TrotlineError(f"nothing was loaded, and what was there before stays: {why}", hint="give files of OSV")
    lines = write_list(roots, rows, {"entries": osv.entries, "newest": osv.newest})
    data = {"entries": osv.entries, "packages": lines, "newest": osv.newest, "left_out": dict(osv.left_out)}
    if as_json:
        problems = [problem_data(problem) for problem in osv.problems]
        click.echo(envelope("trotline.packages-load/1", ok=not problems, data=data, problems=problems))
        return EXIT[bool(problems)]
    _tell(osv.problems)
    click.echo(f"{bold(plural(osv.entries, 'report'))} loaded, {plural(lines, 'package')}")
    for what, count in osv.left_out.most_common():
        click.echo(dim(f"  {what}: {count}"))
    return EXIT[bool(osv.problems)]


def _tell(problems: Sequence[Problem]) -> None:
    for problem in problems[:MOST_TOLD]:
        severity = paint(problem.severity, problem.severity)
        click.echo(f"{printable(str(problem.place))}: {severity} {printable(problem.message)}")
        if problem.hint:
            click.echo(f"    hint: {problem.hint}")
    if len(problems) > MOST_TOLD:
        click.echo(f"and {len(problems) - MOST_TOLD} more")


@command.command("check")
@click.argument("packages", nargs=-1, required=True, metavar="PURL...")
@json_option
@roots_options
def check(packages: tuple[str, ...], as_json: bool, roots: Roots) -> int:
    """What the lists say about packages, given as package URLs. Exit 1 when one of them is reported."""
    files = [str(file) for file in malicious_files(roots) if file.exists()]
    if not files:
        raise TrotlineError("no list is loaded", hint="`trotline packages load PATH` takes one in the OSV format")
    reports = Reports(files)
    said = {package: reports.of(package) for package in packages}
    if as_json:
        click.echo(envelope("trotline.packages-check/1", ok=not any(said.values()), data=said, problems=[]))
        return EXIT[any(said.values())]
    for package, why in said.items():
        click.echo(f"{printable(package)}: {printable(why) or 'not reported'}")
    return EXIT[any(said.values())]
