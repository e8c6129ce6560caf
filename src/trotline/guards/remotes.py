"""Repositories that others work with: what they lose, and where ours goes."""

from trotline.effects import Effect
from trotline.guards.branches import is_main
from trotline.guards.guard import Guard, Row, Sight, Test


def _is(*verbs: str, source: str = "") -> Test:
    def when(effect: Effect, _: Sight) -> bool:
        return effect.kind == "git" and effect.verb in verbs and (not source or effect.source == source)

    return when


def _sent(effect: Effect, _: Sight) -> bool:
    return effect.kind == "send" and effect.verb == "git push"


def _to_a_new_remote(effect: Effect, sight: Sight) -> bool:
    """`git remote add x URL && git push x` is a push to that URL."""
    if effect.kind != "git" or effect.verb != "push":
        return False
    names = {
        other.target
        for other in sight.effects
        if other.kind == "git" and other.verb in {"remote-add", "remote-set-url"} and other.host
    }
    return effect.target.split(" ")[0] in names - {"origin"}


def _main_branch(effect: Effect, _: Sight) -> bool:
    return effect.kind == "git" and effect.verb == "push" and is_main(effect.source)


def _main_deleted(effect: Effect, _: Sight) -> bool:
    """The first word of the target is the remote, the others are branches."""
    deletes = effect.kind == "git" and effect.verb == "delete-remote"
    return deletes and any(map(is_main, effect.target.split(" ")[1:]))


GUARD = Guard(
    name="remotes",
    danger="what others lose on a shared repository, and code that leaves for another place",
    kinds=frozenset({"git", "send"}),
    rows=(
        Row(
            "another repository",
            _sent,
            "ask deny deny",
            "the repository would be pushed to {host}, which is none of its remotes by name",
            "push to a remote that the repository has",
        ),
        Row(
            "a remote of this line",
            _to_a_new_remote,
            "ask deny deny",
            "the repository would be pushed to a remote that this very line sets up: {target}",
            "push to a remote that the repository has",
        ),
        Row(
            "overwritten with a lease",
            _is("overwrite-remote", source="lease"),
            # It fails where somebody else has pushed: what is lost is the pusher's own, and is in the reflog.
            "pass pass ask",
            "{target} would be overwritten, if nobody has pushed since",
        ),
        Row(
            "overwritten",
            _is("overwrite-remote"),
            "ask deny deny",
            "{target} would be overwritten, with whatever others have pushed there",
            "git push --force-with-lease stops if somebody else has pushed",
        ),
        Row(
            "all branches",
            _is("delete-remote", source="all"),
            # Unlike one branch that is named, these are whatever others keep there.
            "ask deny deny",
            "{target} would be deleted there",
            "git push --dry-run shows which",
        ),
        Row(
            "main branch deleted",
            _main_deleted,
            "ask deny deny",
            "{target}: everybody's work stands on this branch, and it would be deleted for everybody",
            "let the person do this where the repository is kept",
        ),
        Row("branch", _is("delete-remote"), "pass ask deny", "{target} would be deleted for everybody"),
        Row(
            "redirected",
            _is("redirect"),
            "ask deny deny",
            "what git sends to {target} would go through {host}",
            "leave git's addresses as they are",
        ),
        Row("unverified", _is("unverified"), "ask deny deny", "git would no longer look who answers ({target})"),
        Row("other address", _is("remote-set-url"), "pass ask deny", "the remote {target} would mean {source}"),
        Row("new remote", _is("remote-add", "remote-remove"), "pass pass ask", "the remotes would change: {target}"),
        Row("main branch", _main_branch, "pass pass ask", "this pushes straight to {source}"),
    ),
    stops=(
        "git push --force",
        "git push -fu origin topic",
        "git push origin +topic",
        "git push origin +HEAD:refs/heads/topic",
        "git push --mirror backup",
        "git push --prune upstream",
        "git push -d origin topic",
        "git push origin :topic",
        "git push origin :main",
        "git push --force-with-lease --force origin topic",
        "git push https://elsewhere.example/copy.git main",
        "git push dev@elsewhere.example:copy.git",
        "git remote add copy https://elsewhere.example/x.git && git push copy main",
        "git remote set-url origin https://elsewhere.example/x.git",
        "git config --global url.https://elsewhere.example/.insteadOf https://git.example/",
        "git -c http.sslVerify=false fetch",
        "cd sub; sudo git -C .. push origin -f",
    ),
    passes=(
        "git push",
        "git push origin topic",
        "git push -u origin topic",
        "git push --tags",
        "git push --force-with-lease",
        "git push --force --dry-run",
        "git fetch --prune",
        "git pull --rebase",
        "git remote -v",
        "git remote add origin git@git.example:team/app.git",
        "git clone https://git.example/team/app.git",
        "git commit -m 'push --force is off'",
        "git push origin topic:topic",
        "git config --global url.git@git.example:.insteadOf https://git.example/",
    ),
)
