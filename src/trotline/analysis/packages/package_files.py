"""Parse manifests, lock files and settings files of package managers: which packages they bring, and from where."""

import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

from trotline.analysis.packages.package_specs import (
    UNVERIFIED,
    PackageRequest,
    build_purl,
    disables_checks,
    get_foreign_host,
    get_source_host,
    parse_request,
)


class PackageEntry(NamedTuple):
    """An entry of a file: a package, an index that packages come from, or a disabled check."""

    kind: str
    request: PackageRequest


_GO_REQUIRE = re.compile(r"(?:require\s+)?([\w.-]+\.[\w-]+/[\w./-]+|[\w.-]+\.[a-z]+/[\w./-]+)\s+(v[\w.+-]+)")
_GO_REPLACE = re.compile(r"(?:replace\s+)?[\w./-]+(?:\s+v[\w.+-]+)?\s+=>\s+([\w.-]+\.[a-z]+/[\w./-]+)\s+(v[\w.+-]+)")
_GEM = re.compile(r"""gem\s+["']([\w.-]+)["'](?:\s*,\s*["']\D{0,4}([\d.]+)["'])?""")
_GEM_GIT = re.compile(r"""\b(?:git|github|gist|bitbucket):\s*["']([^"']+)["']""")
_GEM_SOURCE = re.compile(r"""source\s+["']([^"']+)["']""")
_JSON_PAIR = re.compile(r"""["']([@\w][\w./@-]*)["']\s*:\s*["']([^"'\n]*)["']""")
_JSON_STRINGS = re.compile(r""""([\w-]{1,40})"\s*:\s*("(?:[^"\\\n]|\\["\\/bfnrt])*")""")
_VERSION_SPEC = re.compile(r"^(?:[\^~<>=v]{0,2}\s?\d|\*$|latest$|next$|npm:|git|github:|file:|https?://|ssh://)")
_QUOTED_REQUIREMENT = re.compile(r"""["']([A-Za-z][\w.-]*(?:\[[\w, -]*\])?\s*(?:[<>=!~]=|@ |[<>])[^"'\n]*)["']""")
_TOML_PAIR = re.compile(r"""^[ \t]*([\w-]+)[ \t]*=[ \t]*(["'][^"'\n]*["']|\{[^}\n]*\})""", re.MULTILINE)
_TOML_INLINE_PAIR = re.compile(r"""(\w+)\s*=\s*["']([^"'\n]*)["']""")
_TOML_HEADER = re.compile(r"^[ \t]*\[", re.MULTILINE)
_NOT_PACKAGES = frozenset("version node npm yarn pnpm bun vscode php python edition name rust-version".split())
"""Keys with versions in manifests that are not packages."""

_INSTALL_SCRIPTS = {
    "package.json": frozenset("preinstall install postinstall preprepare prepare postprepare prepublish".split()),
    "composer.json": frozenset(
        "pre-install-cmd post-install-cmd pre-update-cmd post-update-cmd pre-autoload-dump post-autoload-dump"
        " post-root-package-install post-create-project-cmd".split()
    ),
}
"""Scripts that run automatically on install."""

_INDEX_OPTIONS = ("-i", "--index-url", "--extra-index-url", "--find-links", "-f")


def parse_manifest(path: str, text: str) -> tuple[PackageEntry, ...]:
    """Return the entries of a manifest, none for other files. A fragment or an invalid file is read line by line."""
    for parse in _get_parsers(path):
        try:
            entries = (entry for entry in parse(text) if entry.request.purl or entry.request.host)
            return tuple(dict.fromkeys(entries))
        except (ValueError, RecursionError):
            continue
    return ()


def list_install_scripts(path: str, text: str) -> tuple[tuple[str, str], ...]:
    """Return the names and commands of scripts that run automatically when the manifest is installed."""
    names = _INSTALL_SCRIPTS.get(posixpath.basename(path).lower())
    if names is None:
        return ()
    try:
        scripts = _get_table(_parse_json(text), "scripts")
    except (ValueError, RecursionError):
        return tuple((name, _parse_json(line)) for name, line in _JSON_STRINGS.findall(text) if name in names)
    lines = [(name, scripts[name]) for name in scripts if name in names]
    commands = [(name, command) for name, line in lines for command in (line if isinstance(line, list) else [line])]
    return tuple((name, command) for name, command in commands if isinstance(command, str) and "::" not in command)


def _get_parsers(path: str) -> "tuple[ManifestParser, ...]":
    name = posixpath.basename(path).lower()
    if name.endswith((".txt", ".in")) and "requirement" in name:
        return (_parse_requirements,)
    return _MANIFEST_PARSERS.get(name, ())


def _parse_requirements(text: str) -> Iterator[PackageEntry]:
    for line in dict.fromkeys(text.splitlines()):
        plain = line.partition(" #")[0].partition(" --hash")[0].strip().rstrip("\\").strip()
        option, _, value = plain.replace("=", " ", 1).partition(" ") if plain.startswith("-") else ("", "", "")
        if option in _INDEX_OPTIONS:
            yield from _parse_index("pypi", value.strip())
        elif option == "--trusted-host":
            yield PackageEntry("pypi", PackageRequest(source=UNVERIFIED, host=value.strip(), name=option))
        elif option in {"-e", "--editable"}:
            yield PackageEntry("pypi", parse_request("pypi", value.strip()))
        elif plain and plain[0] not in "#-":
            yield PackageEntry("pypi", parse_request("pypi", plain))


class ManifestTables(NamedTuple):
    """The places of packages in a TOML or JSON document: dotted paths, in which `*` is any key."""

    kind: str
    versions: str  # tables of names with versions
    requirements: str = ""  # lists of requirements
    indexes: str = ""  # lists of package sources


def _list_document_entries(document: Any, tables: ManifestTables) -> Iterator[PackageEntry]:
    for group in _find_values(document, tables.requirements):
        yield from (PackageEntry(tables.kind, parse_request(tables.kind, line)) for line in _list_strings(group))
    for table in _find_values(document, tables.versions):
        yield from _list_versions(tables.kind, table if isinstance(table, dict) else {})
    for sources in _find_values(document, tables.indexes):
        yield from _list_indexes(sources)


def _find_values(document: Any, paths: str) -> Iterator[Any]:
    """Return the values at the paths of a document."""
    for path in paths.split():
        values = [document]
        for key in path.split("."):
            parents = [value for value in values if isinstance(value, dict)]
            values = [inner for parent in parents for name, inner in parent.items() if key in {name, "*"}]
        yield from values


_CARGO = ManifestTables(
    "cargo",
    "dependencies dev-dependencies build-dependencies workspace.dependencies workspace.dev-dependencies"
    " workspace.build-dependencies target.*.dependencies target.*.dev-dependencies target.*.build-dependencies patch.*",
)
_COMPOSER = ManifestTables("composer", "require require-dev")
_NPM = ManifestTables("npm", "dependencies devDependencies optionalDependencies peerDependencies")
_PIPFILE = ManifestTables("pypi", "packages dev-packages", indexes="source")
_PYPROJECT = ManifestTables(
    "pypi",
    "tool.poetry.dependencies tool.poetry.dev-dependencies tool.poetry.group.*.dependencies",
    "project.dependencies build-system.requires project.optional-dependencies.* dependency-groups.*"
    " tool.uv.dev-dependencies",
    "tool.uv.index tool.poetry.source tool.pdm.source",
)


def _parse_pyproject(text: str) -> Iterator[PackageEntry]:
    document = _parse_toml(text)
    yield from _list_document_entries(document, _PYPROJECT)
    for uv in _find_values(document, "tool.uv"):
        sources = _get_table(uv, "sources").items()
        located = {name: source for name, source in sources if isinstance(source, dict) and {"git", "url"} & {*source}}
        yield from _list_versions("pypi", located)  # the others are in an index


def _parse_json_manifest(tables: ManifestTables, text: str) -> Iterator[PackageEntry]:
    yield from _list_document_entries(_parse_json(text), tables)


def _parse_toml_manifest(tables: ManifestTables, text: str) -> Iterator[PackageEntry]:
    yield from _list_document_entries(_parse_toml(text), tables)


def _parse_go_mod(text: str) -> Iterator[PackageEntry]:
    for line in dict.fromkeys(text.splitlines()):
        match = _GO_REPLACE.match(line.strip()) or _GO_REQUIRE.match(line.strip())
        if match:
            yield PackageEntry("golang", PackageRequest(build_purl("golang", match[1], match[2]), match[1]))


def _parse_gemfile(text: str) -> Iterator[PackageEntry]:
    for line in dict.fromkeys(text.splitlines()):
        plain = line.strip()
        match, git, source = _GEM.match(plain), _GEM_GIT.search(plain), _GEM_SOURCE.match(plain)
        if match and git:
            yield PackageEntry(
                "gem", PackageRequest(source="git", host=get_source_host(git[1]) or "github", name=git[1])
            )
        elif match:
            yield PackageEntry("gem", PackageRequest(build_purl("gem", match[1], match[2] or ""), match[1]))
        elif source:
            yield from _parse_index("gem", source[1])


# Fragments of manifests: an edit contains only some lines


def _parse_npm_lines(text: str) -> Iterator[PackageEntry]:
    for name, value in _JSON_PAIR.findall(text):
        if name not in _NOT_PACKAGES and _VERSION_SPEC.match(value):
            yield from _list_versions("npm", {name: value})


def _parse_python_lines(text: str) -> Iterator[PackageEntry]:
    yield from (PackageEntry("pypi", parse_request("pypi", line)) for line in _QUOTED_REQUIREMENT.findall(text))
    yield from _parse_toml_lines("pypi", text)


def _parse_toml_lines(kind: str, text: str) -> Iterator[PackageEntry]:
    for name, value in _TOML_PAIR.findall(text):
        table = dict(_TOML_INLINE_PAIR.findall(value)) if value.startswith("{") else value.strip("\"'")
        if name not in _NOT_PACKAGES and (table if isinstance(table, dict) else _VERSION_SPEC.match(table)):
            yield from _list_versions(kind, {name: table})


# Shared by the parsers


def _list_versions(kind: str, table: Mapping[str, Any]) -> Iterator[PackageEntry]:
    for name, value in table.items():
        if name.lower() == "python" or (isinstance(value, dict) and value.keys() & {"path", "workspace"}):
            continue
        if kind == "composer" and "/" not in name:
            continue  # PHP itself, and its extensions
        yield PackageEntry(kind, _build_request(kind, name, value))


def _build_request(kind: str, name: str, value: Any) -> PackageRequest:
    """Return the request for a name with a version or an address."""
    if isinstance(value, dict):
        for source in ("git", "url"):
            if isinstance(address := value.get(source), str):
                return PackageRequest(source=source, host=get_source_host(address) or "localhost", name=address)
        name, value = str(value.get("package", name)), value.get("version", "")
    text = value if isinstance(value, str) else ""
    if kind == "npm" and (":" in text or "/" in text) and not text.startswith(("catalog:", "patch:")):
        return parse_request("npm", f"{name}@{text}")
    return PackageRequest(
        build_purl(kind, name, text.lstrip("=v ") if text[:1].isdigit() or text[:1] == "=" else ""), name
    )


def _list_indexes(sources: Any) -> Iterator[PackageEntry]:
    for source in sources if isinstance(sources, list) else ():
        yield from _parse_index("pypi", str(source.get("url", "")) if isinstance(source, dict) else "")


def _parse_index(kind: str, address: str) -> Iterator[PackageEntry]:
    if "://" in address:
        yield PackageEntry(kind, PackageRequest(source="index", host=get_source_host(address), name=address))


def _get_table(document: Any, name: str) -> Mapping[str, Any]:
    table = document.get(name) if isinstance(document, dict) else None
    return table if isinstance(table, dict) else {}


def _list_strings(value: Any) -> Iterable[str]:
    return [line for line in value if isinstance(line, str)] if isinstance(value, list) else ()


def _parse_json(text: str) -> Any:
    import json  # noqa: PLC0415 - only a line that writes a manifest needs it

    return json.loads(text, strict=False)


def _parse_toml(text: str) -> dict[str, Any]:
    if not _TOML_HEADER.search(text):
        raise ValueError("a piece of a manifest")  # its lines may be TOML, but of an unknown table
    return _parse_whole_toml(text)


def _parse_whole_toml(text: str) -> dict[str, Any]:
    """Parse TOML within the limits that protect the parser."""
    import tomllib  # noqa: PLC0415 - only a line that writes a manifest needs it

    from trotline.formats.toml_text import find_excess  # noqa: PLC0415 - as above

    if (beyond := find_excess(text)) is not None:
        raise ValueError(beyond[1])
    return tomllib.loads(text)


ManifestParser = Callable[[str], Iterator[PackageEntry]]
_MANIFEST_PARSERS: dict[str, tuple[ManifestParser, ...]] = {
    "requirements.txt": (_parse_requirements,),
    "pyproject.toml": (_parse_pyproject, _parse_python_lines),
    "pipfile": (partial(_parse_toml_manifest, _PIPFILE), _parse_python_lines),
    "package.json": (partial(_parse_json_manifest, _NPM), _parse_npm_lines),
    "composer.json": (partial(_parse_json_manifest, _COMPOSER),),
    "cargo.toml": (partial(_parse_toml_manifest, _CARGO), partial(_parse_toml_lines, "cargo")),
    "go.mod": (_parse_go_mod,),
    "gemfile": (_parse_gemfile,),
}
"""Parsers by file name: for a whole manifest, then for a fragment."""


# Lock files and settings files

_SOURCE_KEYS = {
    "npm": "resolved|tarball|repo|resolution",
    "pypi": "url|registry|git",
    "cargo": "source",
    "gem": "remote",
}
_SOURCE_ADDRESS = (
    r"""["']?[ \t]{0,4}[:=]?[ \t]{0,4}["']?(?:[^\s"']{0,80}@)?"""
    r"""((?:git\+|registry\+|sparse\+)?(?:https?|ssh|git)://[^\s"'<>{}\],#?]{1,500})"""
)
_SOURCE_PATTERNS = {kind: re.compile(rf"\b({keys})\b{_SOURCE_ADDRESS}") for kind, keys in _SOURCE_KEYS.items()}
_LOCK_KINDS = {
    **dict.fromkeys("package-lock.json npm-shrinkwrap.json yarn.lock pnpm-lock.yaml bun.lock".split(), "npm"),
    **dict.fromkeys("poetry.lock uv.lock pdm.lock pipfile.lock".split(), "pypi"),
    "cargo.lock": "cargo",
    "gemfile.lock": "gem",
}
_SETTINGS_KINDS = {
    **dict.fromkeys(".npmrc .yarnrc .yarnrc.yml bunfig.toml".split(), "npm"),
    **dict.fromkeys("pip.conf pip.ini uv.toml".split(), "pypi"),
    ".cargo/config.toml": "cargo",
    ".cargo/config": "cargo",
}
_SETTING_LINE = re.compile(
    r"""^[ \t]*["']?([^\s="']{1,200}?)["']?(?:=|: |[ \t])[ \t=:"']{0,8}([^\s"']{1,500})""", re.MULTILINE
)
_SOURCE_SUFFIXES = ("registry", "registryserver", "index", "find-links", "url")


def parse_lock_file(path: str, text: str) -> tuple[PackageEntry, ...]:
    """Return the sources of the packages in a lock file: indexes and repositories."""
    kind = _LOCK_KINDS.get(posixpath.basename(path).lower(), "")
    sources = _SOURCE_PATTERNS[kind].findall(text) if kind else []
    return tuple(dict.fromkeys(_parse_source(kind, key, address) for key, address in sources))


def _parse_source(kind: str, key: str, address: str) -> PackageEntry:
    plain = address.partition("+")[2] if "+" in address[:9] else address
    host = get_source_host(plain)
    is_git = address.startswith(("git", "ssh")) or plain.endswith(".git") or key in {"git", "repo"}
    if is_git:
        return PackageEntry(kind, PackageRequest(source="git", host=host, name=plain))
    is_default = kind == "cargo" and host == "github.com" and "/rust-lang/" in plain  # the index of cargo itself
    return PackageEntry(kind, PackageRequest(source="index", host="" if is_default else get_foreign_host(kind, plain)))


def parse_settings_file(path: str, text: str) -> tuple[PackageEntry, ...]:
    """Return the foreign package sources and disabled checks in a settings file."""
    parts = path.lower().split("/")
    kind = _SETTINGS_KINDS.get(parts[-1], "") or _SETTINGS_KINDS.get("/".join(parts[-2:]), "")
    return tuple(dict.fromkeys(_list_settings(kind, text)))


def _list_settings(kind: str, text: str) -> Iterator[PackageEntry]:
    for key, value in _SETTING_LINE.findall(text):
        name = key.rpartition(":")[2].rpartition(".")[2].lower()
        if disables_checks(name, value):
            yield PackageEntry(kind, PackageRequest(source=UNVERIFIED, name=key))
        elif name.endswith(_SOURCE_SUFFIXES) or name in {"index-url", "extra-index-url", "default-index"}:
            host = get_foreign_host(kind, value)
            if host:
                yield PackageEntry(kind, PackageRequest(source="index", host=host, name=key))


def list_locked_packages(path: str, text: str) -> tuple[str, ...]:
    """Return the package URLs in a lock file or manifest, none for other or invalid files."""
    parse = _LOCK_PARSERS.get(posixpath.basename(path).lower())
    if parse is None:
        purls = (entry.request.purl for entry in parse_manifest(path, text))
        return tuple(dict.fromkeys(filter(None, purls)))
    try:
        return tuple(dict.fromkeys(parse(text)))
    except (ValueError, RecursionError):
        return ()


def _parse_package_lock(text: str) -> Iterator[str]:
    import json  # noqa: PLC0415 - only installs from a file need it

    document = json.loads(text)
    for path, package in _get_table(document, "packages").items():
        if isinstance(package, dict):
            name = str(package.get("name") or path.rpartition("node_modules/")[2])
            yield from _build_locked("npm", name, package.get("version"))
    waiting = [_get_table(document, "dependencies")]
    while waiting:  # the older format nests dependencies
        for name, package in waiting.pop().items():
            if isinstance(package, dict):
                yield from _build_locked("npm", name, package.get("version"))
                waiting.append(_get_table(package, "dependencies"))


_TOML_LOCK_ENTRY = re.compile(r"""^name = "([^"\n]++)"\r?\nversion = "([^"\n]++)\"""", re.MULTILINE)


def _parse_toml_lock(kind: str, text: str) -> Iterator[str]:
    """Parse `[[package]]` tables with name and version, as uv, Poetry, PDM and Cargo write them."""
    try:
        packages = _parse_whole_toml(text).get("package")
    except ValueError:  # the package manager may accept what our parser does not
        yield from (build_purl(kind, name, version) for name, version in _TOML_LOCK_ENTRY.findall(text))
        return
    for package in packages if isinstance(packages, list) else ():
        if isinstance(package, dict):
            yield from _build_locked(kind, str(package.get("name") or ""), package.get("version"))


_YARN_ENTRY = re.compile(r"""^"?(@?[^@"\s]+)@[^\n]*:\n +version:? "?([^"\s]+)""", re.MULTILINE)
_PNPM_ENTRY = re.compile(r"^ {2}['\"]?/?(@?[^@'\"\s/]+(?:/[^@'\"\s/]+)?)[@/](\d[^'\":(\s]*)", re.MULTILINE)


def _parse_npm_lock_lines(pattern: re.Pattern[str], text: str) -> Iterator[str]:
    yield from (build_purl("npm", name, version) for name, version in pattern.findall(text))


def _build_locked(kind: str, name: str, version: object) -> Iterator[str]:
    if name:
        yield build_purl(kind, name, str(version or ""))


_LOCK_PARSERS: dict[str, Callable[[str], Iterator[str]]] = {
    "package-lock.json": _parse_package_lock,
    "npm-shrinkwrap.json": _parse_package_lock,
    "yarn.lock": partial(_parse_npm_lock_lines, _YARN_ENTRY),
    "pnpm-lock.yaml": partial(_parse_npm_lock_lines, _PNPM_ENTRY),
    "uv.lock": partial(_parse_toml_lock, "pypi"),
    "poetry.lock": partial(_parse_toml_lock, "pypi"),
    "pdm.lock": partial(_parse_toml_lock, "pypi"),
    "cargo.lock": partial(_parse_toml_lock, "cargo"),
}
