"""Which packages an install by a file brings: those of a lock file with their versions, or those of a manifest."""

import posixpath
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trotline.analysis.tools.packages_manifests import packages_in, toml_of
from trotline.analysis.tools.packages_specs import purl


def packages_of(path: str, text: str) -> tuple[str, ...]:
    """As package URLs; nothing for a file that is none, or cannot be read."""
    reader = _READERS.get(posixpath.basename(path).lower())
    if reader is None:
        return tuple(dict.fromkeys(found.want.purl for found in packages_in(path, text) if found.want.purl))
    try:
        return tuple(dict.fromkeys(reader(text)))
    except (ValueError, RecursionError):
        return ()


def _package_lock(text: str) -> Iterator[str]:
    import json  # noqa: PLC0415 - only a line that installs by a file needs it

    document = json.loads(text)
    for path, one in _table(document, "packages").items():
        if isinstance(one, dict):
            name = str(one.get("name") or path.rpartition("node_modules/")[2])
            yield from _one("npm", name, one.get("version"))
    waiting = [_table(document, "dependencies")]
    while waiting:  # the older form, in which a package holds its own
        for name, one in waiting.pop().items():
            if isinstance(one, dict):
                yield from _one("npm", name, one.get("version"))
                waiting.append(_table(one, "dependencies"))


_LOCKED = re.compile(r"""^name = "([^"\n]++)"\r?\nversion = "([^"\n]++)\"""", re.MULTILINE)


def _toml_lock(kind: str) -> Callable[[str], Iterator[str]]:
    """`[[package]]` with name and version, which three tools of Python and Cargo have in common."""

    def read(text: str) -> Iterator[str]:
        try:
            packages = toml_of(text).get("package")
        except ValueError:  # whoever installs by it may read what we do not
            yield from (purl(kind, name, version) for name, version in _LOCKED.findall(text))
            return
        for one in packages if isinstance(packages, list) else ():
            if isinstance(one, dict):
                yield from _one(kind, str(one.get("name") or ""), one.get("version"))

    return read


_YARN = re.compile(r"""^"?(@?[^@"\s]+)@[^\n]*:\n +version:? "?([^"\s]+)""", re.MULTILINE)
_PNPM = re.compile(r"^ {2}['\"]?/?(@?[^@'\"\s/]+(?:/[^@'\"\s/]+)?)[@/](\d[^'\":(\s]*)", re.MULTILINE)


def _by_lines(pattern: re.Pattern[str]) -> Callable[[str], Iterator[str]]:
    def read(text: str) -> Iterator[str]:
        yield from (purl("npm", name, version) for name, version in pattern.findall(text))

    return read


def _one(kind: str, name: str, version: object) -> Iterator[str]:
    if name:
        yield purl(kind, name, str(version or ""))


def _table(document: Any, name: str) -> Mapping[str, Any]:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


_READERS: dict[str, Callable[[str], Iterator[str]]] = {
    "package-lock.json": _package_lock,
    "npm-shrinkwrap.json": _package_lock,
    "yarn.lock": _by_lines(_YARN),
    "pnpm-lock.yaml": _by_lines(_PNPM),
    "uv.lock": _toml_lock("pypi"),
    "poetry.lock": _toml_lock("pypi"),
    "pdm.lock": _toml_lock("pypi"),
    "cargo.lock": _toml_lock("cargo"),
}
