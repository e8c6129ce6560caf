"""Work that git no longer has, or never had."""

from trotline.analysis.places import Place
from trotline.effects import Effect
from trotline.guards.branches import is_main
from trotline.guards.guard import Guard, Row, Sight, Test, opaque

_MINE = {Place.ROOT, Place.SYSTEM, Place.HOME, Place.PERSONAL}


def _is(verb: str, *sources: str) -> Test:
    """An effect with this verb, and, where it matters, one of these sources."""

    def when(effect: Effect, _: Sight) -> bool:
        return effect.verb == verb and (not sources or effect.source in sources)

    return when


def _at_home(effect: Effect, sight: Sight) -> bool:
    """A home directory kept in git: what is not committed there is everything else that a person has."""
    return effect.verb in {"clean", "discard"} and effect.source == "all" and sight.place(effect) in _MINE


def _main_branch(effect: Effect, _: Sight) -> bool:
    forced = effect.verb == "delete-branch" and effect.source == "forced"
    return forced and any(map(is_main, effect.target.split(" ")))


def _unknown(effect: Effect, _: Sight) -> bool:
    return opaque(effect)


GUARD = Guard(
    name="history",
    danger="work that git cannot bring back",
    kinds=frozenset({"git"}),
    rows=(
        Row(
            "outside",
            _at_home,
            "deny deny deny",
            "{path} is outside the workspace, and {target} there would be lost",
            "run git inside the workspace",
        ),
        Row(
            "abort",
            _is("discard", "abort"),
            "pass ask deny",
            "{target} would be lost",
            "finish it, or keep a copy of the files that you resolved",
        ),
        Row(
            "one side of a conflict",
            _is("discard", "conflict"),
            "pass ask deny",
            "git would take one side of {target}, and drop what was merged by hand",
            "resolve the marks in the file",
        ),
        Row(
            "changes",
            _is("discard"),
            # Some projects let a reset, a forced checkout or a restore pass; what is lost is the same with each.
            "ask deny deny",
            "git would throw away {target}; what was never committed cannot be brought back",
            "git stash keeps the changes and gives the same clean tree",
        ),
        Row(
            "untracked files",
            _is("clean", "all"),
            # A dry run has no effect, whatever stands beside it: git says that -n wins over -f.
            "ask deny deny",
            "git would delete {target}, and has no copy of them",
            "git clean -n shows them; git stash -u keeps them",
        ),
        Row(
            "some untracked files",
            _is("clean"),
            # `rm -r` of the same directory passes in standard, too.
            "pass ask ask",
            "git would delete {target} in {path}, and has no copy of them",
            "git clean -n shows them",
        ),
        Row(
            "stashes",
            _is("drop-stash"),
            # Clearing all is no milder than dropping one, on which all agree.
            "ask deny deny",
            "{target} would be dropped",
            "git stash branch NAME makes a branch of a stash",
        ),
        Row(
            "the way back",
            _is("lose-history", "all"),
            "ask deny deny",
            "{target} would be deleted: it is what undoes a reset, a rebase or a deleted branch",
            "git gc alone keeps what is younger than two weeks",
        ),
        # One entry is a name, not the commits: those stay for weeks.
        Row("a step of the way back", _is("lose-history", "some"), "pass ask deny", "{target} would be forgotten"),
        Row("old objects", _is("lose-history"), "pass pass ask", "{target} would be deleted"),
        Row(
            "every commit",
            _is("rewrite", "filter"),
            "ask deny deny",
            "{target} would be written anew; all other clones then disagree with this one",
            "make a fresh clone and rewrite that",
        ),
        Row(
            "every commit, with a copy",
            _is("rewrite", "filter with a copy"),
            "pass ask deny",
            "{target} would be written anew; all other clones then disagree with this one",
            "make a fresh clone and rewrite that",
        ),
        Row("rewritten", _is("rewrite"), "pass pass ask", "git would write {target} anew"),
        Row(
            "main branch",
            _main_branch,
            "ask deny deny",
            "{target} would be deleted, merged or not, and other work stands on it",
            "git branch -m gives it another name",
        ),
        Row(
            "unmerged branch",
            _is("delete-branch", "forced"),
            "pass ask deny",
            "{target} would be deleted, merged or not",
            "git branch -d deletes only what is merged",
        ),
        Row("merged branch", _is("delete-branch"), "pass pass ask", "{target} would be deleted"),
        Row(
            "tag",
            _is("delete-tag"),
            "ask deny deny",
            "the tag {target} would be deleted, and nothing remembers what it pointed to",
            "git tag NEW OLD keeps the commit under another name",
        ),
        Row("moved tag", _is("move-tag"), "pass ask deny", "the tag {target} would point to something else"),
        Row(
            "moved branch",
            _is("move-branch", "forced", "reset"),
            "pass ask deny",
            "{target} would point elsewhere, and its commits may hang in the air",
            "make another branch",
        ),
        Row("perhaps moved branch", _is("move-branch"), "pass pass ask", "{target} may be moved away from its commits"),
        Row(
            "worktree",
            _is("remove-worktree"),
            "pass ask deny",
            "the worktree {target} would be removed with what is not committed in it",
            "git worktree remove without --force",
        ),
        Row("unknown", _unknown, "pass pass ask", "what git would do is not known: {why}"),
    ),
    stops=(
        "git reset --hard",
        "git reset --har origin/next",
        "git -C sub reset --merge",
        "git clean -fd",
        "git -c clean.requireForce=false clean",
        "git checkout -- lib/parser.c",
        "git checkout next src/main.rs",
        "git checkout -f next",
        "git restore lib",
        "git restore -SW lib",
        "git switch --discard-c next",
        "git stash clear",
        "git branch -D spike",
        "git branch -D master",
        "git branch -d -f spike",
        "git tag -d v9",
        "git reflog expire --expire-unreachable=now --all",
        "git -c gc.pruneExpire=all gc -q",
        "git prune --expire now",
        "git filter-repo --path docs --force",
        "git worktree remove -f ../spike",
        "git -c alias.undo='reset --hard' undo",
        "git update-ref -d refs/heads/spike",
        "git read-tree --reset -u HEAD",
        "sudo -u dev env A=1 git clean -xf",
        "git -C ~ clean -fdx",
    ),
    passes=(
        "git status",
        "git commit -m 'git reset --hard is bad'",
        "git reset @~3",
        "git reset --soft HEAD~2",
        "git clean -n",
        "git clean -ndx",
        "git checkout next",
        "git checkout -b topic/one",
        "git restore --staged lib",
        "git switch -c topic",
        "git stash",
        "git stash apply -q",
        "git branch -d merged",
        "git tag v2.0",
        "git gc",
        "git rebase main",
        "git commit --amend --no-edit",
        "git log --grep='clean -fd'",
        "git reset --help --hard",
        "git merge topic",
    ),
)
