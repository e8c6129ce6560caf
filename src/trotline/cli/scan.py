"""trotline scan: find secrets, prompt injection and dangerous settings in files, without running anything."""

import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.cli.annotations import build_findings_sarif, format_github, format_github_findings
from trotline.cli.command import declare
from trotline.cli.output import Result, bold, dim, plural, printable
from trotline.config.file_tree import SkipReason
from trotline.config.paths import Roots
from trotline.config.problems import Problem
from trotline.doctor.tree_scan import ScanReport, TreeScan
from trotline.domain.effects import Certainty
from trotline.domain.errors import TrotlineError, UsageError, describe_os_error
from trotline.domain.findings import SHOWN_DIGEST_DIGITS
from trotline.scanners.baseline import Baseline, encode_baseline, read_baseline
from trotline.scanners.control_scanner import ControlFileScanner
from trotline.scanners.scan import Scanner
from trotline.system.files import replace_file

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
DEFAULT_NAMES = ("secrets", "injection", "invisible")
VALUE_SCANNERS = frozenset({"secrets", "pii"})
"""Scanners whose findings are values; digest digits show which of them are the same."""

PLURALS = {
    SkipReason.BINARY: "binary files",
    SkipReason.LINK: "links",
    SkipReason.SPECIAL: "pipes, sockets or devices",
    SkipReason.UNREADABLE: "unreadable files or directories",
    SkipReason.TOOLS: "directories that tools fill",
}


@declare("scan", "trotline.scan/1", help=HELP)
@click.argument("paths", nargs=-1, metavar="[PATH]...", type=click.Path(path_type=Path))
@click.option("--scanner", "names", multiple=True, type=click.Choice(NAMES), help="Only this one; may be repeated.")
@click.option("--rules", multiple=True, type=click.Path(path_type=Path), help="More rules for secrets, as gitleaks'.")
@click.option("--baseline", type=click.Path(path_type=Path), help="Findings that are known and accepted.")
@click.option("--write-baseline", is_flag=True, help="Accept everything that is found now, in the baseline.")
@click.option("--everything", is_flag=True, help="Also in directories that tools fill, such as node_modules.")
@click.option("--format", "form", type=click.Choice(["human", "json", "github", "sarif"]), default="human")
def command(
    paths: tuple[Path, ...],
    names: tuple[str, ...],
    rules: tuple[Path, ...],
    baseline: Path | None,
    write_baseline: bool,
    everything: bool,
    form: str,
    roots: Roots,
) -> Result:
    if write_baseline and baseline is None:
        raise UsageError("--write-baseline needs a file", hint="trotline scan --baseline FILE --write-baseline")
    tops = [_find_top(path) for path in paths] or [(Path.cwd(), "")]
    scanners, problems = _load_scanners(names or DEFAULT_NAMES, rules, roots)
    known = _read_baseline(baseline, needed=not write_baseline)
    scan = TreeScan(roots, scanners, _get_key(roots), known, everything=everything)
    report = scan.run(tops)
    report.problems = [*problems, *report.problems]
    if write_baseline and baseline is not None:
        return _write_baseline(scan, baseline)
    descriptions = {kind: text for scanner in (*scanners, ControlFileScanner()) for kind, text in scanner.kinds.items()}
    lines: Iterable[str] = _format(report, descriptions)
    if form == "sarif":
        lines = [json.dumps(build_findings_sarif(report.findings, report.problems, descriptions), indent=2)]
    elif form == "github":
        lines = [*format_github_findings(report.findings, descriptions), *format_github(report.problems)]
    return Result(_build_data(report), lines, report.problems, ok=report.ok)


def _find_top(path: Path) -> tuple[Path, str]:
    """Return the absolute path, and the path that is shown."""
    absolute = Path(os.path.abspath(path))  # noqa: PTH100 - resolve() would follow links
    try:
        absolute.stat()
    except (OSError, ValueError):
        hint = "name files or directories"
        raise UsageError(f"there is no file `{str(path)[:200]}`", hint=hint) from None
    return absolute.resolve() if absolute.is_dir() else absolute, "" if str(path) == "." else path.as_posix()


def _load_scanners(names: Sequence[str], rules: Sequence[Path], roots: Roots) -> tuple[list[Scanner], list[Problem]]:
    from trotline.config.rule_packs import read_packs
    from trotline.scanners.scan import get_scanners
    from trotline.scanners.secrets import SecretScanner, load_builtin_pack

    packs, problems = read_packs(roots, rules)
    known = {**get_scanners(), **({"secrets": SecretScanner([load_builtin_pack(), *packs])} if packs else {})}
    return [known[name] for name in names], problems


def _get_key(roots: Roots) -> bytes:
    """Return the key of this installation; where there is none, a key for this run."""
    from trotline.config.install.install_key import LENGTH, read_or_create_key

    try:
        return read_or_create_key(roots.state)
    except TrotlineError as error:
        click.echo(f"note: {error.message}; the digits of findings are of this run only", err=True)
        return os.urandom(LENGTH)


def _read_baseline(file: Path | None, *, needed: bool) -> Baseline | None:
    if file is None or (not needed and not file.exists()):
        return None
    try:
        return read_baseline(file.read_bytes(), str(file))
    except OSError as error:
        hint = "write it with --write-baseline"
        raise UsageError(f"`{file}` cannot be read: {describe_os_error(error)}", hint=hint) from None


def _write_baseline(scan: TreeScan, file: Path) -> Result:
    new_baseline = scan.build_baseline()
    try:
        replace_file(file, encode_baseline(new_baseline), mode=None)
    except OSError as error:
        raise UsageError(f"`{file}` cannot be written: {describe_os_error(error)}") from None
    accepted = len(new_baseline.findings)
    line = f"{plural(accepted, 'finding')} accepted in {printable(str(file))}"
    return Result({"accepted": accepted, "file": str(file)}, [line], schema="trotline.scan.baseline/1")


def _build_data(report: ScanReport) -> dict[str, Any]:
    return {
        "files": report.files,
        "bytes": report.bytes,
        "findings": msgspec.to_builtins(report.findings),
        "known": report.known,
        "more_in": report.truncated,
        "hooks": msgspec.to_builtins(report.hooks),
        "skipped": {why.name.lower(): count for why, count in report.skipped.items()},
        "unreadable": report.unreadable,
    }


def _format(report: ScanReport, descriptions: dict[str, str]) -> Iterator[str]:
    for finding in report.findings:
        where = bold(printable(f"{finding.where}:{finding.place.line}:{finding.place.column_from}"))
        doubt = "" if finding.certainty is Certainty.KNOWN else f" ({finding.certainty})"
        digits = f"  [{finding.digest[:SHOWN_DIGEST_DIGITS]}]" if finding.scanner in VALUE_SCANNERS else ""
        yield f"{where}  {finding.kind}{doubt}  {dim(descriptions.get(finding.kind, ''))}{digits}"
    for problem in report.problems:
        place = f"{problem.place.file}:{problem.place.line}:{problem.place.column}"
        yield f"{bold(printable(place))}  {problem.severity} {problem.code}  {printable(problem.message)}"
    for hook in report.hooks:
        text = f"{hook.path}:{hook.line}  {hook.event}: {hook.command}"
        yield f"{dim('hook')} {printable(text)[:200]}"
    for file in report.truncated:
        yield f"{printable(file)}: there is more than is listed here"
    for file in report.unreadable:
        yield f"{printable(file)}: could not be read"
    yield _format_summary(report)


def _format_summary(report: ScanReport) -> str:
    parts = [
        plural(len(report.findings), "finding"),
        *([f"{report.known} known from the baseline"] if report.known else []),
        *([plural(len(report.problems), "problem")] if report.problems else []),
        *([plural(len(report.hooks), "hook")] if report.hooks else []),
    ]
    skipped = ", ".join(
        f"{count} {why.value if count == 1 else PLURALS[why]}" for why, count in sorted(report.skipped.items())
    )
    size = f"{plural(report.files, 'file')}, {report.bytes / 1e6:.1f} MB"
    return f"{size}: {', '.join(parts)}{f'; not scanned: {skipped}' if skipped else ''}"
