"""Guard: work that git cannot bring back."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Certainty, Effect
from trotline.guards.guard import ASK, CRITICAL, HIGH, LOW, MEDIUM, PASS, Filter, GuardContext, build_guard, rule

_MAIN_BRANCHES = frozenset("main master trunk develop production release".split())
_OUTSIDE_WORK = {Location.ROOT, Location.SYSTEM, Location.HOME, Location.PERSONAL}
"""In a home directory that is kept in git, all other files of the person are uncommitted."""


def is_main_branch(ref: str) -> bool:
    """Return whether a branch, also as a push names it (`:main`, `HEAD:main`, `+refs/heads/main`), is a main branch."""
    return ref.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") in _MAIN_BRANCHES


def _names_main_branch(effect: Effect, _: GuardContext) -> bool:
    return any(map(is_main_branch, effect.target.split(" ")))


GUARD = build_guard(
    "history",
    "work that git cannot bring back",
    {
        "outside": rule(
            Filter("git: clean|discard", sources={"all"}, locations=_OUTSIDE_WORK),
            CRITICAL,
            "{path} is outside the workspace, and {target} there would be lost",
            "run git inside the workspace",
        ),
        "abort": rule(
            Filter("git: discard", sources={"abort"}),
            MEDIUM,
            "{target} would be lost",
            "finish it, or keep a copy of the files that you resolved",
        ),
        "one side of a conflict": rule(
            Filter("git: discard", sources={"conflict"}),
            MEDIUM,
            "git would take one side of {target}, and drop what was merged by hand",
            "resolve the marks in the file",
        ),
        # Some tools let a reset, a forced checkout or a restore pass, but each loses the same work.
        "changes": rule(
            "git: discard",
            HIGH,
            "git would throw away {target}; what was never committed cannot be brought back",
            "git stash keeps the changes and gives the same clean tree",
        ),
        # A dry run has no effect: in git, -n wins over -f.
        "untracked files": rule(
            Filter("git: clean", sources={"all"}),
            HIGH,
            "git would delete {target}, and has no copy of them",
            "git clean -n shows them; git stash -u keeps them",
        ),
        # In standard, `rm -r` of the same directory passes too.
        "some untracked files": rule(
            "git: clean",
            (PASS, ASK, ASK),
            "git would delete {target} in {path}, and has no copy of them",
            "git clean -n shows them",
        ),
        # All tools agree about dropping one stash, and clearing all is not milder.
        "stashes": rule(
            "git: drop-stash", HIGH, "{target} would be dropped", "git stash branch NAME makes a branch of a stash"
        ),
        "the way back": rule(
            Filter("git: lose-history", sources={"all"}),
            HIGH,
            "{target} would be deleted: it is what undoes a reset, a rebase or a deleted branch",
            "git gc alone keeps what is younger than two weeks",
        ),
        # Deleting a reflog entry keeps the commits for weeks.
        "a step of the way back": rule(
            Filter("git: lose-history", sources={"some"}), MEDIUM, "{target} would be forgotten"
        ),
        "old objects": rule("git: lose-history", LOW, "{target} would be deleted"),
        "every commit": rule(
            Filter("git: rewrite", sources={"filter"}),
            HIGH,
            "{target} would be written anew; all other clones then disagree with this one",
            "make a fresh clone and rewrite that",
        ),
        "every commit, with a copy": rule(
            Filter("git: rewrite", sources={"filter with a copy"}),
            MEDIUM,
            "{target} would be written anew; all other clones then disagree with this one",
            "make a fresh clone and rewrite that",
        ),
        "rewritten": rule("git: rewrite", LOW, "git would write {target} anew"),
        "main branch": rule(
            Filter("git: delete-branch", sources={"forced"}, when=_names_main_branch),
            HIGH,
            "{target} would be deleted, merged or not, and other work stands on it",
            "git branch -m gives it another name",
        ),
        "unmerged branch": rule(
            Filter("git: delete-branch", sources={"forced"}),
            MEDIUM,
            "{target} would be deleted, merged or not",
            "git branch -d deletes only what is merged",
        ),
        "merged branch": rule("git: delete-branch", LOW, "{target} would be deleted"),
        "tag": rule(
            "git: delete-tag",
            HIGH,
            "the tag {target} would be deleted, and nothing remembers what it pointed to",
            "git tag NEW OLD keeps the commit under another name",
        ),
        "moved tag": rule("git: move-tag", MEDIUM, "the tag {target} would point to something else"),
        "moved branch": rule(
            Filter("git: move-branch", sources={"forced", "reset"}),
            MEDIUM,
            "{target} would point elsewhere, and its commits may hang in the air",
            "make another branch",
        ),
        "perhaps moved branch": rule("git: move-branch", LOW, "{target} may be moved away from its commits"),
        "worktree": rule(
            "git: remove-worktree",
            MEDIUM,
            "the worktree {target} would be removed with what is not committed in it",
            "git worktree remove without --force",
        ),
        "unknown": rule(Filter("git: *", certainty=Certainty.OPAQUE), LOW, "what git would do is not known: {why}"),
    },
)
