"""Git verbs that change or show files of the working tree."""

import posixpath

from trotline.analysis.git.git_command import GitChange, GitCommand, GitVerb, make_analyzer
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream

_FILE_SUFFIXES = frozenset(
    "bash bat c cc cfg cjs clj cmake conf cpp cs css csv cxx dart ex exs fish gemspec go gradle graphql h hcl hpp hs"
    " htm html ini ipynb java jpg js json jsonc jsx kt kts less lock lua m md mdx mjs ml nix php pl png proto"
    " ps1 py pyi r rb rs rst sass scala scss sh sol sql svelte svg swift tex tf tfvars toml ts tsx txt"
    " vue xml yaml yml zig zsh".split()
)
_FILE_NAMES = frozenset(
    "Makefile Dockerfile Gemfile Rakefile LICENSE README justfile Vagrantfile Procfile CODEOWNERS".split()
)
_SHOW_OPTIONS = (
    "p|u|patch output= O= S= G= n|max-count= format= pretty= author= since= until= grep= ext-diff textconv no-index"
)


def _parse_pathspecs(words: tuple[Argument, ...]) -> list[Argument]:
    """Return paths without pathspec magic such as `:/` and `:(glob)`; exclusions are left out."""
    paths = []
    for word in words:
        text = word.text
        if text.startswith((":!", ":^", ":(exclude")):
            continue
        if text.startswith(":("):
            text = text.partition(")")[2]
        elif text.startswith(":/"):
            text = text[2:]
        paths.append(word._replace(text=text or "."))
    return paths


def _covers_tree(paths: list[Argument]) -> bool:
    return any(not posixpath.normpath(path.text.rstrip("*") or ".").strip("./") for path in paths)


def _add_writes(call: Invocation, paths: list[Argument], verb: str) -> None:
    for path in paths:
        if posixpath.normpath(path.text) != ".":
            call.add_write(path, verb=verb, recursive=True)


def _analyze_ls_files(git: GitCommand) -> None:
    """Set the output: all files of the tree, or those that words and options select."""
    is_filtered = bool(git.options.flags.keys() - {"cached", "z"})
    paths = _parse_pathspecs((*git.options.rest, *git.options.paths))
    patterns = [f"./{UNKNOWN_CHAR}/{path.text}" for path in paths] or ([f"./{UNKNOWN_CHAR}"] if is_filtered else ["."])
    names = tuple(git.call.state.resolve(pattern) for pattern in patterns)
    git.call.stdout = Stream(None, frozenset({"names"}), (), names)


def _add_discard(git: GitCommand, paths: list[Argument]) -> None:
    source = "conflict" if git.options.has("ours", "theirs") else "paths"
    names = " ".join(path.text for path in paths) or "paths that a file lists"
    git.add_effect("discard", source="all" if _covers_tree(paths) else source, target=names)
    _add_writes(git.call, paths, git.verb)


def _analyze_checkout(git: GitCommand) -> None:
    options = git.options
    creates = options.has("b", "B", "orphan")
    is_invalid = (options.has_separator and len(options.rest) > 1) or (
        options.has("track") and len(options.rest) > 1 and not creates
    )
    if options.has("patch") or is_invalid:
        return
    paths = _parse_pathspecs(options.paths)
    if not paths and len(options.rest) > 1 and not creates:
        paths = _parse_pathspecs(options.rest[1:])
    if options.has("pathspec-from-file") or paths:
        _add_discard(git, paths)
    elif options.has("force"):
        git.add_effect("discard", source="all", target="changes that are not committed")
    elif len(options.rest) == 1 and not creates and _looks_like_file(options.rest[0].text):
        _add_discard(git, _parse_pathspecs(options.rest))
    elif options.has("B"):
        git.add_effect("move-branch", target=options.value("B"), source="checkout")


def _looks_like_file(text: str) -> bool:
    """Return whether a single word after `checkout` is probably a file and not a branch."""
    if text in {".", "..", "*", ":/"} or text.startswith(("./", "../", ":", "/")) or text.endswith("/"):
        return True
    name = text.rpartition("/")[2]
    return name in _FILE_NAMES or name.startswith(".") or name.rpartition(".")[2] in _FILE_SUFFIXES


def _analyze_restore(git: GitCommand) -> None:
    options = git.options
    has_target = options.has("staged", "worktree") or {"staged", "worktree"} & options.negated
    if (has_target and not options.has("worktree")) or options.has("patch"):
        return
    paths = _parse_pathspecs(options.all_words)
    if paths or options.has("pathspec-from-file"):
        _add_discard(git, paths)


def _analyze_switch(git: GitCommand) -> None:
    creates = git.options.has("create", "force-create", "orphan")
    if git.options.has("force", "discard-changes") and (len(git.options.rest) < 2 or creates):
        git.add_effect("discard", source="all", target="changes that are not committed")
    elif git.options.has("force-create"):
        git.add_effect("move-branch", target=git.options.value("force-create"), source="switch")


def _analyze_reset(git: GitCommand) -> None:
    target = git.options.rest[0].text if git.options.rest else "HEAD"
    if git.options.has("hard", "merge"):
        git.add_effect("discard", source="all", target=f"changes that are not committed, by a reset to {target}")
    elif git.options.has("keep"):
        git.add_effect("move-branch", source="reset", target=target)


def _analyze_clean(git: GitCommand) -> None:
    options, call = git.options, git.call
    needs_force = (git.get_setting("clean.requireforce") or "true").lower() not in {"false", "no", "off", "0"}
    if options.has("dry-run", "interactive") or (needs_force and not options.has("force")):
        return
    paths = _parse_pathspecs(options.all_words)
    is_whole = _covers_tree(paths) or not paths
    call.add_effect(
        "git",
        "clean",
        path=call.resolve(paths[0]) if paths else call.state.resolve("."),
        source="all" if is_whole else "paths",
        target="ignored files" if options.has("X") else "files that git does not know",
        recursive=options.has("d", "x", "X"),
        writes=True,
    )
    for path in paths or [Argument(".", call.start, call.end)]:
        inside = path._replace(text=path.text.rstrip("/") + "/" + UNKNOWN_CHAR, why="the files that git does not know")
        call.add_effect(
            "delete", "git clean", inside, path=call.resolve(inside), recursive=True, source="untracked", writes=True
        )


def _analyze_rm(git: GitCommand) -> None:
    options, call = git.options, git.call
    if options.has("cached", "dry-run"):
        return
    for path in _parse_pathspecs(options.all_words):
        call.add_delete(path, recursive=options.has("r"), verb="git rm")
    if options.has("force"):
        git.add_effect("discard", source="paths", target=" ".join(path.text for path in options.all_words))


def _analyze_mv(git: GitCommand) -> None:
    *sources, target = git.options.all_words or (Argument("."),)
    if git.options.has("dry-run"):
        return
    for source in sources:
        call = git.call
        call.add_effect("delete", "move", source, path=call.resolve(source), target=call.resolve(target), writes=True)
    if sources:
        git.call.add_write(target, verb="move")


def _analyze_add(git: GitCommand) -> None:
    """Add reads of staged files: their content goes into the history."""
    if git.options.has("dry-run"):
        return
    for path in _parse_pathspecs(git.options.all_words):
        if not path.has_wildcard and not path.text.endswith(("/", ".")):
            git.call.add_read(path, verb="stage")


def _analyze_commit(git: GitCommand) -> None:
    options = git.options
    for file in options.values("file"):
        if file.text != "-":
            git.call.add_read(file, verb="git commit")
    if options.has("dry-run"):
        return
    if options.has("no-verify"):
        git.add_effect("skip-hooks", target="commit")
    if options.has("amend"):
        git.add_effect("rewrite", source="amend", target="the last commit")


def _analyze_apply(git: GitCommand) -> None:
    """Add writes of the files that a patch names."""
    options, call = git.options, git.call
    if options.has("check", "stat", "numstat", "summary", "cached", "abort", "quit", "show-current-patch"):
        return
    texts = [call.stdin.text] if not options.all_words else []
    for patch in options.all_words:
        call.add_read(patch, verb="patch")
        texts.append(call.state.written_texts.get(call.resolve(patch)))
    for text in texts:
        for name in list_patched_files(text or ""):
            call.add_write(call.program._replace(text=name), verb="patch")


def list_patched_files(text: str) -> list[str]:
    """Return the files that a patch changes."""
    names = [line[4:].split("\t")[0].strip() for line in text.splitlines() if line.startswith("+++ ")]
    return [name[2:] if name.startswith(("b/", "a/")) else name for name in names if name != "/dev/null"]


def _analyze_show(git: GitCommand) -> None:
    """Add reads of `REV:path` and `-- path`."""
    options, call = git.options, git.call
    for file in options.values("output"):
        call.add_write(file, verb=f"git {git.verb}")
    paths = []
    for word in options.rest:
        revision, colon, name = word.text.partition(":")
        if colon and name and not name.startswith("//"):
            paths.append(word._replace(text=name if revision else name.lstrip(":/")))
    if git.verb != "log" or options.has("patch"):
        paths += _parse_pathspecs(options.paths)
    if git.verb in {"blame", "annotate"}:
        paths += options.rest[-1:] if not options.paths else ()
    elif options.has("no-index"):
        paths += options.rest
    for path in paths:
        call.add_read(path, verb=f"git {git.verb}")
    if paths:
        call.stdout = Stream(None, frozenset({"file"}), tuple(call.resolve(path) for path in paths))


def _analyze_rev_parse(git: GitCommand) -> None:
    """Print the repository root, assuming that it is the workspace root above the current directory."""
    state = git.call.state
    cwd = state.resolve(".")
    root = next(
        (root for root in state.environment.roots if cwd == root or cwd.startswith(root.rstrip("/") + "/")), None
    )
    if root is not None and git.options.has("show-toplevel"):
        git.call.print(root + "\n")
    elif root is not None and git.options.has("git-dir", "absolute-git-dir", "git-common-dir"):
        git.call.print(root + "/.git\n")


_analyze_overwrite = make_analyzer(  # the plumbing of `reset --hard`
    GitChange("discard", "+force; +reset +update", "all", "changes that are not committed")
)


def _analyze_stash(git: GitCommand) -> None:
    action = git.options.rest[0].text if git.options.rest else "push"
    if action in {"drop", "clear"}:
        target = "all stashes" if action == "clear" else " ".join(w.text for w in git.options.rest[1:]) or "stash@{0}"
        git.add_effect("drop-stash", source=action, target=target)
    elif action == "show":
        _analyze_show(git)


def _analyze_worktree(git: GitCommand) -> None:
    action = git.options.rest[0].text if git.options.rest else ""
    paths = git.options.all_words[1:]
    if action == "remove" and git.options.has("force"):  # without it git refuses if changes would be lost
        for path in paths:
            git.call.add_delete(path, recursive=True, verb="git worktree remove")
            directory = git.call.resolve(path)
            git.call.add_effect("git", "remove-worktree", path, path=directory, target=path.text, writes=True)
    elif action == "add" and paths:
        git.call.add_write(paths[0], verb="git worktree", recursive=True)


VERBS = {
    "add": GitVerb("n|dry-run A|all u|update f|force p|patch e|edit chmod= pathspec-from-file=", _analyze_add),
    "am": GitVerb("abort skip continue quit show-current-patch? 3|3way directory= exclude= C= p=", _analyze_apply),
    "annotate": GitVerb("L= S= C? M? since= contents=", _analyze_show),
    "apply": GitVerb(
        "check stat numstat summary cached index R|reverse 3|3way directory= exclude= include= C= p=", _analyze_apply
    ),
    "blame": GitVerb("L= S= C? M? since= contents= ignore-rev= ignore-revs-file=", _analyze_show),
    "cat-file": GitVerb("p t s e batch? batch-check? textconv filters path= filter=", _analyze_show),
    "checkout": GitVerb(
        "f|force b= B= orphan= p|patch q|quiet t|track? d|detach l m|merge ours theirs conflict= U|unified="
        " inter-hunk-context= pathspec-from-file= pathspec-file-nul recurse-submodules? guess overlay progress"
        " ignore-skip-worktree-bits ignore-other-worktrees overwrite-ignore",
        _analyze_checkout,
    ),
    "checkout-index": GitVerb("f|force a|all prefix= stage= temp", _analyze_overwrite),
    "clean": GitVerb("f|force n|dry-run i|interactive q|quiet d x X e|exclude=", _analyze_clean),
    "commit": GitVerb(
        "n|no-verify verify amend a|all m|message= F|file= C|reuse-message= c|reedit-message= fixup= squash= author="
        " date= t|template= trailer= dry-run s|signoff S|gpg-sign? u|untracked-files? cleanup= pathspec-from-file="
        " e|edit allow-empty p|patch i|include o|only q|quiet v|verbose",
        _analyze_commit,
    ),
    "diff": GitVerb(_SHOW_OPTIONS, _analyze_show),
    "difftool": GitVerb("x|extcmd= t|tool= y|no-prompt d|dir-diff", _analyze_show, "extcmd"),
    "grep": GitVerb(
        "O|open-files-in-pager? e= f= A= B= C= m|max-count= h n l i w E F P cached no-index untracked",
        _analyze_show,
        "open-files-in-pager",
    ),
    "log": GitVerb(_SHOW_OPTIONS, _analyze_show),
    "ls-files": GitVerb(
        "c|cached d|deleted m|modified o|others i|ignored u|unmerged x|exclude= X|exclude-from=", _analyze_ls_files
    ),
    "mv": GitVerb("n|dry-run f|force k v", _analyze_mv),
    "read-tree": GitVerb("reset u|update m prefix= index-output=", _analyze_overwrite),
    "reset": GitVerb(
        "hard soft mixed merge keep q|quiet p|patch N|intent-to-add recurse-submodules? pathspec-from-file= refresh",
        _analyze_reset,
    ),
    "restore": GitVerb(
        "s|source= S|staged W|worktree p|patch q|quiet ours theirs m|merge conflict= U|unified= inter-hunk-context="
        " pathspec-from-file= pathspec-file-nul overlay ignore-unmerged ignore-skip-worktree-bits recurse-submodules?"
        " progress",
        _analyze_restore,
    ),
    "rev-parse": GitVerb("show-toplevel git-dir absolute-git-dir git-common-dir abbrev-ref short?", _analyze_rev_parse),
    "rm": GitVerb("r f|force n|dry-run cached q|quiet ignore-unmatch sparse pathspec-from-file=", _analyze_rm),
    "show": GitVerb(_SHOW_OPTIONS, _analyze_show),
    "stash": GitVerb(
        "m|message= u|include-untracked a|all k|keep-index p|patch S|staged q|quiet index pathspec-from-file=",
        _analyze_stash,
    ),
    "switch": GitVerb(
        "f|force discard-changes c|create= C|force-create= orphan= d|detach t|track? m|merge conflict= q|quiet guess"
        " recurse-submodules? progress ignore-other-worktrees",
        _analyze_switch,
    ),
    "worktree": GitVerb(
        "f|force b= B= d|detach n|dry-run expire= reason= v|verbose porcelain lock orphan", _analyze_worktree
    ),
}
