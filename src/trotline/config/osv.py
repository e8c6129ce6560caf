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
from typing import Any, NamedTuple

from trotline.analysis.packages.malware_reports import ALL_VERSIONS, UNKNOWN_VERSIONS
from trotline.analysis.packages.package_specs import build_purl
from trotline.config.malicious import MalwareRow, get_package_key
from trotline.config.problems import Problem, build_problem
from trotline.domain.errors import describe_os_error
from trotline.domain.hooks import Place

MALICIOUS = "MAL-"
MAX = 16_000_000
MAX_TEXTS = 5_000_000
"""The limits: bytes of one entry, and entries of one archive or directory."""

KINDS: dict[str, str] = {
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


class Text(NamedTuple):
    """The bytes of an entry, or the reason why they could not be read."""

    place: str
    data: bytes = b""
    fault: str = ""


class Osv:
    """A reader of entries that counts the ones it leaves out."""

    def __init__(self) -> None:
        self.entries = 0
        self.left_out: Counter[str] = Counter()
        self.newest = ""
        self.problems: list[Problem] = []

    def rows(self, paths: Iterable[Path]) -> Iterator[MalwareRow]:
        """Yield a row for each malicious package in these files, directories and archives."""
        for path in paths:
            for text in _texts(path):
                yield from self._read_rows(text)

    def _read_rows(self, text: Text) -> Iterator[MalwareRow]:
        try:
            body = json.loads(text.data) if not text.fault else None
        except (ValueError, RecursionError) as error:
            text = text._replace(fault=f"this is no JSON: {error}")
        if text.fault:
            self._report(text, text.fault)
            return
        for entry in body if isinstance(body, list) else [body]:
            yield from self._entry(entry, text)

    def _entry(self, entry: Any, text: Text) -> Iterator[MalwareRow]:
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            self._report(text, "this is no entry of OSV: it has no `id`")
            return
        ids = [entry["id"], *(alias for alias in _list(entry.get("aliases")) if isinstance(alias, str))]
        name = next((one for one in ids if one.startswith(MALICIOUS)), "")
        if not name or entry.get("withdrawn"):
            self.left_out["withdrawn" if name else "not about malicious packages"] += 1
            return
        packages = [one for one in _list(entry.get("affected")) if _get_names(one)]
        if not packages:
            self._report(text, f"{_plain(name)} names no package")
            return
        rows = [row for one in packages if (row := self._row(_plain(name), one)) is not None]
        self.entries += bool(rows)
        self.newest = max(self.newest, str(entry.get("modified") or ""))
        yield from rows

    def _row(self, name: str, affected: dict[str, Any]) -> MalwareRow | None:
        package = affected["package"]
        ecosystem = str(package.get("ecosystem") or "").partition(":")[0].lower()
        kind = KINDS.get(ecosystem)
        if kind is None:
            self.left_out[f"of the ecosystem {_plain(ecosystem) or 'without a name'}"] += 1
            return None
        called = package["name"].replace(":", "/") if kind == "maven" else package["name"]
        return MalwareRow(
            get_package_key(build_purl(kind, called)), name, tuple(dict.fromkeys(_versions(kind, affected)))
        )

    def _report(self, text: Text, why: str) -> None:
        self.problems.append(build_problem("TL260", why, place=Place(text.place)))


def _get_names(affected: Any) -> bool:
    package = affected.get("package") if isinstance(affected, dict) else None
    return isinstance(package, dict) and isinstance(package.get("name"), str) and package["name"].strip() != ""


def _versions(kind: str, affected: dict[str, Any]) -> Iterator[str]:
    """Yield the affected versions of an entry; all versions if it names none."""
    versions = [one for one in _list(affected.get("versions")) if isinstance(one, str) and one]
    ranges = [one for one in _list(affected.get("ranges")) if isinstance(one, dict)]
    if not versions and not ranges:
        yield ALL_VERSIONS
    yield from (_version(kind, one) for one in versions)
    for one in ranges:
        if one.get("type") == "GIT":
            yield UNKNOWN_VERSIONS
        else:
            yield from _spans(kind, _list(one.get("events")))


def _spans(kind: str, events: list[Any]) -> Iterator[str]:
    begin = ""
    for event in (one for one in events if isinstance(one, dict)):
        if "introduced" in event:
            begin = str(event["introduced"])
            continue
        for key, sign in (("fixed", "<"), ("last_affected", "<=")):
            if key in event:
                yield f">={_version(kind, begin or '0')},{sign}{_version(kind, str(event[key]))}"
                begin = ""
    if begin:
        yield ALL_VERSIONS if begin == "0" else f">={_version(kind, begin)}"


def _version(kind: str, version: str) -> str:
    """Return a version as written in a package URL, which has no spaces."""
    return build_purl(kind, "x", version).rpartition("@")[2]


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isalnum() or char in "-._")[:80]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(path: Path) -> Iterator[Text]:
    """Yield every entry of a file, directory or archive."""
    if path.is_dir():
        files = (file for file in path.rglob("*.json") if file.is_file())
        yield from map(_file, islice(files, MAX_TEXTS))
        if next(files, None) is not None:
            yield Text(str(path), fault="there are more files than are read")
    elif path.suffix == ".zip":
        yield from _archive(path)
    else:
        yield _file(path)


def _file(path: Path) -> Text:
    try:
        with path.open("rb") as file:
            data = file.read(MAX + 1)
    except OSError as error:
        return Text(str(path), fault=f"the file cannot be read: {describe_os_error(error)}")
    return Text(str(path), data) if len(data) <= MAX else Text(str(path), fault="the entry is too large")


def _archive(path: Path) -> Iterator[Text]:
    """Yield the entries of an archive. Members are never unpacked, and their declared sizes are not trusted."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(".json")]
            yield from (_member(archive, member) for member in members[:MAX_TEXTS])
            if len(members) > MAX_TEXTS:
                yield Text(str(path), fault="there are more entries than are read")
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        yield Text(str(path), fault=f"the archive cannot be read: {error}")


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Text:
    place = f"{archive.filename}/{member.filename}"
    with archive.open(member) as file:
        data = file.read(MAX + 1)
    return Text(place, data) if len(data) <= MAX else Text(place, fault="the entry is too large")
