"""trotline packages: the list of malicious packages that installs are judged by, loaded from files on this machine."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, plural, printable, tell_status
from trotline.config.malicious import Reports, loaded, write_list
from trotline.config.places import Roots, malicious_files
from trotline.errors import TrotlineError

HELP = """Reports of malicious packages in the OSV format, kept here and asked before every install. Nothing is fetched.

\b
  trotline packages load all.zip            entries from an archive, a directory or a file; replaces what was loaded
  trotline packages check pkg:npm/left-pad  what the list says about a package
  trotline packages                         which lists there are, and how old
"""


@click.group("packages", help=HELP, invoke_without_command=True)
@json_option
@roots_options
@click.pass_context
def command(context: click.Context, as_json: bool, roots: Roots) -> int:
    if context.invoked_subcommand is not None:
        return 0
    lists = loaded(roots)
    problems = lists.problems
    data = {"lists": [{"file": file, **head} for file, head in lists.heads]}
    lines = [_line(file, head) for file, head in lists.heads]
    if not lines and not problems:
        lines = ["no list is loaded; `trotline packages load PATH` takes one in the OSV format"]
    return tell_status("trotline.packages/1", data, lines, problems, ok=not problems, as_json=as_json)


def _line(file: str, head: Mapping[str, Any]) -> str:
    newest = f", newest of {printable(str(head['newest']))[:10]}" if head.get("newest") else ""
    return f"{printable(file)}: {plural(int(head.get('entries', 0)), 'report')}{newest}"


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
    left_out = [dim(f"  {what}: {count}") for what, count in osv.left_out.most_common()]
    told = [f"{bold(plural(osv.entries, 'report'))} loaded, {plural(lines, 'package')}", *left_out]
    problems = osv.problems
    return tell_status("trotline.packages-load/1", data, told, problems, ok=not problems, as_json=as_json)


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
    lines = [f"{printable(package)}: {printable(why) or 'not reported'}" for package, why in said.items()]
    return tell_status("trotline.packages-check/1", said, lines, [], ok=not any(said.values()), as_json=as_json)
