"""Git verbs that exchange data with other repositories."""

from trotline.analysis.git.git_command import GitCommand, GitVerb
from trotline.analysis.git.git_config import add_setting_effects, get_remote_host
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream


def _resolve_host(git: GitCommand, at: Argument) -> str:
    """Return the host of a remote address. `ext::` holds a command, which is analyzed."""
    if at.text.startswith("ext::"):
        git.call.analyze_script(at._replace(text=at.text[5:]))
        git.call.add_effect("git", "run-setting", at, target="ext::", source=at.text[5:])
        return "?"
    scheme, helper, rest = at.text.partition("::")
    return get_remote_host(rest if helper and "/" not in scheme else at.text)


def _add_remote_programs(git: GitCommand, *names: str) -> None:
    """Add programs to run on the remote side, which is this machine if the address is a path."""
    for command in git.options.values(*names):
        if not command.text.rpartition("/")[2].startswith("git"):
            git.call.analyze_script(command)
            git.call.add_effect("git", "run-setting", command, target=names[0], source=command.text)


def _analyze_clone(git: GitCommand) -> None:
    options, call = git.options, git.call
    _add_remote_programs(git, "upload-pack")
    for setting in options.values("config"):
        key, _, value = setting.text.partition("=")
        add_setting_effects(call, {key.lower(): setting._replace(text=value)}, network=True)
    _analyze_init(git)
    if not options.all_words:
        return
    host = _resolve_host(git, options.all_words[0])
    if host:
        call.add_effect("fetch", "clone", options.all_words[0], host=host, source=options.all_words[0].text)
    if len(options.all_words) > 1:
        call.add_write(options.all_words[1], verb="git clone", recursive=True)


def _analyze_fetch(git: GitCommand) -> None:
    _add_remote_programs(git, "upload-pack")
    if not git.options.all_words:
        return
    host = _resolve_host(git, git.options.all_words[0])
    if host:
        git.call.add_effect(
            "fetch", git.verb, git.options.all_words[0], host=host, source=git.options.all_words[0].text
        )
    if git.options.has("force") and git.verb == "fetch":
        git.add_effect("move-branch", source="fetch", target="the branches that are fetched into")


def _analyze_init(git: GitCommand) -> None:
    """Add template directories, whose hooks run in the new repository; `clone` has the same option."""
    call = git.call
    for directory in git.options.values("template"):
        call.add_effect(
            "git", "run-setting", directory, target="template", path=call.resolve(directory), source=directory.text
        )


def _analyze_push(git: GitCommand) -> None:
    options, call = git.options, git.call
    _add_remote_programs(git, "receive-pack")
    if options.has("dry-run"):
        return
    if options.has("no-verify"):
        git.add_effect("skip-hooks", target="push")
    remote = options.all_words[0] if options.all_words else None
    host = _resolve_host(git, remote) if remote is not None else ""
    if host and remote is not None:
        call.add_send(host, remote, source=call.state.resolve("."), verb="git push")
    _add_pushed_refs(git, remote.text if remote is not None else "the usual remote", options.all_words[1:])


def _add_pushed_refs(git: GitCommand, remote: str, refs: tuple[Argument, ...]) -> None:
    options = git.options
    names = " ".join(ref.text for ref in refs)
    target = f"{remote} {names}".strip()
    if options.has("delete"):
        git.add_effect("delete-remote", source="named", target=target)
        return
    deleted = [ref.text for ref in refs if _deletes(ref.text)]
    if deleted:
        git.add_effect("delete-remote", source="named", target=f"{remote} {' '.join(deleted)}")
    if options.has("mirror", "prune"):
        git.add_effect("delete-remote", source="all", target=f"{remote}: every branch that is not here")
    leases = [lease.text.partition(":")[0] for lease in options.values("force-with-lease")]
    is_bare = None in options.flags.get("force-with-lease", ())
    unsafe = [ref for ref in refs if ref.text.startswith("+") and not is_bare and _get_branch(ref.text) not in leases]
    if options.has("force") or unsafe:
        git.add_effect("overwrite-remote", source="forced", target=target)
    elif options.has("force-with-lease"):
        git.add_effect("overwrite-remote", source="lease", target=target)
    for source in _list_pushed_refs(git, [ref.text for ref in refs]):
        git.add_effect("push", source=source, target=remote)


_REFS_OF_FLAGS = {"tags": "refs/tags/*", "all": "refs/heads/*", "branches": "refs/heads/*", "mirror": "refs/*"}
"""References that a flag pushes without naming them."""


def _list_pushed_refs(git: GitCommand, refs: list[str]) -> list[str]:
    """Return the remote names of pushed references, for rules about who may push them.

    Without any reference, settings decide what is pushed, and the name is empty.
    """
    from_flags = [refs_of_flag for flag, refs_of_flag in _REFS_OF_FLAGS.items() if git.options.has(flag)]
    pairs = zip(refs, [*refs, ""][1:], strict=True)
    named = [_get_branch(ref) for ref, after in pairs if not _deletes(ref) and not (ref == "tag" and after)]
    return list(dict.fromkeys([*named, *from_flags])) or ([] if refs else [""])


def _deletes(ref: str) -> bool:
    return ref.lstrip("+").startswith(":") and len(ref.lstrip("+")) > 1


def _get_branch(ref: str) -> str:
    name = ref.lstrip("+").rpartition(":")[2]
    return name if name.endswith("*") else name.removeprefix("refs/heads/").removeprefix("refs/tags/")


def _analyze_remote(git: GitCommand) -> None:
    action, *rest = git.options.all_words or (Argument("show"),)
    if action.text in {"add", "set-url"} and len(rest) > 1:
        host = _resolve_host(git, rest[1])
        git.call.add_effect(
            "git", f"remote-{action.text}", rest[1], target=rest[0].text, host=host, source=rest[1].text, writes=True
        )
    elif action.text in {"remove", "rm"} and rest:
        git.add_effect("remote-remove", target=rest[0].text)


def _analyze_ls_remote(git: GitCommand) -> None:
    _add_remote_programs(git, "upload-pack")
    for address in git.options.rest[:1]:
        host = _resolve_host(git, address)
        if host:
            git.call.add_effect("connect", "ls-remote", address, host=host)


def _analyze_archive(git: GitCommand) -> None:
    options, call = git.options, git.call
    for file in options.values("output"):
        call.add_write(file, verb="git archive")
    for address in options.values("remote"):
        host = _resolve_host(git, address)
        if host:
            call.add_effect("fetch", "archive", address, host=host)
    call.stdout = Stream(None, frozenset({"file"}), (call.state.resolve("."),))


def _analyze_bundle(git: GitCommand) -> None:
    if len(git.options.rest) > 1 and git.options.rest[0].text == "create":
        git.call.add_write(git.options.rest[1], verb="git bundle", source=git.call.state.resolve("."))


def _analyze_send_email(git: GitCommand) -> None:
    if not git.options.has("dry-run"):
        for patch in git.options.rest:
            git.call.add_send(git.options.value("smtp-server") or "mail", patch, source=git.call.resolve(patch))


def _analyze_submodule(git: GitCommand) -> None:
    options, call = git.options, git.call
    words = list(call.args)
    verbs = [word.text for word in options.rest]
    if verbs[:1] == ["foreach"]:
        start = next(at for at, word in enumerate(words) if word.text == "foreach")
        inner = [word for word in words[start + 1 :] if word.text not in {"--recursive", "-q", "--quiet"}]
        if inner:
            text = " ".join(word.text for word in inner)
            call.analyze_script(inner[0]._replace(text=text, end=inner[-1].end))
    elif verbs[:1] == ["deinit"] and options.has("force"):
        git.add_effect("discard", source="paths", target=" ".join(verbs[1:]) or "every submodule")
    elif verbs[:1] == ["update"] and options.has("force"):
        git.add_effect("discard", source="paths", target="changes in submodules")
    elif verbs[:1] == ["add"] and len(options.all_words) > 1:
        host = _resolve_host(git, options.all_words[1])
        if host:
            call.add_effect("fetch", "submodule", options.all_words[1], host=host, source=options.all_words[1].text)


_FETCH_OPTIONS = (
    "upload-pack= f|force a|append all depth= deepen= shallow-since= dry-run j|jobs= o|server-option= p|prune t|tags"
    " refmap= recurse-submodules? r|rebase? s|strategy= X|strategy-option= ff-only no-ff autostash q|quiet v|verbose"
)

VERBS = {
    "archive": GitVerb("exec= o|output= remote= format= prefix= add-file= l|list", _analyze_archive, "exec"),
    "bundle": GitVerb("q|quiet progress version=", _analyze_bundle),
    "clone": GitVerb(
        "u|upload-pack= c|config= template= b|branch= o|origin= depth= shallow-since= reference= separate-git-dir="
        " j|jobs= filter= recurse-submodules? mirror bare n|no-checkout s|shared l|local q|quiet sparse bundle-uri=",
        _analyze_clone,
    ),
    "fetch": GitVerb(_FETCH_OPTIONS, _analyze_fetch),
    "init": GitVerb("template= b|initial-branch= separate-git-dir= bare shared? object-format= q|quiet", _analyze_init),
    "ls-remote": GitVerb("upload-pack= exec= h|heads t|tags refs q|quiet sort= o|server-option=", _analyze_ls_remote),
    "pull": GitVerb(_FETCH_OPTIONS, _analyze_fetch),
    "push": GitVerb(
        "f|force force-with-lease? force-if-includes d|delete n|dry-run mirror prune all branches tags follow-tags"
        " receive-pack= exec= repo= o|push-option= no-verify u|set-upstream q|quiet v|verbose signed? atomic"
        " recurse-submodules=",
        _analyze_push,
    ),
    "remote": GitVerb("t= m= f tags mirror? push add delete v|verbose", _analyze_remote),
    "send-email": GitVerb(
        "to-cmd= cc-cmd= sendmail-cmd= smtp-server= to= cc= from= subject= dry-run",
        _analyze_send_email,
        "to-cmd cc-cmd sendmail-cmd",
    ),
    "submodule": GitVerb(
        "f|force recursive init remote b|branch= name= depth= reference= q|quiet all rebase merge", _analyze_submodule
    ),
}
