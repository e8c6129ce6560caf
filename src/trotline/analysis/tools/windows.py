"""Programs of Windows that change the machine or bring code to it. Their switches begin with a slash or stand alone."""

from itertools import pairwise

from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SECRET
from trotline.analysis.tools.disks import destroyed
from trotline.analysis.tools.keyrings import stolen
from trotline.analysis.tools.requests import NETWORK, name_in, request, saved
from trotline.analysis.typed import as_written, parted, windows
from trotline.analysis.verbs import SIDE_DOOR


def _said(step: Step) -> list[str]:
    return [as_written(step, word).text.lower() for word in step.words]


def _system(step: Step, verb: str, kind: str = "system") -> None:
    step.effect(kind, verb, target=" ".join([step.name, *_said(step)[:3]]), writes=True)


def _reg(step: Step) -> None:
    words = _said(step)
    if not words or words[0] not in {"add", "delete", "import", "restore", "load", "save"}:
        return
    key = words[1] if len(words) > 1 else ""
    runs = any(part in key for part in ("\\run", "\\shell\\open", "\\winlogon", "\\services\\", "image file exec"))
    _system(step, "start entry" if runs else "settings", "persist" if runs else "system")
    if words[0] == "save" and any(hive in key for hive in ("\\sam", "\\security", "\\system")):
        stolen(step)


def _tasks(step: Step) -> None:
    words = _said(step)
    if any(word in {"/create", "/change"} for word in words):
        _system(step, "schtasks", "persist")
        at = next((index for index, word in enumerate(words) if word == "/tr"), None)
        if at is not None and at + 1 < len(words):
            step.script(step.words[at + 1])
    elif "/delete" in words:
        step.effect("persist", "remove", target="scheduled tasks", writes=True)


def _boot(step: Step) -> None:
    if any(word.startswith("/") and word not in {"/enum", "/?", "/export"} for word in _said(step)):
        _system(step, "power")


def _recovery(step: Step) -> None:
    """What the machine starts from when it cannot start any more."""
    if "/disable" in _said(step):
        _system(step, "power")


def _shadows(step: Step) -> None:
    words = _said(step)
    if {"delete", "resize", "shadowcopy"} & {*words} and ("delete" in words or "resize" in words):
        destroyed(step, [], "remove backups")


def _event_log(step: Step) -> None:
    if {"cl", "clear-log", "sl", "set-log"} & {*_said(step)}:
        _system(step, "erase log")


def _acl(step: Step) -> None:
    said = [word.text.lower() for word in parted(step)]
    words = [word for word in parted(step) if not word.text.startswith("/")]
    changes = {"/grant", "/grant:r", "/deny", "/remove", "/reset", "/setowner", "/inheritance:r", "/f"} & {*said}
    for at in words[:1] if changes or step.name == "takeown" else ():
        wide = any("everyone" in word for word in said)
        recursive = bool({"/t", "/r"} & {*said})
        mode = "777" if wide else "acl"
        path = step.path(windows(step, at))
        step.effect("permissions", "chmod", at, path=path, target=mode, recursive=recursive, writes=True)


def _netsh(step: Step) -> None:
    words = {*_said(step)}
    if words & {"advfirewall", "firewall"} and words & {"set", "add", "delete", "reset"}:
        _system(step, "firewall")
    elif words & {"set", "add", "delete", "reset"}:
        _system(step, "network")
    elif "wlan" in words and "key=clear" in words:
        step.effect("read", "secret", target="the passwords of networks")
        step.out = SECRET


def _net(step: Step) -> None:
    words = _said(step)
    if words[:1] in (["user"], ["localgroup"], ["group"], ["accounts"]):
        if len(words) > 2 or "/add" in words or "/delete" in words:
            _system(step, "users")
    elif words[:1] == ["stop"]:
        step.effect("system", "stop service", target=" ".join(words[1:2]), writes=True)
    elif words[:1] == ["share"] and len(words) > 1:
        step.effect("connect", "listen", target=words[1])


def _sc(step: Step) -> None:
    words = [word for word in _said(step) if not word.startswith("\\\\")]
    if words[:1] in (["create"], ["config"]):
        _system(step, "enable service", "persist")
    elif words[:1] in (["stop"], ["delete"]):
        step.effect("system", "stop service", target=" ".join(words[1:2]), writes=True)


def _wmic(step: Step) -> None:
    words = _said(step)
    if "create" in words:
        for at in step.words[words.index("create") + 1 :]:
            step.script(at)
        step.effect("process", "start elsewhere", target=" ".join(words[:3]), writes=True)
    elif "shadowcopy" in words and "delete" in words:
        destroyed(step, [], "remove backups")
    elif "delete" in words or "terminate" in words:
        step.effect("process", "kill by name", target=" ".join(words[:4]), source="KILL", writes=True)


def _cipher(step: Step) -> None:
    for word in step.words:
        if word.text.lower().startswith("/w:"):
            step.effect("disk", "wipe", word, target=word.text[3:], writes=True)


def _taskkill(step: Step) -> None:
    words = _said(step)
    names = [words[at + 1] for at, word in enumerate(words[:-1]) if word in {"/im", "/pid", "/fi"}]
    for name in names:
        signal = "KILL" if "/f" in words else "TERM"
        step.effect("process", "kill by name", target=name, source=signal, writes=True)


def _downloads(step: Step) -> None:
    """`certutil -urlcache`, `bitsadmin /transfer`: downloads that nobody expects of them."""
    urls = [word for word in step.words if "://" in word.text]
    for url in urls:
        content = request(step, url)
        after = step.words[step.words.index(url) + 1 :]
        saved(step, after[0] if after else name_in(url), content, verb=SIDE_DOOR)
    if step.name == "certutil" and "-decode" in _said(step) and len(step.words) > 2:
        step.write(step.words[-1])


def _runs_foreign(step: Step) -> None:
    """`mshta`, `regsvr32`, `rundll32`: they run a script from an address as readily as a file."""
    if any("comsvcs" in word for word in _said(step)) and any("minidump" in word for word in _said(step)):
        stolen(step)
    for word in step.words:
        inside = word.text.lower()
        if "://" in inside or inside.startswith(("javascript:", "vbscript:")):
            step.effect("execute", "run", word, source="network", target=word.text)
            step.out = NETWORK
        elif inside.endswith((".hta", ".sct", ".dll", ".msi", ".js", ".vbs")):
            step.effect("execute", "run", word, path=step.path(word), source="file")


def _cmdkey(step: Step) -> None:
    if any(word.startswith(("/add", "/generic", "/delete")) for word in _said(step)):
        step.effect("system", "users", target="stored passwords", writes=True)


def _forfiles(step: Step) -> None:
    """`/c` is what is run for each file that is found below `/p`."""
    given = {flag.text.lower(): word for flag, word in pairwise(parted(step))}
    everything = windows(step, given["/p"]).text.rstrip("/") + "/*" if "/p" in given else "*"
    if "/c" in given:
        script = given["/c"].text.replace("@file", everything).replace("@path", everything)
        step.script(given["/c"]._replace(text=script))


def _start(step: Step) -> None:
    """Switches and a title in quotes may stand before the program."""
    rest = [word for word in step.words if not word.text.startswith("/")]
    if rest and " " in rest[0].text and len(rest) > 1:
        rest = rest[1:]
    if rest:
        step.out = step.run(rest)


TOOLS: dict[str, Handler] = {
    "bcdedit": _boot,
    "bitsadmin": _downloads,
    "certutil": _downloads,
    "cipher": _cipher,
    "cmdkey": _cmdkey,
    "cscript": _runs_foreign,
    "forfiles": _forfiles,
    "icacls": _acl,
    "msbuild": _runs_foreign,
    "mshta": _runs_foreign,
    "msiexec": _runs_foreign,
    "net": _net,
    "net1": _net,
    "netsh": _netsh,
    "reagentc": _recovery,
    "reg": _reg,
    "regsvr32": _runs_foreign,
    "rundll32": _runs_foreign,
    "start": _start,
    "sc": _sc,
    "schtasks": _tasks,
    "takeown": _acl,
    "taskkill": _taskkill,
    "vssadmin": _shadows,
    "wbadmin": _shadows,
    "wevtutil": _event_log,
    "wmic": _wmic,
    "wscript": _runs_foreign,
}
