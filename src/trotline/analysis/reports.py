"""Reports of malicious packages: which versions one means, and what is said about a package that is one, or may be."""

import re
from typing import NamedTuple

from trotline.pattern import pattern

MALICIOUS = "listed as malicious"
PERHAPS = "some versions are listed as malicious"
UNREADABLE = "the list of malicious packages cannot be read"
"""How `why` of an effect begins; guards know it by that."""

ALL = "*"
UNKNOWN_VERSIONS = "?"
MOST_SHOWN = 5

_PARTS = pattern(r"\d+|[a-z]+")
_EARLY = ("dev", "a", "alpha", "b", "beta", "c", "pre", "preview", "rc")


class Report(NamedTuple):
    """One report about one package. `versions` are those that it means, `*` for all, `>=a,<b` for a range."""

    id: str
    versions: tuple[str, ...]

    def names(self, version: str) -> bool:
        return any(_fits(one, version) for one in self.versions)


def said_of(reports: list[Report], version: str) -> str:
    """Why a package of this version, or of none that is named, is not to be installed; nothing if it may be."""
    whole = [report for report in reports if ALL in report.versions or (version and report.names(version))]
    if whole:
        return f"{MALICIOUS}, {_ids(whole)}"
    if reports and (not version or any(UNKNOWN_VERSIONS in report.versions for report in reports)):
        versions = list(dict.fromkeys(one for report in reports for one in report.versions if one != UNKNOWN_VERSIONS))
        shown = ", ".join(versions[:MOST_SHOWN]) + (", …" if len(versions) > MOST_SHOWN else "")
        return f"{PERHAPS}, {_ids(reports)}" + (f": {shown}" if shown else "")
    return ""


def _ids(reports: list[Report]) -> str:
    return " ".join(dict.fromkeys(report.id for report in reports[:MOST_SHOWN]))


def _fits(wanted: str, version: str) -> bool:
    if not wanted.startswith((">", "<")):
        return wanted == version or order(wanted) == order(version)
    return all(_within(bound, version) for bound in wanted.split(","))


def _within(bound: str, version: str) -> bool:
    sign = re.match(r"[<>]=?", bound)
    if sign is None:
        return False
    ours, theirs = order(version), order(bound[sign.end() :])
    return {">=": ours >= theirs, ">": ours > theirs, "<": ours < theirs, "<=": ours <= theirs}[sign[0]]


def order(version: str) -> tuple[tuple[int, int, str], ...]:
    """Something by which versions of most registries sort: numbers by value, what comes before a release before it."""
    plain = version.lower().removeprefix("v").partition("+")[0].partition("%2b")[0]
    parts = [_part(part) for part in _PARTS.findall(plain)]
    words = next((at for at, part in enumerate(parts) if part[0] != 1), len(parts))
    numbers = parts[:words]
    while numbers and numbers[-1] == (1, 0, ""):
        numbers.pop()  # 1.0 is 1
    return (*numbers, *parts[words:], (0, 1, ""))


def _part(part: str) -> tuple[int, int, str]:
    if part.isdigit():
        return 1, int(part), ""
    return (-1, _EARLY.index(part), "") if part in _EARLY else (0, 2, part)
