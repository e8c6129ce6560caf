"""The machine itself: services, processes, settings, disks. Simple programs are rows of `program_table.py`."""

from trotline.analysis.programs.phrases import add_object_effects, expand_names
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.streams import Stream
from trotline.formats.lazy_regex import lazy_regex

# Services and processes

_UNIT_EFFECTS = expand_names(
    {
        "stop kill disable mask unload bootout remove off force-stop": "system: stop service",
        "enable load bootstrap submit link reenable preset on revert": "persist: enable service",
        "restart reload start try-restart reload-or-restart kickstart isolate": "system: start service",
        "setenv set-environment import-environment edit set-property config": "system: settings",
    }
)
_POWER_VERBS = frozenset(
    "poweroff halt reboot kexec suspend hibernate hybrid-sleep rescue emergency default exit soft-reboot"
    " switch-root set-default".split()
)


def _handle_systemctl(call: Invocation) -> None:
    """`systemctl VERB NAME...`, `launchctl VERB NAME...`, but `service NAME VERB`, `rc-service NAME VERB`."""
    options = call.parse_options("t p n o H M s type state property lines output host machine signal")
    words = [word for word in options.rest if word.is_known]
    if call.name in {"service", "rc-service"}:
        words = [*words[1:2], *words[:1]]
    if not words:
        return
    verb, names = words[0].text, words[1:]
    target = " ".join(word.text for word in names) or "services"
    if verb in _POWER_VERBS and (not names or verb in {"isolate", "set-default"}):
        call.add_effect("system", "power", words[0], target=verb, writes=True)
    elif verb in _UNIT_EFFECTS:
        kind, _, effect = _UNIT_EFFECTS[verb].partition(": ")
        is_file = kind == "persist" and names and "/" in names[-1].text
        path = call.resolve(names[-1]) if is_file else ""
        call.add_effect(kind, effect, words[0], target=target, path=path, source=verb, writes=True)


def _handle_update_rc(call: Invocation) -> None:
    """`update-rc.d NAME VERB`, `chkconfig NAME on`, `rc-update add NAME`."""
    words = [word.text for word in call.parse_options().rest]
    if len(words) > 1:
        name = words[1] if call.name == "rc-update" else words[0]
        if {"off", "remove", "disable", "del"} & {*words}:
            call.add_effect("system", "stop service", target=name, writes=True)
        else:
            call.add_effect("persist", "enable service", target=name, writes=True)


def _handle_kill(call: Invocation) -> None:
    """`kill SIGNAL PROCESS...`: a negative number is a process group, and -1 every process."""
    words = list(call.args)
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
        call.add_effect("process", verb, word, target=word.text, source=signal.upper().removeprefix("SIG"), writes=True)


def _handle_pkill(call: Invocation) -> None:
    """`pkill NAME`, or `pkill -u USER` for every process of a user."""
    signal, words = "TERM", []
    for word in call.args:
        name = word.text.lstrip("-")
        if word.text.startswith("-") and (name.isdigit() or (name.isupper() and len(name) > 2)):
            signal = name
        else:
            words.append(word)
    call.args = words
    options = call.parse_options("u U g G P s t F c r o y signal euid uid pgroup parent terminal")
    signal = options.value("signal") or (options.value("s") if call.name == "killall" else "") or signal
    is_user = not options.rest and options.has("u", "U", "euid", "uid", "g", "t", "s")
    for word in options.rest or ((call.program,) if is_user else ()):
        target = "everything of a user" if is_user else word.text
        fields = {"target": target, "source": signal.upper().removeprefix("SIG"), "recursive": is_user}
        call.add_effect("process", "kill by name", word, writes=True, **fields)


def _handle_ps(call: Invocation) -> None:
    """`ps e`, without a dash, shows the variables of every process."""
    if any("e" in word.text for word in call.args[:1] if word.text.isalpha()):
        call.add_effect("read", "environment", call.args[0], target="environment")
        call.stdout = Stream(None, frozenset({"environment"}))


# Settings


def _handle_nft(call: Invocation) -> None:
    options = call.parse_options("f I D c")
    for arg in options.values("f"):
        call.add_effect("system", "firewall", arg, target="a file of rules", path=call.resolve(arg), writes=True)
    changes = {"add", "flush", "delete", "insert", "replace", "create", "destroy", "reset", "rename"}
    for arg in options.rest[:1]:
        if arg.text.split()[:1] and arg.text.split()[0] in changes:
            call.add_effect("system", "firewall", arg, target=" ".join(w.text for w in options.rest[:3]), writes=True)


def _handle_sysctl(call: Invocation) -> None:
    options = call.parse_options("r e pattern")
    for word in options.rest:
        if "=" in word.text:
            name, _, value = word.text.partition("=")
            call.add_effect("system", "kernel setting", word, target=name, source=value, writes=True)
    if options.has("p", "load", "system"):
        call.add_effect("system", "kernel setting", target="a file of settings", writes=True)


_LINK_CHANGES = frozenset({"add", "del", "delete", "replace", "change", "set", "flush", "append", "prepend"})


def _handle_ip(call: Invocation) -> None:
    words = [word.text for word in call.parse_options("n b f netns").rest]
    if words[:2] == ["netns", "exec"]:
        after = [word.text for word in call.args].index("exec") + 2
        call.stdout = call.analyze_command(call.args[after:])
    elif len(words) > 1 and words[1] in _LINK_CHANGES:
        call.add_effect("system", "network", target=" ".join(words[:4]), writes=True)


def _handle_date(call: Invocation) -> None:
    options = call.parse_options("d s r I date set reference", reads="f file")
    if options.has("s", "set"):
        call.add_effect("system", "clock", target=options.value("s", "set"), writes=True)


def _handle_defaults(call: Invocation) -> None:
    words = [word.text for word in call.args if not word.text.startswith("-")]
    if words[:1] in (["write"], ["delete"], ["import"], ["rename"]):
        is_protection = any("quarantine" in word.lower() or "gatekeeper" in word.lower() for word in words)
        verb = "protection off" if is_protection else "settings"
        call.add_effect("system", verb, target=" ".join(words[1:3]), writes=True)


def _handle_xattr(call: Invocation) -> None:
    options = call.parse_options()
    attribute = options.rest[0].text if options.rest else ""
    if (options.has("d") and "quarantine" in attribute) or options.has("c"):
        call.add_effect("system", "protection off", target="the quarantine of a downloaded file", writes=True)


def _handle_dbus(call: Invocation) -> None:
    """D-Bus calls make system services act."""
    text = " ".join(word.text for word in call.args)
    is_call = call.args[:1] and call.args[0].text in {"call", "set-property", "emit"}
    if not (is_call or "--dest" in text) or ".Get" in text or "Introspect" in text:
        return
    is_power = any(word in text for word in ("PowerOff", "Reboot", "Suspend", "Hibernate", "Halt"))
    call.add_effect("system", "power" if is_power else "bus", target=call.args[-1].text, writes=True)


def _handle_setfacl(call: Invocation) -> None:
    options = call.parse_options("m x M X modify remove set")
    entry = options.value("m", "modify", "set")
    is_public = entry.startswith(("o:", "other:")) or "u::" in entry
    mode = "o+w" if is_public and "w" in entry.rpartition(":")[2] else entry
    recursive = options.has("R", "recursive")
    for arg in options.rest:
        path = call.resolve(arg)
        call.add_effect("permissions", "chmod", arg, path=path, target=mode, recursive=recursive, writes=True)


# Disks


def _handle_partitioner(call: Invocation) -> None:
    """`fdisk`, `gdisk`, `cfdisk`, `sfdisk`, `parted` change the partition table, unless they only show it."""
    options = call.parse_options("b c t u w C H S o f N align unit script-file")
    words = list(options.rest)
    if options.has("l", "list", "h", "help", "V", "version", "d", "dump", "n", "no-act", "J", "json", "F", "list-free"):
        return
    verbs = {word.text.lower() for word in words[1:]}
    reads = verbs & {"print", "p", "align-check", "unit", "help", "version", "quit"}
    changes = verbs & {"rm", "mklabel", "mktable", "mkpart", "mkfs", "resizepart", "rescue", "set", "toggle", "name"}
    if call.name == "parted" and reads and not changes:
        return
    add_object_effects(call, words[:1], "disk: partition", is_path=True)


_DISKUTIL_OBJECTS = {
    **dict.fromkeys("partitiondisk splitpartition resizevolume resizestack resizecontainer".split(), slice(1)),
    **dict.fromkeys("deletecontainer deletevolume deletevolumegroup delete reformat".split(), slice(1)),
    **dict.fromkeys("erasedisk erasevolume zerodisk randomdisk secureerase erasecd".split(), slice(-1, None)),
    "mergepartitions": slice(-2, None),
}
"""The words of each verb that name disks or volumes: the first, or the last."""


def _handle_diskutil(call: Invocation) -> None:
    verbs = [word.text.lower() for word in call.args]
    verb_index = next((index for index, verb in enumerate(verbs[:2]) if verb in _DISKUTIL_OBJECTS), None)
    if verb_index is not None and "limits" not in verbs:
        words = [word for word in call.args[verb_index + 1 :] if not word.text.startswith("-")]
        objects = slice(1) if verbs[0] == "apfs" else _DISKUTIL_OBJECTS[verbs[verb_index]]
        add_object_effects(call, words[objects], "disk: erase", is_path=False)
    elif verbs[:1] in (["unmount"], ["unmountdisk"], ["eject"]):
        call.add_effect("system", "unmount", target=verbs[-1])


_DRIVE = lazy_regex(r"[A-Za-z]:[\\/]?|[\\/]{2}[.?][\\/].+")


def _handle_format(call: Invocation) -> None:
    """`format` of Windows takes drives; a script of a project may have the same name."""
    drives = [word for word in call.args if _DRIVE.fullmatch(word.text)]
    if drives:
        add_object_effects(call, drives, "disk: format", is_path=False)


def _handle_hdiutil(call: Invocation) -> None:
    verbs = [word.text for word in call.args]
    if verbs[:1] in (["attach"], ["mount"]):
        call.add_effect("system", "mount", target=verbs[-1])
    elif verbs[:1] == ["create"]:
        call.add_write(call.args[-1])


_HIDING_SETTINGS = frozenset("bind rbind remount suid dev".split())
_SPECIAL_FILE_SYSTEMS = frozenset("overlay binfmt_misc cgroup cgroup2 proc sysfs devtmpfs".split())


def _handle_mount(call: Invocation) -> None:
    options = call.parse_options("t o O L U types options")
    if len(options.rest) < 1 and not options.has("a", "all"):
        return
    target = options.rest[-1] if options.rest else call.program
    source = options.rest[0].text if len(options.rest) > 1 else ""
    settings = {*options.value("o", "options").split(",")}
    hides = options.has("bind", "rbind", "move", "B", "R", "M") or settings & _HIDING_SETTINGS
    special = options.value("t", "types") in _SPECIAL_FILE_SYSTEMS
    verb = "mount over" if hides or special else "mount"
    call.add_effect("system", verb, target, path=call.resolve(target), source=source, target=target.text)


def _handle_umount(call: Invocation) -> None:
    options = call.parse_options("t O")
    if options.has("a", "all"):
        call.add_effect("system", "unmount", path="/", target="everything")
    for word in options.rest:
        call.add_effect("system", "unmount", word, path=call.resolve(word), target=word.text)


def _handle_debugfs(call: Invocation) -> None:
    """`debugfs` reads files of a disk regardless of permissions."""
    options = call.parse_options("R f c b s")
    for arg in options.values("R"):
        for name in arg.text.split()[1:2]:
            call.add_read(arg._replace(text=name))
    if options.has("w"):
        add_object_effects(call, options.rest[-1:], "disk: overwrite", is_path=True)


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("launchctl rc-service service systemctl".split(), _handle_systemctl),
    **dict.fromkeys("chkconfig rc-update update-rc.d".split(), _handle_update_rc),
    **dict.fromkeys("killall pkill skill".split(), _handle_pkill),
    **dict.fromkeys("busctl dbus-send gdbus".split(), _handle_dbus),
    **dict.fromkeys("cfdisk fdisk gdisk parted sfdisk".split(), _handle_partitioner),
    "date": _handle_date,
    "debugfs": _handle_debugfs,
    "defaults": _handle_defaults,
    "diskutil": _handle_diskutil,
    "format": _handle_format,
    "hdiutil": _handle_hdiutil,
    "ip": _handle_ip,
    "kill": _handle_kill,
    "mount": _handle_mount,
    "nft": _handle_nft,
    "ps": _handle_ps,
    "setfacl": _handle_setfacl,
    "sysctl": _handle_sysctl,
    "umount": _handle_umount,
    "xattr": _handle_xattr,
}
