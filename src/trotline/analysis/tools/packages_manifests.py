"""Files that say which packages a project wants; who edits one installs what it names."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from trotline.analysis.tools.packages_specs import UNCHECKED, Wanted, host_of, purl, wanted


class Listed(NamedTuple):
    """What a manifest names: a package; or, without a name, an index that packages would come from."""

    kind: str
    want: Wanted


_GO = re.compile(r"(?:require\s+)?([\w.-]+\.[\w-]+/[\w./-]+|[\w.-]+\.[a-z]+/[\w./-]+)\s+(v[\w.+-]+)")
_GO_REPLACED = re.compile(r"(?:replace\s+)?[\w./-]+(?:\s+v[\w.+-]+)?\s+=>\s+([\w.-]+\.[a-z]+/[\w./-]+)\s+(v[\w.+-]+)")
_GEM = re.compile(r"""gem\s+["']([\w.-]+)["'](?:\s*,\s*["']\D{0,4}([\d.]+)["'])?""")
_GEM_GIT = re.compile(r"""\b(?:git|github|gist|bitbucket):\s*["']([^"']+)["']""")
_GEM_SOURCE = re.compile(r"""source\s+["']([^"']+)["']""")
_PAIR = re.compile(r"""["']([@\w][\w./@-]*)["']\s*:\s*["']([^"'\n]*)["']""")
_STRINGS = re.compile(r""""([\w-]{1,40})"\s*:\s*("(?:[^"\\\n]|\\["\\/bfnrt])*")""")
_SPECIFIES = re.compile(r"^(?:[\^~<>=v]{0,2}\s?\d|\*$|latest$|next$|npm:|git|github:|file:|https?://|ssh://)")
_REQUIRED = re.compile(r"""["']([A-Za-z][\w.-]*(?:\[[\w, -]*\])?\s*(?:[<>=!~]=|@ |[<>])[^"'\n]*)["']""")
_SET = re.compile(r"""^[ \t]*([\w-]+)[ \t]*=[ \t]*(["'][^"'\n]*["']|\{[^}\n]*\})""", re.MULTILINE)
_INSIDE = re.compile(r"""(\w+)\s*=\s*["']([^"'\n]*)["']""")
_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_NPM_TABLES = ("dependencies", "devDependencies", "optionalDependencies", "peerDependencies")
_NO_PACKAGES = frozenset("version node npm yarn pnpm bun vscode php python edition name rust-version".split())
"""Names beside versions in manifests that are no packages."""

_BY_ITSELF = {
    "package.json": frozenset("preinstall install postinstall preprepare prepare postprepare prepublish".split()),
    "composer.json": frozenset(
        "pre-install-cmd post-install-cmd pre-update-cmd post-update-cmd pre-autoload-dump post-autoload-dump"
        " post-root-package-install post-create-project-cmd".split()
    ),
}
"""Scripts that run with an install, without anybody naming them."""

_INDEXES = ("-i", "--index-url", "--extra-index-url", "--find-links", "-f")


def packages_in(path: str, text: str) -> tuple[Listed, ...]:
    """The packages that a manifest names. Nothing for a file that is none; of one that cannot be read, or of a piece
    of one, what its lines tell."""
    readers = _readers(path)
    for reader in readers:
        try:
            return tuple(dict.fromkeys(found for found in reader(text) if found.want.purl or found.want.host))
        except (ValueError, RecursionError):
            continue
    return ()


def scripts_in(path: str, text: str) -> tuple[tuple[str, str], ...]:
    """The lines that run by themselves when the manifest is installed, with their names."""
    names = _BY_ITSELF.get(posixpath.basename(path).lower())
    if names is None:
        return ()
    try:
        scripts = _table(_json(text), "scripts")
    except (ValueError, RecursionError):
        return tuple((name, _json(line)) for name, line in _STRINGS.findall(text) if name in names)
    lines = [(name, scripts[name]) for name in scripts if name in names]
    several = [(name, each) for name, line in lines for each in (line if isinstance(line, list) else [line])]
    return tuple((name, each) for name, each in several if isinstance(each, str) and "::" not in each)


def _readers(path: str) -> "tuple[Reader, ...]":
    name = posixpath.basename(path).lower()
    if name.endswith((".txt", ".in")) and "requirement" in name:
        return (_requirements,)
    return _READERS.get(name, ())


def _requirements(text: str) -> Iterator[Listed]:
    for line in dict.fromkeys(text.splitlines()):
        plain = line.partition(" #")[0].partition(" --hash")[0].strip().rstrip("\\").strip()
        option, _, value = plain.replace("=", " ", 1).partition(" ") if plain.startswith("-") else ("", "", "")
        if option in _INDEXES:
            yield from _index("pypi", value.strip())
        elif option == "--trusted-host":
            yield Listed("pypi", Wanted(source=UNCHECKED, host=value.strip(), name=option))
        elif option in {"-e", "--editable"}:
            yield Listed("pypi", wanted("pypi", value.strip()))
        elif plain and plain[0] not in "#-":
            yield Listed("pypi", wanted("pypi", plain))


def _pyproject(text: str) -> Iterator[Listed]:
    document = _toml(text)
    project, tool = _table(document, "project"), _table(document, "tool")
    groups = [_list(project.get("dependencies")), _list(_table(document, "build-system").get("requires"))]
    for extra in (_table(project, "optional-dependencies"), _table(document, "dependency-groups")):
        groups += [_list(listed) for listed in extra.values()]
    groups.append(_list(_table(tool, "uv").get("dev-dependencies")))
    for group in groups:
        yield from (Listed("pypi", wanted("pypi", line)) for line in group)
    poetry = _table(tool, "poetry")
    tables = [_table(poetry, "dependencies"), _table(poetry, "dev-dependencies"), _located(_table(tool, "uv"))]
    tables += [_table(group, "dependencies") for group in _table(poetry, "group").values() if isinstance(group, dict)]
    for table in tables:
        yield from _versions("pypi", table)
    for manager, key in (("uv", "index"), ("poetry", "source"), ("pdm", "source")):
        yield from _indexes(_table(tool, manager).get(key))


def _located(uv: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of the sources that uv is told, those outside of any index."""
    sources = _table(uv, "sources")
    return {name: value for name, value in sources.items() if isinstance(value, dict) and {"git", "url"} & value.keys()}


def _pipfile(text: str) -> Iterator[Listed]:
    document = _toml(text)
    for name in ("packages", "dev-packages"):
        yield from _versions("pypi", _table(document, name))
    yield from _indexes(document.get("source"))


def _package_json(text: str) -> Iterator[Listed]:
    document = _json(text)
    for name in _NPM_TABLES:
        yield from _versions("npm", _table(document, name))


def _composer(text: str) -> Iterator[Listed]:
    document = _json(text)
    for name in ("require", "require-dev"):
        yield from _versions("composer", {key: value for key, value in _table(document, name).items() if "/" in key})


def _cargo(text: str) -> Iterator[Listed]:
    document = _toml(text)
    holders = [document, _table(document, "workspace"), *_table(document, "target").values()]
    for holder in holders:
        for name in ("dependencies", "dev-dependencies", "build-dependencies"):
            yield from _versions("cargo", _table(holder, name))
    for replaced in _table(document, "patch").values():
        yield from _versions("cargo", replaced if isinstance(replaced, dict) else {})


def _go_mod(text: str) -> Iterator[Listed]:
    for line in dict.fromkeys(text.splitlines()):
        match = _GO_REPLACED.match(line.strip()) or _GO.match(line.strip())
        if match:
            yield Listed("golang", Wanted(purl("golang", match[1], match[2]), match[1]))


def _gemfile(text: str) -> Iterator[Listed]:
    for line in dict.fromkeys(text.splitlines()):
        plain = line.strip()
        match, located, source = _GEM.match(plain), _GEM_GIT.search(plain), _GEM_SOURCE.match(plain)
        if match and located:
            yield Listed("gem", Wanted(source="git", host=host_of(located[1]) or "github", name=located[1]))
        elif match:
            yield Listed("gem", Wanted(purl("gem", match[1], match[2] or ""), match[1]))
        elif source:
            yield from _index("gem", source[1])


# Pieces of manifests: an edit shows some lines, and no more


def _npm_lines(text: str) -> Iterator[Listed]:
    for name, value in _PAIR.findall(text):
        if name not in _NO_PACKAGES and _SPECIFIES.match(value):
            yield from _versions("npm", {name: value})


def _python_lines(text: str) -> Iterator[Listed]:
    yield from (Listed("pypi", wanted("pypi", line)) for line in _REQUIRED.findall(text))
    yield from _set_lines("pypi", text)


def _cargo_lines(text: str) -> Iterator[Listed]:
    yield from _set_lines("cargo", text)


def _set_lines(kind: str, text: str) -> Iterator[Listed]:
    for name, value in _SET.findall(text):
        table = dict(_INSIDE.findall(value)) if value.startswith("{") else value.strip("\"'")
        if name not in _NO_PACKAGES and (table if isinstance(table, dict) else _SPECIFIES.match(table)):
            yield from _versions(kind, {name: table})


# What they have in common


def _versions(kind: str, table: Mapping[str, Any]) -> Iterator[Listed]:
    for name, value in table.items():
        if name.lower() == "python" or (isinstance(value, dict) and value.keys() & {"path", "workspace"}):
            continue
        yield Listed(kind, _specified(kind, name, value))


def _specified(kind: str, name: str, value: Any) -> Wanted:
    """A name with its version, or with the address that it comes from."""
    if isinstance(value, dict):
        for source in ("git", "url"):
            if isinstance(address := value.get(source), str):
                return Wanted(source=source, host=host_of(address) or "localhost", name=address)
        name, value = str(value.get("package", name)), value.get("version", "")
    text = value if isinstance(value, str) else ""
    if kind == "npm" and (":" in text or "/" in text) and not text.startswith(("catalog:", "patch:")):
        return wanted("npm", f"{name}@{text}")
    return Wanted(purl(kind, name, text.lstrip("=v ") if text[:1].isdigit() or text[:1] == "=" else ""), name)


def _indexes(listed: Any) -> Iterator[Listed]:
    for one in listed if isinstance(listed, list) else ():
        yield from _index("pypi", str(one.get("url", "")) if isinstance(one, dict) else "")


def _index(kind: str, address: str) -> Iterator[Listed]:
    if "://" in address:
        yield Listed(kind, Wanted(source="index", host=host_of(address), name=address))


def _table(document: Any, name: str) -> Mapping[str, Any]:
    found = document.get(name) if isinstance(document, dict) else None
    return found if isinstance(found, dict) else {}


def _list(value: Any) -> Iterable[str]:
    return [line for line in value if isinstance(line, str)] if isinstance(value, list) else ()


def _json(text: str) -> Any:
    import json  # noqa: PLC0415 - only a line that writes a manifest needs it

    return json.loads(text, strict=False)


def _toml(text: str) -> dict[str, Any]:
    if not _HEADER.search(text):
        raise ValueError("a piece of a manifest")  # its lines may be TOML, but nobody knows of which table
    return toml_of(text)


def toml_of(text: str) -> dict[str, Any]:
    """A page that somebody else wrote; one that the library would not bear is none."""
    import tomllib  # noqa: PLC0415 - only a line that writes a manifest needs it

    from trotline.toml_bounds import beyond_reading  # noqa: PLC0415 - as above

    if (beyond := beyond_reading(text)) is not None:
        raise ValueError(beyond[1])
    return tomllib.loads(text)


Reader = Callable[[str], Iterator[Listed]]
_READERS: dict[str, tuple[Reader, ...]] = {
    "requirements.txt": (_requirements,),
    "pyproject.toml": (_pyproject, _python_lines),
    "pipfile": (_pipfile, _python_lines),
    "package.json": (_package_json, _npm_lines),
    "composer.json": (_composer,),
    "cargo.toml": (_cargo, _cargo_lines),
    "go.mod": (_go_mod,),
    "gemfile": (_gemfile,),
}
"""How a manifest is read, and how a piece of one is."""
