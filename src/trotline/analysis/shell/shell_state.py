"""The state of a shell while a line is analyzed, and the environment that the line starts in."""

import contextlib
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from trotline.analysis.shell.streams import UNKNOWN_STREAM, Stream
from trotline.analysis.shell.syntax import ShellScript, ShellStatement

UNKNOWN_CHAR = "\0"
"""Stands for an unknown part of a text; no argument of a program can contain it."""

UNKNOWN_REFERENCE = "$__trotline_gap"
"""A reference to a variable that no script sets. It replaces UNKNOWN_CHAR in a text that is parsed as a script, so that
the part is unknown there, too."""

MAX_VALUES = 16
MAX_ITEMS = 1024
MAX_REFERENCES = 8

Outputs = list[tuple[str, bool]]
"""Files that output goes to, and whether it is appended."""


class MalwareReports(Protocol):
    """A source of reports about malicious packages."""

    def find_report(self, package: str) -> str:
        """Return why a package, given as a package URL, is malicious, or an empty text."""


def _no_reports() -> MalwareReports | None:
    return None


def _read_nothing(_path: str) -> None:
    """Default for callers that do not read the disk."""


def _read_empty(_: str) -> str:
    return ""


class Environment(NamedTuple):
    """Facts about the machine and the workspace that hold before the line runs."""

    cwd: str
    roots: tuple[str, ...]
    home: str = "/home/user"
    user: str = "user"
    temporary: tuple[str, ...] = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm")  # noqa: S108 - names to recognise
    own_paths: tuple[str, ...] = ()  # files of Trotline itself
    variables: tuple[tuple[str, str], ...] = ()
    real_path: Callable[[str], str] = str  # resolves links, if the disk is read
    ignores_case: bool = False
    get_reports: Callable[[], MalwareReports | None] = _no_reports
    read_text: Callable[[str], str | None] = _read_nothing  # text of a file, or None
    list_names: Callable[[str], tuple[str, ...] | None] = _read_nothing  # names in a directory, or None
    read_content: Callable[[str], str] = _read_empty  # content of a file before the line runs


class Argument(NamedTuple):
    """An argument of a program."""

    text: str
    start: int = 0
    end: int = 0
    why: str = ""  # why a part is unknown
    has_wildcard: bool = False  # has an unquoted `*`, `?` or `[`
    stream: Stream | None = None  # what flows through it, if it names a pipe

    @property
    def is_known(self) -> bool:
        """True if no part of the text is unknown."""
        return UNKNOWN_CHAR not in self.text

    @property
    def pipe(self) -> Stream | None:
        """The stream of an argument that names a pipe of the same line."""
        return self.stream if self.text == UNKNOWN_CHAR else None


class VariableValue(NamedTuple):
    """The value of a variable: one text, the items of an array, or several possible texts."""

    texts: tuple[str, ...]
    is_array: bool = False
    stream: Stream | None = None  # the output that it was set from


class ShellState:
    """Variables, functions, files and directories while a line is analyzed; a subshell gets a copy."""

    def __init__(self, environment: Environment) -> None:
        self.environment = environment
        self.cwd = environment.cwd
        self.previous_cwd = UNKNOWN_CHAR
        self.variables: dict[str, VariableValue] = {
            name: VariableValue((text,)) for name, text in environment.variables
        }
        self.exported: frozenset[str] = frozenset()  # variables that programs on this machine inherit
        self.functions: dict[str, ShellStatement] = {}
        self.aliases: dict[str, str] = {}
        self.walks_tree = False  # a whole tree is visited, with one call per file
        self.args: tuple[Argument, ...] | None = None  # arguments of the current function or script
        self.script_name = "bash"  # `$0`
        self.name_references: dict[str, str] = {}  # names that refer to other names: `declare -n`
        self.locals: dict[str, VariableValue | None] | None = None  # values outside of the current function
        self.written_texts: dict[str, str | None] = {}  # texts of files that the line wrote, None if unknown
        self.descriptors: dict[str, tuple[str, Stream]] = {}  # files and pipes opened by `exec 3<`
        self.sinks: dict[str, ShellScript] = {}  # scripts that read from pipes of the line
        self.outputs: Outputs = []  # targets of all output after `exec >`
        self.file_streams: dict[str, Stream] = {}  # origins of the content of written files
        self.unpacked_dirs: list[str] = []  # directories with unpacked files from the network

    def copy(self) -> "ShellState":
        """Copy the state for a subshell; written files are shared."""
        other = ShellState.__new__(ShellState)
        other.__dict__.update(self.__dict__)
        other.variables = dict(self.variables)
        other.functions = dict(self.functions)
        other.aliases = dict(self.aliases)
        other.name_references = dict(self.name_references)
        return other

    def copy_detached(self) -> "ShellState":
        """Copy the state for a subshell whose output goes elsewhere."""
        other = self.copy()
        other.outputs = []
        return other

    @contextlib.contextmanager
    def enter_function(self, function: str, words: tuple["Argument", ...]) -> Iterator[None]:
        """Analyze the body of a function in this context; only its local variables are restored."""
        body = self.functions.pop(function)  # a recursive call is analyzed once
        before = self.args, self.locals, dict(self.name_references)
        self.args, self.locals = words, {}
        yield
        for name, value in self.locals.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value
        self.args, self.locals, self.name_references = before
        self.functions.setdefault(function, body)

    def declare_local(self, name: str) -> None:
        """Make a variable local to the current function."""
        if self.locals is not None:
            self.locals.setdefault(name, self.variables.get(name))

    def copy_for_remote(self) -> "ShellState":
        """Copy the state for another machine, which does not inherit variables."""
        other = self.copy()
        other.exported = frozenset()
        return other

    def set(self, name: str, texts: tuple[str, ...], *, array: bool = False, stream: Stream | None = None) -> None:
        """Set a variable to one of several texts, or to an array."""
        value = VariableValue(_limit_texts(texts, MAX_ITEMS if array else MAX_VALUES) or ("",), array, stream)
        self.variables[self._resolve_reference(name)] = value

    def _resolve_reference(self, name: str) -> str:
        for _ in range(MAX_REFERENCES):
            name = self.name_references.get(name, name)
        return name

    def add_sink(self, body: ShellScript) -> str:
        """Register a script that reads from a pipe, and return the name of the pipe."""
        path = f"pipe:[{len(self.sinks)}]"
        self.sinks[path] = body
        return path

    def open_descriptor(self, path: str, stream: Stream) -> str:
        """Return the number of a new descriptor."""
        number = str(10 + len(self.descriptors))
        self.descriptors[number] = (path, stream)
        return number

    def get_content(self, path: str) -> Stream:
        """Return the content of a file as far as the line determines it: its text and its origins."""
        opened = self.get_descriptor(path)
        if opened is not None:
            return opened
        origin = self.file_streams.get(path, UNKNOWN_STREAM)
        return Stream(
            self.written_texts.get(path), origin.origins | {"file"}, tuple(dict.fromkeys((path, *origin.paths)))
        )

    def get_descriptor(self, path: str) -> Stream | None:
        """Return the stream of a descriptor that a path names: `/dev/fd/3`, `/proc/self/fd/3`."""
        descriptor = self._find_descriptor(path)
        return descriptor[1] if descriptor is not None else None

    def resolve_descriptor(self, path: str) -> str:
        """Return the file behind a path that names a descriptor, or the path."""
        descriptor = self._find_descriptor(path)
        return descriptor[0] if descriptor is not None and descriptor[0] else path

    def _find_descriptor(self, path: str) -> tuple[str, Stream] | None:
        head, _, number = path.rpartition("/")
        named = head == "/dev/fd" or (head.startswith("/proc/") and head.endswith("/fd"))
        return self.descriptors.get(number) if named else None

    def is_unpacked(self, path: str) -> bool:
        """Return whether a file comes from an unpacked download."""
        return path not in self.file_streams and any(
            path.startswith(f"{directory.rstrip('/')}/") for directory in self.unpacked_dirs
        )

    def record_write(self, path: str, stream: Stream) -> None:
        """Record that the line writes a file."""
        self.written_texts[path] = stream.text
        self.file_streams[path] = stream

    def forget_file(self, path: str) -> None:
        """Record that the line deletes a file."""
        self.written_texts.pop(path, None)
        self.file_streams.pop(path, None)

    def merge_values(self, before: Mapping[str, VariableValue]) -> None:
        """Keep both old and new values after commands that may not have run."""
        for name, value in self.variables.items():
            old = before.get(name)
            if old is not None and old != value:
                texts = tuple(dict.fromkeys((*old.texts, *value.texts)))
                self.variables[name] = VariableValue(_limit_texts(texts, MAX_VALUES), stream=value.stream or old.stream)

    def get_variable(self, name: str) -> VariableValue | None:
        """Return the value of a variable, or None if it is not known."""
        name = self._resolve_reference(name) if self.name_references else name
        if name in self.variables:
            return self.variables[name]
        default = _DEFAULT_VARIABLES.get(name)
        return VariableValue((default(self),)) if default is not None else None

    def resolve(self, text: str) -> str:
        """Return the absolute path without reading the disk."""
        if text.startswith(UNKNOWN_CHAR):
            return text
        path = text if text.startswith("/") else f"{self.cwd}/{text}"
        if path.startswith(UNKNOWN_CHAR):
            return path
        clean = posixpath.normpath(path)
        return "/" + clean.lstrip("/")

    def expand_tilde(self, text: str) -> str:
        """Expand `~`, `~user`, `~+` and `~-` at the beginning of a word."""
        name, slash, rest = text[1:].partition("/")
        home = self.get_variable("HOME")
        homes = {
            "": home.texts[0] if home is not None else self.environment.home,
            self.environment.user: self.environment.home,
            "+": self.cwd,
            "-": self.previous_cwd,
            "root": "/root",
        }
        if name in homes:
            return homes[name] + slash + rest
        parent = posixpath.dirname(self.environment.home)
        return f"{parent}/{name}{slash}{rest}" if name.isidentifier() else text


_DEFAULT_VARIABLES: dict[str, Callable[[ShellState], str]] = {
    "HOME": lambda state: state.environment.home,
    "IFS": lambda _: " \t\n",
    "LOGNAME": lambda state: state.environment.user,
    "OLDPWD": lambda state: state.previous_cwd,
    "PWD": lambda state: state.cwd,
    "SHELL": lambda _: "/bin/bash",
    "TMPDIR": lambda state: state.environment.temporary[0],
    "USER": lambda state: state.environment.user,
}


def _limit_texts(texts: tuple[str, ...], limit: int) -> tuple[str, ...]:
    """Replace texts beyond the limit with an unknown one."""
    return texts if len(texts) <= limit else (*texts[:limit], UNKNOWN_CHAR)
