"""trotline scan: secrets, markers and dangerous settings in files, without running anything."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.cli.annotations import finding_lines, github_lines, sarif_of_findings
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, envelope, plural, printable, problem_data
from trotline.config.places import Roots
from trotline.config.problems import Problem
from trotline.config.tree import Skipped
from trotline.config.whole_file import put
from trotline.effects import Certainty
from trotline.errors import TrotlineError, UsageError
from trotline.findings import SHORT
from trotline.scanners.baseline import Baseline, read_baseline, written
from trotline.scanners.control import Control
from trotline.scanners.scan import Scanner
from trotline.sweep import Sweep, Swept

HELP = """Scan files and trees for secrets, markers of prompt injection and characters nobody sees; and the control
files of every agent and editor in them for hooks and settings that nobody should pull unread.

Nothing is run, no value is printed. Exit 0 when there is nothing, 1 when there is something.

\b
  trotline scan                             the current directory
  trotline scan src .env                    these
  trotline scan --scanner pii data/         personal data, which is off unless asked for
  trotline scan --baseline known.json       only what is new
  trotline scan --baseline known.json --write-baseline
  trotline scan --rules ours.toml           with rules of your own beside ours
  trotline scan --format sarif > scan.sarif for code scanning
"""

NAMES = ("secrets", "pii", "injection", "invisible")
BY_DEFAULT = ("secrets", "injection", "invisible")
VALUES = frozenset({"secrets", "pii"})
"""Scanners whose findings are values; digits tell people which of them are the same."""

MANY = {
    Skipped.BINARY: "binary files",
    Skipped.LINK: "links",
    Skipped.SPECIAL: "pipes, sockets or devices",
    Skipped.UNREADABLE: "unreadable files or directories",
    Skipped.TOOLS: "directories that tools fill",
}


@click.command("scan", help=HELP)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("--scanner", "names", multiple=True, type=click.Choice(NAMES), help="Only this one; may be repeated.")
@click.option("--rules", multiple=True, type=click.Path(path_type=Path), help="More rules for secrets, as gitleaks'.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Findings that are known and accepted.")
@click.option("--write-baseline", is_flag=True, help="Accept everything that is found now, in the baseline.")
@click.option("--everything", is_flag=True, help="Also in directories that tools fill, such as node_modules.")
@click.option("--format", "form", type=click.Choice(["human", "json", "github", "sarif"]), default="human")
@json_option
@roots_options
def command(
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    rules: tuple[Path, ...],
    baseline: Path | None,
    write_baseline: bool,
    everything: bool,
    form: str,
    as_json: bool,
    roots: Roots,
) -> int:
    if write_baseline and baseline is None:
        raise UsageError("--write-baseline needs a file", hint="trotline scan --baseline FILE --write-baseline")
    tops = [_top(path) for path in paths] or [(Path.cwd(), "")]
    scanners, problems = _scanners(names or BY_DEFAULT, rules, roots)
    known = _known(baseline, needed=not write_baseline)
    sweep = Sweep(roots, scanners, _key(roots), known, everything=everything)
    swept = sweep.of(tops)
    swept.problems = [*problems, *swept.problems]
    if write_baseline and baseline is not None:
        return _accept(sweep, baseline)
    about = {kind: words for scanner in (*scanners, Control()) for kind, words in scanner.kinds.items()}
    _print(swept, "json" if as_json else form, about)
    return 0 if swept.ok else 1


def _top(path: Path) -> tuple[Path, str]:
    """A path as it is read, and as it is shown."""
    whole = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
    try:
        whole.stat()
    except (OSError, ValueError):
        hint = "name files or directories"
        raise UsageError(f"there is no file `{str(path)[:200]}`", hint=hint) from None
    return whole.resolve() if whole.is_dir() else whole, "" if str(path) == "." else path.as_posix()


def _scanners(names: Sequence[str], rules: Sequence[Path], roots: Roots) -> tuple[list[Scanner], list[Problem]]:
    from trotline.config.rule_packs import read_packs
    from trotline.scanners.catalogue import scanners
    from trotline.scanners.secrets import Secrets, own_pack

    packs, problems = read_packs(roots, rules)
    known = {**scanners(), **({"secrets": Secrets([own_pack(), *packs])} if packs else {})}
    return [known[name] for name in names], problems


def _key(roots: Roots) -> bytes:
    """The key of this installation; where there can be none, one for this run."""
    from trotline.config.install_key import LENGTH, install_key

    try:
        return install_key(roots.state)
    except TrotlineError as error:
        click.echo(f"note: {error.message}; the digits of findings are of this run only", err=True)
        return os.urandom(LENGTH)


def _known(file: Path | None, *, needed: bool) -> Baseline | None:
    if file is None or (not needed and not file.exists()):
        return None
    try:
        return read_baseline(file.read_bytes(), str(file))
    except OSError as error:
        hint = "write it with --write-baseline"
        raise UsageError(f"`{file}` cannot be read: {(error.strerror or str(error)).lower()}", hint=hint) from None


def _accept(sweep: Sweep, file: Path) -> int:
    made = sweep.new_baseline()
    try:
        put(file, written(made), mode=None)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be written: {(error.strerror or str(error)).lower()}") from None
    click.echo(f"{plural(len(made.findings), 'finding')} accepted in {printable(str(file))}")
    return 0


def _print(swept: Swept, form: str, about: dict[str, str]) -> None:
    if form == "json":
        problems = [problem_data(problem) for problem in swept.problems]
        click.echo(envelope("trotline.scan/1", ok=swept.ok, data=_data(swept), problems=problems))
    elif form == "sarif":
        click.echo(json.dumps(sarif_of_findings(swept.findings, swept.problems, about), indent=2))
    elif form == "github":
        for line in (*finding_lines(swept.findings, about), *github_lines(swept.problems)):
            click.echo(line)
    else:
        _print_for_people(swept, about)


def _data(swept: Swept) -> dict[str, Any]:
    return {
        "files": swept.files,
        "bytes": swept.bytes,
        "findings": msgspec.to_builtins(swept.findings),
        "known": swept.known,
        "more_in": swept.crowded,
        "hooks": msgspec.to_builtins(swept.hooks),
        "skipped": {why.name.lower(): count for why, count in swept.skipped.items()},
        "unreadable": swept.unreadable,
    }


def _print_for_people(swept: Swept, about: dict[str, str]) -> None:
    for finding in swept.findings:
        where = bold(printable(f"{finding.where}:{finding.place.line}:{finding.place.column_from}"))
        doubt = "" if finding.certainty is Certainty.KNOWN else f" ({finding.certainty})"
        digits = f"  [{finding.digest[:SHORT]}]" if finding.scanner in VALUES else ""
        click.echo(f"{where}  {finding.kind}{doubt}  {dim(about.get(finding.kind, ''))}{digits}")
    for problem in swept.problems:
        place = f"{problem.place.file}:{problem.place.line}:{problem.place.column}"
        click.echo(f"{bold(printable(place))}  {problem.severity} {problem.code}  {printable(problem.message)}")
    for hook in swept.hooks:
        said = f"{hook.path}:{hook.line}  {hook.event}: {hook.command}"
        click.echo(f"{dim('hook')} {printable(said)[:200]}")
    for file in swept.crowded:
        click.echo(f"{printable(file)}: there is more than is listed here")
    for file in swept.unreadable:
        click.echo(f"{printable(file)}: could not be read")
    click.echo(_summary(swept))


def _summary(swept: Swept) -> str:
    found = [
        plural(len(swept.findings), "finding"),
        *([f"{swept.known} known from the baseline"] if swept.known else []),
        *([plural(len(swept.problems), "problem")] if swept.problems else []),
        *([plural(len(swept.hooks), "hook")] if swept.hooks else []),
    ]
    left = ", ".join(
        f"{count} {why.value if count == 1 else MANY[why]}" for why, count in sorted(swept.skipped.items())
    )
    size = f"{plural(swept.files, 'file')}, {swept.bytes / 1e6:.1f} MB"
    return f"{size}: {', '.join(found)}{f'; not scanned: {left}' if left else ''}"
