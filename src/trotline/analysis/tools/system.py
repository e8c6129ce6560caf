"""The machine itself: power, services, processes, users, kernel, firewall, clock. What a program does is a word or an
option of it; each is a row.
"""

from typing import NamedTuple

from trotline.analysis.options import Options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream


class Acts(NamedTuple):
    """What some words or options of a program do to the machine."""

    verb: str
    words: str = ""  # the first word, or one of its options without dashes; nothing: whatever is said
    kind: str = "system"


POWER = "power"
PROTECTION = "protection off"
FIREWALL = "firewall"
USERS = "users"
_KERNEL = "kernel"

ROWS: dict[str, tuple[Acts, ...]] = {
    "aa-complain": (Acts(PROTECTION),),
    "aa-disable": (Acts(PROTECTION),),
    "aa-teardown": (Acts(PROTECTION),),
    "apparmor_parser": (Acts(PROTECTION, "R remove"),),
    "adduser": (Acts(USERS),),
    "addgroup": (Acts(USERS),),
    "auditctl": (Acts(PROTECTION, "e D d W f flush reset-lost"),),
    "bpftool": (Acts(_KERNEL, "prog map"),),
    "chage": (Acts(USERS, "E I M m W d"),),
    "chpasswd": (Acts(USERS),),
    "chsh": (Acts(USERS, "s shell"),),
    "csrutil": (Acts(PROTECTION, "disable authenticated-root clear"),),
    "delgroup": (Acts(USERS),),
    "deluser": (Acts(USERS),),
    "depmod": (Acts(_KERNEL),),
    "dmesg": (Acts("erase log", "C c clear read-clear"),),
    "dseditgroup": (Acts(USERS, "o"),),
    "efibootmgr": (Acts(POWER, "B b O o n c delete-bootnum create"),),
    "fdesetup": (Acts(PROTECTION, "disable removerecovery"),),
    "firewall-cmd": (
        Acts(
            FIREWALL,
            "panic-off add-port add-service add-rich-rule add-masquerade remove-rich-rule set-default-zone"
            " complete-reload add-forward-port",
        ),
    ),
    "gpasswd": (Acts(USERS),),
    "groupadd": (Acts(USERS),),
    "groupdel": (Acts(USERS),),
    "groupmod": (Acts(USERS),),
    "grub-install": (Acts(POWER),),
    "halt": (Acts(POWER),),
    "insmod": (Acts(_KERNEL),),
    "kexec": (Acts(POWER),),
    "kmod": (Acts(_KERNEL, "load unload"),),
    "kmutil": (Acts(_KERNEL, "load unload"),),
    "kextload": (Acts(_KERNEL),),
    "kextunload": (Acts(_KERNEL),),
    "logrotate": (Acts("erase log", "f force"),),
    "loginctl": (
        Acts("processes", "terminate-user terminate-session kill-user kill-session"),
        Acts("enable service", "enable-linger", "persist"),
        Acts(POWER, "poweroff reboot suspend"),
    ),
    "modprobe": (Acts(_KERNEL),),
    "newgrp": (Acts(USERS),),
    "newusers": (Acts(USERS),),
    "nvram": (Acts(POWER, "c d"),),
    "passwd": (Acts(USERS),),
    "pivot_root": (Acts("mount over"),),
    "pfctl": (Acts(FIREWALL, "F d f e t"),),
    "poweroff": (Acts(POWER),),
    "pmset": (Acts(POWER, "sleepnow schedule repeat"),),
    "reboot": (Acts(POWER),),
    "restorecon": (Acts("settings", "R r"),),
    "rmmod": (Acts(_KERNEL),),
    "semanage": (Acts(PROTECTION, "permissive boolean port fcontext"),),
    "setcap": (Acts("capabilities"),),
    "setenforce": (Acts(PROTECTION, "0 permissive Permissive"),),
    "setsebool": (Acts(PROTECTION),),
    "shutdown": (Acts(POWER),),
    "softwareupdate": (Acts("settings", "i install ignore reset-ignored schedule"),),
    "spctl": (Acts(PROTECTION, "master-disable global-disable disable add remove"),),
    "sysadminctl": (Acts(USERS, "addUser deleteUser resetPasswordFor adminPassword guestAccount"),),
    "systemsetup": (Acts("settings", "setremotelogin setremoteappleevents settimezone setdate settime"),),
    "tccutil": (Acts(PROTECTION, "reset"),),
    "telinit": (Acts(POWER),),
    "ufw": (Acts(FIREWALL, "disable reset allow delete default"),),
    "useradd": (Acts(USERS),),
    "userdel": (Acts(USERS),),
    "usermod": (Acts(USERS),),
    "vipw": (Acts(USERS),),
    "visudo": (Acts(USERS),),
}
_SHOWS = {
    "passwd": {"S", "status", "help"},
    "modprobe": {"n", "dry-run", "show-depends", "D", "help", "version"},
    "shutdown": {"c", "k", "help", "show"},
    "visudo": {"c", "check", "help", "version"},
    "gpasswd": {"help"},
    "reboot": {"help", "w"},
    "halt": {"help", "w"},
    "poweroff": {"help", "w"},
}


def _acts(step: Step) -> None:
    found = step.options()
    shows = _SHOWS.get(step.name, {"help", "version"})
    if found.flags.keys() & shows:
        return
    for row in ROWS.get(step.name) or ROWS[step.name.lower()]:
        at = _named(found, row.words.split()) or _whole(step.words, row.words.split())
        if at is not None or not row.words:
            target = " ".join([step.name, *(word.text for word in found.rest[:3])])
            step.effect(row.kind, row.verb, at or step.program, target=target, writes=True)
            return


def _named(found: Options, words: list[str]) -> Argument | None:
    for flag, values in found.flags.items():
        if flag in words:
            return next((value for value in values if value is not None), Argument(flag))
    return next((word for word in found.rest[:2] if word.text in words), None)


def _whole(given: list[Argument], words: list[str]) -> Argument | None:
    """Programs of macOS write a long option with one dash: `-deleteUser`."""
    return next((word for word in given if len(word.text) > 3 and word.text.removeprefix("-") in words), None)


_STOPS = frozenset({"stop", "kill", "disable", "mask", "unload", "bootout", "remove", "off", "force-stop"})
_STARTS = frozenset({"enable", "load", "bootstrap", "submit", "link", "reenable", "preset", "on", "revert"})
_AGAIN = frozenset({"restart", "reload", "start", "try-restart", "reload-or-restart", "kickstart", "isolate"})
_ENDS = frozenset(
    "poweroff halt reboot kexec suspend hibernate hybrid-sleep rescue emergency default exit soft-reboot"
    " switch-root set-default".split()
)


def _service(step: Step) -> None:
    """`systemctl`, `launchctl`: a verb, then names. `service`, `rc-service`: a name, then the verb."""
    found = step.options("t p n o H M s type state property lines output host machine signal".split())
    words = [word for word in found.rest if word.known]
    if step.name in {"service", "rc-service"}:
        words = [*words[1:2], *words[:1]]
    if not words:
        return
    verb, names = words[0].text, words[1:]
    target = " ".join(word.text for word in names) or "services"
    if verb in _ENDS and (not names or verb in {"isolate", "set-default"}):
        step.effect("system", POWER, words[0], target=verb, writes=True)
    elif verb in _STOPS:
        step.effect("system", "stop service", words[0], target=target, source=verb, writes=True)
    elif verb in _STARTS:
        path = step.path(names[-1]) if names and "/" in names[-1].text else ""
        step.effect("persist", "enable service", words[0], target=target, path=path, writes=True)
    elif verb in _AGAIN:
        step.effect("system", "start service", words[0], target=target, source=verb, writes=True)
    elif verb in {"setenv", "set-environment", "import-environment", "edit", "set-property", "config"}:
        step.effect("system", "settings", words[0], target=target, writes=True)


def _update_rc(step: Step) -> None:
    """`update-rc.d NAME VERB`, `chkconfig NAME on`, `rc-update add NAME`."""
    words = [word.text for word in step.options().rest]
    if len(words) > 1:
        name = words[1] if step.name == "rc-update" else words[0]
        stops = bool({"off", "remove", "disable", "del"} & {*words})
        if stops:
            step.effect("system", "stop service", target=name, writes=True)
        else:
            step.effect("persist", "enable service", target=name, writes=True)


_ENDING = frozenset({"stop", "quit", "graceful-stop", "kill", "delete", "shutdown", "remove"})


def _daemon(step: Step) -> None:
    """Keepers of servers: `pm2 delete NAME`, `supervisorctl stop NAME`, `pg_ctl stop`."""
    at = next((word for word in step.words if word.text in _ENDING), None)
    if at is not None:
        step.effect("system", "stop service", at, target=step.words[-1].text, source="stop", writes=True)


def _init(step: Step) -> None:
    for word in step.words[:1]:
        if word.text in {"0", "1", "6", "s", "S"}:
            step.effect("system", POWER, word, target=f"{step.name} {word.text}", writes=True)


def _kill(step: Step) -> None:
    """`kill`: a signal, then numbers of processes; a negative number is a whole group, -1 is everything."""
    words = list(step.words)
    signal = "TERM"
    if words and words[0].text in {"-l", "-L", "--list"}:
        return
    if words and words[0].text in {"-s", "-n", "--signal"}:
        signal, words = words[1].text if len(words) > 1 else "", words[2:]
    elif words and words[0].text.startswith("-") and words[0].text != "--" and len(words) > 1:
        signal, words = words[0].text.lstrip("-").removeprefix("signal="), words[1:]
    for word in words:
        if word.text == "--":
            continue
        verb = "probe" if signal == "0" else "kill"
        step.effect("process", verb, word, target=word.text, source=signal.upper().removeprefix("SIG"), writes=True)


def _pkill(step: Step) -> None:
    """By name, or by user: everything that somebody has started."""
    signal, plain = "TERM", []
    for word in step.words:
        name = word.text.lstrip("-")
        if word.text.startswith("-") and (name.isdigit() or (name.isupper() and len(name) > 2)):
            signal = name
        else:
            plain.append(word)
    step.words = plain
    found = step.options("u U g G P s t F c r o y signal euid uid pgroup parent terminal".split())
    signal = found.value("signal") or (found.value("s") if step.name == "killall" else "") or signal
    whole = not found.rest and found.has("u", "U", "euid", "uid", "g", "t", "s")
    for word in found.rest or ((step.program,) if whole else ()):
        target = "everything of a user" if whole else word.text
        fields = {"target": target, "source": signal.upper().removeprefix("SIG"), "recursive": whole}
        step.effect("process", "kill by name", word, writes=True, **fields)


def _ps(step: Step) -> None:
    """`ps e`, without a dash, shows the variables of every process."""
    if any("e" in word.text for word in step.words[:1] if word.text.isalpha()):
        step.effect("read", "environment", step.words[0], target="environment")
        step.out = Stream(None, frozenset({"environment"}))


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(ROWS, _acts),
    "chkconfig": _update_rc,
    "init": _init,
    "kill": _kill,
    "killall": _pkill,
    "launchctl": _service,
    "pg_ctl": _daemon,
    "pm2": _daemon,
    "supervisorctl": _daemon,
    "pkill": _pkill,
    "ps": _ps,
    "rc-service": _service,
    "rc-update": _update_rc,
    "service": _service,
    "skill": _pkill,
    "systemctl": _service,
    "update-rc.d": _update_rc,
}
