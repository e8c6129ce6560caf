"""Reports in the OSV format, read from files, directories and zip archives; nothing is fetched.

Only entries about malicious packages count: their id or an alias begins with MAL-. An unreadable entry is a Problem;
the others are used.
"""

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, Any, NamedTuple

import msgspec

from trotline.analysis.packages.malware_reports import ALL_VERSIONS, UNKNOWN_VERSIONS
from trotline.analysis.packages.package_specs import build_purl
from trotline.config.malicious import MalwareRow, get_package_key
from trotline.config.problems import Problem, build_problem
from trotline.domain.errors import describe_os_error
from trotline.domain.hooks import Place

MALICIOUS = "MAL-"
MAX_TEXT_BYTES = 16_000_000
MAX_TEXTS = 5_000_000
"""The limits: bytes of one file, and files of one archive or directory."""

PURL_TYPES: dict[str, str] = {
    "crates.io": "cargo",
    "go": "golang",
    "maven": "maven",
    "npm": "npm",
    "nuget": "nuget",
    "packagist": "composer",
    "pypi": "pypi",
    "rubygems": "gem",
}
"""OSV ecosystems, in lower case and without the part after a colon -> types of package URLs."""


class OsvPackage(msgspec.Struct):
    """A package of an entry."""

    name: str = ""
    ecosystem: str | None = None


class OsvRange(msgspec.Struct):
    """A range of versions, as a list of events such as `introduced` and `fixed`."""

    type: str = ""
    events: list[dict[str, str]] | None = None


class OsvAffected(msgspec.Struct):
    """The affected versions of a package."""

    package: OsvPackage | None = None
    versions: list[str] | None = None
    ranges: list[OsvRange] | None = None


class OsvEntry(msgspec.Struct):
    """The fields of an entry that are used."""

    id: str
    aliases: list[str] | None = None
    withdrawn: str | None = None
    modified: str | None = None
    affected: list[OsvAffected] | None = None


class OsvText(NamedTuple):
    """The bytes of a file with entries, or the reason why they could not be read."""

    place: str
    data: bytes = b""
    fault: str = ""


class OsvReader:
    """Reads entries and counts the ones that it leaves out."""

    def __init__(self) -> None:
        self.entries = 0
        self.left_out: Counter[str] = Counter()
        self.newest = ""
        self.problems: list[Problem] = []

    def read_rows(self, paths: Iterable[Path]) -> Iterator[MalwareRow]:
        """Yield a row for each malicious package in these files, directories and archives."""
        for text in (text for path in paths for text in _read_texts(path)):
            for entry in self._parse(text):
                yield from self._read_entry(entry, text)

    def _parse(self, text: OsvText) -> list[Any]:
        if text.fault:
            self._report(text, text.fault)
            return []
        try:
            body = json.loads(text.data)
        except (ValueError, RecursionError) as error:
            self._report(text, f"this is no JSON: {error}")
            return []
        return body if isinstance(body, list) else [body]

    def _read_entry(self, body: object, text: OsvText) -> Iterator[MalwareRow]:
        try:
            entry = msgspec.convert(body, OsvEntry)
        except msgspec.ValidationError as error:
            self._report(text, f"this is no entry of OSV: {str(error)[:200]}")
            return
        name = next((name for name in (entry.id, *(entry.aliases or ())) if name.startswith(MALICIOUS)), "")
        if not name or entry.withdrawn:
            self.left_out["withdrawn" if name else "not about malicious packages"] += 1
            return
        affected = [part for part in entry.affected or () if part.package and part.package.name.strip()]
        if not affected:
            self._report(text, f"{_sanitize(name)} names no package")
            return
        rows = [row for part in affected if (row := self._build_row(_sanitize(name), part)) is not None]
        self.entries += bool(rows)
        self.newest = max(self.newest, entry.modified or "")
        yield from rows

    def _build_row(self, report: str, affected: OsvAffected) -> MalwareRow | None:
        package = affected.package or OsvPackage()
        ecosystem = (package.ecosystem or "").partition(":")[0].lower()
        kind = PURL_TYPES.get(ecosystem)
        if kind is None:
            self.left_out[f"of the ecosystem {_sanitize(ecosystem) or 'without a name'}"] += 1
            return None
        name = package.name.replace(":", "/") if kind == "maven" else package.name
        versions = tuple(dict.fromkeys(_list_versions(kind, affected)))
        return MalwareRow(get_package_key(build_purl(kind, name)), report, versions)

    def _report(self, text: OsvText, message: str) -> None:
        self.problems.append(build_problem("TL260", message, place=Place(text.place)))


def _list_versions(kind: str, affected: OsvAffected) -> Iterator[str]:
    """Yield the affected versions of an entry; all versions if it names none."""
    versions, ranges = list(filter(None, affected.versions or ())), affected.ranges or ()
    if not versions and not ranges:
        yield ALL_VERSIONS
    yield from (_format_version(kind, version) for version in versions)
    for part in ranges:
        if part.type == "GIT":
            yield UNKNOWN_VERSIONS
        else:
            yield from _list_version_ranges(kind, part.events or ())


def _list_version_ranges(kind: str, events: Iterable[dict[str, str]]) -> Iterator[str]:
    start = ""
    for event in events:
        if "introduced" in event:
            start = event["introduced"]
            continue
        for key, sign in (("fixed", "<"), ("last_affected", "<=")):
            if key in event:
                yield f">={_format_version(kind, start or '0')},{sign}{_format_version(kind, event[key])}"
                start = ""
    if start:
        yield ALL_VERSIONS if start == "0" else f">={_format_version(kind, start)}"


def _format_version(kind: str, version: str) -> str:
    """Return a version as written in a package URL, which has no spaces."""
    return build_purl(kind, "x", version).rpartition("@")[2]


def _sanitize(text: str) -> str:
    return "".join(char for char in text if char.isalnum() or char in "-._")[:80]


def _read_texts(path: Path) -> Iterator[OsvText]:
    """Yield every text of a file, directory or archive."""
    if path.is_dir():
        files = (file for file in path.rglob("*.json") if file.is_file())
        yield from (_read_file(file) for file in islice(files, MAX_TEXTS))
        if next(files, None) is not None:
            yield OsvText(str(path), fault="there are more files than are read")
    elif path.suffix == ".zip":
        yield from _read_archive(path)
    else:
        yield _read_file(path)


def _read_file(path: Path) -> OsvText:
    try:
        with path.open("rb") as file:
            return _read_text(str(path), file)
    except OSError as error:
        return OsvText(str(path), fault=f"the file cannot be read: {describe_os_error(error)}")


def _read_text(place: str, file: IO[bytes]) -> OsvText:
    data = file.read(MAX_TEXT_BYTES + 1)
    return OsvText(place, data) if len(data) <= MAX_TEXT_BYTES else OsvText(place, fault="the entry is too large")


def _read_archive(path: Path) -> Iterator[OsvText]:
    """Yield the texts of an archive. Members are never unpacked, and their declared sizes are not trusted."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [member for member in archive.infolist() if member.filename.endswith(".json")]
            yield from (_read_member(archive, member) for member in members[:MAX_TEXTS])
            if len(members) > MAX_TEXTS:
                yield OsvText(str(path), fault="there are more entries than are read")
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        yield OsvText(str(path), fault=f"the archive cannot be read: {error}")


def _read_member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> OsvText:
    with archive.open(member) as file:
        return _read_text(f"{archive.filename}/{member.filename}", file)
