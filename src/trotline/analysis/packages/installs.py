"""Effects of installing and removing packages and of changing where they come from."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trotline.analysis.options import ParsedOptions
from trotline.analysis.packages.managers import PackageManager
from trotline.analysis.packages.package_specs import (
    UNVERIFIED,
    PackageRequest,
    build_purl,
    disables_checks,
    get_foreign_host,
    get_source_host,
    parse_request,
)
from trotline.analysis.packages.typosquatting import find_similar_name
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.domain.effects import Certainty


class ManagerCommand(NamedTuple):
    """A command line of a package manager after its verb."""

    call: Invocation
    manager: PackageManager
    verb: str
    options: ParsedOptions


_INSECURE_OPTIONS = (
    "trusted-host allow-unauthenticated allow-insecure-repositories force-yes nogpgcheck no-gpg-checks allow-untrusted"
    " no-verify-ssl dangerous ignore-checksums nosignature nodigest insecure"
).split()
_INDEX_VARIABLES = frozenset(
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL UV_EXTRA_INDEX_URL UV_INDEX UV_DEFAULT_INDEX NPM_CONFIG_REGISTRY"
    " YARN_REGISTRY YARN_NPM_REGISTRY_SERVER GOPROXY BUNDLE_MIRROR CARGO_REGISTRY_DEFAULT".split()
)
_USER_VERBS = {
    "cargo": "install",
    "gem": "install",
    "golang": "install",
    "pypi": "tool.install",
    "nuget": "tool.install",
}
"""Verbs that install for the user rather than for the project."""

_MANIFESTS = {
    "cargo": "Cargo.toml",
    "gem": "Gemfile",
    "golang": "go.mod",
    "npm": "package.json",
    "pypi": "pyproject.toml",
}
_DIRECTORY_OPTIONS = ("prefix", "C", "dir", "cwd", "directory", "project", "manifest-path")


def _find_foreign_index(command: ManagerCommand) -> tuple[str, Argument | None]:
    """Return the foreign host that packages would come from, and the word that names it."""
    manager = command.manager
    addresses = command.options.values(*manager.indexes.split()) if manager.indexes else []
    addresses += [value for name, value in command.call.assignments.items() if name.upper() in _INDEX_VARIABLES]
    for address in addresses:
        host = get_foreign_host(manager.kind, address.text)
        if host:
            return host, address
    return "", None


def _get_scope(command: ManagerCommand) -> str:
    """Return what the command affects: project, user or system."""
    options, kind = command.options, command.manager.kind
    if command.manager.scope == "system" or options.has("break-system-packages", "system"):
        return "system"
    if command.manager.scope == "user" or options.has("global", "user") or command.verb.startswith("global."):
        return "user"
    if (kind in {"npm", "nuget"} and options.has("g")) or options.value("location") == "global":
        return "user"
    return "user" if _USER_VERBS.get(kind) == command.verb else "project"


def add_installs(command: ManagerCommand) -> None:
    """Add the effects of an install command."""
    call, kind = command.call, command.manager.kind
    host, address = _find_foreign_index(command)
    scope = _get_scope(command)
    _add_insecure_options(command, address)
    requests = list(_list_requests(command))
    for word, request in requests:
        if request.source == "registry" and host:
            request = request._replace(source="index", host=host)  # noqa: PLW2901 - the index applies to every word
        add_package(call, kind, word, request, scope)
    if not requests and not (kind == "nuget" and command.verb == "restore" and command.options.rest):
        _add_manifest_install(command, host, scope)


def _add_manifest_install(command: ManagerCommand, host: str, scope: str) -> None:
    """Add the install of the packages in the project's manifest or in a given requirements file."""
    call = command.call
    files = command.options.values("r", "requirement", "requirements") if command.manager.kind == "pypi" else []
    manifest = _find_manifest(command)
    call.add_effect("install", "install", source="manifest", host=host, target=scope, writes=True, path=manifest)
    for file in files:
        if "://" in file.text:
            add_package(call, "pypi", file, parse_request("pypi", file.text), scope)
            continue
        call.add_read(file, verb="install")
        text = call.state.written_texts.get(call.resolve(file))
        if text:
            from trotline.analysis.packages.package_files import parse_manifest  # noqa: PLC0415 - few lines write one

            for entry in parse_manifest(call.resolve(file), text):
                add_entry(call, file, entry.kind, entry.request, scope)


def _find_manifest(command: ManagerCommand) -> str:
    """Return the path of the project's manifest."""
    name = _MANIFESTS.get(command.manager.kind, "")
    if not name:
        return ""
    directories = command.options.values(*_DIRECTORY_OPTIONS)
    directory = directories[0].text if directories else "."
    return command.call.state.resolve(directory if directory.endswith(f"/{name}") else f"{directory}/{name}")


def add_entry(call: Invocation, at: Argument, kind: str, request: PackageRequest, scope: str) -> None:
    """Add the effect of an entry of a manifest: a package, an index or a disabled check."""
    if request.source == UNVERIFIED:
        call.add_effect("install", "unverified", at, target=request.name, source=request.host, writes=True)
    elif request.source == "index":
        host = get_foreign_host(kind, request.name)
        if host:
            call.add_effect("install", "install", at, source="index", host=host, target=scope, writes=True)
    else:
        add_package(call, kind, Argument(request.name, at.start, at.end), request, scope)


def _list_requests(command: ManagerCommand) -> Iterator[tuple[Argument, PackageRequest]]:
    options, kind = command.options, command.manager.kind
    if kind == "cargo" and options.has("git"):
        for address in options.values("git"):
            host = get_source_host(address.text)
            yield address, PackageRequest(source="git", host=host, name=address.text)
        return
    if kind == "cargo" and options.has("path"):
        return
    for word in options.values("e", "editable") if kind == "pypi" else ():
        yield word, parse_request(kind, word.text)
    version = options.value("version", "v", "vers", "Version") if kind in {"cargo", "gem", "nuget"} else ""
    for word in options.rest:
        request = parse_request(kind, word.text)
        if version and request.purl and "@" not in request.purl:
            request = request._replace(purl=build_purl(kind, request.name, version.strip("= ")))
        yield word, request


def add_package(call: Invocation, kind: str, at: Argument, request: PackageRequest, scope: str = "") -> None:
    """Add the install of a package, with a warning if its name resembles a popular one.

    Without a scope the package is only fetched and run.
    """
    verb = "install" if scope else "fetch-and-run"
    if kind == "golang" and (at.text.startswith((".", "/")) or "..." in at.text or "." not in at.text):
        return  # the project's own code
    fields: dict[str, Any] = {}
    is_named = request.source in {"registry", "index"} and at.is_known
    similar = find_similar_name(kind, request.name) if is_named else ""
    if similar:
        fields = {"why": f"it looks like {similar}, which many people use", "certainty": Certainty.GUESSED}
    path = call.state.resolve(request.name.removeprefix("file:")) if request.source == "path" else ""
    call.add_effect(
        "install",
        verb,
        at,
        package=request.purl or (request.name if request.source != "path" else ""),
        source=request.source,
        host=request.host,
        path=path,
        target=scope,
        writes=True,
        **fields,
    )


def _add_insecure_options(command: ManagerCommand, index: Argument | None) -> None:
    """Add options that disable verification, and an index without TLS."""
    call, options = command.call, command.options
    for name in _INSECURE_OPTIONS:
        if name in options.flags:
            call.add_effect("install", "unverified", target=f"--{name}", source=options.value(name), writes=True)
    if index is not None and index.text.startswith("http://"):
        call.add_effect("install", "unverified", index, target="http", source=index.text, writes=True)


def add_removals(command: ManagerCommand) -> None:
    """Add the effects of a remove command."""
    call, options = command.call, command.options
    scope = _get_scope(command)
    for word in options.rest:
        request = parse_request(command.manager.kind, word.text)
        call.add_effect("install", "remove", word, package=request.purl or request.name, target=scope, writes=True)
    if not options.rest:
        name = options.value("n", "name") or "what nothing needs any more"
        call.add_effect("install", "remove", target=scope, source=command.verb, package=name, writes=True)


def add_setting(command: ManagerCommand) -> None:
    """Add a change of a setting, written as `key value` or `key=value`."""
    options, call = command.options, command.call
    if options.has("list", "l", "get", "unset", "u", "delete") or (call.name == "go" and not options.has("w")):
        return
    words = [*options.values("set"), *options.rest]
    if words and words[0].text in {"--global", "--local", "set"}:
        words = words[1:]
    if not words:
        return
    key, equals, value = words[0].text.partition("=")
    if equals:
        _add_setting_effect(command, key, words[0], value)
    elif len(words) > 1:
        _add_setting_effect(command, key, words[1], words[1].text)


def _add_setting_effect(command: ManagerCommand, key: str, at: Argument, value: str) -> None:
    call = command.call
    if key.startswith("scripts."):
        call.analyze_script(at._replace(text=value))  # what `run` will run
    if any(word.text == "pkg" for word in call.args[:2]):
        call.add_effect("install", "setting", at, target=key, source=value, writes=True)
        return  # a field of the project's own file
    name = key.rpartition(".")[2].lower()
    host = get_foreign_host(command.manager.kind, value)
    if disables_checks(name, value):
        call.add_effect("install", "unverified", at, target=key, source=value, writes=True)
    elif host:
        call.add_effect("install", "source", at, target=key, host=host, source=value, writes=True)
    else:
        call.add_effect("install", "setting", at, target=key, source=value, writes=True)


def add_source(command: ManagerCommand) -> None:
    """Add a package source: `gem sources --add`, `brew tap`, `conda config --add channels`."""
    options, call, kind = command.options, command.call, command.manager.kind
    words = [*options.values("add", "a", "add-repo"), *options.rest]
    if options.has("remove", "r", "list", "l", "show", "get") and not options.has("add", "a"):
        return
    for word in words:
        host = get_foreign_host(kind, word.text)
        if not host and word.text.startswith("git@"):
            host = get_source_host(word.text)
        if host:
            call.add_effect("install", "source", word, target=word.text, host=host, source=word.text, writes=True)
            return
    if kind in {"brew", "deb"} and words and not words[0].text.startswith("homebrew/"):
        call.add_effect("install", "source", words[0], target=words[0].text, source="name", writes=True)
