"""The list of malicious packages in the form that is asked before every install: lines in order, found by halves.

The first line says what the list is and how long; then come lines of `npm/name<tab>MAL-2025-1<tab>versions`, sorted by
their bytes, so that one of half a million is found in twenty looks and nothing is read before that.
"""

import functools
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trotline.analysis.reports import UNREADABLE, Report, said_of
from trotline.config.places import Roots, malicious_files, private_directory
from trotline.config.problems import CODES, Problem
from trotline.hooks import Place

SCHEMA = "trotline.malicious/1"
LONGEST_HEAD = 4096
_RANGED = ("npm/", "cargo/")
"""Registries where less than three numbers are no version."""


class Row(NamedTuple):
    """One package of one report; the package as a package URL says it, without `pkg:` and version."""

    package: str
    id: str
    versions: tuple[str, ...]

    @property
    def line(self) -> bytes:
        return f"{self.package}\t{self.id}\t{' '.join(self.versions)}\n".encode("utf-8", "replace")


class Damaged(ValueError):  # noqa: N818 - what is true of the file
    """The file is not what we wrote."""


class MaliciousList:
    """One file, looked into without being read."""

    def __init__(self, path: str) -> None:
        import mmap  # noqa: PLC0415 - few people have a list

        with open(path, "rb") as file:  # noqa: PTH123 - as below
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = self._data.find(b"\n", 0, LONGEST_HEAD)
        try:
            self.head: dict[str, Any] = json.loads(self._data[:end])
            whole = self.head["schema"] == SCHEMA and self.head["bytes"] == len(self._data) - end - 1
        except (ValueError, KeyError, TypeError) as error:
            raise Damaged("its first line is not ours") from error
        if not whole:
            raise Damaged("it is shorter or longer than its first line says, or of a newer Trotline")
        self._begin = end + 1

    def reports(self, package: str) -> list[Report]:
        """All reports about a package."""
        key = f"{package}\t".encode("utf-8", "replace")
        return [report for line in self._lines(key) if (report := _report(line)) is not None]

    def _lines(self, key: bytes) -> Iterator[bytes]:
        low, high = self._begin, len(self._data)
        while low < high:
            start = self._data.rfind(b"\n", self._begin - 1, (low + high) // 2) + 1
            if self._data[start : start + len(key)] < key:
                low = self._end_of(start)
            else:
                high = start
        while self._data[low : low + len(key)] == key:
            end = self._end_of(low)
            yield self._data[low : end - 1]
            low = end

    def _end_of(self, start: int) -> int:
        end = self._data.find(b"\n", start)
        return end + 1 if end >= 0 else len(self._data)


def _report(line: bytes) -> Report | None:
    parts = line.decode("utf-8", "replace").split("\t")
    return Report(parts[1], tuple(parts[2].split())) if len(parts) == 3 else None


class Reports:
    """What the lists of this machine say: the one that its owner has put there, and the person's own."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = tuple(files)

    def of(self, package: str) -> str:
        """Why a package, as a package URL, is not to be installed; nothing if nobody says so."""
        name, version = _parted(package)
        if name.startswith(_RANGED) and version.count(".") < 2:
            version = ""  # `@2` is whatever is newest of them
        found: list[Report] = []
        for path in self._files:
            try:
                status = os.stat(path)  # noqa: PTH116 - a Path costs a cold call more than the look itself
            except OSError:
                continue
            try:
                listed = _opened(path, status.st_ino, status.st_size, status.st_mtime_ns)
                found += listed.reports(name)
            except (OSError, ValueError) as error:
                return f"{UNREADABLE}: {path}: {error}"
        return said_of(found, version)


@functools.lru_cache(maxsize=4)
def _opened(path: str, *_mark: int) -> MaliciousList:
    """Opened again when it is another file."""
    return MaliciousList(path)


class Loaded(NamedTuple):
    """The lists of a machine: what the first line of each says, and what is wrong with those that cannot be used."""

    heads: tuple[tuple[str, dict[str, Any]], ...] = ()
    problems: tuple[Problem, ...] = ()


def loaded(roots: Roots) -> Loaded:
    heads, problems = [], []
    for file in malicious_files(roots):
        try:
            heads.append((str(file), MaliciousList(str(file)).head))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            why = f"installs cannot be judged by this list, and are asked about: {error}"
            severity, hint = CODES["TL260"].severity, "load it again with `trotline packages load`"
            problems.append(Problem(code="TL260", severity=severity, place=Place(str(file)), message=why, hint=hint))
    return Loaded(tuple(heads), tuple(problems))


def _parted(package: str) -> tuple[str, str]:
    """`npm/name` and version of a package URL."""
    plain = package.removeprefix("pkg:").replace("/@", "/%40")
    name, at, version = plain.partition("@")
    return name.lower(), version if at else ""


def key_of(package: str) -> str:
    return _parted(package)[0]


def write_list(roots: Roots, rows: Iterable[Row], about: dict[str, Any]) -> int:
    """Replace the person's own list, whole or not at all; how many lines it has."""
    from trotline.config.whole_file import put  # noqa: PLC0415 - calls read the list, and write none

    lines = sorted({row.line for row in rows})
    body = b"".join(lines)
    head = {"schema": SCHEMA, "bytes": len(body), "lines": len(lines), **about}
    private_directory(roots.state)
    file = malicious_files(roots)[1]
    put(file, json.dumps(head).encode() + b"\n" + body)
    return len(lines)
