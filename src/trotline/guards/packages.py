"""Guard: third-party code that is installed, and packages that are removed."""

from trotline.analysis.packages.malware_reports import MALICIOUS, PERHAPS, UNREADABLE
from trotline.domain.effects import Certainty, Effect
from trotline.guards.guard import (
    ASK,
    CRITICAL,
    DENY,
    HIGH,
    LOW,
    MEDIUM,
    PASS,
    WARN,
    Filter,
    GuardContext,
    Predicate,
    build_guard,
    rule,
)

_LANGUAGES = ("pkg:pypi/", "pkg:npm/", "pkg:gem/", "pkg:cargo/")
_LOCK_FILES = frozenset(
    "Cargo.lock Gemfile.lock Pipfile.lock Podfile.lock bun.lock bun.lockb composer.lock deno.lock flake.lock go.sum"
    " mix.lock npm-shrinkwrap.json package-lock.json packages.lock.json pdm.lock pnpm-lock.yaml poetry.lock"
    " pubspec.lock uv.lock yarn.lock".split()
)
_GIT_WRITES = frozenset("checkout restore patch".split())
_INSTALLS = frozenset({"install", "fetch-and-run"})


def _is_lock_file(effect: Effect, _: GuardContext) -> bool:
    """Return whether a lock file is edited: it decides which code the next install brings."""
    return effect.path.rpartition("/")[2] in _LOCK_FILES and effect.verb not in _GIT_WRITES


def _is_reported_as(report: str) -> Predicate:
    """Match packages about which the lists of this machine say `report`."""
    return lambda effect, _: effect.why.startswith(report)


def _resembles_another(effect: Effect, _: GuardContext) -> bool:
    return "looks like" in effect.why


def _is_unknown_package(effect: Effect, _: GuardContext) -> bool:
    unread_manifest = effect.source == "manifest" and effect.certainty is Certainty.OPAQUE
    return (effect.verb in _INSTALLS or unread_manifest) and bool(effect.why)


def _has_host(effect: Effect, _: GuardContext) -> bool:
    return bool(effect.host)


def _has_package_name(effect: Effect, _: GuardContext) -> bool:
    return bool(effect.package)


def _is_extension(effect: Effect, _: GuardContext) -> bool:
    return effect.path.lower().endswith(".vsix")


def _is_installed_as_root(effect: Effect, context: GuardContext) -> bool:
    """Return whether a language package is installed as root; its install scripts run as root too."""
    privileged = any(other.kind == "privilege" for other in context.effects)
    return privileged and effect.package.startswith(_LANGUAGES)


GUARD = build_guard(
    "packages",
    "code of strangers that is installed or run unseen, and packages that others need",
    {
        "lock file": rule(
            Filter("write: *", when=_is_lock_file),
            MEDIUM,
            "{path} says which code an install brings, and by which hash it is known",
            "let the package manager write it",
        ),
        "malicious": rule(
            Filter("install: *", when=_is_reported_as(MALICIOUS)),
            CRITICAL,
            "{package} must not be installed: {why}",
            "look for the package that was meant; if it is in the project already, tell the person at once",
        ),
        "malicious versions": rule(
            Filter("install: *", when=_is_reported_as(PERHAPS)),
            (WARN, ASK, DENY),
            "{package}: {why}",
            "name a version that is not among them",
        ),
        "list damaged": rule(
            Filter("install: *", when=_is_reported_as(UNREADABLE)), HIGH, "{package} cannot be looked up: {why}"
        ),
        "mistaken name": rule(
            Filter("install: fetch-and-run|install", when=_resembles_another),
            HIGH,
            "{package} is perhaps not what was meant: {why}",
            "look the name up, and spell it as the registry does",
        ),
        "unverified": rule(
            "install: unverified",
            HIGH,
            "nobody would check any more who made the packages ({target})",
            "leave the checks on",
        ),
        "other source": rule(
            Filter("install: source", when=_has_host),
            HIGH,
            "packages would come from {host} from now on",
            "give the address once, for the package that needs it",
        ),
        "another tap": rule("install: source", (WARN, ASK, DENY), "{target} would be a source of packages from now on"),
        "address": rule(
            Filter("install: fetch-and-run|install", sources={"url"}),
            HIGH,
            "a package would be installed straight from {host}: no registry has seen it",
            "install it from the registry by its name and version",
        ),
        "repository": rule(
            Filter("install: fetch-and-run|install", sources={"git"}),
            MEDIUM,
            "code would be installed straight from a repository: {package}",
            "install a release from the registry, or name the commit in the project's files",
        ),
        "other index": rule(
            Filter("install: fetch-and-run|install", sources={"index", "manifest"}, when=_has_host),
            (WARN, ASK, DENY),
            "packages would come from {host}",
        ),
        "system package removed": rule(
            Filter("install: remove", targets={"system"}),
            HIGH,
            "{package} would be removed from the machine, with what needs it",
        ),
        "removed": rule("install: remove", MEDIUM, "{package} would be removed"),
        "as root": rule(
            Filter("install: install", when=_is_installed_as_root),
            MEDIUM,
            "{package} would be installed with the rights of root",
        ),
        "system package": rule(
            Filter("install: install", targets={"system"}), MEDIUM, "this machine would get {package}"
        ),
        "extension from a file": rule(
            Filter("install: install", sources={"path"}, targets={"user"}, when=_is_extension),
            MEDIUM,
            "{path} is code that the editor would run; no registry has seen it",
            "install it from the registry by its name",
        ),
        "forced versions": rule("install: unlock", MEDIUM, "versions would change beyond what the project allows"),
        "for the person": rule(
            Filter("install: install", targets={"user"}), LOW, "{package} would be there in all projects"
        ),
        "unknown package": rule(
            Filter("install: *", when=_is_unknown_package), LOW, "what would be installed is not known: {why}"
        ),
        "new package": rule(
            Filter("install: fetch-and-run|install", when=_has_package_name), LOW, "{package} would be installed"
        ),
        "setting": rule("install: clean-cache|setting", (PASS, PASS, WARN), "{target} would be changed"),
    },
)
