"""Values and calls of code, and the effects that they have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from trotline.analysis.network_addresses import get_host
from trotline.analysis.shell.invocation import Invocation, get_program_name
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream, join_streams
from trotline.domain.effects import Certainty

MAX_TEXT = 65_536
PROCESS = "<process>"
"""The kind of a started process, which may get input later. Its body is the call that started it."""


class CodeValue(NamedTuple):
    """A text, a list, an object by its kind or a function by its name, with the origins of its content."""

    text: str = UNKNOWN_CHAR
    name: str = ""  # the name of a module or function; the kind of an object
    items: tuple[CodeValue, ...] | None = None
    origins: frozenset[str] = frozenset()
    paths: tuple[str, ...] = ()
    owner: CodeValue | None = None  # the object of a method
    body: object = None  # the body of a function that the code defines; other data by kind of object

    @property
    def is_known(self) -> bool:
        """Return whether every part of the text is known."""
        return UNKNOWN_CHAR not in self.text

    def flatten(self) -> tuple[CodeValue, ...]:
        """Return the items of a list, or the value itself."""
        return self.items if self.items is not None else (self,)

    def with_text(self, text: str) -> CodeValue:
        """Return a text with the origins of this value."""
        return CodeValue(text[:MAX_TEXT], origins=self.origins, paths=self.paths)


UNKNOWN_VALUE = CodeValue()


def make_text(value: str) -> CodeValue:
    """Return a text of limited length."""
    return CodeValue(value[:MAX_TEXT])


def make_list(values: list[CodeValue]) -> CodeValue:
    """Return a list with the origins of its items."""
    return mix_values(values)._replace(items=tuple(values))


def mix_values(values: list[CodeValue]) -> CodeValue:
    """Return an unknown value that keeps the origins of these."""
    origins = frozenset().union(*(value.origins for value in values))
    paths = tuple(dict.fromkeys(path for value in values for path in value.paths))
    return CodeValue(origins=origins, paths=paths)


def concatenate(values: list[CodeValue], between: str = "") -> CodeValue:
    """Join texts and keep their origins."""
    return mix_values(values).with_text(between.join(value.text for value in values))


def add_values(left: CodeValue, right: CodeValue) -> CodeValue:
    """Return the sum of two lists or texts."""
    if left.items is not None or right.items is not None:
        return make_list([*left.flatten(), *right.flatten()])
    return concatenate([left, right])


class CodeCall(NamedTuple):
    """A call with evaluated arguments."""

    name: str
    args: tuple[CodeValue, ...]
    kwargs: dict[str, CodeValue]
    owner: CodeValue | None = None

    @property
    def method(self) -> str:
        """The last part of the name."""
        return self.name.replace("::", ".").rpartition(".")[2]

    def get_arg(self, index: int, *names: str) -> CodeValue | None:
        """Return the argument at a position or with one of the names."""
        for name in names:
            if name in self.kwargs:
                return self.kwargs[name]
        return self.args[index] if index < len(self.args) else None

    def get_first(self) -> CodeValue:
        """Return the main argument: the file, the command, the text."""
        return self.get_arg(0, "path", "name", "filename", "file", "src") or UNKNOWN_VALUE

    def get_all(self) -> list[CodeValue]:
        """Return all arguments."""
        return [*self.args, *self.kwargs.values()]

    def is_true(self, *names: str) -> bool:
        """Return whether one of the options is set to a true value."""
        return any(
            name in self.kwargs and self.kwargs[name].text not in {"", "0", "False", "false", "FALSE", "None"}
            for name in names
        )


CodeAnalyzer = Callable[["CodeEffects", str], None]
"""A function that analyzes a text as code of the same language."""

MAX_NESTING = 8
_SHELLS = frozenset("sh bash zsh dash ksh ash cmd powershell pwsh".split())
_STDIN_PATHS = {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}


class CodeEffects:
    """A collector of the effects of code that an invocation runs."""

    def __init__(
        self, invocation: Invocation, arg: Argument, analyzer: CodeAnalyzer, *, is_exact: bool = False
    ) -> None:
        self.invocation, self.arg, self.analyzer, self.is_exact = invocation, arg, analyzer, is_exact
        self.state = invocation.state
        self.depth = 0
        self.printed: list[Stream] = []
        self.connected_host = ""  # the host of the open connection

    def build_argument(self, value: CodeValue) -> Argument:
        """Return a value as an argument of the invocation."""
        why = "" if value.is_known else "the code computes it"
        return self.arg._replace(text=value.text, why=why, has_wildcard="*" in value.text, stream=None)

    def resolve(self, value: CodeValue) -> str:
        """Return the absolute path of a value."""
        return self.invocation.resolve(self.build_argument(value))

    def add_effect(self, kind: str, verb: str, value: CodeValue | None = None, **fields: Any) -> CodeValue:
        """Add an effect, which is a guess if the language is not parsed exactly. Return an unknown value."""
        at = self.build_argument(value) if value is not None else self.arg
        if not self.is_exact and at.is_known:
            fields.setdefault("certainty", Certainty.GUESSED)
        self.invocation.add_effect(kind, verb, at, **fields)
        return UNKNOWN_VALUE

    # Files

    def add_delete(self, value: CodeValue, verb: str, *, recursive: bool = False, source: str = "") -> CodeValue:
        """Add the deletion of a path."""
        path = self.resolve(value)
        deep = recursive or "**" in path
        return self.add_effect("delete", verb, value, path=path, recursive=deep, writes=True, source=source)

    def add_write(self, value: CodeValue, verb: str, content: CodeValue | None = None, source: str = "") -> CodeValue:
        """Add a write and remember the content of the file."""
        path = self.resolve(value)
        if path != "/dev/null":
            content = content or UNKNOWN_VALUE
            self.add_effect("write", verb, value, path=path, writes=True, source=source or ",".join(content.paths))
            self.state.record_write(
                path, Stream(content.text if content.is_known else None, content.origins, content.paths)
            )
        return UNKNOWN_VALUE

    def add_read(self, value: CodeValue, verb: str, *, recursive: bool = False) -> CodeValue:
        """Add a read and return the content of the file."""
        path = self.resolve(value)
        if path in _STDIN_PATHS:
            return self.get_stdin()
        self.add_effect("read", verb, value, path=path, recursive=recursive)
        return _from_stream(self.state.get_content(path))

    def get_stdin(self) -> CodeValue:
        """Return the input of the program."""
        return _from_stream(self.invocation.stdin)

    # Programs

    def analyze_script(self, value: CodeValue, stdin: CodeValue | None = None) -> CodeValue:
        """Analyze a text as a shell script with its input."""
        if value.origins & {"network", "decoded"}:
            self._add_foreign_code(value, "a shell reads it")
        self._check_remote_shell(value)
        if not value.is_known and value.text.strip(UNKNOWN_CHAR + " ") == "":
            if not value.origins & {"network", "decoded"}:
                self.invocation.add_opaque("the code works out what a shell reads", self.arg, source="text")
            return UNKNOWN_VALUE
        return self._record_output(self.invocation.analyze_script(self.build_argument(value), _to_stream(stdin)))

    def analyze_command(self, values: list[CodeValue], stdin: CodeValue | None = None) -> CodeValue:
        """Analyze a program with its arguments and its input."""
        if not values:
            return UNKNOWN_VALUE
        words = [self.build_argument(value) for value in values]
        self._check_remote_shell(values[0])
        if not words[0].is_known:
            self.invocation.add_opaque("the code works out which program it runs", self.arg, source="name")
            return UNKNOWN_VALUE
        return self._record_output(self.invocation.analyze_command(words, _to_stream(stdin)))

    def _record_output(self, stream: Stream) -> CodeValue:
        self.printed.append(stream)
        return _from_stream(stream)

    # Nested code

    def analyze_code(self, value: CodeValue) -> CodeValue:
        """Analyze a text as code of the same language."""
        if value.origins & {"network", "decoded"}:
            self._add_foreign_code(value, "it is run as code")
        if value.is_known and self.depth < MAX_NESTING:
            self.depth += 1
            self.analyzer(self, value.text)
            self.depth -= 1
        elif not value.origins & {"network", "decoded"}:
            path = value.paths[0] if value.paths else ""
            source = "file" if path else "text"
            self.invocation.add_opaque(
                "the code runs a text that is not in this line", self.arg, source=source, path=path
            )
        return UNKNOWN_VALUE

    def _add_foreign_code(self, value: CodeValue, why: str) -> None:
        source = "network" if "network" in value.origins else "decoded"
        self.add_effect("execute", "eval", source=source, path=value.paths[0] if value.paths else "", why=why)

    def get_variable(self, name: CodeValue) -> CodeValue:
        """Return the value of an environment variable if the line sets it."""
        found = self.state.get_variable(name.text) if name.is_known else None
        if found is None or name.text not in {"HOME", "PWD", "OLDPWD", "USER", "LOGNAME", "TMPDIR"}:
            self.add_effect("read", "variable", name, target=name.text)
        assigned = self.invocation.assignments.get(name.text)
        text = assigned.text if assigned is not None else found.texts[0] if found is not None else UNKNOWN_CHAR
        return CodeValue(text, origins=frozenset({"environment"} if text == UNKNOWN_CHAR else set()))

    def get_environment(self) -> CodeValue:
        """Return all environment variables."""
        self.add_effect("read", "environment", target="environment")
        return CodeValue(name="dict", origins=frozenset({"environment"}))

    # The network

    def add_fetch(self, url: CodeValue, verb: str, others: list[CodeValue]) -> CodeValue:
        """Add a request. If it contains data from files or the environment, also add that the data is sent."""
        data = mix_values([url, *others])
        host = _get_host(url.text)
        if data.paths or "environment" in data.origins:
            self.add_effect("send", verb, url, host=host, source=",".join(data.paths) or "environment", target=url.text)
        self.add_effect("fetch", verb, url, host=host, target=url.text)
        return CodeValue(name="<response>", origins=frozenset({"network"}), body=url)

    def add_send(self, url: CodeValue, verb: str, data: list[CodeValue]) -> CodeValue:
        """Add data that is sent to a URL."""
        content = mix_values([url, *data])
        source = ",".join(content.paths) or ("environment" if "environment" in content.origins else "")
        self.add_effect("send", verb, url, host=_get_host(url.text), source=source, target=url.text)
        return CodeValue(name="<response>", origins=frozenset({"network"}), body=url)

    def add_connect(self, host: CodeValue, verb: str) -> CodeValue:
        """Add a connection to a host."""
        name = _get_host(host.text)
        self.connected_host = name or self.connected_host
        self.add_effect("connect", verb, host, host=name)
        return CodeValue(name="socket", origins=frozenset({"network"}))

    def connect_stdin(self) -> CodeValue:
        """Add the effect of connecting standard input to the network: another machine decides what runs."""
        if self.connected_host:
            why = "what runs is steered by another machine"
            self.add_effect("execute", "connect", source="network", host=self.connected_host, why=why)
            self.connected_host = ""
        return UNKNOWN_VALUE

    def _check_remote_shell(self, value: CodeValue) -> None:
        first = value.text.split()[:1]
        if self.connected_host and first and get_program_name(first[0]) in _SHELLS:
            self.connect_stdin()

    # Output

    def print(self, value: CodeValue, end: str = "\n") -> None:
        """Add a text to the output."""
        known = value.is_known and "\0" not in value.text
        self.printed.append(Stream(value.text + end if known else None, value.origins, value.paths))

    def get_output(self) -> Stream:
        """Return everything that the code prints."""
        return join_streams(self.printed) if self.printed else Stream("")


def _to_stream(value: CodeValue | None) -> Stream | None:
    return Stream(value.text if value.is_known else None, value.origins, value.paths) if value is not None else None


def _from_stream(stream: Stream) -> CodeValue:
    return CodeValue(UNKNOWN_CHAR if stream.text is None else stream.text, origins=stream.origins, paths=stream.paths)


def _get_host(url: str) -> str:
    """Return the host of a URL, or an empty text if it is unknown."""
    host = get_host(url)
    return "" if UNKNOWN_CHAR in host else host


def flatten_values(values: tuple[CodeValue, ...]) -> list[CodeValue]:
    """Return values with lists replaced by their items."""
    return [inner for value in values for inner in value.flatten()]
