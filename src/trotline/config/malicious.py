"""The list of malicious packages, in a form that is searched before every install.

The first line is a JSON object with the schema and the size of the list. Then come lines of
`npm/name<tab>MAL-2025-1<tab>versions`, sorted by bytes, so that a binary search finds one of half a million lines in
twenty steps without reading the file.
"""

import functools
import json
import os
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trotline.analysis.packages.malware_reports import UNREADABLE, MalwareReport, describe_reports
from trotline.config.paths import Roots, list_malicious_files
from trotline.config.problems import Problem, build_problem
from trotline.domain.hooks import Place
from trotline.system.files import ensure_private_directory

SCHEMA = "trotline.malicious/1"
MAX_HEAD = 4096
_RANGED = ("npm/", "cargo/")
"""Registries in which fewer than three numbers are a range and not a version."""


class MalwareRow(NamedTuple):
    """A package of a report, written as in a package URL, without `pkg:` and version."""

    package: str
    id: str
    versions: tuple[str, ...]

    @property
    def line(self) -> bytes:
        """The row as a line of a list file, with its line end."""
        return f"{self.package}\t{self.id}\t{' '.join(self.versions)}\n".encode("utf-8", "replace")


class DamagedListError(ValueError):
    """The file is not a list that Trotline wrote."""


class MaliciousList:
    """A list file, mapped into memory and searched without being read."""

    def __init__(self, path: str) -> None:
        import mmap  # noqa: PLC0415 - few users have a list

        with open(path, "rb") as file:  # noqa: PTH123 - building a Path is slower than the call
            self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        end = self._data.find(b"\n", 0, MAX_HEAD)
        try:
            self.head: dict[str, Any] = json.loads(self._data[:end])
            is_complete = self.head["schema"] == SCHEMA and self.head["bytes"] == len(self._data) - end - 1
        except (ValueError, KeyError, TypeError) as error:
            raise DamagedListError("its first line is not ours") from error
        if not is_complete:
            raise DamagedListError("it is shorter or longer than its first line says, or of a newer Trotline")
        self._begin = end + 1

    def find_reports(self, package: str) -> list[MalwareReport]:
        """Return all reports about a package."""
        key = f"{package}\t".encode("utf-8", "replace")
        return [report for line in self._find_lines(key) if (report := _parse_line(line)) is not None]

    def _find_lines(self, key: bytes) -> Iterator[bytes]:
        """Yield the lines that start with a key, found by binary search."""
        low, high = self._begin, len(self._data)
        while low < high:
            start = self._data.rfind(b"\n", self._begin - 1, (low + high) // 2) + 1
            if self._data[start : start + len(key)] < key:
                low = self._find_line_end(start)
            else:
                high = start
        while self._data[low : low + len(key)] == key:
            end = self._find_line_end(low)
            yield self._data[low : end - 1]
            low = end

    def _find_line_end(self, start: int) -> int:
        end = self._data.find(b"\n", start)
        return end + 1 if end >= 0 else len(self._data)


def _parse_line(line: bytes) -> MalwareReport | None:
    parts = line.decode("utf-8", "replace").split("\t")
    return MalwareReport(parts[1], tuple(parts[2].split())) if len(parts) == 3 else None


class PackageReports:
    """The reports in the lists of this machine: the managed one and the user's own."""

    def __init__(self, files: Iterable[str]) -> None:
        self._files = tuple(files)

    def find_report(self, package: str) -> str:
        """Return the reason why a package, given as a package URL, must not be installed, or ""."""
        name, version = _split_line(package)
        if name.startswith(_RANGED) and version.count(".") < 2:
            version = ""  # `@2` means the newest version 2
        found: list[MalwareReport] = []
        for path in self._files:
            try:
                status = os.stat(path)  # noqa: PTH116 - building a Path is slower than the call
            except OSError:
                continue
            try:
                listed = _open_list(path, status.st_ino, status.st_size, status.st_mtime_ns)
                found += listed.find_reports(name)
            except (OSError, ValueError) as error:
                return f"{UNREADABLE}: {path}: {error}"
        return describe_reports(found, version)


@functools.lru_cache(maxsize=4)
def _open_list(path: str, *_status: int) -> MaliciousList:
    """Open a list; it is opened again when the file has changed."""
    return MaliciousList(path)


class LoadedLists(NamedTuple):
    """The first line of each list, and the problems of the lists that cannot be used."""

    heads: tuple[tuple[str, dict[str, Any]], ...] = ()
    problems: tuple[Problem, ...] = ()


def read_list_heads(roots: Roots) -> LoadedLists:
    """Read the first line of each list of this machine."""
    heads, problems = [], []
    for file in list_malicious_files(roots):
        try:
            heads.append((str(file), MaliciousList(str(file)).head))
        except FileNotFoundError:
            continue
        except (OSError, ValueError) as error:
            why = f"installs cannot be judged by this list, and are asked about: {error}"
            hint = "load it again with `trotline guards packages load`"
            problems.append(build_problem("TL260", why, hint, place=Place(str(file))))
    return LoadedLists(tuple(heads), tuple(problems))


def _split_line(package: str) -> tuple[str, str]:
    """Return `npm/name` and the version of a package URL."""
    plain = package.removeprefix("pkg:").replace("/@", "/%40")
    name, at, version = plain.partition("@")
    return name.lower(), version if at else ""


def get_package_key(package: str) -> str:
    """Return the key by which a package is found in a list."""
    return _split_line(package)[0]


def write_list(roots: Roots, rows: Iterable[MalwareRow], details: dict[str, Any]) -> int:
    """Replace the user's own list atomically. Return its number of lines."""
    from trotline.system.files import replace_file  # noqa: PLC0415 - hook calls never write the list

    lines = sorted({row.line for row in rows})
    body = b"".join(lines)
    head = {"schema": SCHEMA, "bytes": len(body), "lines": len(lines), **details}
    ensure_private_directory(roots.state)
    file = list_malicious_files(roots)[1]
    replace_file(file, json.dumps(head).encode() + b"\n" + body)
    return len(lines)
