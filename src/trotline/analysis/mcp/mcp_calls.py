"""Analyze MCP tool calls by the tool name and the arguments; the implementation of a tool is unknown."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from trotline.analysis import file_contents
from trotline.analysis.mcp.mcp_texts import McpTextReader, join_command_line
from trotline.analysis.network_addresses import CONTAINER_SOCKETS, is_metadata_address
from trotline.analysis.secret_files import MANAGER_SOURCE
from trotline.analysis.service_verbs import REMOVE, VerbKind, classify_verb, find_verb
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument

MAX_VALUES = 200
MAX_DEPTH = 6
MAX_PATH = 4096

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_DELETE_WORDS = frozenset("delete remove rm unlink erase purge drop destroy trash wipe".split())
_WRITE_WORDS = frozenset(
    "write create edit update append save put move rename copy upload insert replace patch set"
    " modify add touch mkdir".split()
)
_READ_WORDS = frozenset("read get list search find grep view show cat open query look tree stat".split())
_SEND_WORDS = frozenset("post send upload publish email message share submit notify".split())
_HTTP_METHODS = frozenset("get head post put patch delete options".split())
_PATH_NAMES = frozenset(
    "path file filepath filename directory dir folder source destination target src dest output input root cwd"
    " paths files filepaths filenames directories dirs folders sources".split()
)
_GIT_VERBS = frozenset("branch checkout clean push rebase reset restore stash".split())
_URL_NAMES = frozenset("url uri href endpoint link address webhook host hostname".split())
_CONTAINER_WORDS = frozenset({"container", "docker", "podman"})
_MOUNT_NAMES = frozenset("bind binds volume volumes mount mounts".split())
_MODE_NAMES = frozenset("mode permissions permission".split())


_SHARED_OBJECTS = frozenset(
    "account accounts alert alerts app application applications apps backup backups branch bucket buckets certificate"
    " cluster clusters collection collections customer customers database databases db deployment deployments disk"
    " disks distribution dns domain domains droplet droplets environment environments function functions group groups"
    " index indexes instance instances key keys kubectl lambda namespace namespaces order org organization"
    " organisation payment permission permissions pod pods policy project projects queue queues record records"
    " registry release releases repo repository repositories resource resources rule rules schema secret secrets"
    " server servers service services site sites snapshot snapshots stack stacks subscription table tables team tenant"
    " token tokens topic topics user users vault vm vms volume volumes website workspace workspaces zone zones".split()
)
"""Objects that others rely on, or that cannot be recreated."""

_WHOLE_VERBS = frozenset("destroy flushall flushdb nuke wipe".split())
"""Verbs that affect everything without naming an object."""

_SECRET_WORDS = frozenset("apikey credential credentials password passwords secret secrets".split())
_LIST_WORDS = frozenset("count describe list metadata names search".split())

_ALL_WORDS = frozenset("all bulk everything many".split())

_AGENT_OBJECTS = frozenset(
    "annotation annotations assertion breakpoint breakpoints cache cell cells console context cookies cursor"
    " dependency emulation entities entity filter filters highlight highlights history label labels layer layers line"
    " lines log logs memory mock mocks observation observations package packages process processes reaction relation"
    " relations screen selection session shape shapes tab tabs task tasks terminal text thought thoughts timer todo"
    " todos viewport watch window zoom".split()
)
"""Objects that agents create and discard all the time: notes, browser tabs, processes, drawings."""


class McpCall(NamedTuple):
    """A tool call: the words of the tool name, and the arguments."""

    words: frozenset[str]
    arguments: Mapping[str, Any]
    texts: McpTextReader

    def writes(self, arguments: Mapping[str, Any]) -> bool:
        """Return whether the tool writes, by its name or because the arguments hold the content of a file."""
        return bool(self.words & _WRITE_WORDS) or (not self.words & _READ_WORDS and file_contents.has_text(arguments))

    def value(self, names: frozenset[str]) -> str:
        """Return the argument with one of these names as text."""
        values = [value for key, value in self.arguments.items() if _split_name(str(key)) & names]
        return next((str(value) for value in values if isinstance(value, str | int)), "")


def add_mcp_effects(call: Invocation, server: str, arguments: Mapping[str, Any], location: str = "") -> None:
    """Add the effects of a tool call. `location` is the URL or the command of its server."""
    words = _split_name(call.name)
    tool_call = McpCall(words, arguments, McpTextReader.build(words, _split_name(server), arguments))
    call.add_effect("mcp", "call", target=f"{server}:{call.name}" if server else call.name, source=location)
    for key, text in _iterate_texts(arguments, words):
        _add_argument(call, tool_call, _split_name(key), text)
    _add_git_flags(call, tool_call, _split_name(server))
    _add_named_effect(call, server)
    has_image = any(str(key).lower() == "image" for key in arguments)
    if has_image or (words | _split_name(server)) & _CONTAINER_WORDS:
        from trotline.analysis.programs.containers import add_requested_privileges  # noqa: PLC0415 - few servers start containers

        add_requested_privileges(call, arguments)
    if "kind" in arguments or any(isinstance(value, Mapping) and "kind" in value for value in arguments.values()):
        _add_objects(call, arguments)


def _split_name(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))


def _add_named_effect(call: Invocation, server: str) -> None:
    """Add the effect that the tool name suggests, unless the arguments show one."""
    effects = call.analyzer.effects[1:]
    if any(effect.writes or effect.kind in {"send", "execute"} for effect in effects):
        return
    words = [word.lower() for word in _WORD.findall(call.name)]
    verb = _get_tool_effect(words)
    if _shows_secret(words):
        call.add_effect("read", "secret", target=call.name, source=MANAGER_SOURCE)
    elif verb:
        call.add_effect("cloud", verb, target=call.name, host=server or "the server", writes=True)


def _add_git_flags(call: Invocation, tool_call: McpCall, server: frozenset[str]) -> None:
    """Analyze the git command that arguments such as `{"force": true}` or `{"mode": "hard"}` stand for."""
    verb = next((word for word in (*_WORD.findall(call.name.lower()),) if word in _GIT_VERBS), "")
    if "git" not in tool_call.words | server or not verb:
        return
    flags = [f"--{key}" for key, value in tool_call.arguments.items() if value is True]
    mode = tool_call.arguments.get("mode")
    flags += [f"--{mode}"] if mode in {"hard", "merge", "keep"} else []
    if flags:
        call.analyze_command([Argument(word) for word in ("git", verb, *flags)])


def _add_argument(call: Invocation, tool_call: McpCall, names: frozenset[str], text: str) -> None:
    if tool_call.texts.analyze(call, names, text):
        return
    if "://" in text[:12] or is_metadata_address(text):
        _add_url(call, text, tool_call)
    elif "\n" in text and "kind" in text and not tool_call.writes(tool_call.arguments):
        _add_manifest(call, text)
    elif names & _URL_NAMES:
        _add_url(call, text, tool_call)
    elif names & _PATH_NAMES or text.startswith(("/", "~/", "./", "../")):
        _add_path(call, text, tool_call, is_target=bool(names & {"destination", "dest", "target", "output"}))


def _iterate_texts(value: object, words: frozenset[str], key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield every text in the arguments with its name; texts in a list have the name of the list."""
    if isinstance(value, str):
        yield key, value
    elif depth < MAX_DEPTH and isinstance(value, Mapping):
        for name, child in list(join_command_line(value, words).items())[:MAX_VALUES]:
            if name.lower() not in _MOUNT_NAMES:  # a mount makes paths visible and does not access them
                yield from _iterate_texts(child, words, name, depth + 1)
    elif depth < MAX_DEPTH and isinstance(value, list):
        for child in value[:MAX_VALUES]:
            yield from _iterate_texts(child, words, key, depth + 1)


def _add_path(call: Invocation, text: str, tool_call: McpCall, *, is_target: bool) -> None:
    if len(text) > MAX_PATH or "\n" in text:
        return
    words, enclosing = tool_call.words, _find_enclosing_object(tool_call.arguments, text)
    home = call.state.environment.home
    at = Argument(f"{home}{text[1:]}" if text.startswith("~/") or text == "~" else text)
    if at.text.endswith(CONTAINER_SOCKETS):
        call.add_effect("connect", "socket", at, path=call.resolve(at))
    elif words & _DELETE_WORDS:
        call.add_delete(at, recursive=True, verb=call.name)
    elif words & {"move", "rename"} and not is_target:
        call.add_delete(at, verb=call.name)
    elif words & {"chmod", "chown", "permissions"}:
        recursive = any(
            _split_name(str(key)) & {"recursive"} and value is True for key, value in tool_call.arguments.items()
        )
        mode = tool_call.value(_MODE_NAMES)
        call.add_effect(
            "permissions", "chmod", at, path=call.resolve(at), target=mode, writes=True, recursive=recursive
        )
    elif tool_call.writes(enclosing) and not (words & {"copy", "upload"} and not is_target):
        call.add_write(at, verb=call.name)
        file_contents.check_edit(call, at, enclosing)
    elif words & {"list", "ls", "stat", "exists", "info", "tree"}:
        call.add_read(at, verb="look")
    else:
        call.add_read(at, verb=call.name)


def _find_enclosing_object(arguments: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """Return the object in a list of the arguments that has this value, or the arguments themselves.

    `{"files": [{"path": "a", "content": "x"}, ...]}` writes several files, each with its own content.
    """
    for value in arguments.values():
        for item in value[:MAX_VALUES] if isinstance(value, list) else ():
            if isinstance(item, Mapping) and text in item.values():
                return item
    return arguments


def _add_url(call: Invocation, text: str, tool_call: McpCall) -> None:
    from trotline.analysis.programs.network_effects import add_request, get_text_stream  # noqa: PLC0415 - few calls name an address

    if text.startswith("file://"):
        call.add_read(Argument(text.removeprefix("file://")), verb=call.name)
        return
    if text.count(":") > 1 and "/" not in text:
        text = f"[{text}]"
    methods = [tool_call.value(frozenset({"method"})).lower(), *(word.lower() for word in _WORD.findall(call.name))]
    method = next(
        (word for word in methods if word in _HTTP_METHODS), "post" if tool_call.words & _SEND_WORDS else "get"
    )
    body = [get_text_stream(Argument(tool_call.value(frozenset({"body", "data", "payload"}))))]
    add_request(call, Argument(text), method.upper(), body)


def _add_objects(call: Invocation, arguments: Mapping[str, Any]) -> None:
    import json  # noqa: PLC0415 - few calls contain Kubernetes objects

    _add_manifest(call, json.dumps(arguments, default=str))


def _add_manifest(call: Invocation, text: str) -> None:
    """Add the privileges of Kubernetes objects that the call creates."""
    from trotline.analysis.kube.kube_manifests import parse_objects  # noqa: PLC0415 - the same

    for kube in parse_objects(text):
        if kube.privileges:
            call.add_effect("kube", "privileged", target=kube.summary, writes=True)


def _get_tool_effect(words: Sequence[str]) -> str:
    """Return the effect that the words of a tool name suggest; empty for tools that only read or write."""
    kinds = [classify_verb(word) for word in words]
    kind = next((kind for kind in kinds if kind is not VerbKind.NONE), VerbKind.NONE)
    if kind is not VerbKind.READ:
        kind = find_verb(words)[1]
    objects = [word for word, word_kind in zip(words, kinds, strict=True) if word_kind is not kind]
    if not objects and _WHOLE_VERBS.intersection(words):
        return kind.value
    if kind not in {VerbKind.DESTROY, VerbKind.STOP, VerbKind.GRANT} or not objects:
        return ""
    if _ALL_WORDS.intersection(objects):
        return kind.value
    noun = next((word for word in reversed(objects) if word in _SHARED_OBJECTS or word in _AGENT_OBJECTS), "")
    if noun in _SHARED_OBJECTS or (kind is VerbKind.GRANT and not noun):
        return kind.value
    return REMOVE if kind is VerbKind.DESTROY and not noun else ""


def _shows_secret(words: Sequence[str]) -> bool:
    """Return whether a tool name suggests that it returns secrets and does not only list them."""
    unique = {*words}
    return bool(unique & _SECRET_WORDS) and not unique & _LIST_WORDS and find_verb(words)[1] is VerbKind.READ
