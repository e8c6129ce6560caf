"""Windows programs that change the machine, its disks and accounts, or download and run code."""

from itertools import pairwise

from trotline.analysis.programs.keyrings import add_stolen_passwords
from trotline.analysis.programs.network_effects import NETWORK_STREAM, add_request, get_download_name, save_download
from trotline.analysis.programs.phrases import add_object_effects, expand_names
from trotline.analysis.service_verbs import INDIRECT_DOWNLOAD
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR
from trotline.analysis.shell.streams import SECRET_STREAM
from trotline.analysis.windows.windows_words import get_lower_args, split_args, to_posix_path

_STARTUP_KEYS = ("\\run", "\\shell\\open", "\\winlogon", "\\services\\", "image file exec")
_DISKPART_COMMANDS = frozenset("clean format delete convert create remove".split())


def _add_system_effect(call: Invocation, verb: str, kind: str = "system") -> None:
    call.add_effect(kind, verb, target=" ".join([call.name, *get_lower_args(call)[:3]]), writes=True)


def _handle_reg(call: Invocation) -> None:
    words = get_lower_args(call)
    if not words or words[0] not in {"add", "delete", "import", "restore", "load", "save"}:
        return
    key = words[1] if len(words) > 1 else ""
    is_startup = any(part in key for part in _STARTUP_KEYS)
    _add_system_effect(call, "start entry" if is_startup else "settings", "persist" if is_startup else "system")
    if words[0] == "save" and any(hive in key for hive in ("\\sam", "\\security", "\\system")):
        add_stolen_passwords(call)


def _handle_schtasks(call: Invocation) -> None:
    words = get_lower_args(call)
    if any(word in {"/create", "/change"} for word in words):
        _add_system_effect(call, "schtasks", "persist")
        at = next((index for index, word in enumerate(words) if word == "/tr"), None)
        if at is not None and at + 1 < len(words):
            call.analyze_script(call.args[at + 1])
    elif "/delete" in words:
        call.add_effect("persist", "remove", target="scheduled tasks", writes=True)


def _handle_bcdedit(call: Invocation) -> None:
    if any(word.startswith("/") and word not in {"/enum", "/?", "/export"} for word in get_lower_args(call)):
        _add_system_effect(call, "power")


def _handle_reagentc(call: Invocation) -> None:
    """Add disabling of the recovery environment."""
    if "/disable" in get_lower_args(call):
        _add_system_effect(call, "power")


def _handle_backups(call: Invocation) -> None:
    if {"delete", "resize"} & {*get_lower_args(call)}:
        add_object_effects(call, [], "disk: remove backups", is_path=True)


def _handle_wevtutil(call: Invocation) -> None:
    if {"cl", "clear-log", "sl", "set-log"} & {*get_lower_args(call)}:
        _add_system_effect(call, "erase log")


def _handle_acl(call: Invocation) -> None:
    args = split_args(call)
    lower = [word.text.lower() for word in args]
    paths = [word for word in args if not word.text.startswith("/")]
    changes = {"/grant", "/grant:r", "/deny", "/remove", "/reset", "/setowner", "/inheritance:r", "/f"} & {*lower}
    for at in paths[:1] if changes or call.name == "takeown" else ():
        recursive = bool({"/t", "/r"} & {*lower})
        mode = "777" if any("everyone" in word for word in lower) else "acl"
        path = call.resolve(to_posix_path(call, at))
        call.add_effect("permissions", "chmod", at, path=path, target=mode, recursive=recursive, writes=True)


def _handle_netsh(call: Invocation) -> None:
    words = {*get_lower_args(call)}
    if words & {"advfirewall", "firewall"} and words & {"set", "add", "delete", "reset"}:
        _add_system_effect(call, "firewall")
    elif words & {"set", "add", "delete", "reset"}:
        _add_system_effect(call, "network")
    elif "wlan" in words and "key=clear" in words:
        call.add_effect("read", "secret", target="the passwords of networks")
        call.stdout = SECRET_STREAM


def _handle_net(call: Invocation) -> None:
    words = get_lower_args(call)
    if words[:1] in (["user"], ["localgroup"], ["group"], ["accounts"]):
        if len(words) > 2 or "/add" in words or "/delete" in words:
            _add_system_effect(call, "users")
    elif words[:1] == ["stop"]:
        call.add_effect("system", "stop service", target=" ".join(words[1:2]), writes=True)
    elif words[:1] == ["share"] and len(words) > 1:
        call.add_effect("connect", "listen", target=words[1])


def _handle_sc(call: Invocation) -> None:
    words = [word for word in get_lower_args(call) if not word.startswith("\\\\")]
    if words[:1] in (["create"], ["config"]):
        _add_system_effect(call, "enable service", "persist")
    elif words[:1] in (["stop"], ["delete"]):
        call.add_effect("system", "stop service", target=" ".join(words[1:2]), writes=True)


def _handle_wmic(call: Invocation) -> None:
    words = get_lower_args(call)
    if "create" in words:
        for at in call.args[words.index("create") + 1 :]:
            call.analyze_script(at)
        call.add_effect("process", "start elsewhere", target=" ".join(words[:3]), writes=True)
    elif "shadowcopy" in words and "delete" in words:
        add_object_effects(call, [], "disk: remove backups", is_path=True)
    elif "delete" in words or "terminate" in words:
        call.add_effect("process", "kill by name", target=" ".join(words[:4]), source="KILL", writes=True)


def _handle_cipher(call: Invocation) -> None:
    for word in call.args:
        if word.text.lower().startswith("/w:"):
            call.add_effect("disk", "wipe", word, target=word.text[3:], writes=True)


def _handle_taskkill(call: Invocation) -> None:
    words = get_lower_args(call)
    names = [words[at + 1] for at, word in enumerate(words[:-1]) if word in {"/im", "/pid", "/fi"}]
    for name in names:
        signal = "KILL" if "/f" in words else "TERM"
        call.add_effect("process", "kill by name", target=name, source=signal, writes=True)


def _handle_downloader(call: Invocation) -> None:
    """Handle downloads by programs with another purpose: `certutil -urlcache`, `bitsadmin /transfer`."""
    urls = [word for word in call.args if "://" in word.text]
    for url in urls:
        content = add_request(call, url)
        after = call.args[call.args.index(url) + 1 :]
        save_download(call, after[0] if after else get_download_name(url), content, verb=INDIRECT_DOWNLOAD)
    if call.name == "certutil" and "-decode" in get_lower_args(call) and len(call.args) > 2:
        call.add_write(call.args[-1])


def _handle_script_host(call: Invocation) -> None:
    """Run a script from a URL or a file: `mshta`, `regsvr32`, `rundll32`."""
    if any("comsvcs" in word for word in get_lower_args(call)) and any(
        "minidump" in word for word in get_lower_args(call)
    ):
        add_stolen_passwords(call)
    for word in call.args:
        text = word.text.lower()
        if "://" in text or text.startswith(("javascript:", "vbscript:")):
            call.add_effect("execute", "run", word, source="network", target=word.text)
            call.stdout = NETWORK_STREAM
        elif text.endswith((".hta", ".sct", ".dll", ".msi", ".js", ".vbs")):
            call.add_run(word)


def _handle_cmdkey(call: Invocation) -> None:
    if any(word.startswith(("/add", "/generic", "/delete")) for word in get_lower_args(call)):
        call.add_effect("system", "users", target="stored passwords", writes=True)


def _handle_forfiles(call: Invocation) -> None:
    """Run the command in `/c` for each file below `/p`."""
    options = {flag.text.lower(): word for flag, word in pairwise(split_args(call))}
    everything = to_posix_path(call, options["/p"]).text.rstrip("/") + "/*" if "/p" in options else "*"
    if "/c" in options:
        script = options["/c"].text.replace("@file", everything).replace("@path", everything)
        call.analyze_script(options["/c"]._replace(text=script))


def _handle_start(call: Invocation) -> None:
    """Run a program, which may follow switches and a title in quotes."""
    rest = [word for word in call.args if not word.text.startswith("/")]
    if rest and " " in rest[0].text and len(rest) > 1:
        rest = rest[1:]
    if rest:
        call.stdout = call.analyze_command(rest)


def _handle_diskpart(call: Invocation) -> None:
    """Read the commands of diskpart from a file or standard input; interactive ones are unknown."""
    files = [call.args[at + 1] for at, word in enumerate(get_lower_args(call)[:-1]) if word == "/s"]
    text = call.state.get_content(call.resolve(to_posix_path(call, files[0]))).text if files else call.stdin.text
    if text is None and (files or call.stdin.origins):
        call.add_opaque(
            "what diskpart does is not in this line", call.program, kind="disk", target="a disk", writes=True
        )
    for line in (text or "").lower().splitlines():
        if line.split()[:1] and line.split()[0] in _DISKPART_COMMANDS:
            call.add_effect("disk", f"diskpart {line.split()[0]}", target="the selected disk", writes=True)


def _handle_robocopy(call: Invocation) -> None:
    switches = {word for word in get_lower_args(call) if word.startswith("/")}
    paths = [to_posix_path(call, word) for word in call.args if not word.text.startswith("/")]
    if len(paths) < 2 or "/l" in switches:
        return
    source, target = paths[:2]
    call.add_read(source, verb="copy", recursive=True)
    call.add_write(target, verb="copy", recursive=True, source=call.resolve(source))
    if switches & {"/mir", "/purge"}:
        call.add_effect("delete", "robocopy --delete", target, path=call.resolve(target), recursive=True, writes=True)
    if switches & {"/move", "/mov"}:
        moved = {"path": call.resolve(source), "target": call.resolve(target)}
        call.add_effect("delete", "move", source, **moved, recursive=True, writes=True)


def _handle_bitlocker(call: Invocation) -> None:
    words = get_lower_args(call)
    if "-off" in words or {"-protectors", "-disable"} <= {*words} or "-forcerecovery" in words:
        call.add_effect("system", "protection off", target=" ".join([call.name, *words[:2]]), writes=True)


def _handle_fsutil(call: Invocation) -> None:
    words = get_lower_args(call)
    if words[:2] == ["usn", "deletejournal"]:
        call.add_effect("system", "erase log", target="the journal of a disk", writes=True)
    elif words[:2] == ["file", "setzerodata"]:
        call.add_write(to_posix_path(call, call.args[-1]), verb="empty")


def _handle_ntdsutil(call: Invocation) -> None:
    """Handle `ntdsutil ... ifm`, which copies the passwords of a whole domain."""
    words = get_lower_args(call)
    if any("ifm" in word.split() or "create full" in word for word in words) or UNKNOWN_CHAR in "".join(words):
        add_stolen_passwords(call)


PROGRAMS: dict[str, Handler] = expand_names(
    {
        "bcdedit": _handle_bcdedit,
        "bitsadmin certutil": _handle_downloader,
        "cipher": _handle_cipher,
        "cmdkey": _handle_cmdkey,
        "cscript msbuild mshta msiexec regsvr32 rundll32 wscript": _handle_script_host,
        "diskpart": _handle_diskpart,
        "forfiles": _handle_forfiles,
        "fsutil": _handle_fsutil,
        "icacls takeown": _handle_acl,
        "manage-bde": _handle_bitlocker,
        "net net1": _handle_net,
        "netsh": _handle_netsh,
        "ntdsutil": _handle_ntdsutil,
        "reagentc": _handle_reagentc,
        "reg": _handle_reg,
        "robocopy": _handle_robocopy,
        "sc": _handle_sc,
        "schtasks": _handle_schtasks,
        "start": _handle_start,
        "taskkill": _handle_taskkill,
        "vssadmin wbadmin": _handle_backups,
        "wevtutil": _handle_wevtutil,
        "wmic": _handle_wmic,
    }
)
