"""Verbs of git that touch the files of the working tree, or show what is in them."""

import posixpath
from collections.abc import Callable
from typing import NamedTuple

from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools.git_settings import Call


class Verb(NamedTuple):
    """The options of a verb, and what reads them."""

    spec: str
    judge: Callable[[Call], None]


_ENDINGS = frozenset(
    "bash bat c cc cfg cjs clj cmake conf cpp cs css csv cxx dart ex exs fish gemspec go gradle graphql h hcl hpp hs"
    " htm html ini ipynb java jpg js json jsonc jsx kt kts less lock lua m md mdx mjs ml nix php pl png proto"
    " ps1 py pyi r rb rs rst sass scala scss sh sol sql svelte svg swift tex tf tfvars toml ts tsx txt"
    " vue xml yaml yml zig zsh".split()
)
_NAMES = frozenset(
    "Makefile Dockerfile Gemfile Rakefile LICENSE README justfile Vagrantfile Procfile CODEOWNERS".split()
)
_SHOWS = (
    "p|u|patch output= O= S= G= n|max-count= format= pretty= author= since= until= grep= ext-diff textconv no-index"
)


def pathspecs(given: tuple[Argument, ...]) -> list[Argument]:
    """Paths, without git's own signs for where they begin and what they leave out."""
    found = []
    for word in given:
        text = word.text
        if text.startswith((":!", ":^", ":(exclude")):
            continue
        if text.startswith(":("):
            text = text.partition(")")[2]
        elif text.startswith(":/"):
            text = text[2:]
        found.append(word._replace(text=text or "."))
    return found


def whole_tree(paths: list[Argument]) -> bool:
    return any(not posixpath.normpath(path.text.rstrip("*") or ".").strip("./") for path in paths)


def written(step: Step, paths: list[Argument], verb: str) -> None:
    for path in paths:
        if posixpath.normpath(path.text) != ".":
            step.write(path, verb=verb, recursive=True)


def _listed(call: Call) -> None:
    """All files of the tree, or those that the words and flags leave of it."""
    chosen = bool(call.found.flags.keys() - {"cached", "z"})
    paths = pathspecs((*call.found.rest, *call.found.paths))
    below = [f"./{UNKNOWN}/{path.text}" for path in paths] or ([f"./{UNKNOWN}"] if chosen else ["."])
    names = tuple(call.step.scene.absolute(name) for name in below)
    call.step.out = Stream(None, frozenset({"names"}), (), names)


def _discards(call: Call, paths: list[Argument]) -> None:
    source = "conflict" if call.found.has("ours", "theirs") else "paths"
    names = " ".join(path.text for path in paths) or "paths that a file lists"
    call.lost("discard", source="all" if whole_tree(paths) else source, target=names)
    written(call.step, paths, call.verb)


def _checkout(call: Call) -> None:
    found = call.found
    made = found.has("b", "B", "orphan")
    refused = (found.dashed and len(found.rest) > 1) or (found.has("track") and len(found.rest) > 1 and not made)
    if found.has("patch") or refused:
        return
    paths = pathspecs(found.paths)
    if not paths and len(found.rest) > 1 and not made:
        paths = pathspecs(found.rest[1:])
    if found.has("pathspec-from-file") or paths:
        _discards(call, paths)
    elif found.has("force"):
        call.lost("discard", source="all", target="changes that are not committed")
    elif len(found.rest) == 1 and not made and _file_like(found.rest[0].text):
        _discards(call, pathspecs(found.rest))
    elif found.has("B"):
        call.lost("move-branch", target=found.value("B"), source="checkout")


def _file_like(text: str) -> bool:
    """One word after `checkout` is a branch or a file; this is what files look like."""
    if text in {".", "..", "*", ":/"} or text.startswith(("./", "../", ":", "/")) or text.endswith("/"):
        return True
    name = text.rpartition("/")[2]
    return name in _NAMES or name.startswith(".") or name.rpartition(".")[2] in _ENDINGS


def _restore(call: Call) -> None:
    found = call.found
    named = found.has("staged", "worktree") or {"staged", "worktree"} & found.refused
    if (named and not found.has("worktree")) or found.has("patch"):
        return
    paths = pathspecs(found.all)
    if paths or found.has("pathspec-from-file"):
        _discards(call, paths)


def _switch(call: Call) -> None:
    made = call.found.has("create", "force-create", "orphan")
    if call.found.has("force", "discard-changes") and (len(call.found.rest) < 2 or made):
        call.lost("discard", source="all", target="changes that are not committed")
    elif call.found.has("force-create"):
        call.lost("move-branch", target=call.found.value("force-create"), source="switch")


def _reset(call: Call) -> None:
    target = call.found.rest[0].text if call.found.rest else "HEAD"
    if call.found.has("hard", "merge"):
        call.lost("discard", source="all", target=f"changes that are not committed, by a reset to {target}")
    elif call.found.has("keep"):
        call.lost("move-branch", source="reset", target=target)


def _clean(call: Call) -> None:
    found, step = call.found, call.step
    required = (call.setting("clean.requireforce") or "true").lower() not in {"false", "no", "off", "0"}
    if found.has("dry-run", "interactive") or (required and not found.has("force")):
        return
    paths = pathspecs(found.all)
    above = whole_tree(paths) or not paths
    step.effect(
        "git",
        "clean",
        path=step.path(paths[0]) if paths else step.scene.absolute("."),
        source="all" if above else "paths",
        target="ignored files" if found.has("X") else "files that git does not know",
        recursive=found.has("d", "x", "X"),
        writes=True,
    )
    for path in paths or [Argument(".", step.start, step.end)]:
        inside = path._replace(text=path.text.rstrip("/") + "/" + UNKNOWN, why="the files that git does not know")
        step.effect(
            "delete", "git clean", inside, path=step.path(inside), recursive=True, source="untracked", writes=True
        )


def _rm(call: Call) -> None:
    found, step = call.found, call.step
    if found.has("cached", "dry-run"):
        return
    for path in pathspecs(found.all):
        step.delete(path, recursive=found.has("r"), verb="git rm")
    if found.has("force"):
        call.lost("discard", source="paths", target=" ".join(path.text for path in found.all))


def _mv(call: Call) -> None:
    *sources, target = call.found.all or (Argument("."),)
    if call.found.has("dry-run"):
        return
    for source in sources:
        step = call.step
        step.effect("delete", "move", source, path=step.path(source), target=step.path(target), writes=True)
    if sources:
        call.step.write(target, verb="move")


def _add(call: Call) -> None:
    """What is staged is read, and will be in the history for ever."""
    if call.found.has("dry-run"):
        return
    for path in pathspecs(call.found.all):
        if not path.pattern and not path.text.endswith(("/", ".")):
            call.step.read(path, verb="stage")


def _commit(call: Call) -> None:
    found = call.found
    for file in found.values("file"):
        if file.text != "-":
            call.step.read(file, verb="git commit")
    if found.has("dry-run"):
        return
    if found.has("no-verify"):
        call.lost("skip-hooks", target="commit")
    if found.has("amend"):
        call.lost("rewrite", source="amend", target="the last commit")


def _apply(call: Call) -> None:
    """A patch names the files that it changes."""
    found, step = call.found, call.step
    if found.has("check", "stat", "numstat", "summary", "cached", "abort", "quit", "show-current-patch"):
        return
    texts = [step.stdin.text] if not found.all else []
    for patch in found.all:
        step.read(patch, verb="patch")
        texts.append(step.scene.written.get(step.path(patch)))
    for text in texts:
        for name in patched(text or ""):
            step.write(step.program._replace(text=name), verb="patch")


def patched(text: str) -> list[str]:
    """The files that a patch changes."""
    names = [line[4:].split("\t")[0].strip() for line in text.splitlines() if line.startswith("+++ ")]
    return [name[2:] if name.startswith(("b/", "a/")) else name for name in names if name != "/dev/null"]


def _show(call: Call) -> None:
    """`REV:path` is a file as it was; `-- path` is a file as it is or was."""
    found, step = call.found, call.step
    for file in found.values("output"):
        step.write(file, verb=f"git {call.verb}")
    paths = []
    for word in found.rest:
        revision, colon, name = word.text.partition(":")
        if colon and name and not name.startswith("//"):
            paths.append(word._replace(text=name if revision else name.lstrip(":/")))
    if call.verb != "log" or found.has("patch"):
        paths += pathspecs(found.paths)
    if call.verb in {"blame", "annotate"}:
        paths += found.rest[-1:] if not found.paths else ()
    elif found.has("no-index"):
        paths += found.rest
    for path in paths:
        step.read(path, verb=f"git {call.verb}")
    if paths:
        step.out = Stream(None, frozenset({"file"}), tuple(step.path(path) for path in paths))


def _grep(call: Call) -> None:
    for pager in call.found.values("open-files-in-pager"):
        call.step.script(pager)
    _show(call)


def _difftool(call: Call) -> None:
    for command in call.found.values("extcmd"):
        call.step.script(command)
    _show(call)


def _rev_parse(call: Call) -> None:
    """Where the repository is: the workspace that we are in, as far as a line can tell."""
    scene = call.step.scene
    here = scene.absolute(".")
    root = next((root for root in scene.world.roots if here == root or here.startswith(root.rstrip("/") + "/")), None)
    if root is not None and call.found.has("show-toplevel"):
        call.step.print(root + "\n")
    elif root is not None and call.found.has("git-dir", "absolute-git-dir", "git-common-dir"):
        call.step.print(root + "/.git\n")


def _index_out(call: Call) -> None:
    """`checkout-index -f`, `read-tree --reset -u`: what `reset --hard` is made of."""
    if call.found.has("force") or (call.found.has("reset") and call.found.has("update")):
        call.lost("discard", source="all", target="changes that are not committed")


def _stash(call: Call) -> None:
    action = call.found.rest[0].text if call.found.rest else "push"
    if action in {"drop", "clear"}:
        target = "all stashes" if action == "clear" else " ".join(w.text for w in call.found.rest[1:]) or "stash@{0}"
        call.lost("drop-stash", source=action, target=target)
    elif action == "show":
        _show(call)


def _worktree(call: Call) -> None:
    action = call.found.rest[0].text if call.found.rest else ""
    paths = call.found.all[1:]
    if action == "remove" and call.found.has("force"):  # without it git refuses where something would be lost
        for path in paths:
            call.step.delete(path, recursive=True, verb="git worktree remove")
            where = call.step.path(path)
            call.step.effect("git", "remove-worktree", path, path=where, target=path.text, writes=True)
    elif action == "add" and paths:
        call.step.write(paths[0], verb="git worktree", recursive=True)


VERBS = {
    "add": Verb("n|dry-run A|all u|update f|force p|patch e|edit chmod= pathspec-from-file=", _add),
    "am": Verb("abort skip continue quit show-current-patch? 3|3way directory= exclude= C= p=", _apply),
    "annotate": Verb("L= S= C? M? since= contents=", _show),
    "apply": Verb(
        "check stat numstat summary cached index R|reverse 3|3way directory= exclude= include= C= p=", _apply
    ),
    "blame": Verb("L= S= C? M? since= contents= ignore-rev= ignore-revs-file=", _show),
    "cat-file": Verb("p t s e batch? batch-check? textconv filters path= filter=", _show),
    "checkout": Verb(
        "f|force b= B= orphan= p|patch q|quiet t|track? d|detach l m|merge ours theirs conflict= U|unified="
        " inter-hunk-context= pathspec-from-file= pathspec-file-nul recurse-submodules? guess overlay progress"
        " ignore-skip-worktree-bits ignore-other-worktrees overwrite-ignore",
        _checkout,
    ),
    "checkout-index": Verb("f|force a|all prefix= stage= temp", _index_out),
    "clean": Verb("f|force n|dry-run i|interactive q|quiet d x X e|exclude=", _clean),
    "commit": Verb(
        "n|no-verify verify amend a|all m|message= F|file= C|reuse-message= c|reedit-message= fixup= squash= author="
        " date= t|template= trailer= dry-run s|signoff S|gpg-sign? u|untracked-files? cleanup= pathspec-from-file="
        " e|edit allow-empty p|patch i|include o|only q|quiet v|verbose",
        _commit,
    ),
    "diff": Verb(_SHOWS, _show),
    "difftool": Verb("x|extcmd= t|tool= y|no-prompt d|dir-diff", _difftool),
    "grep": Verb("O|open-files-in-pager? e= f= A= B= C= m|max-count= h n l i w E F P cached no-index untracked", _grep),
    "log": Verb(_SHOWS, _show),
    "ls-files": Verb("c|cached d|deleted m|modified o|others i|ignored u|unmerged x|exclude= X|exclude-from=", _listed),
    "mv": Verb("n|dry-run f|force k v", _mv),
    "read-tree": Verb("reset u|update m prefix= index-output=", _index_out),
    "reset": Verb(
        "hard soft mixed merge keep q|quiet p|patch N|intent-to-add recurse-submodules? pathspec-from-file= refresh",
        _reset,
    ),
    "restore": Verb(
        "s|source= S|staged W|worktree p|patch q|quiet ours theirs m|merge conflict= U|unified= inter-hunk-context="
        " pathspec-from-file= pathspec-file-nul overlay ignore-unmerged ignore-skip-worktree-bits recurse-submodules?"
        " progress",
        _restore,
    ),
    "rev-parse": Verb("show-toplevel git-dir absolute-git-dir git-common-dir abbrev-ref short?", _rev_parse),
    "rm": Verb("r f|force n|dry-run cached q|quiet ignore-unmatch sparse pathspec-from-file=", _rm),
    "show": Verb(_SHOWS, _show),
    "stash": Verb(
        "m|message= u|include-untracked a|all k|keep-index p|patch S|staged q|quiet index pathspec-from-file=", _stash
    ),
    "switch": Verb(
        "f|force discard-changes c|create= C|force-create= orphan= d|detach t|track? m|merge conflict= q|quiet guess"
        " recurse-submodules? progress ignore-other-worktrees",
        _switch,
    ),
    "worktree": Verb("f|force b= B= d|detach n|dry-run expire= reason= v|verbose porcelain lock orphan", _worktree),
}
