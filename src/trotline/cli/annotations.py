"""Problems and findings as annotations of code: GitHub workflow commands, and SARIF 2.1.0."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any
from urllib.parse import quote

from trotline import __version__
from trotline.config.problems import CODES, Problem, Severity
from trotline.domain.effects import Certainty
from trotline.domain.findings import Finding

GITHUB_LEVELS = {Severity.FATAL: "error", Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
SARIF_LEVELS = {Severity.FATAL: "error", Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "note"}


def format_github(problems: Iterable[Problem]) -> Iterator[str]:
    for problem in problems:
        file = _escape(_make_relative(problem.place.file), is_property=True)
        place = f"file={file},line={problem.place.line or 1},col={problem.place.column or 1}"
        text = problem.message + (f" (hint: {problem.hint})" if problem.hint else "")
        yield f"::{GITHUB_LEVELS[problem.severity]} {place},title={problem.code}::{_escape(text)}"


def _escape(text: str, *, is_property: bool = False) -> str:
    """Escape line ends and control characters: a message must not start another workflow command."""
    text = "".join(char if char.isprintable() or char in "\r\n" else "\N{REPLACEMENT CHARACTER}" for char in text)
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    return text.replace(":", "%3A").replace(",", "%2C") if is_property else text


def format_github_findings(findings: Iterable[Finding], about: Mapping[str, str]) -> Iterator[str]:
    for finding in findings:
        file = _escape(finding.where, is_property=True)
        place = f"file={file},line={finding.place.line},col={finding.place.column_from}"
        level = "error" if finding.certainty is Certainty.KNOWN else "warning"
        yield f"::{level} {place},title={finding.kind}::{_escape(about.get(finding.kind, finding.kind))}"


def build_findings_sarif(
    findings: Iterable[Finding], problems: Iterable[Problem], about: Mapping[str, str]
) -> dict[str, Any]:
    """Return findings and problems in one run. Fingerprints do not cover values, which could be guessed from them."""
    listed = list(findings)
    document = build_sarif(problems)
    seen: Counter[tuple[str, str]] = Counter()
    run = document["runs"][0]
    kinds = sorted({finding.kind for finding in listed})
    run["tool"]["driver"]["rules"] += [
        {"id": kind, "shortDescription": {"text": about.get(kind, kind)}} for kind in kinds
    ]
    for finding in listed:
        seen[finding.where, finding.kind] += 1
        identity = f"{finding.where}\0{finding.kind}\0{seen[finding.where, finding.kind]}"
        run["results"].append(_build_finding(finding, about.get(finding.kind, finding.kind), identity))
    return document


def _build_finding(finding: Finding, about: str, identity: str) -> dict[str, Any]:
    place = finding.place
    region = {
        "startLine": place.line,
        "startColumn": place.column_from,
        "endLine": place.line_to,
        "endColumn": place.column_to,
    }
    location = {"artifactLocation": {"uri": quote(finding.where, errors="replace")}, "region": region}
    fingerprint = hashlib.sha256(identity.encode("utf-8", "surrogateescape")).hexdigest()
    return {
        "ruleId": finding.kind,
        "level": "error" if finding.certainty is Certainty.KNOWN else "warning",
        "message": {"text": f"{about} ({finding.scanner}, {finding.certainty})"},
        "locations": [{"physicalLocation": location}],
        "partialFingerprints": {"trotline/v1": fingerprint},
    }


def build_sarif(problems: Iterable[Problem]) -> dict[str, Any]:
    listed = list(problems)
    used = sorted({problem.code for problem in listed})
    rules = [
        {
            "id": code,
            "shortDescription": {"text": CODES[code].title},
            "fullDescription": {"text": CODES[code].about},
            "defaultConfiguration": {"level": SARIF_LEVELS[CODES[code].severity]},
        }
        for code in used
    ]
    driver = {"name": "trotline", "version": __version__, "rules": rules}
    return {
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{"tool": {"driver": driver}, "results": [_build_problem(problem) for problem in listed]}],
    }


def _build_problem(problem: Problem) -> dict[str, Any]:
    region = {
        "startLine": problem.place.line or 1,
        "startColumn": problem.place.column or 1,
        "endColumn": (problem.place.column or 1) + problem.width,
    }
    location = {
        "artifactLocation": {"uri": quote(_make_relative(problem.place.file), errors="replace")},
        "region": region,
    }
    text = problem.message + (f" Hint: {problem.hint}" if problem.hint else "")
    return {
        "ruleId": problem.code,
        "level": SARIF_LEVELS[problem.severity],
        "message": {"text": text},
        "locations": [{"physicalLocation": location}],
    }


def _make_relative(file: str) -> str:
    """Return a path relative to the checkout, which annotations need; other files keep their whole path."""
    path = Path(file)
    return path.relative_to(Path.cwd()).as_posix() if path.is_relative_to(Path.cwd()) else path.as_posix()
