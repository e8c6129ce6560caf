"""Files that nobody gets back."""

from trotline.analysis.credentials import credential
from trotline.analysis.places import Place, whole
from trotline.analysis.step import GAP
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight

_OVERWRITES = frozenset({"shred", "wipe", "srm"})
_GONE_FOR_EVER = {Place.ROOT, Place.SYSTEM, Place.HOME, Place.DEVICE}


def _everything(effect: Effect, sight: Sight) -> bool:
    """Root, a home, a part of the system: as a whole, or by a pattern that takes all of it."""
    place = sight.place(effect)
    if place is Place.DEVICE:
        return True
    if place in {Place.ROOT, Place.HOME}:
        return effect.recursive or whole(effect.path) != effect.path.rstrip("/")
    return place is Place.SYSTEM


def _above_unknown(effect: Effect, _: Sight) -> bool:
    """`rm -rf "$X/"`: with X empty this is root."""
    return effect.recursive and effect.path.rstrip("/*") in {GAP, ""} and effect.path.startswith(GAP + "/")


def _history(effect: Effect, sight: Sight) -> bool:
    return sight.place(effect) is Place.GIT


def _workspace(effect: Effect, sight: Sight) -> bool:
    return effect.recursive and sight.place(effect) is Place.WORKSPACE


_CACHES = (
    ".cache/ .bun/install/cache .cargo/git .cargo/registry .gradle/caches .ivy2/cache .m2/repository .npm/_cacache"
    " .npm/_npx .nuget/packages .pnpm-store .pub-cache .terraform.d/plugin-cache .yarn/cache Library/Caches/"
    " Library/Developer/Xcode/DerivedData go/pkg/mod"
).split()
"""Below a home, where programs keep what they fetch or make again; after a slash something must follow."""


def _cache(effect: Effect, sight: Sight) -> bool:
    below = whole(effect.path).removeprefix(sight.world.home.rstrip("/") + "/")
    kept = below in _CACHES or any(below.startswith(name.rstrip("/") + "/") for name in _CACHES)
    return effect.recursive and kept and sight.place(effect) is Place.PERSONAL


def _outside(effect: Effect, sight: Sight) -> bool:
    return effect.recursive and sight.place(effect) in {Place.PERSONAL, Place.ELSEWHERE}


def _outside_workspace(effect: Effect, sight: Sight) -> bool:
    return sight.place(effect) in {Place.PERSONAL, Place.ELSEWHERE}


def _all_in_it(effect: Effect, sight: Sight) -> bool:
    """`rm ~/Documents/*`: all files of a directory, one by one."""
    return _outside_workspace(effect, sight) and whole(effect.path) != effect.path.rstrip("/")


def _by_pattern(effect: Effect, sight: Sight) -> bool:
    return "*" in effect.path and _outside_workspace(effect, sight)


def _overwritten(effect: Effect, sight: Sight) -> bool:
    return effect.verb in _OVERWRITES and _outside_workspace(effect, sight)


def _key(effect: Effect, sight: Sight) -> bool:
    return effect.verb != "move" and credential(effect.path) != "" and _outside_workspace(effect, sight)


def _state(effect: Effect, sight: Sight) -> bool:
    return effect.verb != "move" and effect.path.endswith(".tfstate") and sight.place(effect) is not Place.TEMPORARY


def _found(effect: Effect, sight: Sight) -> bool:
    """By find, or because it is not in the source of a copy: nobody has named it."""
    chosen = effect.source == "selected" or "--delete" in effect.verb
    return chosen and sight.place(effect) is not Place.TEMPORARY


def _temporary_itself(effect: Effect, sight: Sight) -> bool:
    return effect.recursive and whole(effect.path) in sight.world.temporary


def _unknown(effect: Effect, sight: Sight) -> bool:
    return effect.recursive and sight.place(effect) is Place.UNKNOWN


def _anything(effect: Effect, _: Sight) -> bool:
    return effect.recursive and effect.path == GAP


GUARD = Guard(
    name="deletion",
    danger="files that nobody gets back",
    kinds=frozenset({"delete"}),
    rows=(
        Row(
            "temporary directory itself",
            _temporary_itself,
            "pass pass deny",
            "{path} is everybody's: programs that run now keep files there",
            "delete the directory that you made in it",
        ),
        Row(
            "everything",
            _everything,
            "deny deny deny",
            "{path} would be deleted, and nobody gets it back",
            "name the files or the directory inside the workspace that you mean",
            floor=True,
        ),
        Row(
            "maybe everything",
            _above_unknown,
            "ask deny deny",
            "the path begins with something that is not known ({why}); if it is empty, this is the whole file system",
        ),
        Row(
            "history", _history, "deny deny deny", "{path} is the repository's history", "use git to undo what you did"
        ),
        Row("workspace", _workspace, "ask deny deny", "{path} is the whole workspace", "name what you mean in it"),
        Row("cache", _cache, "pass ask deny", "{path} is outside the workspace; programs have to fetch it again"),
        Row(
            "outside", _outside, "ask deny deny", "{path} is outside the workspace", "delete inside the workspace only"
        ),
        Row(
            "all in a directory",
            _all_in_it,
            "ask deny deny",
            "{path} is outside the workspace",
            "delete inside the workspace only",
        ),
        Row(
            "overwritten first",
            _overwritten,
            "ask deny deny",
            "{path} is outside the workspace, and no program finds again what {verb} has deleted",
        ),
        Row(
            "key",
            _key,
            "ask deny deny",
            "{path} holds secrets, of which there may be no other copy",
            "move it to another name, and let the person delete it",
        ),
        Row(
            "state of Terraform",
            _state,
            "ask deny deny",
            "{path} is all that Terraform knows about what it has made; without it nobody can change or destroy that",
            "terraform state rm takes out one thing; move the file if it is in the way",
        ),
        Row("by a pattern", _by_pattern, "pass ask deny", "{path} is outside the workspace", "name the files"),
        Row(
            "found by a search",
            _found,
            "pass ask deny",
            "everything that a search finds would be deleted",
            "list it first",
        ),
        Row(
            "anything",
            _anything,
            "pass deny deny",
            "what would be deleted is not known at all: {why}",
            "name the files",
        ),
        Row("unknown", _unknown, "pass ask deny", "what would be deleted is not known: {why}"),
        Row("one file outside", _outside_workspace, "pass pass ask", "{path} is outside the workspace"),
    ),
    stops=(
        "rm -rf ~",
        "cd / && rm -rf *",
        "find ~ -delete",
        "rm -rf .git",
        "rm -fr $PWD/../..",
        "python3 -c 'import shutil; shutil.rmtree(\"/srv/ledger\")'",
        "rsync -a --delete empty/ ~/",
        "find ~ -exec rm -rf {} +",
        "find . -name .git -exec rm -rf {} +",
        "find / -type f | xargs rm -f",
        "git ls-files -z | xargs -0 rm -f",
        'X=~; rm -rf "$X"',
        'rm -rf "$DIR/"',
        "Remove-Item -Recurse -Force ~",
        "Get-ChildItem ~ -Recurse | Remove-Item -Force",
        "rmdir /s /q C:\\Windows",
        "robocopy empty C:\\Users\\dev /MIR",
        "mv ~ /tmp/gone",
        "shred -u /etc/hosts",
        "shred -uz ~/Documents/plan.txt",
        "wipe -f ~/Documents/plan.txt",
        "rm ~/Documents/*",
        "rm ~/Pictures/2019-*",
        "rm ~/.ssh/id_ed25519",
        "rm infra/terraform.tfstate",
    ),
    passes=(
        "rm -rf web/node_modules",
        "rm -rf build/*",
        "rm notes.txt",
        "rm -rf /tmp/scratch-1",
        "rm -rf ~/.cache/pip",
        "rm -rf ~/.gradle/caches/*",
        "echo rm -rf /",
        'rm -rf "$(mktemp -d)"',
        "git commit -m 'no more rm -rf /'",
        "rmdir empty",
        "rmdir /s /q build",
        "Remove-Item -Recurse node_modules",
        "mv a.txt b.txt",
        "shred -u notes.txt",
        "rm ~/Documents/plan.txt",
        "rm infra/terraform.tfstate.backup",
        "mv terraform.tfstate state.old",
        "find . -name '*.orig' -print",
        "find . -name __pycache__ -exec rm -rf {} +",
        "find . -name '*.pyc' -print0 | xargs -0 rm -f",
    ),
)
