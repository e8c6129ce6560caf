"""Installing and removing: each package that a line names, with where it comes from and who else is touched."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from trotline.analysis.options import Options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Step
from trotline.analysis.tools.packages_names import resembles
from trotline.analysis.tools.packages_row import Manager
from trotline.analysis.tools.packages_specs import UNCHECKED, Wanted, host_of, purl, wanted
from trotline.effects import Certainty


class Line(NamedTuple):
    """A manager's line after its verb."""

    step: Step
    manager: Manager
    verb: str
    found: Options


_UNCHECKED = (
    "trusted-host allow-unauthenticated allow-insecure-repositories force-yes nogpgcheck no-gpg-checks allow-untrusted"
    " no-verify-ssl dangerous ignore-checksums nosignature nodigest insecure"
).split()
_VARIABLES = frozenset(
    "PIP_INDEX_URL PIP_EXTRA_INDEX_URL UV_INDEX_URL UV_EXTRA_INDEX_URL UV_INDEX UV_DEFAULT_INDEX NPM_CONFIG_REGISTRY"
    " YARN_REGISTRY YARN_NPM_REGISTRY_SERVER GOPROXY BUNDLE_MIRROR CARGO_REGISTRY_DEFAULT".split()
)
_OWN_HOSTS = {
    "pypi": ("pypi org", "python hosted org"),
    "npm": ("npmjs org", "npmjs com", "yarnpkg com", "jsr io"),
    "cargo": ("crates io",),
    "gem": ("rubygems org",),
    "nuget": ("nuget org",),
    "golang": ("golang org",),
    "conda": ("anaconda org", "anaconda com"),
    "composer": ("packagist org",),
}
"""The last two parts of the hosts that the managers use by themselves, word by word."""

_USERS = {"cargo": "install", "gem": "install", "golang": "install", "pypi": "tool.install", "nuget": "tool.install"}
"""Verbs that install for the person rather than for the project."""


def foreign(kind: str, address: str) -> str:
    """The host of an index that is not the usual one; nothing if it is, or is on this machine."""
    if "://" not in address and not address.startswith("//"):
        return ""
    host = host_of(address)
    own = "".join(host.split(".")[-2:])
    return "" if not host or own in {known.replace(" ", "") for known in _OWN_HOSTS.get(kind, ())} else host


def _index(line: Line) -> tuple[str, Argument | None]:
    """The foreign host that packages would come from."""
    given = line.found.values(*line.manager.indexes.split()) if line.manager.indexes else []
    given += [value for name, value in line.step.given.items() if name.upper() in _VARIABLES]
    for address in given:
        host = foreign(line.manager.kind, address.text)
        if host:
            return host, address
    return "", None


def scope(line: Line) -> str:
    """Who else is touched: nobody outside the project, the person's other work, or the machine."""
    found, kind = line.found, line.manager.kind
    if line.manager.scope == "system" or found.has("break-system-packages", "system"):
        return "system"
    if line.manager.scope == "user" or found.has("global", "user") or line.verb.startswith("global."):
        return "user"
    if (kind in {"npm", "nuget"} and found.has("g")) or found.value("location") == "global":
        return "user"
    return "user" if _USERS.get(kind) == line.verb else "project"


def installed(line: Line) -> None:
    step, found, kind = line.step, line.found, line.manager.kind
    host, address = _index(line)
    who = scope(line)
    _unchecked(line, address)
    words = list(_named(line))
    for word, want in words:
        if want.source == "registry" and host:
            want = want._replace(source="index", host=host)  # noqa: PLW2901 - the index holds for every word
        package(step, kind, word, want, who)
    if not words and not (kind == "nuget" and line.verb == "restore" and found.rest):
        _by_manifest(line, host, who)


def _by_manifest(line: Line, host: str, who: str) -> None:
    """No package is named: those of the project's own files are meant, or those of a file given."""
    step = line.step
    files = line.found.values("r", "requirement", "requirements") if line.manager.kind == "pypi" else []
    step.effect("install", "install", source="manifest", host=host, target=who, writes=True, path=_manifest(line))
    for file in files:
        if "://" in file.text:
            package(step, "pypi", file, wanted("pypi", file.text), who)
            continue
        step.read(file, verb="install")
        text = step.scene.written.get(step.path(file))
        if text:
            from trotline.analysis.tools.packages_manifests import packages_in  # noqa: PLC0415 - few lines write one

            for found in packages_in(step.path(file), text):
                listed(step, file, found.kind, found.want, who)


_MANIFESTS = {
    "cargo": "Cargo.toml",
    "gem": "Gemfile",
    "golang": "go.mod",
    "npm": "package.json",
    "pypi": "pyproject.toml",
}
_ELSEWHERE = ("prefix", "C", "dir", "cwd", "directory", "project", "manifest-path")


def _manifest(line: Line) -> str:
    """The file that says what the project wants."""
    name = _MANIFESTS.get(line.manager.kind, "")
    places = line.found.values(*_ELSEWHERE) if name else []
    directory = places[0].text if places else "."
    path = line.step.scene.absolute(directory if directory.endswith(f"/{name}") else f"{directory}/{name}")
    return path if name else ""


def listed(step: Step, at: Argument, kind: str, want: Wanted, who: str) -> None:
    """What a manifest names: a package, an index, or that nobody checks."""
    if want.source == UNCHECKED:
        step.effect("install", "unverified", at, target=want.name, source=want.host, writes=True)
    elif want.source == "index":
        host = foreign(kind, want.name)
        if host:
            step.effect("install", "install", at, source="index", host=host, target=who, writes=True)
    else:
        package(step, kind, Argument(want.name, at.start, at.end), want, who)


def _named(line: Line) -> Iterator[tuple[Argument, Wanted]]:
    found, kind = line.found, line.manager.kind
    if kind == "cargo" and found.has("git"):
        for address in found.values("git"):
            yield address, Wanted(source="git", host=host_of(address.text), name=address.text)
        return
    if kind == "cargo" and found.has("path"):
        return
    for word in found.values("e", "editable") if kind == "pypi" else ():
        yield word, wanted(kind, word.text)
    version = found.value("version", "v", "vers", "Version") if kind in {"cargo", "gem", "nuget"} else ""
    for word in found.rest:
        want = wanted(kind, word.text)
        if version and want.purl and "@" not in want.purl:
            want = want._replace(purl=purl(kind, want.name, version.strip("= ")))
        yield word, want


def package(step: Step, kind: str, at: Argument, want: Wanted, who: str = "") -> None:
    """Say that this package would be installed, and whether its name looks like a mistake or a trap. One that is
    fetched only to be run is installed for nobody.
    """
    verb = "install" if who else "fetch-and-run"
    if kind == "golang" and (at.text.startswith((".", "/")) or "..." in at.text or "." not in at.text):
        return  # the project's own code
    fields: dict[str, Any] = {}
    like = resembles(kind, want.name) if want.source in {"registry", "index"} and at.known else ""
    if like:
        fields = {"why": f"it looks like {like}, which many people use", "certainty": Certainty.GUESSED}
    path = step.scene.absolute(want.name.removeprefix("file:")) if want.source == "path" else ""
    plain = want.purl or (want.name if want.source != "path" else "")
    step.effect(
        "install",
        verb,
        at,
        package=plain,
        source=want.source,
        host=want.host,
        path=path,
        target=who,
        writes=True,
        **fields,
    )


def _unchecked(line: Line, address: Argument | None) -> None:
    """Options that switch off the check of who made the package; or a way on which anybody can change it."""
    for name in _UNCHECKED:
        if name in line.found.flags:
            line.step.effect("install", "unverified", target=f"--{name}", source=line.found.value(name), writes=True)
    if address is not None and address.text.startswith("http://"):
        line.step.effect("install", "unverified", address, target="http", source=address.text, writes=True)


def removed(line: Line) -> None:
    step, kind = line.step, line.manager.kind
    who = scope(line)
    for word in line.found.rest:
        want = wanted(kind, word.text)
        step.effect("install", "remove", word, package=want.purl or want.name, target=who, writes=True)
    if not line.found.rest:
        name = line.found.value("n", "name") or "what nothing needs any more"
        step.effect("install", "remove", target=who, source=line.verb, package=name, writes=True)
