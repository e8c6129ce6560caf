"""Guard: files that are deleted and cannot be restored."""

from trotline.analysis.locations import Location, strip_wildcards
from trotline.analysis.secret_files import classify_secret_file
from trotline.analysis.shell.invocation import UNKNOWN_TEXT
from trotline.domain.effects import Effect
from trotline.guards.guard import CRITICAL, DENY, HIGH, LOW, MEDIUM, PASS, Filter, GuardContext, build_guard, rule

_OUTSIDE = frozenset({Location.PERSONAL, Location.ELSEWHERE})
_CACHES = (
    ".cache/ .bun/install/cache .cargo/git .cargo/registry .gradle/caches .ivy2/cache .m2/repository .npm/_cacache"
    " .npm/_npx .nuget/packages .pnpm-store .pub-cache .terraform.d/plugin-cache .yarn/cache Library/Caches/"
    " Library/Developer/Xcode/DerivedData go/pkg/mod"
).split()
"""Directories below a home whose content programs fetch or build again; after a slash something must follow."""


def _deletes_everything(effect: Effect, context: GuardContext) -> bool:
    """Return whether a device, the root, a home or a part of the system is deleted as a whole or by a wildcard."""
    location = context.locate(effect)
    if location in {Location.ROOT, Location.HOME}:
        return effect.recursive or _takes_all_files(effect, context)
    return location in {Location.SYSTEM, Location.DEVICE}


def _takes_all_files(effect: Effect, _: GuardContext) -> bool:
    """Return whether the path ends in a wildcard for all files of a directory, as in `rm ~/Documents/*`."""
    return strip_wildcards(effect.path) != effect.path.rstrip("/")


def _starts_with_unknown(effect: Effect, _: GuardContext) -> bool:
    """Return whether an empty variable would make the path the root, as in `rm -rf "$X/"`."""
    return effect.path.rstrip("/*") in {UNKNOWN_TEXT, ""} and effect.path.startswith(UNKNOWN_TEXT + "/")


def _is_cache(effect: Effect, context: GuardContext) -> bool:
    below_home = strip_wildcards(effect.path).removeprefix(context.environment.home.rstrip("/") + "/")
    return below_home in _CACHES or any(below_home.startswith(name.rstrip("/") + "/") for name in _CACHES)


def _has_wildcard(effect: Effect, _: GuardContext) -> bool:
    return "*" in effect.path


def _deletes_key(effect: Effect, _: GuardContext) -> bool:
    return effect.verb != "move" and classify_secret_file(effect.path) != ""


def _deletes_terraform_state(effect: Effect, context: GuardContext) -> bool:
    deletes = effect.verb != "move" and effect.path.endswith(".tfstate")
    return deletes and context.locate(effect) is not Location.TEMPORARY


def _is_selected_by_search(effect: Effect, context: GuardContext) -> bool:
    """Return whether `find` or `rsync --delete` selects the files, so that the command does not name them."""
    selected = effect.source == "selected" or "--delete" in effect.verb
    return selected and context.locate(effect) is not Location.TEMPORARY


def _is_temporary_root(effect: Effect, context: GuardContext) -> bool:
    return strip_wildcards(effect.path) in context.environment.temporary


def _is_unknown_path(effect: Effect, _: GuardContext) -> bool:
    return effect.path == UNKNOWN_TEXT


GUARD = build_guard(
    "deletion",
    "files that nobody gets back",
    {
        "temporary directory itself": rule(
            Filter("delete: *", recursive=True, when=_is_temporary_root),
            (PASS, PASS, DENY),
            "{path} is everybody's: programs that run now keep files there",
            "delete the directory that you made in it",
        ),
        "everything": rule(
            Filter("delete: *", when=_deletes_everything),
            CRITICAL,
            "{path} would be deleted, and nobody gets it back",
            "name the files or the directory inside the workspace that you mean",
            mandatory=True,
        ),
        "maybe everything": rule(
            Filter("delete: *", recursive=True, when=_starts_with_unknown),
            HIGH,
            "the path begins with something that is not known ({why}); if it is empty, this is the whole file system",
        ),
        "history": rule(
            Filter("delete: *", locations={Location.GIT}),
            CRITICAL,
            "{path} is the repository's history",
            "use git to undo what you did",
        ),
        "workspace": rule(
            Filter("delete: *", recursive=True, locations={Location.WORKSPACE}),
            HIGH,
            "{path} is the whole workspace",
            "name what you mean in it",
        ),
        "cache": rule(
            Filter("delete: *", recursive=True, locations={Location.PERSONAL}, when=_is_cache),
            MEDIUM,
            "{path} is outside the workspace; programs have to fetch it again",
        ),
        "outside": rule(
            Filter("delete: *", recursive=True, locations=_OUTSIDE),
            HIGH,
            "{path} is outside the workspace",
            "delete inside the workspace only",
        ),
        "all in a directory": rule(
            Filter("delete: *", locations=_OUTSIDE, when=_takes_all_files),
            HIGH,
            "{path} is outside the workspace",
            "delete inside the workspace only",
        ),
        "overwritten first": rule(
            Filter("delete: shred|srm|wipe", locations=_OUTSIDE),
            HIGH,
            "{path} is outside the workspace, and no program finds again what {verb} has deleted",
        ),
        "key": rule(
            Filter("delete: *", locations=_OUTSIDE, when=_deletes_key),
            HIGH,
            "{path} holds secrets, of which there may be no other copy",
            "move it to another name, and let the person delete it",
        ),
        "state of Terraform": rule(
            Filter("delete: *", when=_deletes_terraform_state),
            HIGH,
            "{path} is all that Terraform knows about what it has made; without it nobody can change or destroy that",
            "terraform state rm takes out one thing; move the file if it is in the way",
        ),
        "by a pattern": rule(
            Filter("delete: *", locations=_OUTSIDE, when=_has_wildcard),
            MEDIUM,
            "{path} is outside the workspace",
            "name the files",
        ),
        "found by a search": rule(
            Filter("delete: *", when=_is_selected_by_search),
            MEDIUM,
            "everything that a search finds would be deleted",
            "list it first",
        ),
        "anything": rule(
            Filter("delete: *", recursive=True, when=_is_unknown_path),
            (PASS, DENY, DENY),
            "what would be deleted is not known at all: {why}",
            "name the files",
        ),
        "unknown": rule(
            Filter("delete: *", recursive=True, locations={Location.UNKNOWN}),
            MEDIUM,
            "what would be deleted is not known: {why}",
        ),
        "one file outside": rule(Filter("delete: *", locations=_OUTSIDE), LOW, "{path} is outside the workspace"),
    },
)
