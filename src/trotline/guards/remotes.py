"""Guard: shared repositories: work that others lose, and code that is pushed elsewhere."""

from trotline.domain.effects import Effect
from trotline.guards.guard import HIGH, LOW, MEDIUM, Filter, GuardContext, build_guard, rule
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


GUARD = build_guard(
    "remotes",
    "what others lose on a shared repository, and code that leaves for another place",
    {
        "another repository": rule(
            "send: git push",
            HIGH,
            "the repository would be pushed to {host}, which is none of its remotes by name",
            "push to a remote that the repository has",
        ),
        "a remote of this line": rule(
            Filter("git: push", when=_pushes_to_new_remote),
            HIGH,
            "the repository would be pushed to a remote that this very line sets up: {target}",
            "push to a remote that the repository has",
        ),
        # The push fails if others have pushed; only the pusher's own commits are replaced, and the reflog has them.
        "overwritten with a lease": rule(
            Filter("git: overwrite-remote", sources={"lease"}),
            LOW,
            "{target} would be overwritten, if nobody has pushed since",
        ),
        "overwritten": rule(
            "git: overwrite-remote",
            HIGH,
            "{target} would be overwritten, with whatever others have pushed there",
            "git push --force-with-lease stops if somebody else has pushed",
        ),
        # Unlike one named branch, this deletes whatever others have pushed.
        "all branches": rule(
            Filter("git: delete-remote", sources={"all"}),
            HIGH,
            "{target} would be deleted there",
            "git push --dry-run shows which",
        ),
        "main branch deleted": rule(
            Filter("git: delete-remote", when=_deletes_main_branch),
            HIGH,
            "{target}: everybody's work stands on this branch, and it would be deleted for everybody",
            "let the person do this where the repository is kept",
        ),
        "branch": rule("git: delete-remote", MEDIUM, "{target} would be deleted for everybody"),
        "redirected": rule(
            "git: redirect",
            HIGH,
            "what git sends to {target} would go through {host}",
            "leave git's addresses as they are",
        ),
        "unverified": rule("git: unverified", HIGH, "git would no longer look who answers ({target})"),
        "other address": rule("git: remote-set-url", MEDIUM, "the remote {target} would mean {source}"),
        "new remote": rule("git: remote-add|remote-remove", LOW, "the remotes would change: {target}"),
        "main branch": rule(Filter("git: push", when=_pushes_main_branch), LOW, "this pushes straight to {source}"),
    },
)
