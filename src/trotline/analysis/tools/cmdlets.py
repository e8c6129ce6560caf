"""What the cmdlets of PowerShell do with their parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from trotline.analysis.addresses import host_of
from trotline.analysis.powershell import Token
from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.streams import Stream, joined

if TYPE_CHECKING:
    from trotline.analysis.step import Step
    from trotline.analysis.tools.powershell import Script

_SWITCHES = (
    "recurse force whatif append wait passthru verbose debug asjob usebasicparsing nonewline noclobber container raw"
    " hidden nonewwindow asplaintext confirm directory file full quick"
).split()
_VALUED = frozenset("verb f fi p path name".split())

ALIASES = {
    "ac": "add-content",
    "cat": "get-content",
    "clc": "clear-content",
    "copy": "copy-item",
    "cp": "copy-item",
    "cpi": "copy-item",
    "curl": "invoke-webrequest",
    "del": "remove-item",
    "dir": "get-childitem",
    "echo": "write-output",
    "erase": "remove-item",
    "foreach": "foreach",
    "gc": "get-content",
    "gci": "get-childitem",
    "icm": "invoke-command",
    "iex": "invoke-expression",
    "irm": "invoke-restmethod",
    "iwr": "invoke-webrequest",
    "kill": "stop-process",
    "ls": "get-childitem",
    "md": "new-item",
    "mi": "move-item",
    "mkdir": "new-item",
    "move": "move-item",
    "mv": "move-item",
    "ni": "new-item",
    "rd": "remove-item",
    "ren": "rename-item",
    "ri": "remove-item",
    "rm": "remove-item",
    "rmdir": "remove-item",
    "rni": "rename-item",
    "sajb": "start-job",
    "saps": "start-process",
    "sc": "set-content",
    "spps": "stop-process",
    "start": "start-process",
    "tee": "tee-object",
    "type": "get-content",
    "wget": "invoke-webrequest",
    "write": "write-output",
    "%": "foreach-object",
    "?": "where-object",
}


class Parameters(NamedTuple):
    named: dict[str, Argument | None]
    rest: tuple[Argument, ...]

    def has(self, name: str) -> bool:
        return any(name.startswith(given) for given in self.named)

    def value(self, *names: str, at: int = -1) -> Argument | None:
        """By one of its names, which may be shortened, or by its place."""
        for given, value in self.named.items():
            if value is not None and any(name.startswith(given) for name in names):
                return value
        return self.rest[at] if 0 <= at < len(self.rest) else None

    def values(self, *names: str) -> list[Argument]:
        found = self.value(*names)
        return [found, *self.rest] if found is not None else list(self.rest)


def parameters(words: list[Token], argument: Callable[[Token], Argument]) -> Parameters:
    named: dict[str, Argument | None] = {}
    rest: list[Argument] = []
    waiting = ""
    for word in words:
        plain = not word.quoted and not word.sign
        if plain and word.text.startswith("-") and len(word.text) > 1 and not word.text[1].isdigit():
            name, colon, value = word.text[1:].lower().partition(":")
            named[name] = argument(Token(value)) if colon else None
            switch = name not in _VALUED and any(switch.startswith(name) for switch in _SWITCHES)
            waiting = "" if colon or switch else name
        elif word.sign == "{":
            waiting = ""
        elif waiting:
            named[waiting] = argument(word)
            waiting = ""
        else:
            rest.append(argument(word))
    return Parameters(named, tuple(rest))


class Cmdlet(NamedTuple):
    """A cmdlet with its parameters, and what flows into it."""

    script: Script
    name: str
    given: Parameters
    stdin: Stream
    blocks: tuple[str, ...]

    @property
    def step(self) -> Step:
        return self.script.step

    def paths(self) -> list[Argument]:
        found = self.given.values("path", "literalpath", "filepath", "destination")
        if not found and self.stdin.paths:
            found = [self.script.at._replace(text=path, pattern="*" in path) for path in self.stdin.paths]
        return [self.script.path(word) for word in found]


def _remove(cmdlet: Cmdlet) -> Stream:
    for path in cmdlet.paths():
        if path.text.lower().startswith(("hklm:", "hkcu:", "registry::")):
            cmdlet.step.effect("system", "settings", path, target=path.text, writes=True)
        else:
            recursive = cmdlet.given.has("recurse") or "**" in path.text
            cmdlet.step.delete(path, recursive=recursive, verb="remove-item")
    return Stream("")


def _clear(cmdlet: Cmdlet) -> Stream:
    for path in cmdlet.paths():
        cmdlet.step.write(path, verb="empty")
    return Stream("")


def _write(cmdlet: Cmdlet) -> Stream:
    given, step = cmdlet.given, cmdlet.step
    file = given.value("path", "filepath", "literalpath", at=0)
    value = given.value("value", "inputobject", at=1)
    if file is None:
        return Stream("")
    path = cmdlet.script.path(file)
    step.write(path, verb=cmdlet.name, source=",".join(cmdlet.stdin.paths))
    text = value.text if value is not None and value.known else cmdlet.stdin.text
    step.scene.keep(step.path(path), Stream(text, cmdlet.stdin.origins, cmdlet.stdin.paths))
    return cmdlet.stdin if cmdlet.name == "tee-object" else Stream("")


def _read(cmdlet: Cmdlet) -> Stream:
    step, paths = cmdlet.step, cmdlet.paths()
    for path in paths:
        step.read(path, verb="get-content")
    return joined([step.scene.content(step.path(path)) for path in paths])


def _list(cmdlet: Cmdlet) -> Stream:
    step = cmdlet.step
    here = cmdlet.script.at._replace(text=".")
    paths = cmdlet.paths() or [here]
    deep = "/**/*" if cmdlet.given.has("recurse") else "/*"
    wanted = cmdlet.given.value("filter", "include")
    found = []
    for path in paths:
        step.read(path, verb="look", recursive=cmdlet.given.has("recurse"))
        tail = deep[:-1] + wanted.text if wanted is not None else deep
        found.append(step.path(path) + ("" if "*" in path.text else tail))
    return Stream(None, frozenset(), tuple(found))


def _copy(cmdlet: Cmdlet) -> Stream:
    given, step = cmdlet.given, cmdlet.step
    source, target = given.value("path", "literalpath", at=0), given.value("destination", "newname", at=1)
    if given.value("path", "literalpath") is not None and target is None:
        target = given.value(at=0)
    if source is None:
        return Stream("")
    origin = cmdlet.script.path(source)
    into = cmdlet.script.path(target) if target is not None else None
    if cmdlet.name == "copy-item":
        step.read(origin, verb="copy", recursive=given.has("recurse"))
    else:
        where = step.path(into) if into is not None else ""
        step.effect("delete", "move", origin, path=step.path(origin), target=where, recursive=True, writes=True)
    if into is not None:
        step.write(into, verb="copy" if cmdlet.name == "copy-item" else "move", source=step.path(origin))
    return Stream("")


def _make(cmdlet: Cmdlet) -> Stream:
    kind, target = cmdlet.given.value("itemtype"), cmdlet.given.value("value", "target")
    links = kind is not None and "link" in kind.text.lower()
    for path in cmdlet.paths():
        source = cmdlet.step.path(cmdlet.script.path(target)) if links and target is not None else ""
        cmdlet.step.write(path, verb="link" if links else "touch", source=source)
    return Stream("")


def _evaluate(cmdlet: Cmdlet) -> Stream:
    text = cmdlet.given.value("command", at=0)
    stream = text.stream if text is not None and text.stream is not None else cmdlet.stdin if text is None else Stream()
    if text is not None and not text.known and text.stream is None:
        known = cmdlet.script.origins.values()
        stream = Stream(None, frozenset().union(*(one.origins for one in known)))
    step = cmdlet.step
    if stream.origins & {"network", "decoded"}:
        source = "network" if "network" in stream.origins else "decoded"
        step.effect("execute", "invoke-expression", source=source, why="PowerShell runs what came in")
    script = text.text if text is not None and text.known else stream.text
    if script is not None and UNKNOWN not in script:
        return cmdlet.script.read(script)
    if not stream.origins & {"network", "decoded"}:
        step.opaque("the script runs a text that is not in this line", cmdlet.script.at, source="text")
    return Stream()


def _fetch(cmdlet: Cmdlet) -> Stream:
    given, step = cmdlet.given, cmdlet.step
    url = given.value("uri", "source", at=0) or cmdlet.script.at._replace(text=UNKNOWN)
    host = host_of(url.text)
    method, body = given.value("method"), given.value("body", "infile", "form")
    if body is not None or (method is not None and method.text.upper() not in {"GET", "HEAD"}):
        inner = body.stream.paths if body is not None and body.stream is not None else ()
        file = given.value("infile")
        paths = [*inner, *([step.path(cmdlet.script.path(file))] if file is not None else [])]
        if file is not None:
            step.read(cmdlet.script.path(file), verb="send")
        step.effect("send", cmdlet.name, url, host=host, source=",".join(paths), target=url.text)
    step.effect("fetch", cmdlet.name, url, host=host, target=url.text)
    file = given.value("outfile", "destination")
    if file is not None:
        path = cmdlet.script.path(file)
        step.write(path, verb="download", source="network")
        step.scene.keep(step.path(path), Stream(None, frozenset({"network"})))
    return Stream(None, frozenset({"network"}))


def _start(cmdlet: Cmdlet) -> Stream:
    given, step = cmdlet.given, cmdlet.step
    program, words = given.value("filepath", at=0), given.value("argumentlist", "args")
    verb = given.value("verb")
    if verb is not None and verb.text.lower() == "runas":
        step.effect("privilege", "runas", cmdlet.script.at)
    if program is None:
        return Stream("")
    rest = list(given.rest) if given.value("filepath") is not None else list(given.rest[1:])
    split = [word._replace(text=part) for word in ([words] if words else []) for part in word.text.split()]
    return step.run([program, *split, *rest])


def _blocks(cmdlet: Cmdlet) -> Stream:
    """Blocks that run for each thing that comes in, or on other machines."""
    host = cmdlet.given.value("computername")
    if host is not None:
        cmdlet.step.effect("connect", cmdlet.name, host, host=host.text)
    script = cmdlet.script
    piped = cmdlet.stdin.paths
    before = script.variables.get("_")
    if piped:
        script.variables["_"] = piped[0]
    for block in cmdlet.blocks:
        script.read(block, cmdlet.stdin)
    script.variables["_"] = before or UNKNOWN
    return cmdlet.stdin


def _say(cmdlet: Cmdlet) -> Stream:
    words = cmdlet.given.rest
    return Stream(" ".join(word.text for word in words) + "\n" if all(word.known for word in words) else None)


_EVERY_PROCESS = "every process"


def _processes(cmdlet: Cmdlet) -> Stream:
    """Without a name it means all of them, for whoever ends what it tells."""
    about = cmdlet.given.value("name", "id", at=0)
    return Stream(None, frozenset({_EVERY_PROCESS} if about is None else ()))


def _end_processes(cmdlet: Cmdlet) -> Stream:
    about = cmdlet.given.value("name", "id", at=0)
    if about is None and _EVERY_PROCESS in cmdlet.stdin.origins:
        cmdlet.step.effect("process", "kill", cmdlet.script.at, target=_EVERY_PROCESS, recursive=True, writes=True)
        return Stream("")
    return _noted("process", "kill")(cmdlet)


def _quiet(cmdlet: Cmdlet) -> Stream:
    return cmdlet.stdin


def _chosen(cmdlet: Cmdlet) -> Stream:
    stream = cmdlet.stdin
    return stream._replace(origins=stream.origins - {_EVERY_PROCESS})


def _noted(kind: str, verb: str) -> Callable[[Cmdlet], Stream]:
    """A cmdlet whose effect has no more to say than what it is about."""

    def note(cmdlet: Cmdlet) -> Stream:
        about = cmdlet.given.value("name", "taskname", "driveletter", "number", "executionpolicy", "id", at=0)
        at = about or cmdlet.script.at
        target = about.text if about is not None else cmdlet.name if kind == "system" else ""
        cmdlet.step.effect(kind, verb, at, target=target, writes=True)
        return Stream("")

    return note


def _defender(cmdlet: Cmdlet) -> Stream:
    """What watches over the machine is told to look away, or something else about it is set."""
    off = any(
        name.startswith("exclusion") or (name.startswith("disable") and not (value and value.text.lower() in _NOT))
        for name, value in cmdlet.given.named.items()
    )
    return _noted("system", "protection off" if off else "settings")(cmdlet)


_NOT = frozenset({"$false", "false", "0"})


def _signatures(cmdlet: Cmdlet) -> Stream:
    """Which scripts may run; what holds for one process only is over with it."""
    policy, scope = cmdlet.given.value("executionpolicy", at=0), cmdlet.given.value("scope", at=1)
    lifted = policy is not None and policy.text.lower() in {"bypass", "unrestricted"}
    lasting = scope is None or scope.text.lower() != "process"
    return _noted("system", "signatures off" if lifted and lasting else "settings")(cmdlet)


CMDLETS: dict[str, Callable[[Cmdlet], Stream]] = {
    "add-content": _write,
    "add-mppreference": _defender,
    "clear-content": _clear,
    "clear-disk": _noted("disk", "clear-disk"),
    "clear-eventlog": _noted("system", "erase log"),
    "copy-item": _copy,
    "export-csv": _write,
    "foreach-object": _blocks,
    "format-volume": _noted("disk", "format"),
    "get-childitem": _list,
    "get-content": _read,
    "get-process": _processes,
    "initialize-disk": _noted("disk", "initialize-disk"),
    "invoke-command": _blocks,
    "invoke-expression": _evaluate,
    "invoke-restmethod": _fetch,
    "invoke-webrequest": _fetch,
    "measure-command": _blocks,
    "move-item": _copy,
    "new-item": _make,
    "new-object": _quiet,
    "new-service": _noted("persist", "service"),
    "out-file": _write,
    "out-null": _quiet,
    "register-scheduledtask": _noted("persist", "task"),
    "remove-item": _remove,
    "remove-partition": _noted("disk", "remove-partition"),
    "rename-item": _copy,
    "restart-computer": _noted("system", "power"),
    "select-object": _quiet,
    "set-content": _write,
    "set-executionpolicy": _signatures,
    "set-mppreference": _defender,
    "sort-object": _quiet,
    "start-bitstransfer": _fetch,
    "start-job": _blocks,
    "start-process": _start,
    "stop-computer": _noted("system", "power"),
    "stop-process": _end_processes,
    "stop-service": _noted("system", "stop service"),
    "tee-object": _write,
    "where-object": _chosen,
    "write-host": _say,
    "write-output": _say,
}
