"""Git verbs that change history, references, stored objects or settings."""

from trotline.analysis.git.git_command import GitCommand, GitVerb
from trotline.analysis.git.git_config import add_stored_setting
from trotline.analysis.shell.shell_state import Argument

_EXPIRE_NOW = frozenset("now all 0".split())


def _branch(git: GitCommand) -> None:
    options = git.options
    is_forced = options.has("force")
    names = " ".join(word.text for word in options.rest)
    if options.has("D") or (options.has("delete") and is_forced):
        git.add_effect("delete-branch", source="forced", target=names)
    elif options.has("delete"):
        git.add_effect("delete-branch", source="merged", target=names)
    elif options.has("M", "C") or is_forced:
        git.add_effect("move-branch", source="forced", target=names)


def _tag(git: GitCommand) -> None:
    options = git.options
    names = " ".join(word.text for word in options.rest)
    if options.has("delete"):
        git.add_effect("delete-tag", target=names)
    elif options.has("force"):
        git.add_effect("move-tag", source="forced", target=options.rest[0].text if options.rest else "")


def _reflog(git: GitCommand) -> None:
    options = git.options
    action = options.rest[0].text if options.rest else "show"
    if options.has("dry-run"):
        return
    if action == "expire" and (
        options.value("expire") in _EXPIRE_NOW or options.value("expire-unreachable") in _EXPIRE_NOW
    ):
        git.add_effect("lose-history", source="all", target="the record of where branches have been")
    elif action in {"expire", "delete"}:
        git.add_effect("lose-history", source="some", target=" ".join(word.text for word in options.rest[1:]))
    elif action == "drop":
        git.add_effect("lose-history", source="all", target="the record of where branches have been")


def _gc(git: GitCommand) -> None:
    when = git.options.value("prune") or git.get_setting("gc.pruneexpire") or ""
    if "prune" not in git.options.negated and when in _EXPIRE_NOW:
        git.add_effect("lose-history", source="all", target="objects that no branch holds")


def _prune(git: GitCommand) -> None:
    if git.options.has("dry-run"):
        return
    source = "all" if git.options.value("expire") in _EXPIRE_NOW else "old"
    git.add_effect("lose-history", source=source, target="objects that no branch holds")


def _update_ref(git: GitCommand) -> None:
    target = git.options.rest[0].text if git.options.rest else ""
    if git.options.has("d"):
        git.add_effect("delete-branch", source="forced", target=target)
    elif git.options.has("stdin"):
        git.add_effect("move-branch", source="forced", target="the branches that it reads")
    elif len(git.options.rest) > 1:
        git.add_effect("move-branch", source="update-ref", target=target)


def _symbolic_ref(git: GitCommand) -> None:
    if git.options.has("delete"):
        git.add_effect("delete-branch", source="forced", target=git.options.rest[0].text if git.options.rest else "")


def _filter_branch(git: GitCommand) -> None:
    for name in git.options.flags:
        if name.endswith("-filter"):
            for command in git.options.values(name):
                git.call.analyze_script(command)
    _add_rewrite(git)


def _add_rewrite(git: GitCommand) -> None:
    """Add a rewrite of all commits. Without force git keeps the old commits or requires a fresh clone."""
    git.add_effect(
        "rewrite", source="filter" if git.options.has("force") else "filter with a copy", target="every commit"
    )


def _filter_repo(git: GitCommand) -> None:
    if not git.options.has("dry-run", "analyze"):
        _add_rewrite(git)


def _rebase(git: GitCommand) -> None:
    for command in git.options.values("exec"):
        git.call.analyze_script(command)
    if git.options.has("abort", "quit"):
        _abort(git)
    elif not git.options.has("continue", "skip", "edit-todo", "show-current-patch"):
        git.add_effect("rewrite", source="rebase", target="the commits of this branch")


def _abort(git: GitCommand) -> None:
    if git.options.has("abort"):
        git.add_effect("discard", source="abort", target=f"what was resolved in this {git.verb}")


def _merge(git: GitCommand) -> None:
    if git.options.has("no-verify"):
        git.add_effect("skip-hooks", target=git.verb)
    _abort(git)


def _replace(git: GitCommand) -> None:
    if not git.options.has("list") and git.options.rest:
        git.add_effect("rewrite", source="replace", target=git.options.rest[0].text)


def _lfs(git: GitCommand) -> None:
    action = git.options.rest[0].text if git.options.rest else ""
    if git.options.has("dry-run"):
        return
    if action == "prune":
        git.add_effect("lose-history", source="old", target="local copies of large files")
    elif action == "migrate" and [w for w in git.options.rest[1:] if w.text in {"import", "export"}]:
        git.add_effect("rewrite", source="filter", target="every commit")


def _bisect(git: GitCommand) -> None:
    rest = git.call.args
    start = next((at for at, word in enumerate(rest) if word.text == "run"), None)
    if start is not None:
        git.call.analyze_command(rest[start + 1 :])


def _hook(git: GitCommand) -> None:
    if git.options.rest[:1] and git.options.rest[0].text == "run":
        names = " ".join(word.text for word in git.options.rest[1:])
        git.call.add_effect("execute", "run", path=git.call.state.resolve(f".git/hooks/{names}"), source="file")


def _maintenance(git: GitCommand) -> None:
    action = git.options.rest[0].text if git.options.rest else ""
    if action in {"start", "register"}:
        git.call.add_effect("persist", "git maintenance", target=action, writes=True)


_READ_ACTIONS = frozenset("get get-all get-regexp get-urlmatch get-color get-colorbool list edit".split())
_CHANGE_ACTIONS = frozenset("set unset rename-section remove-section".split())


def _config(git: GitCommand) -> None:
    options = git.options
    rest = list(options.all)
    if rest and rest[0].text in _READ_ACTIONS | _CHANGE_ACTIONS and "." not in rest[0].text:
        action = rest.pop(0).text
        if action != "set":
            return
    if options.has(*_READ_ACTIONS, *(_CHANGE_ACTIONS - {"set"}), "unset-all"):
        return
    for file in options.values("file"):
        git.call.add_write(file, verb="git config")
    if len(rest) > 1:
        add_stored_setting(git.call, rest[0].text, rest[1])


def _credential(git: GitCommand) -> None:
    """Add the read or write of a stored password."""
    call = git.call
    action = git.options.rest[0].text if git.options.rest else ""
    store = Argument(call.state.environment.home + "/.git-credentials", call.start, call.end)
    if action in {"fill", "get"}:
        call.add_read(store, verb="credential")
    elif action in {"approve", "store"}:
        call.add_write(store, verb="credential")


_MERGE_OPTIONS = "abort continue skip quit m|message= F|file= s|strategy= X|strategy-option= n|no-verify"

VERBS = {
    "bisect": GitVerb("", _bisect),
    "branch": GitVerb(
        "d|delete D m|move M c|copy C f|force a|all r|remotes u|set-upstream-to= t|track? contains? no-contains?"
        " merged? no-merged? points-at? format= sort= l|list show-current edit-description unset-upstream q|quiet",
        _branch,
    ),
    "cherry-pick": GitVerb("abort continue skip quit n|no-commit e|edit x m|mainline= s|signoff", _abort),
    "config": GitVerb(
        "global system local worktree f|file= blob= get get-all get-regexp get-urlmatch get-color= get-colorbool="
        " l|list e|edit add replace-all unset unset-all rename-section remove-section type= t= bool int path default="
        " comment= value= fixed-value all append",
        _config,
    ),
    "credential": GitVerb("", _credential),
    "filter-branch": GitVerb(
        "setup= subdirectory-filter= env-filter= tree-filter= index-filter= parent-filter= msg-filter= commit-filter="
        " tag-name-filter= prune-empty original= d= f|force state-branch=",
        _filter_branch,
    ),
    "filter-repo": GitVerb(
        "f|force dry-run analyze path= path-glob= path-regex= replace-text= replace-message= invert-paths mailmap="
        " subdirectory-filter= to-subdirectory-filter= blob-callback= commit-callback= refs= source= target=",
        _filter_repo,
    ),
    "gc": GitVerb("prune? aggressive auto q|quiet force keep-largest-pack cruft", _gc),
    "hook": GitVerb("ignore-missing to-stdin=", _hook),
    "lfs": GitVerb("d|dry-run force", _lfs),
    "maintenance": GitVerb("task= schedule? auto", _maintenance),
    "merge": GitVerb(_MERGE_OPTIONS + " ff no-ff ff-only squash no-commit", _merge),
    "prune": GitVerb("n|dry-run v|verbose progress expire=", _prune),
    "rebase": GitVerb(
        "x|exec= onto= i|interactive abort continue skip quit edit-todo show-current-patch autostash autosquash root"
        " s|strategy= X|strategy-option= C= whitespace= no-verify f|force-rebase r|rebase-merges? keep-base",
        _rebase,
    ),
    "reflog": GitVerb(
        "expire= expire-unreachable= all n|dry-run rewrite updateref stale-fix verbose single-worktree", _reflog
    ),
    "replace": GitVerb("d|delete e|edit f|force l|list g|graft", _replace),
    "revert": GitVerb("abort continue skip quit n|no-commit e|edit m|mainline=", _abort),
    "symbolic-ref": GitVerb("d|delete q|quiet short m=", _symbolic_ref),
    "tag": GitVerb(
        "d|delete f|force a|annotate s|sign u|local-user= m|message= F|file= n? l|list contains? no-contains? merged?"
        " no-merged? points-at= sort= format= v|verify cleanup= column?",
        _tag,
    ),
    "update-ref": GitVerb("d m= stdin z no-deref create-reflog", _update_ref),
}
