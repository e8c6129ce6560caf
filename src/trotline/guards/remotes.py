"""Guard: shared repositories: work that others lose, and code that is pushed elsewhere."""

from trotline.domain.effects import Effect
from trotline.guards.guard import ASK, DENY, PASS, Filter, Guard, GuardContext, GuardRule
from trotline.guards.history import is_main_branch


def _pushes_to_new_remote(effect: Effect, context: GuardContext) -> bool:
    """Return whether the same command sets up the remote: `git remote add x URL && git push x` pushes to that URL."""
    names = {
        other.target
        for other in context.effects
        if other.kind == "git" and other.verb in {"remote-add", "remote-set-url"} and other.host
    }
    return effect.target.split(" ")[0] in names - {"origin"}


def _pushes_main_branch(effect: Effect, _: GuardContext) -> bool:
    return is_main_branch(effect.source)


def _deletes_main_branch(effect: Effect, _: GuardContext) -> bool:
    return any(map(is_main_branch, effect.target.split(" ")[1:]))  # the first word is the remote


GUARD = Guard(
    name="remotes",
    danger="what others lose on a shared repository, and code that leaves for another place",
    kinds={"git", "send"},
    rules=(
        GuardRule(
            "another repository",
            Filter(kinds={"send"}, verbs={"git push"}),
            (ASK, DENY, DENY),
            "the repository would be pushed to {host}, which is none of its remotes by name",
            "push to a remote that the repository has",
        ),
        GuardRule(
            "a remote of this line",
            Filter(kinds={"git"}, verbs={"push"}, when=_pushes_to_new_remote),
            (ASK, DENY, DENY),
            "the repository would be pushed to a remote that this very line sets up: {target}",
            "push to a remote that the repository has",
        ),
        # The push fails if others have pushed; only the pusher's own commits are replaced, and the reflog has them.
        GuardRule(
            "overwritten with a lease",
            Filter(kinds={"git"}, verbs={"overwrite-remote"}, sources={"lease"}),
            (PASS, PASS, ASK),
            "{target} would be overwritten, if nobody has pushed since",
        ),
        GuardRule(
            "overwritten",
            Filter(kinds={"git"}, verbs={"overwrite-remote"}),
            (ASK, DENY, DENY),
            "{target} would be overwritten, with whatever others have pushed there",
            "git push --force-with-lease stops if somebody else has pushed",
        ),
        # Unlike one named branch, this deletes whatever others have pushed.
        GuardRule(
            "all branches",
            Filter(kinds={"git"}, verbs={"delete-remote"}, sources={"all"}),
            (ASK, DENY, DENY),
            "{target} would be deleted there",
            "git push --dry-run shows which",
        ),
        GuardRule(
            "main branch deleted",
            Filter(kinds={"git"}, verbs={"delete-remote"}, when=_deletes_main_branch),
            (ASK, DENY, DENY),
            "{target}: everybody's work stands on this branch, and it would be deleted for everybody",
            "let the person do this where the repository is kept",
        ),
        GuardRule(
            "branch",
            Filter(kinds={"git"}, verbs={"delete-remote"}),
            (PASS, ASK, DENY),
            "{target} would be deleted for everybody",
        ),
        GuardRule(
            "redirected",
            Filter(kinds={"git"}, verbs={"redirect"}),
            (ASK, DENY, DENY),
            "what git sends to {target} would go through {host}",
            "leave git's addresses as they are",
        ),
        GuardRule(
            "unverified",
            Filter(kinds={"git"}, verbs={"unverified"}),
            (ASK, DENY, DENY),
            "git would no longer look who answers ({target})",
        ),
        GuardRule(
            "other address",
            Filter(kinds={"git"}, verbs={"remote-set-url"}),
            (PASS, ASK, DENY),
            "the remote {target} would mean {source}",
        ),
        GuardRule(
            "new remote",
            Filter(kinds={"git"}, verbs={"remote-add", "remote-remove"}),
            (PASS, PASS, ASK),
            "the remotes would change: {target}",
        ),
        GuardRule(
            "main branch",
            Filter(kinds={"git"}, verbs={"push"}, when=_pushes_main_branch),
            (PASS, PASS, ASK),
            "this pushes straight to {source}",
        ),
    ),
)
