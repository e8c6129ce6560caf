"""Settings of the machine: firewall, kernel, network, clock, logs, and what a desktop keeps. Most of these programs
only show something; what changes something is told.
"""

from trotline.analysis.step import Handler, Step
from trotline.analysis.tools.system import FIREWALL, POWER, PROTECTION, USERS

_RULE_CHANGES = frozenset(
    "A I D R F X P Z N E append insert delete replace flush delete-chain policy new-chain rename-chain zero".split()
)


def _iptables(step: Step) -> None:
    found = step.options("t p s d i o j m w table protocol source destination jump match sport dport to-port".split())
    if found.flags.keys() & _RULE_CHANGES:
        step.effect("system", FIREWALL, target=" ".join(word.text for word in step.words[:4]), writes=True)


def _nft(step: Step) -> None:
    found = step.options("f I D c".split())
    for at in found.values("f"):
        step.effect("system", FIREWALL, at, target="a file of rules", path=step.path(at), writes=True)
    changes = {"add", "flush", "delete", "insert", "replace", "create", "destroy", "reset", "rename"}
    for at in found.rest[:1]:
        if at.text.split()[:1] and at.text.split()[0] in changes:
            step.effect("system", FIREWALL, at, target=" ".join(w.text for w in found.rest[:3]), writes=True)


def _restore(step: Step) -> None:
    if not step.options().has("t", "test"):
        step.effect("system", FIREWALL, target="all rules", writes=True)


def _sysctl(step: Step) -> None:
    found = step.options("r e pattern".split())
    for word in found.rest:
        if "=" in word.text:
            name, _, value = word.text.partition("=")
            step.effect("system", "kernel setting", word, target=name, source=value, writes=True)
    if found.has("p", "load", "system"):
        step.effect("system", "kernel setting", target="a file of settings", writes=True)


_LINK_CHANGES = frozenset({"add", "del", "delete", "replace", "change", "set", "flush", "append", "prepend"})


def _ip(step: Step) -> None:
    words = [word.text for word in step.options("n b f netns".split()).rest]
    if words[:2] == ["netns", "exec"]:
        after = [word.text for word in step.words].index("exec") + 2
        step.out = step.run(step.words[after:])
    elif len(words) > 1 and words[1] in _LINK_CHANGES:
        step.effect("system", "network", target=" ".join(words[:4]), writes=True)


def _ifconfig(step: Step) -> None:
    words = [word.text for word in step.options().rest]
    changes = {
        "up",
        "down",
        "add",
        "del",
        "delete",
        "netmask",
        "alias",
        "inet",
        "mtu",
        "hw",
        "ether",
        "change",
        "flush",
    }
    if changes & {*words[:4]}:
        step.effect("system", "network", target=" ".join([step.name, *words[:3]]), writes=True)


def _named_once(step: Step, verb: str, flags: str, words: str = "") -> None:
    found = step.options()
    said = [word for word in found.rest if word.text in words.split()] if words else list(found.rest)
    if found.flags.keys() & set(flags.split()) or said:
        step.effect("system", verb, target=" ".join(word.text for word in step.words[:3]), writes=True)


def _hostname(step: Step) -> None:
    found = step.options("F file".split())
    if found.rest or found.has("F", "file"):
        step.effect("system", "network", target="the name of the machine", writes=True)


def _date(step: Step) -> None:
    found = step.options("d s f r I date set file reference".split())
    for at in found.values("f", "file"):
        step.read(at)
    if found.has("s", "set"):
        step.effect("system", "clock", target=found.value("s", "set"), writes=True)


def _timedatectl(step: Step) -> None:
    _named_once(step, "clock", "", "set-time set-timezone set-ntp set-local-rtc")


def _hostnamectl(step: Step) -> None:
    _named_once(step, "network", "", "set-hostname hostname")


def _journalctl(step: Step) -> None:
    if any(word.text.startswith(("--vacuum", "--rotate", "--flush")) for word in step.words):
        step.effect("system", "erase log", target="the journal", writes=True)


def _history(step: Step) -> None:
    found = step.options("d".split())
    if found.has("c", "d"):
        step.effect("system", "erase log", target="the history of the shell", writes=True)
    elif not found.has("a", "n", "r", "w", "s", "p"):
        step.effect("read", "history", target="the history of the shell")


def _fc(step: Step) -> None:
    found = step.options("e".split())
    for at in found.values("e"):
        step.script(at)


def _defaults(step: Step) -> None:
    words = [word.text for word in step.words if not word.text.startswith("-")]
    if words[:1] in (["write"], ["delete"], ["import"], ["rename"]):
        quiet = any("quarantine" in word.lower() or "gatekeeper" in word.lower() for word in words)
        step.effect("system", PROTECTION if quiet else "settings", target=" ".join(words[1:3]), writes=True)


def _xattr(step: Step) -> None:
    found = step.options()
    named = found.rest[0].text if found.rest else ""
    quarantine = (found.has("d") and "quarantine" in named) or found.has("c")
    if quarantine:
        step.effect("system", PROTECTION, target="the quarantine of a downloaded file", writes=True)


def _dscl(step: Step) -> None:
    words = {word.text.lstrip("-").lower() for word in step.words}
    if words & {"create", "delete", "append", "passwd", "merge", "change"}:
        step.effect("system", USERS, target=" ".join(word.text for word in step.words[:3]), writes=True)


def _bus(step: Step) -> None:
    """Calls over the bus of the system: services do there what they are asked."""
    text = " ".join(word.text for word in step.words)
    calls = step.words[:1] and step.words[0].text in {"call", "set-property", "emit"}
    if not (calls or "--dest" in text) or ".Get" in text or "Introspect" in text:
        return
    ends = any(word in text for word in ("PowerOff", "Reboot", "Suspend", "Hibernate", "Halt"))
    step.effect("system", POWER if ends else "bus", target=step.words[-1].text, writes=True)


def _arp(step: Step) -> None:
    if step.options("i H".split()).has("s", "d", "f", "S"):
        step.effect("system", "network", target="the table of neighbours", writes=True)


def _setfacl(step: Step) -> None:
    found = step.options("m x M X modify remove set".split())
    entry = found.value("m", "modify", "set")
    opened = entry.startswith(("o:", "other:")) or "u::" in entry
    mode = "o+w" if opened and "w" in entry.rpartition(":")[2] else entry
    for at in found.rest:
        recursive = found.has("R", "recursive")
        step.effect("permissions", "chmod", at, path=step.path(at), target=mode, recursive=recursive, writes=True)


TOOLS: dict[str, Handler] = {
    "arp": _arp,
    "busctl": _bus,
    "date": _date,
    "dbus-send": _bus,
    "defaults": _defaults,
    "dscl": _dscl,
    "fc": _fc,
    "gdbus": _bus,
    "history": _history,
    "hostname": _hostname,
    "hostnamectl": _hostnamectl,
    "ifconfig": _ifconfig,
    "ip": _ip,
    "ip6tables": _iptables,
    "ip6tables-restore": _restore,
    "iptables": _iptables,
    "iptables-restore": _restore,
    "journalctl": _journalctl,
    "nft": _nft,
    "route": _ifconfig,
    "setfacl": _setfacl,
    "sysctl": _sysctl,
    "timedatectl": _timedatectl,
    "xattr": _xattr,
}
