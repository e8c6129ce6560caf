"""What code scanners print, as issues: Semgrep's JSON, SARIF, or lines such as `src/a.py:12: text`."""

import json
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple
from urllib.parse import unquote

from trotline.errors import TrotlineError
from trotline.ready.workspace import Inside

STYLES = ("auto", "semgrep", "sarif", "lines")


KEYS = {"semgrep": "results", "sarif": "runs"}
"""What a report of each style has at its top."""


class Issue(NamedTuple):
    """Something that a scanner has to say about some lines of a file."""

    name: str
    first: int
    last: int
    text: str

    def touches(self, lines: AbstractSet[int]) -> bool:
        return any(self.first <= line <= self.last for line in lines)

    def __str__(self) -> str:
        return f"{self.name}:{self.first}: {self.text}"


def issues_of(printed: str, files: Sequence[Inside], style: str = "auto") -> list[Issue]:
    """The issues in these files; a report that is none is an error, never "nothing was found"."""
    if style == "lines" or (style == "auto" and not printed.lstrip().startswith("{")):
        return [issue for line in printed.splitlines() if (issue := _of_line(line, files))]
    try:
        report = json.loads(printed)
    except (ValueError, RecursionError):
        report = None
    found = next((name for name, key in KEYS.items() if isinstance(_object(report).get(key), list)), "")
    if not found or style not in {"auto", found}:
        wanted = {"semgrep": "not Semgrep's JSON", "sarif": "not SARIF"}.get(style, "neither Semgrep's JSON nor SARIF")
        raise TrotlineError(f"what the scanner printed is {wanted}, and cannot be read")
    by_path = {str(file.path): file.name for file in files}
    issues = []
    for path, issue in READERS[found](report):
        name = by_path.get(_absolute(path, files))
        issues += [issue._replace(name=name)] if name else []
    return issues


def _absolute(path: str, files: Sequence[Inside]) -> str:
    """Where a scanner means that was run in the root of the first file."""
    plain = unquote(path.removeprefix("file://")) if path.startswith("file://") else path
    try:
        return str((files[0].root / plain).resolve()) if files else plain
    except (OSError, RuntimeError, ValueError):
        return ""


def _of_line(line: str, files: Sequence[Inside]) -> Issue | None:
    for file in files:
        for shown in (str(file.path), file.name, f"./{file.name}"):
            if line.startswith(f"{shown}:"):
                return _after(file.name, line[len(shown) + 1 :])
    return None


def _after(name: str, rest: str) -> Issue | None:
    """`12: text` or `12:5: text`."""
    number = _number(rest)
    if not number:
        return None
    text = rest[len(number) :].removeprefix(":")
    column = _number(text)
    if column and text[len(column) :].startswith(":"):
        text = text[len(column) + 1 :]
    return Issue(name, int(number), int(number), text.strip())


def _number(text: str) -> str:
    """The digits that it begins with; no file has a line whose number has ten of them."""
    end = next((at for at, char in enumerate(text[:10]) if not ("0" <= char <= "9")), min(len(text), 10))
    return text[:end]


def _semgrep(report: dict[str, Any]) -> Iterator[tuple[str, Issue]]:
    for result in _objects(report.get("results")):
        extra, start, end = (_object(result.get(key)) for key in ("extra", "start", "end"))
        first = _line(start.get("line"))
        yield (
            str(result.get("path", "")),
            Issue("", first, max(first, _line(end.get("line"))), _said(result.get("check_id"), extra.get("message"))),
        )


def _sarif(report: dict[str, Any]) -> Iterator[tuple[str, Issue]]:
    for run in _objects(report.get("runs")):
        for result in _objects(run.get("results")):
            text = _said(result.get("ruleId"), _object(result.get("message")).get("text"))
            for location in _objects(result.get("locations")):
                place = _object(location.get("physicalLocation"))
                region = _object(place.get("region"))
                first = _line(region.get("startLine"))
                last = max(first, _line(region.get("endLine")))
                yield str(_object(place.get("artifactLocation")).get("uri", "")), Issue("", first, last, text)


READERS: dict[str, Callable[[dict[str, Any]], Iterator[tuple[str, Issue]]]] = {"semgrep": _semgrep, "sarif": _sarif}


def _said(rule: object, text: object) -> str:
    words = " ".join(str(text or "").split())
    return f"{words} ({rule})" if rule else words


def _line(value: object) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 1


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _objects(value: object) -> list[dict[str, Any]]:
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []
