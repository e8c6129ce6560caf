"""Calls of MCP servers: what a tool does is not in the call, but its name and the words it is given tell much."""

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from trotline.analysis import server_texts, written
from trotline.analysis.addresses import ENGINES, is_metadata_address
from trotline.analysis.credentials import KEEPER
from trotline.analysis.scene import Argument
from trotline.analysis.server_deeds import deed_of_tool, shows_secret
from trotline.analysis.step import Step

MOST_VALUES = 200
DEEPEST = 6
LONGEST_PATH = 4096

_WORD = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])")
_DELETES = frozenset("delete remove rm unlink erase purge drop destroy trash wipe".split())
_WRITES = frozenset(
    "write create edit update append save put move rename copy upload insert replace patch set"
    " modify add touch mkdir".split()
)
_READS = frozenset("read get list search find grep view show cat open query look tree stat".split())
_SENDS = frozenset("post send upload publish email message share submit notify".split())
_METHODS = frozenset("get head post put patch delete options".split())
_PATHS = frozenset(
    "path file filepath filename directory dir folder source destination target src dest output input root cwd"
    " paths files filepaths filenames directories dirs folders sources".split()
)
_GIT = frozenset("branch checkout clean push rebase reset restore stash".split())
_URLS = frozenset("url uri href endpoint link address webhook host hostname".split())
_ENGINES = frozenset({"container", "docker", "podman"})
_MOUNTS = frozenset("bind binds volume volumes mount mounts".split())
_MODES = frozenset("mode permissions permission".split())


class Called(NamedTuple):
    """A call: the words of its name, and what it is given."""

    words: frozenset[str]
    given: Mapping[str, Any]
    texts: server_texts.Texts

    def writes(self, given: Mapping[str, Any]) -> bool:
        """Its name says so, or it is given what a file shall hold."""
        return bool(self.words & _WRITES) or (not self.words & _READS and written.holds_text(given))

    def value(self, names: frozenset[str]) -> str:
        """What it is given under one of these names."""
        found = [value for key, value in self.given.items() if _words(str(key)) & names]
        return next((str(value) for value in found if isinstance(value, str | int)), "")


def called(step: Step, server: str, given: Mapping[str, Any], place: str = "") -> None:
    """Note what the call would do, by the words of its name and the meaning of its arguments. A place is where its
    server is reached, or how it is started.
    """
    words = _words(step.name)
    call = Called(words, given, server_texts.texts_of(words, _words(server), given))
    step.effect("mcp", "call", target=f"{server}:{step.name}" if server else step.name, source=place)
    for key, text in _values(given, words):
        _argument(step, call, _words(key), text)
    _git(step, call, _words(server))
    _named(step, server)
    if (call.words | _words(server)) & _ENGINES or any(str(key).lower() == "image" for key in given):
        from trotline.analysis.tools.containers import asked_for  # noqa: PLC0415 - few servers start containers

        asked_for(step, given)
    if "kind" in given or any(isinstance(value, Mapping) and "kind" in value for value in given.values()):
        _objects(step, given)


def _words(name: str) -> frozenset[str]:
    return frozenset(word.lower() for word in _WORD.findall(name))


def _named(step: Step, server: str) -> None:
    """What the name of the tool says, where the arguments did not say it better."""
    effects = step.reading.effects[1:]
    if any(effect.writes or effect.kind in {"send", "execute"} for effect in effects):
        return
    words = [word.lower() for word in _WORD.findall(step.name)]
    deed = deed_of_tool(words)
    if shows_secret(words):
        step.effect("read", "secret", target=step.name, source=KEEPER)
    elif deed:
        step.effect("cloud", deed, target=step.name, host=server or "the server", writes=True)


def _git(step: Step, call: Called, server: frozenset[str]) -> None:
    """What git itself would be told: `{"force": true}`, `{"mode": "hard"}`."""
    verb = next((word for word in (*_WORD.findall(step.name.lower()),) if word in _GIT), "")
    if "git" not in call.words | server or not verb:
        return
    flags = [f"--{key}" for key, value in call.given.items() if value is True]
    flags += [f"--{call.given['mode']}"] if call.given.get("mode") in {"hard", "merge", "keep"} else []
    if flags:
        step.run([Argument(word) for word in ("git", verb, *flags)])


def _argument(step: Step, call: Called, names: frozenset[str], text: str) -> None:
    if call.texts.runs(step, names, text):
        return
    if "://" in text[:12] or is_metadata_address(text):
        _url(step, text, call)
    elif "\n" in text and "kind" in text and not call.writes(call.given):
        _manifest(step, text)
    elif names & _URLS:
        _url(step, text, call)
    elif names & _PATHS or text.startswith(("/", "~/", "./", "../")):
        _path(step, text, call, last=bool(names & {"destination", "dest", "target", "output"}))


def _values(given: object, words: frozenset[str], key: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Every text in the arguments with the name it has; those of a list have the list's."""
    if isinstance(given, str):
        yield key, given
    elif depth < DEEPEST and isinstance(given, Mapping):
        for name, value in list(server_texts.lined(given, words).items())[:MOST_VALUES]:
            if name.lower() not in _MOUNTS:  # what a container sees of this machine is nothing that the call does
                yield from _values(value, words, name, depth + 1)
    elif depth < DEEPEST and isinstance(given, list):
        for value in given[:MOST_VALUES]:
            yield from _values(value, words, key, depth + 1)


def _path(step: Step, text: str, call: Called, *, last: bool) -> None:
    if len(text) > LONGEST_PATH or "\n" in text:
        return
    words, holder = call.words, _holder(call.given, text)
    home = step.scene.world.home
    at = Argument(f"{home}{text[1:]}" if text.startswith("~/") or text == "~" else text)
    if at.text.endswith(ENGINES):
        step.effect("connect", "socket", at, path=step.path(at))
    elif words & _DELETES:
        step.delete(at, recursive=True, verb=step.name)
    elif words & {"move", "rename"} and not last:
        step.delete(at, verb=step.name)
    elif words & {"chmod", "chown", "permissions"}:
        recursive = any(_words(str(key)) & {"recursive"} and value is True for key, value in call.given.items())
        mode = call.value(_MODES)
        step.effect("permissions", "chmod", at, path=step.path(at), target=mode, writes=True, recursive=recursive)
    elif call.writes(holder) and not (words & {"copy", "upload"} and not last):
        step.write(at, verb=step.name)
        written.edited(step, at, holder)
    elif words & {"list", "ls", "stat", "exists", "info", "tree"}:
        step.read(at, verb="look")
    else:
        step.read(at, verb=step.name)


def _holder(given: Mapping[str, Any], text: str) -> Mapping[str, Any]:
    """The part of the arguments that names this path: of several files each has its own text."""
    for value in given.values():
        for one in value[:MOST_VALUES] if isinstance(value, list) else ():
            if isinstance(one, Mapping) and text in one.values():
                return one
    return given


def _url(step: Step, text: str, call: Called) -> None:
    from trotline.analysis.tools.requests import request, text_of  # noqa: PLC0415 - few calls name an address

    if text.startswith("file://"):
        step.read(Argument(text.removeprefix("file://")), verb=step.name)
        return
    if text.count(":") > 1 and "/" not in text:
        text = f"[{text}]"
    named = [call.value(frozenset({"method"})).lower(), *(word.lower() for word in _WORD.findall(step.name))]
    method = next((word for word in named if word in _METHODS), "post" if call.words & _SENDS else "get")
    body = [text_of(Argument(call.value(frozenset({"body", "data", "payload"}))))]
    request(step, Argument(text), method.upper(), body)


def _objects(step: Step, given: Mapping[str, Any]) -> None:
    import json  # noqa: PLC0415 - few servers are given objects of a cluster

    _manifest(step, json.dumps(given, default=str))


def _manifest(step: Step, text: str) -> None:
    """Objects that a cluster shall have: not a file of them, but the thing itself."""
    from trotline.analysis.manifests import kube_objects  # noqa: PLC0415 - as above

    for each in kube_objects(text):
        if each.powers:
            step.effect("kube", "privileged", target=each.words, writes=True)
