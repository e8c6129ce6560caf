"""Verbs of git that change history, what keeps it alive, or how git behaves."""

from trotline.analysis.scene import Argument
from trotline.analysis.tools.git_settings import Call, kept
from trotline.analysis.tools.git_work import Verb

_NOW = frozenset("now all 0".split())


def _branch(call: Call) -> None:
    found = call.found
    forced = found.has("force")
    names = " ".join(word.text for word in found.rest)
    if found.has("D") or (found.has("delete") and forced):
        call.lost("delete-branch", source="forced", target=names)
    elif found.has("delete"):
        call.lost("delete-branch", source="merged", target=names)
    elif found.has("M", "C") or forced:
        call.lost("move-branch", source="forced", target=names)


def _tag(call: Call) -> None:
    found = call.found
    names = " ".join(word.text for word in found.rest)
    if found.has("delete"):
        call.lost("delete-tag", target=names)
    elif found.has("force"):
        call.lost("move-tag", source="forced", target=found.rest[0].text if found.rest else "")


def _reflog(call: Call) -> None:
    found = call.found
    action = found.rest[0].text if found.rest else "show"
    if found.has("dry-run"):
        return
    if action == "expire" and (found.value("expire") in _NOW or found.value("expire-unreachable") in _NOW):
        call.lost("lose-history", source="all", target="the record of where branches have been")
    elif action in {"expire", "delete"}:
        call.lost("lose-history", source="some", target=" ".join(word.text for word in found.rest[1:]))
    elif action == "drop":
        call.lost("lose-history", source="all", target="the record of where branches have been")


def _gc(call: Call) -> None:
    when = call.found.value("prune") or call.setting("gc.pruneexpire") or ""
    if "prune" not in call.found.refused and when in _NOW:
        call.lost("lose-history", source="all", target="objects that no branch holds")


def _prune(call: Call) -> None:
    if call.found.has("dry-run"):
        return
    source = "all" if call.found.value("expire") in _NOW else "old"
    call.lost("lose-history", source=source, target="objects that no branch holds")


def _update_ref(call: Call) -> None:
    target = call.found.rest[0].text if call.found.rest else ""
    if call.found.has("d"):
        call.lost("delete-branch", source="forced", target=target)
    elif call.found.has("stdin"):
        call.lost("move-branch", source="forced", target="the branches that it reads")
    elif len(call.found.rest) > 1:
        call.lost("move-branch", source="update-ref", target=target)


def _symbolic_ref(call: Call) -> None:
    if call.found.has("delete"):
        call.lost("delete-branch", source="forced", target=call.found.rest[0].text if call.found.rest else "")


def _filter_branch(call: Call) -> None:
    for name in call.found.flags:
        if name.endswith("-filter"):
            for command in call.found.values(name):
                call.step.script(command)
    _filtered(call)


def _filtered(call: Call) -> None:
    """Without force git keeps the old commits by another name, or works in a fresh clone only."""
    call.lost("rewrite", source="filter" if call.found.has("force") else "filter with a copy", target="every commit")


def _filter_repo(call: Call) -> None:
    if not call.found.has("dry-run", "analyze"):
        _filtered(call)


def _rebase(call: Call) -> None:
    for command in call.found.values("exec"):
        call.step.script(command)
    if call.found.has("abort", "quit"):
        _aborted(call)
    elif not call.found.has("continue", "skip", "edit-todo", "show-current-patch"):
        call.lost("rewrite", source="rebase", target="the commits of this branch")


def _aborted(call: Call) -> None:
    if call.found.has("abort"):
        call.lost("discard", source="abort", target=f"what was resolved in this {call.verb}")


def _merge(call: Call) -> None:
    if call.found.has("no-verify"):
        call.lost("skip-hooks", target=call.verb)
    _aborted(call)


def _replace(call: Call) -> None:
    if not call.found.has("list") and call.found.rest:
        call.lost("rewrite", source="replace", target=call.found.rest[0].text)


def _lfs(call: Call) -> None:
    action = call.found.rest[0].text if call.found.rest else ""
    if call.found.has("dry-run"):
        return
    if action == "prune":
        call.lost("lose-history", source="old", target="local copies of large files")
    elif action == "migrate" and [w for w in call.found.rest[1:] if w.text in {"import", "export"}]:
        call.lost("rewrite", source="filter", target="every commit")


def _bisect(call: Call) -> None:
    rest = call.step.words
    begin = next((at for at, word in enumerate(rest) if word.text == "run"), None)
    if begin is not None:
        call.step.run(rest[begin + 1 :])


def _hook(call: Call) -> None:
    if call.found.rest[:1] and call.found.rest[0].text == "run":
        names = " ".join(word.text for word in call.found.rest[1:])
        call.step.effect("execute", "run", path=call.step.scene.absolute(f".git/hooks/{names}"), source="file")


def _maintenance(call: Call) -> None:
    action = call.found.rest[0].text if call.found.rest else ""
    if action in {"start", "register"}:
        call.step.effect("persist", "git maintenance", target=action, writes=True)


_READING = frozenset("get get-all get-regexp get-urlmatch get-color get-colorbool list edit".split())
_CHANGING = frozenset("set unset rename-section remove-section".split())


def _config(call: Call) -> None:
    found = call.found
    rest = list(found.all)
    if rest and rest[0].text in _READING | _CHANGING and "." not in rest[0].text:
        action = rest.pop(0).text
        if action != "set":
            return
    if found.has(*_READING, *(_CHANGING - {"set"}), "unset-all"):
        return
    for file in found.values("file"):
        call.step.write(file, verb="git config")
    if len(rest) > 1:
        kept(call.step, rest[0].text, rest[1])


def _credential(call: Call) -> None:
    """Prints a password that git knows, or stores one."""
    step = call.step
    action = call.found.rest[0].text if call.found.rest else ""
    store = Argument(step.scene.world.home + "/.git-credentials", step.start, step.end)
    if action in {"fill", "get"}:
        step.read(store, verb="credential")
    elif action in {"approve", "store"}:
        step.write(store, verb="credential")


_ABORTS = "abort continue skip quit m|message= F|file= s|strategy= X|strategy-option= n|no-verify"

VERBS = {
    "bisect": Verb("", _bisect),
    "branch": Verb(
        "d|delete D m|move M c|copy C f|force a|all r|remotes u|set-upstream-to= t|track? contains? no-contains?"
        " merged? no-merged? points-at? format= sort= l|list show-current edit-description unset-upstream q|quiet",
        _branch,
    ),
    "cherry-pick": Verb("abort continue skip quit n|no-commit e|edit x m|mainline= s|signoff", _aborted),
    "config": Verb(
        "global system local worktree f|file= blob= get get-all get-regexp get-urlmatch get-color= get-colorbool="
        " l|list e|edit add replace-all unset unset-all rename-section remove-section type= t= bool int path default="
        " comment= value= fixed-value all append",
        _config,
    ),
    "credential": Verb("", _credential),
    "filter-branch": Verb(
        "setup= subdirectory-filter= env-filter= tree-filter= index-filter= parent-filter= msg-filter= commit-filter="
        " tag-name-filter= prune-empty original= d= f|force state-branch=",
        _filter_branch,
    ),
    "filter-repo": Verb(
        "f|force dry-run analyze path= path-glob= path-regex= replace-text= replace-message= invert-paths mailmap="
        " subdirectory-filter= to-subdirectory-filter= blob-callback= commit-callback= refs= source= target=",
        _filter_repo,
    ),
    "gc": Verb("prune? aggressive auto q|quiet force keep-largest-pack cruft", _gc),
    "hook": Verb("ignore-missing to-stdin=", _hook),
    "lfs": Verb("d|dry-run force", _lfs),
    "maintenance": Verb("task= schedule? auto", _maintenance),
    "merge": Verb(_ABORTS + " ff no-ff ff-only squash no-commit", _merge),
    "prune": Verb("n|dry-run v|verbose progress expire=", _prune),
    "rebase": Verb(
        "x|exec= onto= i|interactive abort continue skip quit edit-todo show-current-patch autostash autosquash root"
        " s|strategy= X|strategy-option= C= whitespace= no-verify f|force-rebase r|rebase-merges? keep-base",
        _rebase,
    ),
    "reflog": Verb(
        "expire= expire-unreachable= all n|dry-run rewrite updateref stale-fix verbose single-worktree", _reflog
    ),
    "replace": Verb("d|delete e|edit f|force l|list g|graft", _replace),
    "revert": Verb("abort continue skip quit n|no-commit e|edit m|mainline=", _aborted),
    "symbolic-ref": Verb("d|delete q|quiet short m=", _symbolic_ref),
    "tag": Verb(
        "d|delete f|force a|annotate s|sign u|local-user= m|message= F|file= n? l|list contains? no-contains? merged?"
        " no-merged? points-at= sort= format= v|verify cleanup= column?",
        _tag,
    ),
    "update-ref": Verb("d m= stdin z no-deref create-reflog", _update_ref),
}
