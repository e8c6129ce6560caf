"""Verbs of git that talk to other repositories."""

from trotline.analysis.scene import Argument
from trotline.analysis.streams import Stream
from trotline.analysis.tools.git_settings import Call, for_this_call, host_of
from trotline.analysis.tools.git_work import Verb


def _address(call: Call, at: Argument) -> str:
    """The host of a remote; `ext::` is a command, and is read as one."""
    if at.text.startswith("ext::"):
        call.step.script(at._replace(text=at.text[5:]))
        call.step.effect("git", "run-setting", at, target="ext::", source=at.text[5:])
        return "?"
    scheme, helper, rest = at.text.partition("::")
    return host_of(rest if helper and "/" not in scheme else at.text)


def _programs(call: Call, *names: str) -> None:
    """What runs at the other end; which is this machine, if the address is a path."""
    for command in call.found.values(*names):
        if not command.text.rpartition("/")[2].startswith("git"):
            call.step.script(command)
            call.step.effect("git", "run-setting", command, target=names[0], source=command.text)


def _clone(call: Call) -> None:
    found, step = call.found, call.step
    _programs(call, "upload-pack")
    for setting in found.values("config"):
        key, _, value = setting.text.partition("=")
        for_this_call(step, {key.lower(): setting._replace(text=value)}, network=True)
    for directory in found.values("template"):
        step.effect(
            "git", "run-setting", directory, target="template", path=step.path(directory), source=directory.text
        )
    if not found.all:
        return
    host = _address(call, found.all[0])
    if host:
        step.effect("fetch", "clone", found.all[0], host=host, source=found.all[0].text)
    if len(found.all) > 1:
        step.write(found.all[1], verb="git clone", recursive=True)


def _fetch(call: Call) -> None:
    _programs(call, "upload-pack")
    if not call.found.all:
        return
    host = _address(call, call.found.all[0])
    if host:
        call.step.effect("fetch", call.verb, call.found.all[0], host=host, source=call.found.all[0].text)
    if call.found.has("force") and call.verb == "fetch":
        call.lost("move-branch", source="fetch", target="the branches that are fetched into")


def _init(call: Call) -> None:
    step = call.step
    for directory in call.found.values("template"):
        step.effect(
            "git", "run-setting", directory, target="template", path=step.path(directory), source=directory.text
        )


def _push(call: Call) -> None:
    found, step = call.found, call.step
    _programs(call, "receive-pack")
    if found.has("dry-run"):
        return
    if found.has("no-verify"):
        call.lost("skip-hooks", target="push")
    remote = found.all[0] if found.all else None
    host = _address(call, remote) if remote is not None else ""
    if host and remote is not None:
        step.send(host, remote, source=step.scene.absolute("."), verb="git push")
    _pushed(call, remote.text if remote is not None else "the usual remote", found.all[1:])


def _pushed(call: Call, remote: str, refs: tuple[Argument, ...]) -> None:
    found = call.found
    names = " ".join(ref.text for ref in refs)
    where = f"{remote} {names}".strip()
    if found.has("delete"):
        call.lost("delete-remote", source="named", target=where)
        return
    deleted = [ref.text for ref in refs if _deletes(ref.text)]
    if deleted:
        call.lost("delete-remote", source="named", target=f"{remote} {' '.join(deleted)}")
    if found.has("mirror", "prune"):
        call.lost("delete-remote", source="all", target=f"{remote}: every branch that is not here")
    leases = [lease.text.partition(":")[0] for lease in found.values("force-with-lease")]
    bare = None in found.flags.get("force-with-lease", ())
    unsafe = [ref for ref in refs if ref.text.startswith("+") and not bare and _branch_of(ref.text) not in leases]
    if found.has("force") or unsafe:
        call.lost("overwrite-remote", source="forced", target=where)
    elif found.has("force-with-lease"):
        call.lost("overwrite-remote", source="lease", target=where)
    for source in _sources(call, [ref.text for ref in refs]):
        call.lost("push", source=source, target=remote)


EVERY = {"tags": "refs/tags/*", "all": "refs/heads/*", "branches": "refs/heads/*", "mirror": "refs/*"}
"""What a flag pushes without naming it, in git's own words."""


def _sources(call: Call, refs: list[str]) -> list[str]:
    """What goes there, as it is called there; by force or not, for a rule that says who may push it. Nothing is named
    where the settings say what is pushed."""
    many = [every for flag, every in EVERY.items() if call.found.has(flag)]
    pairs = zip(refs, [*refs, ""][1:], strict=True)
    named = [_branch_of(ref) for ref, after in pairs if not _deletes(ref) and not (ref == "tag" and after)]
    return list(dict.fromkeys([*named, *many])) or ([] if refs else [""])


def _deletes(ref: str) -> bool:
    return ref.lstrip("+").startswith(":") and len(ref.lstrip("+")) > 1


def _branch_of(ref: str) -> str:
    name = ref.lstrip("+").rpartition(":")[2]
    return name if name.endswith("*") else name.removeprefix("refs/heads/").removeprefix("refs/tags/")


def _remote(call: Call) -> None:
    action, *rest = call.found.all or (Argument("show"),)
    if action.text in {"add", "set-url"} and len(rest) > 1:
        host = _address(call, rest[1])
        call.step.effect(
            "git", f"remote-{action.text}", rest[1], target=rest[0].text, host=host, source=rest[1].text, writes=True
        )
    elif action.text in {"remove", "rm"} and rest:
        call.lost("remote-remove", target=rest[0].text)


def _ls_remote(call: Call) -> None:
    _programs(call, "upload-pack")
    for address in call.found.rest[:1]:
        host = _address(call, address)
        if host:
            call.step.effect("connect", "ls-remote", address, host=host)


def _archive(call: Call) -> None:
    found, step = call.found, call.step
    for command in found.values("exec"):
        step.script(command)
    for file in found.values("output"):
        step.write(file, verb="git archive")
    for address in found.values("remote"):
        host = _address(call, address)
        if host:
            step.effect("fetch", "archive", address, host=host)
    step.out = Stream(None, frozenset({"file"}), (step.scene.absolute("."),))


def _bundle(call: Call) -> None:
    if len(call.found.rest) > 1 and call.found.rest[0].text == "create":
        call.step.write(call.found.rest[1], verb="git bundle", source=call.step.scene.absolute("."))


def _send_email(call: Call) -> None:
    for command in call.found.values("to-cmd", "cc-cmd", "sendmail-cmd"):
        call.step.script(command)
    if not call.found.has("dry-run"):
        for patch in call.found.rest:
            call.step.send(call.found.value("smtp-server") or "mail", patch, source=call.step.path(patch))


def _submodule(call: Call) -> None:
    found, step = call.found, call.step
    words = list(step.words)
    verbs = [word.text for word in found.rest]
    if verbs[:1] == ["foreach"]:
        begin = next(at for at, word in enumerate(words) if word.text == "foreach")
        inner = [word for word in words[begin + 1 :] if word.text not in {"--recursive", "-q", "--quiet"}]
        if inner:
            text = " ".join(word.text for word in inner)
            step.script(inner[0]._replace(text=text, end=inner[-1].end))
    elif verbs[:1] == ["deinit"] and found.has("force"):
        call.lost("discard", source="paths", target=" ".join(verbs[1:]) or "every submodule")
    elif verbs[:1] == ["update"] and found.has("force"):
        call.lost("discard", source="paths", target="changes in submodules")
    elif verbs[:1] == ["add"] and len(found.all) > 1:
        host = _address(call, found.all[1])
        if host:
            step.effect("fetch", "submodule", found.all[1], host=host, source=found.all[1].text)


_FETCHES = (
    "upload-pack= f|force a|append all depth= deepen= shallow-since= dry-run j|jobs= o|server-option= p|prune t|tags"
    " refmap= recurse-submodules? r|rebase? s|strategy= X|strategy-option= ff-only no-ff autostash q|quiet v|verbose"
)

VERBS = {
    "archive": Verb("exec= o|output= remote= format= prefix= add-file= l|list", _archive),
    "bundle": Verb("q|quiet progress version=", _bundle),
    "clone": Verb(
        "u|upload-pack= c|config= template= b|branch= o|origin= depth= shallow-since= reference= separate-git-dir="
        " j|jobs= filter= recurse-submodules? mirror bare n|no-checkout s|shared l|local q|quiet sparse bundle-uri=",
        _clone,
    ),
    "fetch": Verb(_FETCHES, _fetch),
    "init": Verb("template= b|initial-branch= separate-git-dir= bare shared? object-format= q|quiet", _init),
    "ls-remote": Verb("upload-pack= exec= h|heads t|tags refs q|quiet sort= o|server-option=", _ls_remote),
    "pull": Verb(_FETCHES, _fetch),
    "push": Verb(
        "f|force force-with-lease? force-if-includes d|delete n|dry-run mirror prune all branches tags follow-tags"
        " receive-pack= exec= repo= o|push-option= no-verify u|set-upstream q|quiet v|verbose signed? atomic"
        " recurse-submodules=",
        _push,
    ),
    "remote": Verb("t= m= f tags mirror? push add delete v|verbose", _remote),
    "send-email": Verb("to-cmd= cc-cmd= sendmail-cmd= smtp-server= to= cc= from= subject= dry-run", _send_email),
    "submodule": Verb(
        "f|force recursive init remote b|branch= name= depth= reference= q|quiet all rebase merge", _submodule
    ),
}
