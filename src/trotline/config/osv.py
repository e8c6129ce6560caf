"""Reports in the OSV format, from files, directories and zip archives as they are published; nothing is fetched.

Only entries about malicious packages count, which have an id or an alias that begins with MAL-. One that cannot be read
is a Problem, and the others are taken.
"""

import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from trotline.analysis.reports import ALL, UNKNOWN_VERSIONS
from trotline.analysis.tools.packages_specs import purl
from trotline.config.malicious import Row, key_of
from trotline.config.problems import CODES, Problem
from trotline.hooks import Place

MALICIOUS = "MAL-"
LARGEST = 16_000_000
MOST_TEXTS = 5_000_000
"""Bytes of one entry, and entries of one archive or directory."""

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
"""Ecosystems as OSV calls them, without what stands behind a colon, in small letters -> types of package URLs."""


class Text(NamedTuple):
    """An entry as it was found; no bytes when it could not be, and why."""

    place: str
    data: bytes = b""
    fault: str = ""


class Osv:
    """Reads entries, and counts what it leaves out."""

    def __init__(self) -> None:
        self.entries = 0
        self.left_out: Counter[str] = Counter()
        self.newest = ""
        self.problems: list[Problem] = []

    def rows(self, paths: Iterable[Path]) -> Iterator[Row]:
        for path in paths:
            for text in _texts(path):
                yield from self._of(text)

    def _of(self, text: Text) -> Iterator[Row]:
        try:
            body = json.loads(text.data) if not text.fault else None
        except (ValueError, RecursionError) as error:
            text = text._replace(fault=f"this is no JSON: {error}")
        if text.fault:
            self._report(text, text.fault)
            return
        for entry in body if isinstance(body, list) else [body]:
            yield from self._entry(entry, text)

    def _entry(self, entry: Any, text: Text) -> Iterator[Row]:
        if not isinstance(entry, dict) or not isinstance(entry.get("id"), str):
            self._report(text, "this is no entry of OSV: it has no `id`")
            return
        ids = [entry["id"], *(alias for alias in _list(entry.get("aliases")) if isinstance(alias, str))]
        name = next((one for one in ids if one.startswith(MALICIOUS)), "")
        if not name or entry.get("withdrawn"):
            self.left_out["withdrawn" if name else "not about malicious packages"] += 1
            return
        packages = [one for one in _list(entry.get("affected")) if _named(one)]
        if not packages:
            self._report(text, f"{_plain(name)} names no package")
            return
        rows = [row for one in packages if (row := self._row(_plain(name), one)) is not None]
        self.entries += bool(rows)
        self.newest = max(self.newest, str(entry.get("modified") or ""))
        yield from rows

    def _row(self, name: str, affected: dict[str, Any]) -> Row | None:
        package = affected["package"]
        ecosystem = str(package.get("ecosystem") or "").partition(":")[0].lower()
        kind = KINDS.get(ecosystem)
        if kind is None:
            self.left_out[f"of the ecosystem {_plain(ecosystem) or 'without a name'}"] += 1
            return None
        called = package["name"].replace(":", "/") if kind == "maven" else package["name"]
        return Row(key_of(purl(kind, called)), name, tuple(dict.fromkeys(_versions(kind, affected))))

    def _report(self, text: Text, why: str) -> None:
        severity = CODES["TL260"].severity
        self.problems.append(Problem(code="TL260", severity=severity, place=Place(text.place), message=why))


def _named(affected: Any) -> bool:
    package = affected.get("package") if isinstance(affected, dict) else None
    return isinstance(package, dict) and isinstance(package.get("name"), str) and package["name"].strip() != ""


def _versions(kind: str, affected: dict[str, Any]) -> Iterator[str]:
    """The versions that an entry means; all, if it does not say."""
    versions = [one for one in _list(affected.get("versions")) if isinstance(one, str) and one]
    ranges = [one for one in _list(affected.get("ranges")) if isinstance(one, dict)]
    if not versions and not ranges:
        yield ALL
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
        yield ALL if begin == "0" else f">={_version(kind, begin)}"


def _version(kind: str, version: str) -> str:
    """As a package URL writes it, which has no spaces."""
    return purl(kind, "x", version).rpartition("@")[2]


def _plain(text: str) -> str:
    return "".join(char for char in text if char.isalnum() or char in "-._")[:80]


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _texts(path: Path) -> Iterator[Text]:
    """Every entry below a path."""
    if path.is_dir():
        files = (file for file in path.rglob("*.json") if file.is_file())
        yield from map(_file, islice(files, MOST_TEXTS))
        if next(files, None) is not None:
            yield Text(str(path), fault="there are more files than are read")
    elif path.suffix == ".zip":
        yield from _archive(path)
    else:
        yield _file(path)


def _file(path: Path) -> Text:
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        return Text(str(path), fault=f"the file cannot be read: {(error.strerror or str(error)).lower()}")
    return Text(str(path), data) if len(data) <= LARGEST else Text(str(path), fault="the entry is too large")


def _archive(path: Path) -> Iterator[Text]:
    """Members are read and never unpacked; what one says of its own size is not believed."""
    try:
        with zipfile.ZipFile(path) as archive:
            members = [one for one in archive.infolist() if one.filename.endswith(".json")]
            yield from (_member(archive, member) for member in members[:MOST_TEXTS])
            if len(members) > MOST_TEXTS:
                yield Text(str(path), fault="there are more entries than are read")
    except (OSError, zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        yield Text(str(path), fault=f"the archive cannot be read: {error}")


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> Text:
    place = f"{archive.filename}/{member.filename}"
    with archive.open(member) as file:
        data = file.read(LARGEST + 1)
    return Text(place, data) if len(data) <= LARGEST else Text(place, fault="the entry is too large")
