"""Guard: work that git cannot bring back."""

from trotline.analysis.locations import Location
from trotline.domain.effects import Certainty, Effect
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardContext, GuardRule

_MAIN_BRANCHES = frozenset("main master trunk develop production release".split())
_OUTSIDE_WORK = {Location.ROOT, Location.SYSTEM, Location.HOME, Location.PERSONAL}
"""In a home directory that is kept in git, all other files of the person are uncommitted."""


def is_main_branch(ref: str) -> bool:
    """Return whether a branch, also as a push names it (`:main`, `HEAD:main`, `+refs/heads/main`), is a main branch."""
    return ref.lstrip("+").rpartition(":")[2].removeprefix("refs/heads/") in _MAIN_BRANCHES


def _names_main_branch(effect: Effect, _: GuardContext) -> bool:
    return any(map(is_main_branch, effect.target.split(" ")))


GUARD = Guard(
    name="history",
    danger="work that git cannot bring back",
    kinds={"git"},
    rules=(
        GuardRule(
            "outside",
            Filter(verbs={"clean", "discard"}, sources={"all"}, locations=_OUTSIDE_WORK),
            (DENY, DENY, DENY),
            "{path} is outside the workspace, and {target} there would be lost",
            "run git inside the workspace",
        ),
        GuardRule(
            "abort",
            Filter(verbs={"discard"}, sources={"abort"}),
            (PASS, ASK, DENY),
            "{target} would be lost",
            "finish it, or keep a copy of the files that you resolved",
        ),
        GuardRule(
            "one side of a conflict",
            Filter(verbs={"discard"}, sources={"conflict"}),
            (PASS, ASK, DENY),
            "git would take one side of {target}, and drop what was merged by hand",
            "resolve the marks in the file",
        ),
        # Some tools let a reset, a forced checkout or a restore pass, but each loses the same work.
        GuardRule(
            "changes",
            Filter(verbs={"discard"}),
            (ASK, DENY, DENY),
            "git would throw away {target}; what was never committed cannot be brought back",
            "git stash keeps the changes and gives the same clean tree",
        ),
        # A dry run has no effect: in git, -n wins over -f.
        GuardRule(
            "untracked files",
            Filter(verbs={"clean"}, sources={"all"}),
            (ASK, DENY, DENY),
            "git would delete {target}, and has no copy of them",
            "git clean -n shows them; git stash -u keeps them",
        ),
        # In standard, `rm -r` of the same directory passes too.
        GuardRule(
            "some untracked files",
            Filter(verbs={"clean"}),
            (PASS, ASK, ASK),
            "git would delete {target} in {path}, and has no copy of them",
            "git clean -n shows them",
        ),
        # All tools agree about dropping one stash, and clearing all is not milder.
        GuardRule(
            "stashes",
            Filter(verbs={"drop-stash"}),
            (ASK, DENY, DENY),
            "{target} would be dropped",
            "git stash branch NAME makes a branch of a stash",
        ),
        GuardRule(
            "the way back",
            Filter(verbs={"lose-history"}, sources={"all"}),
            (ASK, DENY, DENY),
            "{target} would be deleted: it is what undoes a reset, a rebase or a deleted branch",
            "git gc alone keeps what is younger than two weeks",
        ),
        # Deleting a reflog entry keeps the commits for weeks.
        GuardRule(
            "a step of the way back",
            Filter(verbs={"lose-history"}, sources={"some"}),
            (PASS, ASK, DENY),
            "{target} would be forgotten",
        ),
        GuardRule("old objects", Filter(verbs={"lose-history"}), (PASS, PASS, ASK), "{target} would be deleted"),
        GuardRule(
            "every commit",
            Filter(verbs={"rewrite"}, sources={"filter"}),
            (ASK, DENY, DENY),
            "{target} would be written anew; all other clones then disagree with this one",
            "make a fresh clone and rewrite that",
        ),
        GuardRule(
            "every commit, with a copy",
            Filter(verbs={"rewrite"}, sources={"filter with a copy"}),
            (PASS, ASK, DENY),
            "{target} would be written anew; all other clones then disagree with this one",
            "make a fresh clone and rewrite that",
        ),
        GuardRule("rewritten", Filter(verbs={"rewrite"}), (PASS, PASS, ASK), "git would write {target} anew"),
        GuardRule(
            "main branch",
            Filter(verbs={"delete-branch"}, sources={"forced"}, when=_names_main_branch),
            (ASK, DENY, DENY),
            "{target} would be deleted, merged or not, and other work stands on it",
            "git branch -m gives it another name",
        ),
        GuardRule(
            "unmerged branch",
            Filter(verbs={"delete-branch"}, sources={"forced"}),
            (PASS, ASK, DENY),
            "{target} would be deleted, merged or not",
            "git branch -d deletes only what is merged",
        ),
        GuardRule("merged branch", Filter(verbs={"delete-branch"}), (PASS, PASS, ASK), "{target} would be deleted"),
        GuardRule(
            "tag",
            Filter(verbs={"delete-tag"}),
            (ASK, DENY, DENY),
            "the tag {target} would be deleted, and nothing remembers what it pointed to",
            "git tag NEW OLD keeps the commit under another name",
        ),
        GuardRule(
            "moved tag", Filter(verbs={"move-tag"}), (PASS, ASK, DENY), "the tag {target} would point to something else"
        ),
        GuardRule(
            "moved branch",
            Filter(verbs={"move-branch"}, sources={"forced", "reset"}),
            (PASS, ASK, DENY),
            "{target} would point elsewhere, and its commits may hang in the air",
            "make another branch",
        ),
        GuardRule(
            "perhaps moved branch",
            Filter(verbs={"move-branch"}),
            (PASS, PASS, ASK),
            "{target} may be moved away from its commits",
        ),
        GuardRule(
            "worktree",
            Filter(verbs={"remove-worktree"}),
            (PASS, ASK, DENY),
            "the worktree {target} would be removed with what is not committed in it",
            "git worktree remove without --force",
        ),
        GuardRule(
            "unknown", Filter(certainty=Certainty.OPAQUE), (PASS, PASS, ASK), "what git would do is not known: {why}"
        ),
    ),
)
