"""Where machines keep secrets, and the programs that give them out; and the memory of other processes."""

import re

from trotline.analysis.credentials import STOLEN
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SECRET

_SHOWN = re.compile(r"(?i)^(?:find-\w+-password|dump-\w*keychain|export|find-key|find-identity)$")

THIEVES = frozenset(
    "impacket-secretsdump lazagne lsassy mimikatz nanodump pypykatz safetykatz secretsdump.py sharpdpapi".split()
)
"""Programs that are for nothing else than taking other people's passwords."""


def _shown(step: Step, target: str, *, every: bool = False) -> None:
    step.effect("read", "secret", target=target, recursive=every)
    step.out = SECRET


def _security(step: Step) -> None:
    """The keychain of macOS: finding an item tells of it, `-w` and `-g` show its password."""
    words = [word.text for word in step.words]
    if words[:1] and _SHOWN.match(words[0]) and words[0] != "find-identity":
        _shown(step, "the keychain", every=words[0] == "export" or (words[0].startswith("dump-") and "-d" in words))
    elif words[:1] and words[0].startswith(("delete-", "set-key", "unlock-", "add-trusted", "remove-trusted")):
        step.effect("system", "remove key" if words[0].startswith("delete-") else "protection off", target=words[0])
    elif words[:1] and words[0].startswith("add-"):
        step.effect("write", "secret", path=f"{step.scene.world.home}/Library/Keychains/login.keychain", writes=True)


def _secret_tool(step: Step) -> None:
    words = [word.text for word in step.words]
    if words[:1] in (["lookup"], ["search"]):
        _shown(step, "the keyring")
    elif words[:1] in (["store"], ["clear"]):
        step.effect("write", "secret", path=f"{step.scene.world.home}/.local/share/keyrings/login", writes=True)


_PASS_VERBS = frozenset({"ls", "list", "find", "search", "git", "help", "version", "init", "--help", "--version"})


def _pass(step: Step) -> None:
    found = step.options("p path".split())
    words = [word.text for word in found.rest]
    if not words or words[0] in _PASS_VERBS:
        return
    if words[0] in {"insert", "edit", "generate", "rm", "remove", "delete", "mv", "cp", "add"}:
        path = f"{step.scene.world.home}/.password-store/{words[-1]}"
        step.effect("write", "secret", path=path, target=" ".join(words), writes=True)
        return
    _shown(step, words[-1])


def _store(step: Step) -> None:
    """Password stores with a word for showing: the first word says which."""
    words = [word.text for word in step.options().rest]
    shows = {"get", "show", "read", "view", "clip", "cat", "unlock", "export", "lookup", "retrieve", "otp", "totp"}
    if {*words[:2]} & shows:
        _shown(step, " ".join([step.name, *words[:2]]), every="export" in words[:2])


def _dumper(step: Step) -> None:
    """The memory of another process, and with it whatever it knows."""
    found = step.options("o p pid output".split())
    if step.name.lower() in THIEVES or any("lsass" in word.text.lower() for word in step.words):
        stolen(step)
        return
    step.effect("read", "memory", target=found.rest[-1].text if found.rest else found.value("p", "pid"))


def stolen(step: Step) -> None:
    """The passwords of all who are logged in, out of the memory of the program that checks them."""
    step.effect("read", "secret", target="the passwords of all who are logged in", source=STOLEN, recursive=True)


def _ticket(step: Step) -> None:
    found = step.options("t k c l r S".split())
    for at in found.values("t"):
        step.read(at, verb="authenticate")


def _keyctl(step: Step) -> None:
    words = [word.text for word in step.words]
    if words[:1] and words[0] in {"print", "read", "pipe"}:
        _shown(step, "a key of the kernel's keyring")
    elif words[:1] and words[0] in {"clear", "revoke", "unlink", "purge", "invalidate", "setperm", "chown"}:
        step.effect("system", "remove key", target=" ".join(words[:2]))


def _shows_when(step: Step) -> None:
    """Programs of networks that show keys when they are asked to."""
    words = {word.text for word in step.words}
    if words & {"showconf", "private-key", "export", "-s", "--show-secrets", "dump"}:
        _shown(step, f"the keys of {step.name}")
    elif step.name == "nmcli" and words & {"add", "delete", "modify", "up", "down", "off"}:
        step.effect("system", "network", target=" ".join(word.text for word in step.words[:3]), writes=True)


def _core(step: Step) -> None:
    if step.words and step.words[0].text in {"dump", "debug", "gdb"}:
        step.effect("read", "memory", target=step.words[-1].text)


TOOLS: dict[str, Handler] = {
    **dict.fromkeys("gopass kwalletcli kwallet-query keepassxc-cli lpass bw rbw nordpass-cli keyring".split(), _store),
    **dict.fromkeys((*"gcore procdump procdump64 minidump".split(), *THIEVES), _dumper),
    "coredumpctl": _core,
    "keyctl": _keyctl,
    "kinit": _ticket,
    "nmcli": _shows_when,
    "pass": _pass,
    "secret-tool": _secret_tool,
    "security": _security,
    "wg": _shows_when,
}
