"""Parse reports of code scanners: Semgrep's JSON, SARIF, or lines such as `src/a.py:12: text`."""

import json
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple
from urllib.parse import unquote

from trotline.builtin.workspace import WorkspaceFile
from trotline.domain.errors import TrotlineError

STYLES = ("auto", "semgrep", "sarif", "lines")

TOP_LEVEL_KEYS = {"semgrep": "results", "sarif": "runs"}
"""The keys by which JSON reports are recognised."""


class Issue(NamedTuple):
    """A finding of a scanner in some lines of a file."""

    name: str
    first: int
    last: int
    text: str

    def overlaps(self, lines: AbstractSet[int]) -> bool:
        """Return whether one of these lines belongs to the issue."""
        return any(self.first <= line <= self.last for line in lines)

    def __str__(self) -> str:
        return f"{self.name}:{self.first}: {self.text}"


def parse_report(output: str, files: Sequence[WorkspaceFile], style: str = "auto") -> list[Issue]:
    """Return the issues in these files. An unreadable report is an error, never an empty result."""
    if style == "lines" or (style == "auto" and not output.lstrip().startswith("{")):
        return [issue for line in output.splitlines() if (issue := _parse_line(line, files))]
    try:
        report = json.loads(output)
    except (ValueError, RecursionError):
        report = None
    detected = next(
        (name for name, key in TOP_LEVEL_KEYS.items() if isinstance(_get_object(report).get(key), list)), ""
    )
    if not detected or style not in {"auto", detected}:
        mismatches = {"semgrep": "not Semgrep's JSON", "sarif": "not SARIF"}
        mismatch = mismatches.get(style, "neither Semgrep's JSON nor SARIF")
        raise TrotlineError(f"what the scanner printed is {mismatch}, and cannot be read")
    by_path = {str(file.path): file.name for file in files}
    issues = []
    for path, issue in PARSERS[detected](report):
        name = by_path.get(_resolve_path(path, files))
        issues += [issue._replace(name=name)] if name else []
    return issues


def _resolve_path(path: str, files: Sequence[WorkspaceFile]) -> str:
    """Resolve a path that a scanner printed; it ran in the root of the first file."""
    plain = unquote(path.removeprefix("file://")) if path.startswith("file://") else path
    try:
        return str((files[0].root / plain).resolve()) if files else plain
    except (OSError, RuntimeError, ValueError):
        return ""


def _parse_line(line: str, files: Sequence[WorkspaceFile]) -> Issue | None:
    for file in files:
        for shown in (str(file.path), file.name, f"./{file.name}"):
            if line.startswith(f"{shown}:"):
                return _parse_position(file.name, line[len(shown) + 1 :])
    return None


def _parse_position(name: str, rest: str) -> Issue | None:
    """Parse `12: text` or `12:5: text`."""
    number = _get_leading_digits(rest)
    if not number:
        return None
    text = rest[len(number) :].removeprefix(":")
    column = _get_leading_digits(text)
    if column and text[len(column) :].startswith(":"):
        text = text[len(column) + 1 :]
    return Issue(name, int(number), int(number), text.strip())


def _get_leading_digits(text: str) -> str:
    """Return at most ten leading digits; no file has that many lines."""
    end = next((at for at, char in enumerate(text[:10]) if not ("0" <= char <= "9")), min(len(text), 10))
    return text[:end]


def _parse_semgrep(report: dict[str, Any]) -> Iterator[tuple[str, Issue]]:
    for result in _list_objects(report.get("results")):
        extra, start, end = (_get_object(result.get(key)) for key in ("extra", "start", "end"))
        first = _read_line_number(start.get("line"))
        last = max(first, _read_line_number(end.get("line")))
        text = _format_text(result.get("check_id"), extra.get("message"))
        yield str(result.get("path", "")), Issue("", first, last, text)


def _parse_sarif(report: dict[str, Any]) -> Iterator[tuple[str, Issue]]:
    for run in _list_objects(report.get("runs")):
        for result in _list_objects(run.get("results")):
            text = _format_text(result.get("ruleId"), _get_object(result.get("message")).get("text"))
            for location in _list_objects(result.get("locations")):
                position = _get_object(location.get("physicalLocation"))
                region = _get_object(position.get("region"))
                first = _read_line_number(region.get("startLine"))
                last = max(first, _read_line_number(region.get("endLine")))
                yield str(_get_object(position.get("artifactLocation")).get("uri", "")), Issue("", first, last, text)


PARSERS: dict[str, Callable[[dict[str, Any]], Iterator[tuple[str, Issue]]]] = {
    "semgrep": _parse_semgrep,
    "sarif": _parse_sarif,
}


def _format_text(rule: object, text: object) -> str:
    message = " ".join(str(text or "").split())
    return f"{message} ({rule})" if rule else message


def _read_line_number(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def _get_object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _list_objects(value: object) -> list[dict[str, Any]]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
