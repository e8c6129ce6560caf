"""Git verbs that change history, references, stored objects or settings."""

from trotline.analysis.git.git_command import GitChange, GitCommand, GitVerb, make_analyzer
from trotline.analysis.git.git_config import add_stored_setting
from trotline.analysis.shell.shell_state import Argument

_EXPIRE_NOW = frozenset("now all 0".split())


def _analyze_gc(git: GitCommand) -> None:
    when = git.options.value("prune") or git.get_setting("gc.pruneexpire") or ""
    if "prune" not in git.options.negated and when in _EXPIRE_NOW:
        git.add_effect("lose-history", source="all", target=_UNUSED_OBJECTS)


_REFLOG = "the record of where branches have been"
_UNUSED_OBJECTS = "objects that no branch holds"
_analyze_abort = make_analyzer(GitChange("discard", "+abort", "abort", "what was resolved in this {verb}"))
_analyze_rewrite = make_analyzer(  # without force git keeps the old commits or requires a fresh clone
    GitChange("rewrite", "+force -dry-run -analyze", "filter", "every commit"),
    GitChange("rewrite", "-dry-run -analyze", "filter with a copy", "every commit"),
)


def _analyze_rebase(git: GitCommand) -> None:
    if git.options.has("abort", "quit"):
        _analyze_abort(git)
    elif not git.options.has("continue", "skip", "edit-todo", "show-current-patch"):
        git.add_effect("rewrite", source="rebase", target="the commits of this branch")


def _analyze_merge(git: GitCommand) -> None:
    if git.options.has("no-verify"):
        git.add_effect("skip-hooks", target=git.verb)
    _analyze_abort(git)


def _analyze_bisect(git: GitCommand) -> None:
    rest = git.call.args
    start = next((at for at, word in enumerate(rest) if word.text == "run"), None)
    if start is not None:
        git.call.analyze_command(rest[start + 1 :])


def _analyze_hook(git: GitCommand) -> None:
    if git.options.rest[:1] and git.options.rest[0].text == "run":
        names = " ".join(word.text for word in git.options.rest[1:])
        git.call.add_effect("execute", "run", path=git.call.state.resolve(f".git/hooks/{names}"), source="file")


def _analyze_maintenance(git: GitCommand) -> None:
    action = git.options.rest[0].text if git.options.rest else ""
    if action in {"start", "register"}:
        git.call.add_effect("persist", "git maintenance", target=action, writes=True)


_READ_ACTIONS = frozenset("get get-all get-regexp get-urlmatch get-color get-colorbool list edit".split())
_CHANGE_ACTIONS = frozenset("set unset rename-section remove-section".split())


def _analyze_config(git: GitCommand) -> None:
    options = git.options
    rest = list(options.all_words)
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


def _analyze_credential(git: GitCommand) -> None:
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
    "bisect": GitVerb("", _analyze_bisect),
    "branch": GitVerb(
        "d|delete D m|move M c|copy C f|force a|all r|remotes u|set-upstream-to= t|track? contains? no-contains?"
        " merged? no-merged? points-at? format= sort= l|list show-current edit-description unset-upstream q|quiet",
        make_analyzer(
            GitChange("delete-branch", "+D; +delete +force", "forced"),
            GitChange("delete-branch", "+delete", "merged"),
            GitChange("move-branch", "+M|C|force", "forced"),
        ),
    ),
    "cherry-pick": GitVerb("abort continue skip quit n|no-commit e|edit x m|mainline= s|signoff", _analyze_abort),
    "config": GitVerb(
        "global system local worktree f|file= blob= get get-all get-regexp get-urlmatch get-color= get-colorbool="
        " l|list e|edit add replace-all unset unset-all rename-section remove-section type= t= bool int path default="
        " comment= value= fixed-value all append",
        _analyze_config,
    ),
    "credential": GitVerb("", _analyze_credential),
    "filter-branch": GitVerb(
        "setup= subdirectory-filter= env-filter= tree-filter= index-filter= parent-filter= msg-filter= commit-filter="
        " tag-name-filter= prune-empty original= d= f|force state-branch=",
        _analyze_rewrite,
        "subdirectory-filter env-filter tree-filter index-filter parent-filter msg-filter commit-filter"
        " tag-name-filter",
    ),
    "filter-repo": GitVerb(
        "f|force dry-run analyze path= path-glob= path-regex= replace-text= replace-message= invert-paths mailmap="
        " subdirectory-filter= to-subdirectory-filter= blob-callback= commit-callback= refs= source= target=",
        _analyze_rewrite,
    ),
    "gc": GitVerb("prune? aggressive auto q|quiet force keep-largest-pack cruft", _analyze_gc),
    "hook": GitVerb("ignore-missing to-stdin=", _analyze_hook),
    "lfs": GitVerb(
        "d|dry-run force",
        make_analyzer(
            GitChange("lose-history", "prune -dry-run", "old", "local copies of large files"),
            GitChange("rewrite", "migrate import|export -dry-run", "filter", "every commit"),
        ),
    ),
    "maintenance": GitVerb("task= schedule? auto", _analyze_maintenance),
    "merge": GitVerb(_MERGE_OPTIONS + " ff no-ff ff-only squash no-commit", _analyze_merge),
    "prune": GitVerb(
        "n|dry-run v|verbose progress expire=",
        make_analyzer(
            GitChange("lose-history", "-dry-run +expire=now|all|0", "all", _UNUSED_OBJECTS),
            GitChange("lose-history", "-dry-run", "old", _UNUSED_OBJECTS),
        ),
    ),
    "rebase": GitVerb(
        "x|exec= onto= i|interactive abort continue skip quit edit-todo show-current-patch autostash autosquash root"
        " s|strategy= X|strategy-option= C= whitespace= no-verify f|force-rebase r|rebase-merges? keep-base",
        _analyze_rebase,
        "exec",
    ),
    "reflog": GitVerb(
        "expire= expire-unreachable= all n|dry-run rewrite updateref stale-fix verbose single-worktree",
        make_analyzer(
            GitChange(
                "lose-history",
                "drop -dry-run; expire -dry-run +expire=now|all|0; expire -dry-run +expire-unreachable=now|all|0",
                "all",
                _REFLOG,
            ),
            GitChange("lose-history", "expire|delete -dry-run", "some", "{rest}"),
        ),
    ),
    "replace": GitVerb(
        "d|delete e|edit f|force l|list g|graft", make_analyzer(GitChange("rewrite", "* -list", "replace", "{first}"))
    ),
    "revert": GitVerb("abort continue skip quit n|no-commit e|edit m|mainline=", _analyze_abort),
    "symbolic-ref": GitVerb(
        "d|delete q|quiet short m=", make_analyzer(GitChange("delete-branch", "+delete", "forced", "{first}"))
    ),
    "tag": GitVerb(
        "d|delete f|force a|annotate s|sign u|local-user= m|message= F|file= n? l|list contains? no-contains? merged?"
        " no-merged? points-at= sort= format= v|verify cleanup= column?",
        make_analyzer(GitChange("delete-tag", "+delete"), GitChange("move-tag", "+force", "forced", "{first}")),
    ),
    "update-ref": GitVerb(
        "d m= stdin z no-deref create-reflog",
        make_analyzer(
            GitChange("delete-branch", "+d", "forced", "{first}"),
            GitChange("move-branch", "+stdin", "forced", "the branches that it reads"),
            GitChange("move-branch", "* *", "update-ref", "{first}"),
        ),
    ),
}
