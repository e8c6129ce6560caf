"""Problems and findings as annotations of code: GitHub workflow commands, and SARIF 2.1.0."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trotline import __version__
from trotline.config.problems import Problem, Severity, load_codes
from trotline.domain.effects import Certainty
from trotline.domain.findings import Finding

GITHUB_LEVELS = {Severity.FATAL: "error", Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
SARIF_LEVELS = {Severity.FATAL: "error", Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def format_github(problems: Iterable[Problem]) -> Iterator[str]:
    """Yield a GitHub workflow command for each problem."""
    for problem in problems:
        place, level = problem.place, GITHUB_LEVELS[problem.severity]
        text = problem.message + (f" (hint: {problem.hint})" if problem.hint else "")
        file = _make_relative(place.file)
        yield _format_command(level, file, place.line or 1, place.column or 1, problem.code, text)


def format_github_findings(findings: Iterable[Finding], descriptions: Mapping[str, str]) -> Iterator[str]:
    """Yield a GitHub workflow command for each finding; `descriptions` has a text for each kind."""
    for finding in findings:
        place, text = finding.place, descriptions.get(finding.kind, finding.kind)
        yield _format_command(_get_level(finding), finding.where, place.line, place.column_from, finding.kind, text)


def _format_command(level: str, file: str, line: int, column: int, title: str, text: str) -> str:
    place = f"file={_escape(file, is_property=True)},line={line},col={column}"
    return f"::{level} {place},title={title}::{_escape(text)}"


def _escape(text: str, *, is_property: bool = False) -> str:
    """Escape line ends and control characters: a message must not start another workflow command."""
    text = "".join(char if char.isprintable() or char in "\r\n" else "\N{REPLACEMENT CHARACTER}" for char in text)
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def _get_level(finding: Finding) -> str:
    return "error" if finding.certainty is Certainty.KNOWN else "warning"


def build_findings_sarif(
    findings: Iterable[Finding], problems: Iterable[Problem], descriptions: Mapping[str, str]
) -> dict[str, Any]:
    """Return findings and problems in one run. Fingerprints do not cover values, which could be guessed from them."""
    listed = list(findings)
    document = build_sarif(problems)
    seen: Counter[tuple[str, str]] = Counter()
    run = document["runs"][0]
    kinds = sorted({finding.kind for finding in listed})
    run["tool"]["driver"]["rules"] += [
        {"id": kind, "shortDescription": {"text": descriptions.get(kind, kind)}} for kind in kinds
    ]
    for finding in listed:
        seen[finding.where, finding.kind] += 1
        identity = f"{finding.where}\0{finding.kind}\0{seen[finding.where, finding.kind]}"
        run["results"].append(_build_finding(finding, descriptions.get(finding.kind, finding.kind), identity))
    return document


def _build_finding(finding: Finding, description: str, identity: str) -> dict[str, Any]:
    place = finding.place
    region = {
        "startLine": place.line,
        "startColumn": place.column_from,
        "endLine": place.line_to,
        "endColumn": place.column_to,
    }
    text = f"{description} ({finding.scanner}, {finding.certainty})"
    fingerprint = hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()
    result = _build_result(finding.kind, _get_level(finding), text, finding.where, region)
    return {**result, "partialFingerprints": {"trotline/v1": fingerprint}}


def _build_problem(problem: Problem) -> dict[str, Any]:
    column = problem.place.column or 1
    region = {"startLine": problem.place.line or 1, "startColumn": column, "endColumn": column + problem.width}
    text = problem.message + (f" Hint: {problem.hint}" if problem.hint else "")
    return _build_result(problem.code, SARIF_LEVELS[problem.severity], text, _make_relative(problem.place.file), region)


def _build_result(rule: str, level: str, text: str, file: str, region: dict[str, int]) -> dict[str, Any]:
    location = {"artifactLocation": {"uri": quote(file, errors="replace")}, "region": region}
    return {
        "ruleId": rule,
        "level": level,
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }


def build_sarif(problems: Iterable[Problem]) -> dict[str, Any]:
    """Return problems as a SARIF document."""
    listed = list(problems)
    used = sorted({problem.code for problem in listed})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": load_codes()[code].title},
            "fullDescription": {"text": load_codes()[code].about},
            "defaultConfiguration": {"level": SARIF_LEVELS[load_codes()[code].severity]},
        }
        for code in used
    ]
    driver = {"name": "trotline", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_build_problem(problem) for problem in listed]}],
    }


def _make_relative(file: str) -> str:
    """Return a path relative to the checkout, which annotations need; other files keep their whole path."""
    path = Path(file)
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_posix()
