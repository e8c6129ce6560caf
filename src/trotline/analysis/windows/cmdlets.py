"""Effects of PowerShell cmdlets: files, processes, network, machine administration and Azure."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from trotline.analysis.network_addresses import get_host
from trotline.analysis.programs.databases import DatabaseAddress, analyze_sql
from trotline.analysis.programs.phrases import expand_names
from trotline.analysis.service_verbs import VerbKind
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import EMPTY_STREAM, Stream, join_streams
from trotline.analysis.windows.powershell_parser import PowerShellToken

if TYPE_CHECKING:
    from trotline.analysis.shell.invocation import Invocation
    from trotline.analysis.windows.powershell import PowerShellScript

_SWITCHES = (
    "recurse force whatif append wait passthru verbose debug asjob usebasicparsing nonewline noclobber container raw"
    " hidden nonewwindow asplaintext confirm directory file full quick"
).split()
_VALUE_PARAMETERS = frozenset("verb f fi p path name".split())

ALIASES = expand_names(
    {
        "ac": "add-content",
        "clc": "clear-content",
        "copy cp cpi": "copy-item",
        "%": "foreach-object",
        "dir gci ls": "get-childitem",
        "cat gc type": "get-content",
        "icm": "invoke-command",
        "iex": "invoke-expression",
        "irm": "invoke-restmethod",
        "curl iwr wget": "invoke-webrequest",
        "mi move mv": "move-item",
        "md mkdir ni": "new-item",
        "del erase rd ri rm rmdir": "remove-item",
        "ren rni": "rename-item",
        "sc": "set-content",
        "sajb": "start-job",
        "saps start": "start-process",
        "kill spps": "stop-process",
        "tee": "tee-object",
        "?": "where-object",
        "echo write": "write-output",
    }
)


class CmdletParameters(NamedTuple):
    """Parameters of a cmdlet by lower-case name, and positional arguments. Names may be abbreviated."""

    named: dict[str, Argument | None]
    rest: tuple[Argument, ...]

    def has(self, name: str) -> bool:
        """Return whether a parameter or switch is used."""
        return any(name.startswith(used) for used in self.named)

    def value(self, *names: str, at: int = -1) -> Argument | None:
        """Return the value of one of these parameters, or the positional argument at this index."""
        for used, value in self.named.items():
            if value is not None and any(name.startswith(used) for name in names):
                return value
        return self.rest[at] if 0 <= at < len(self.rest) else None

    def values(self, *names: str) -> list[Argument]:
        """Return the value of one of these parameters and all positional arguments."""
        value = self.value(*names)
        return [value, *self.rest] if value is not None else list(self.rest)


def parse_parameters(
    words: list[PowerShellToken], build_argument: Callable[[PowerShellToken], Argument]
) -> CmdletParameters:
    """Parse `-Name value`, `-Name:value`, switches and positional arguments."""
    named: dict[str, Argument | None] = {}
    rest: list[Argument] = []
    pending = ""  # the parameter that the next word belongs to
    for word in words:
        is_plain = not word.is_quoted and not word.kind
        if is_plain and word.text.startswith("-") and len(word.text) > 1 and not word.text[1].isdigit():
            name, colon, value = word.text[1:].lower().partition(":")
            named[name] = build_argument(PowerShellToken(value)) if colon else None
            is_switch = name not in _VALUE_PARAMETERS and any(switch.startswith(name) for switch in _SWITCHES)
            pending = "" if colon or is_switch else name
        elif word.kind == "{":
            pending = ""
        elif pending:
            named[pending] = build_argument(word)
            pending = ""
        else:
            rest.append(build_argument(word))
    return CmdletParameters(named, tuple(rest))


class Cmdlet(NamedTuple):
    """A cmdlet with its parameters and input."""

    script: PowerShellScript
    name: str
    parameters: CmdletParameters
    stdin: Stream
    blocks: tuple[str, ...]

    @property
    def call(self) -> Invocation:
        """The invocation of PowerShell."""
        return self.script.call

    def list_paths(self) -> list[Argument]:
        """Return the paths in the parameters or, without any, in the input."""
        words = self.parameters.values("path", "literalpath", "filepath", "destination")
        if not words and self.stdin.paths:
            words = [self.script.at._replace(text=path, has_wildcard="*" in path) for path in self.stdin.paths]
        return [self.script.to_path(word) for word in words]


CmdletHandler = Callable[[Cmdlet], Stream]


def _remove_item(cmdlet: Cmdlet) -> Stream:
    for path in cmdlet.list_paths():
        if path.text.lower().startswith(("hklm:", "hkcu:", "registry::")):
            cmdlet.call.add_effect("system", "settings", path, target=path.text, writes=True)
        else:
            recursive = cmdlet.parameters.has("recurse") or "**" in path.text
            cmdlet.call.add_delete(path, recursive=recursive, verb="remove-item")
    return EMPTY_STREAM


def _clear_content(cmdlet: Cmdlet) -> Stream:
    for path in cmdlet.list_paths():
        cmdlet.call.add_write(path, verb="empty")
    return EMPTY_STREAM


def _write_content(cmdlet: Cmdlet) -> Stream:
    parameters, call = cmdlet.parameters, cmdlet.call
    file = parameters.value("path", "filepath", "literalpath", at=0)
    value = parameters.value("value", "inputobject", at=1)
    if file is None:
        return EMPTY_STREAM
    path = cmdlet.script.to_path(file)
    call.add_write(path, verb=cmdlet.name, source=",".join(cmdlet.stdin.paths))
    text = value.text if value is not None and value.is_known else cmdlet.stdin.text
    call.state.record_write(call.resolve(path), Stream(text, cmdlet.stdin.origins, cmdlet.stdin.paths))
    return cmdlet.stdin if cmdlet.name == "tee-object" else EMPTY_STREAM


def _get_content(cmdlet: Cmdlet) -> Stream:
    call, paths = cmdlet.call, cmdlet.list_paths()
    for path in paths:
        call.add_read(path, verb="get-content")
    return join_streams([call.state.get_content(call.resolve(path)) for path in paths])


def _get_children(cmdlet: Cmdlet) -> Stream:
    call = cmdlet.call
    paths = cmdlet.list_paths() or [cmdlet.script.at._replace(text=".")]
    wildcard = "/**/*" if cmdlet.parameters.has("recurse") else "/*"
    name_filter = cmdlet.parameters.value("filter", "include")
    listed = []
    for path in paths:
        call.add_read(path, verb="look", recursive=cmdlet.parameters.has("recurse"))
        tail = wildcard[:-1] + name_filter.text if name_filter is not None else wildcard
        listed.append(call.resolve(path) + ("" if "*" in path.text else tail))
    return Stream(None, frozenset(), tuple(listed))


def _copy_item(cmdlet: Cmdlet) -> Stream:
    parameters, call = cmdlet.parameters, cmdlet.call
    source, target = parameters.value("path", "literalpath", at=0), parameters.value("destination", "newname", at=1)
    if parameters.value("path", "literalpath") is not None and target is None:
        target = parameters.value(at=0)
    if source is None:
        return EMPTY_STREAM
    source_path = cmdlet.script.to_path(source)
    target_path = cmdlet.script.to_path(target) if target is not None else None
    if cmdlet.name == "copy-item":
        call.add_read(source_path, verb="copy", recursive=parameters.has("recurse"))
    else:
        moved = {"path": call.resolve(source_path), "target": call.resolve(target_path) if target_path else ""}
        call.add_effect("delete", "move", source_path, **moved, recursive=True, writes=True)
    if target_path is not None:
        verb = "copy" if cmdlet.name == "copy-item" else "move"
        call.add_write(target_path, verb=verb, source=call.resolve(source_path))
    return EMPTY_STREAM


def _new_item(cmdlet: Cmdlet) -> Stream:
    kind, target = cmdlet.parameters.value("itemtype"), cmdlet.parameters.value("value", "target")
    is_link = kind is not None and "link" in kind.text.lower()
    for path in cmdlet.list_paths():
        source = cmdlet.call.resolve(cmdlet.script.to_path(target)) if is_link and target is not None else ""
        cmdlet.call.add_write(path, verb="link" if is_link else "touch", source=source)
    return EMPTY_STREAM


def _invoke_expression(cmdlet: Cmdlet) -> Stream:
    text = cmdlet.parameters.value("command", at=0)
    stream = text.stream if text is not None and text.stream is not None else cmdlet.stdin if text is None else Stream()
    if text is not None and not text.is_known and text.stream is None:
        origins = (assigned.origins for assigned in cmdlet.script.assigned_streams.values())
        stream = Stream(None, frozenset().union(*origins))
    call = cmdlet.call
    if stream.origins & {"network", "decoded"}:
        source = "network" if "network" in stream.origins else "decoded"
        call.add_effect("execute", "invoke-expression", source=source, why="PowerShell runs what came in")
    script = text.text if text is not None and text.is_known else stream.text
    if script is not None and UNKNOWN_CHAR not in script:
        return cmdlet.script.analyze(script)
    if not stream.origins & {"network", "decoded"}:
        call.add_opaque("the script runs a text that is not in this line", cmdlet.script.at, source="text")
    return Stream()


def _invoke_request(cmdlet: Cmdlet) -> Stream:
    parameters, call = cmdlet.parameters, cmdlet.call
    url = parameters.value("uri", "source", at=0) or cmdlet.script.at._replace(text=UNKNOWN_CHAR)
    host = get_host(url.text)
    method, body = parameters.value("method"), parameters.value("body", "infile", "form")
    if body is not None or (method is not None and method.text.upper() not in {"GET", "HEAD"}):
        body_paths = body.stream.paths if body is not None and body.stream is not None else ()
        file = parameters.value("infile")
        paths = [*body_paths, *([call.resolve(cmdlet.script.to_path(file))] if file is not None else [])]
        if file is not None:
            call.add_read(cmdlet.script.to_path(file), verb="send")
        call.add_effect("send", cmdlet.name, url, host=host, source=",".join(paths), target=url.text)
    call.add_effect("fetch", cmdlet.name, url, host=host, target=url.text)
    file = parameters.value("outfile", "destination")
    if file is not None:
        path = cmdlet.script.to_path(file)
        call.add_write(path, verb="download", source="network")
        call.state.record_write(call.resolve(path), Stream(None, frozenset({"network"})))
    return Stream(None, frozenset({"network"}))


def _start_process(cmdlet: Cmdlet) -> Stream:
    parameters, call = cmdlet.parameters, cmdlet.call
    program, words = parameters.value("filepath", at=0), parameters.value("argumentlist", "args")
    verb = parameters.value("verb")
    if verb is not None and verb.text.lower() == "runas":
        call.add_effect("privilege", "runas", cmdlet.script.at)
    if program is None:
        return EMPTY_STREAM
    rest = list(parameters.rest) if parameters.value("filepath") is not None else list(parameters.rest[1:])
    arguments = [word._replace(text=part) for word in ([words] if words else []) for part in word.text.split()]
    return call.analyze_command([program, *arguments, *rest])


def _analyze_blocks(cmdlet: Cmdlet) -> Stream:
    """Analyze blocks that run for each input object, or on another machine."""
    host = cmdlet.parameters.value("computername")
    if host is not None:
        cmdlet.call.add_effect("connect", cmdlet.name, host, host=host.text)
    script = cmdlet.script
    outer = script.variables.get("_")
    if cmdlet.stdin.paths:
        script.variables["_"] = cmdlet.stdin.paths[0]
    for block in cmdlet.blocks:
        script.analyze(block, cmdlet.stdin)
    script.variables["_"] = outer or UNKNOWN_CHAR
    return cmdlet.stdin


def _write_output(cmdlet: Cmdlet) -> Stream:
    words = cmdlet.parameters.rest
    return Stream(" ".join(word.text for word in words) + "\n" if all(word.is_known for word in words) else None)


_EVERY_PROCESS = "every process"


def _get_process(cmdlet: Cmdlet) -> Stream:
    """Set the output; without a name it is every process."""
    name = cmdlet.parameters.value("name", "id", at=0)
    return Stream(None, frozenset({_EVERY_PROCESS} if name is None else ()))


def _stop_process(cmdlet: Cmdlet) -> Stream:
    name = cmdlet.parameters.value("name", "id", at=0)
    if name is None and _EVERY_PROCESS in cmdlet.stdin.origins:
        cmdlet.call.add_effect("process", "kill", cmdlet.script.at, target=_EVERY_PROCESS, recursive=True, writes=True)
        return EMPTY_STREAM
    return _add_effect(cmdlet, "process: kill")


def _pass_through(cmdlet: Cmdlet) -> Stream:
    return cmdlet.stdin


def _filter(cmdlet: Cmdlet) -> Stream:
    stream = cmdlet.stdin
    return stream._replace(origins=stream.origins - {_EVERY_PROCESS})


def _add_effect(cmdlet: Cmdlet, effect: str) -> Stream:
    """Add an effect, "kind: verb", on the object that the cmdlet names."""
    kind, _, verb = effect.partition(": ")
    named = cmdlet.parameters.value("name", "taskname", "driveletter", "number", "executionpolicy", "id", at=0)
    target = named.text if named is not None else cmdlet.name if kind == "system" else ""
    cmdlet.call.add_effect(kind, verb, named or cmdlet.script.at, target=target, writes=True)
    return EMPTY_STREAM


def _set_defender(cmdlet: Cmdlet) -> Stream:
    """Add a change of Windows Defender; exclusions and `-Disable...` switch off protection."""
    is_off = any(
        name.startswith("exclusion")
        or (name.startswith("disable") and not (value and value.text.lower() in _FALSE_VALUES))
        for name, value in cmdlet.parameters.named.items()
    )
    return _add_effect(cmdlet, "system: protection off" if is_off else "system: settings")


_FALSE_VALUES = frozenset({"$false", "false", "0"})


def _set_execution_policy(cmdlet: Cmdlet) -> Stream:
    """Add a change of the execution policy; a change for one process does not last."""
    policy, scope = cmdlet.parameters.value("executionpolicy", at=0), cmdlet.parameters.value("scope", at=1)
    is_lifted = policy is not None and policy.text.lower() in {"bypass", "unrestricted"}
    is_lasting = scope is None or scope.text.lower() != "process"
    return _add_effect(cmdlet, "system: signatures off" if is_lifted and is_lasting else "system: settings")


# Administration of machines and accounts

_ADMIN_PARAMETERS = ("name", "identity", "displayname", "member", "group", "path")
_STARTUP_KEYS = ("\\run", "\\shell\\open", "\\winlogon", "\\services\\", "/run", "/winlogon", "/services/")


def _add_admin_effect(cmdlet: Cmdlet, verb: str) -> Stream:
    named = cmdlet.parameters.value(*_ADMIN_PARAMETERS, at=0)
    target = " ".join(filter(None, (cmdlet.name, named.text if named is not None else "")))
    cmdlet.call.add_effect("system", verb, cmdlet.script.at, target=target, writes=True)
    return EMPTY_STREAM


def _add_azure_effect(cmdlet: Cmdlet, verb: VerbKind) -> Stream:
    cmdlet.call.add_effect("cloud", verb.value, cmdlet.script.at, target=cmdlet.name, host="Azure", writes=True)
    return EMPTY_STREAM


def _change_property(cmdlet: Cmdlet) -> Stream:
    """Add a change of the registry; some keys list programs that Windows starts. Properties of files do not count."""
    path = cmdlet.parameters.value("path", "literalpath", at=0)
    key = path.text.lower() if path is not None else ""
    if not key.startswith(("hk", "registry::")):
        return EMPTY_STREAM
    is_startup = cmdlet.name != "remove-itemproperty" and any(part in key for part in _STARTUP_KEYS)
    kind, verb = ("persist", "start entry") if is_startup else ("system", "settings")
    cmdlet.call.add_effect(kind, verb, cmdlet.script.at, target=f"{cmdlet.name} {key}", writes=True)
    return EMPTY_STREAM


def _clear_recycle_bin(cmdlet: Cmdlet) -> Stream:
    path = f"{cmdlet.call.state.environment.home}/$Recycle.Bin"
    cmdlet.call.add_effect("delete", cmdlet.name, cmdlet.script.at, path=path, recursive=True, writes=True)
    return EMPTY_STREAM


def _invoke_sql(cmdlet: Cmdlet) -> Stream:
    parameters = cmdlet.parameters
    host, database = parameters.value("serverinstance"), parameters.value("database")
    address = DatabaseAddress(host.text if host is not None else "", database.text if database is not None else "")
    query = parameters.value("query", at=0)
    if query is not None:
        analyze_sql(cmdlet.call, query, "tsql", address)
    return Stream()


_HANDLERS: dict[str, CmdletHandler] = {
    "add-content export-csv out-file set-content tee-object": _write_content,
    "add-mppreference set-mppreference": _set_defender,
    "clear-content": _clear_content,
    "clear-recyclebin": _clear_recycle_bin,
    "copy-item move-item rename-item": _copy_item,
    "foreach-object invoke-command measure-command start-job": _analyze_blocks,
    "get-childitem": _get_children,
    "get-content": _get_content,
    "get-process": _get_process,
    "invoke-expression": _invoke_expression,
    "invoke-restmethod invoke-webrequest start-bitstransfer": _invoke_request,
    "invoke-sqlcmd": _invoke_sql,
    "new-item": _new_item,
    "new-itemproperty remove-itemproperty set-itemproperty": _change_property,
    "new-object out-null select-object sort-object": _pass_through,
    "remove-item": _remove_item,
    "set-executionpolicy": _set_execution_policy,
    "start-process": _start_process,
    "stop-process": _stop_process,
    "where-object": _filter,
    "write-host write-output": _write_output,
}
_EFFECTS = {
    "clear-disk": "disk: clear-disk",
    "clear-eventlog": "system: erase log",
    "format-volume": "disk: format",
    "initialize-disk": "disk: initialize-disk",
    "new-service": "persist: service",
    "register-scheduledtask": "persist: task",
    "remove-partition": "disk: remove-partition",
    "restart-computer stop-computer": "system: power",
    "stop-service": "system: stop service",
}
_ADMIN_VERBS = {
    "set-netfirewallprofile set-netfirewallrule new-netfirewallrule remove-netfirewallrule"
    " disable-netfirewallrule": "firewall",
    "disable-netadapter remove-netipaddress set-dnsclientserveraddress remove-netroute set-netipinterface": "network",
    "new-localuser remove-localuser set-localuser disable-localuser enable-localuser new-localgroup"
    " remove-localgroup add-localgroupmember remove-localgroupmember remove-aduser remove-adgroup remove-adcomputer"
    " remove-adobject remove-adorganizationalunit add-adgroupmember remove-adgroupmember set-adaccountpassword"
    " disable-adaccount new-aduser": "users",
}
_AZURE_VERBS = {
    ("remove", VerbKind.DESTROY): "resourcegroup resource vm vmss disk snapshot sqldatabase sqlserver sqlinstance"
    " cosmosdbaccount rediscache keyvault keyvaultkey keyvaultsecret storageaccount storagecontainer storageblob"
    " storageshare storagetable webapp functionapp appserviceplan akscluster containerregistry virtualnetwork"
    " networksecuritygroup publicipaddress dnszone recoveryservicesvault resourcelock",
    ("stop", VerbKind.STOP): "vm vmss webapp functionapp akscluster",
    ("new", VerbKind.GRANT): "roleassignment",
}

CMDLETS: dict[str, CmdletHandler] = {
    **expand_names(_HANDLERS),
    **{name: partial(_add_effect, effect=effect) for name, effect in expand_names(_EFFECTS).items()},
    **{name: partial(_add_admin_effect, verb=verb) for name, verb in expand_names(_ADMIN_VERBS).items()},
    **{
        f"{prefix}-az{resource}": partial(_add_azure_effect, verb=verb)
        for (prefix, verb), resources in _AZURE_VERBS.items()
        for resource in resources.split()
    },
}
