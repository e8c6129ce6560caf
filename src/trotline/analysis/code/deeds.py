"""What calls would do, whatever their language: files, programs, the network, code in code."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from trotline.analysis.addresses import host_of
from trotline.analysis.code.values import NOTHING, Value, mixed
from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Step, program_name
from trotline.analysis.streams import Stream, joined
from trotline.effects import Certainty

Reads = Callable[["Deeds", str], None]
"""Reads a text as code of the same language."""

DEEPEST = 8
_SHELLS = frozenset("sh bash zsh dash ksh ash cmd powershell pwsh".split())
_STANDARD = {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}


class Deeds:
    """Code that a step runs: where it stands, and what was found in it."""

    def __init__(self, step: Step, at: Argument, reads: Reads, *, sure: bool = False) -> None:
        self.step, self.at, self.reads, self.sure = step, at, reads, sure
        self.depth = 0
        self.printed: list[Stream] = []
        self.connected = ""  # the host of an open connection

    def argument(self, value: Value) -> Argument:
        why = "" if value.known else "the code works it out"
        return self.at._replace(text=value.text, why=why, pattern="*" in value.text, stream=None)

    def path(self, value: Value) -> str:
        return self.step.path(self.argument(value))

    def effect(self, kind: str, verb: str, value: Value | None = None, **fields: Any) -> None:
        at = self.argument(value) if value is not None else self.at
        if not self.sure and at.known:
            fields.setdefault("certainty", Certainty.GUESSED)
        self.step.effect(kind, verb, at, **fields)

    # Files

    def delete(self, value: Value, verb: str, *, recursive: bool = False, source: str = "") -> None:
        path = self.path(value)
        deep = recursive or "**" in path
        self.effect("delete", verb, value, path=path, recursive=deep, writes=True, source=source)

    def write(self, value: Value, verb: str, content: Value | None = None, source: str = "") -> None:
        path = self.path(value)
        if path == "/dev/null":
            return
        content = content or NOTHING
        self.effect("write", verb, value, path=path, writes=True, source=source or ",".join(content.paths))
        self.step.scene.keep(path, Stream(content.text if content.known else None, content.origins, content.paths))

    def read(self, value: Value, verb: str, *, recursive: bool = False) -> Value:
        path = self.path(value)
        if path in _STANDARD:
            return self.standard_input()
        self.effect("read", verb, value, path=path, recursive=recursive)
        return _of(self.step.scene.content(path))

    def standard_input(self) -> Value:
        return _of(self.step.stdin)

    # Programs

    def script(self, value: Value, given: Value | None = None) -> Value:
        """A text that a shell reads, and what is given to it then."""
        if value.origins & {"network", "decoded"}:
            self._foreign(value, "a shell reads it")
        self._maybe_wired(value)
        if not value.known and value.text.strip(UNKNOWN + " ") == "":
            if not value.origins & {"network", "decoded"}:
                self.step.opaque("the code works out what a shell reads", self.at, source="text")
            return NOTHING
        return self._output(self.step.script(self.argument(value), _flowing(given)))

    def run(self, values: list[Value], given: Value | None = None) -> Value:
        """A program with its words, and what it is given to read."""
        if not values:
            return NOTHING
        words = [self.argument(value) for value in values]
        self._maybe_wired(values[0])
        if not words[0].known:
            self.step.opaque("the code works out which program it runs", self.at, source="name")
            return NOTHING
        return self._output(self.step.run(words, _flowing(given)))

    def _output(self, stream: Stream) -> Value:
        self.printed.append(stream)
        return _of(stream)

    # Code in code

    def evaluate(self, value: Value) -> Value:
        if value.origins & {"network", "decoded"}:
            self._foreign(value, "it is run as code")
        if value.known and self.depth < DEEPEST:
            self.depth += 1
            self.reads(self, value.text)
            self.depth -= 1
        elif not value.origins & {"network", "decoded"}:
            path = value.paths[0] if value.paths else ""
            source = "file" if path else "text"
            self.step.opaque("the code runs a text that is not in this line", self.at, source=source, path=path)
        return NOTHING

    def _foreign(self, value: Value, why: str) -> None:
        source = "network" if "network" in value.origins else "decoded"
        self.effect("execute", "eval", source=source, path=value.paths[0] if value.paths else "", why=why)

    def variable(self, name: Value) -> Value:
        """A variable of the process; those of the line are known."""
        found = self.step.scene.value(name.text) if name.known else None
        if found is None or name.text not in {"HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "TMPDIR"}:
            self.effect("read", "variable", name, target=name.text)
        given = self.step.given.get(name.text)
        text = given.text if given is not None else found.texts[0] if found is not None else UNKNOWN
        return Value(text, "", None, frozenset({"environment"} if text == UNKNOWN else set()))

    def environment(self) -> Value:
        self.effect("read", "environment", target="environment")
        return Value(UNKNOWN, "dict", None, frozenset({"environment"}))

    # The network

    def fetch(self, url: Value, verb: str, others: list[Value]) -> Value:
        """A request; what goes out with it and came from a file or the environment is sent."""
        data = mixed([url, *others])
        host = _host(url.text)
        if data.paths or "environment" in data.origins:
            self.effect("send", verb, url, host=host, source=",".join(data.paths) or "environment", target=url.text)
        self.effect("fetch", verb, url, host=host, target=url.text)
        return Value(UNKNOWN, "<response>", None, frozenset({"network"}), body=url)

    def send(self, url: Value, verb: str, data: list[Value]) -> Value:
        content = mixed([url, *data])
        source = ",".join(content.paths) or ("environment" if "environment" in content.origins else "")
        self.effect("send", verb, url, host=_host(url.text), source=source, target=url.text)
        return Value(UNKNOWN, "<response>", None, frozenset({"network"}), body=url)

    def connect(self, host: Value, verb: str) -> Value:
        name = _host(host.text)
        self.connected = name or self.connected
        self.effect("connect", verb, host, host=name)
        return Value(UNKNOWN, "socket", None, frozenset({"network"}))

    def wired(self) -> None:
        """Standard input becomes a connection: who is at its other end says what runs."""
        if self.connected:
            why = "what runs is steered by another machine"
            self.effect("execute", "connect", source="network", host=self.connected, why=why)
            self.connected = ""

    def _maybe_wired(self, value: Value) -> None:
        first = value.text.split()[:1]
        if self.connected and first and program_name(first[0]) in _SHELLS:
            self.wired()

    # The end

    def say(self, value: Value, end: str = "\n") -> None:
        known = value.known and "\0" not in value.text
        self.printed.append(Stream(value.text + end if known else None, value.origins, value.paths))

    def output(self) -> Stream:
        return joined(self.printed) if self.printed else Stream("")


def _flowing(given: Value | None) -> Stream | None:
    if given is None:
        return None
    return Stream(given.text if given.known else None, given.origins, given.paths)


def _of(stream: Stream) -> Value:
    return Value(UNKNOWN if stream.text is None else stream.text, "", None, stream.origins, stream.paths)


def _host(url: str) -> str:
    """Nothing if it is not known."""
    host = host_of(url)
    return "" if UNKNOWN in host else host


def words_of(values: tuple[Value, ...]) -> list[Value]:
    return [inner for value in values for inner in value.flat()]
