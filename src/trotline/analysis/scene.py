"""What a line knows while it is read: where it stands, its variables, functions and aliases."""

import contextlib
import posixpath
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple, Protocol

from trotline.analysis.shell.syntax import Script, Statement
from trotline.analysis.streams import UNSEEN, Stream

UNKNOWN = "\0"
"""Stands in a text for a part that is not known; no argument of a program can hold it."""

MOST_VALUES = 16
MOST_ITEMS = 1024
MOST_REFERENCES = 8

Outputs = list[tuple[str, bool]]
"""Files that output goes to, and whether it is added to what is there."""


class Reports(Protocol):
    """What a machine knows of malicious packages."""

    def of(self, package: str) -> str:
        """Why a package, as a package URL, is not to be installed; nothing if nobody says so."""


def _no_reports() -> Reports | None:
    return None


def _unread(_path: str) -> None:
    """For who does not look at the disk."""


def _nothing(_: str) -> str:
    return ""


class World(NamedTuple):
    """What is true before the first word: given by the host and the machine, never by the line itself."""

    cwd: str
    roots: tuple[str, ...]
    home: str = "/home/user"
    user: str = "user"
    temporary: tuple[str, ...] = ("/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm")  # noqa: S108 - names to recognise
    own: tuple[str, ...] = ()  # where Trotline keeps its own files
    variables: tuple[tuple[str, str], ...] = ()
    real: Callable[[str], str] = str  # what a path really is, where somebody looks at the disk
    ignores_case: bool = False
    reports: Callable[[], Reports | None] = _no_reports
    text: Callable[[str], str | None] = _unread  # what stands in a file of the disk, where somebody looks there
    names: Callable[[str], tuple[str, ...] | None] = _unread  # what is in a directory; nothing for what is none
    content: Callable[[str], str] = _nothing  # what is in a file now, where somebody looks at the disk


class Argument(NamedTuple):
    """A word as the program gets it."""

    text: str
    start: int = 0
    end: int = 0
    why: str = ""  # where a part is unknown: why
    pattern: bool = False  # holds an unquoted `*`, `?` or `[`
    stream: Stream | None = None  # a file that is really a pipe, and what flows in it

    @property
    def known(self) -> bool:
        return UNKNOWN not in self.text

    @property
    def pipe(self) -> Stream | None:
        """What flows in a file that is nothing but a pipe of this very line."""
        return self.stream if self.text == UNKNOWN else None


class Value(NamedTuple):
    """What a variable holds: one text, the texts of an array, or those that it may hold."""

    texts: tuple[str, ...]
    array: bool = False
    stream: Stream | None = None  # where its text comes from, if a command printed it


class Scene:
    """Changes while the line is read; a subshell gets a copy."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.cwd = world.cwd
        self.previous = UNKNOWN
        self.variables: dict[str, Value] = {name: Value((text,)) for name, text in world.variables}
        self.exported: frozenset[str] = frozenset()  # variables that every program of this machine gets
        self.functions: dict[str, Statement] = {}
        self.aliases: dict[str, str] = {}
        self.walks = False  # a whole tree is gone through, one call for each file
        self.words: tuple[Argument, ...] | None = None  # of the function or script that is read
        self.zero = "bash"  # what the script that is read is called
        self.references: dict[str, str] = {}  # names that stand for another name: `declare -n`
        self.locals: dict[str, Value | None] | None = None  # in a function: its own variables, and what they were
        self.written: dict[str, str | None] = {}  # files that the line itself wrote, with their text if known
        self.descriptors: dict[str, tuple[str, Stream]] = {}  # files and pipes that `exec 3<` opened
        self.sinks: dict[str, Script] = {}  # programs that read what is written to a pipe of the line
        self.onto: Outputs = []  # where the output of every command goes: `exec >`
        self.flows: dict[str, Stream] = {}  # where the content of these files comes from
        self.unpacked: list[str] = []  # directories into which the line unpacked what came from another machine

    def copy(self) -> "Scene":
        """For a subshell: what it changes stays in it; what it writes is written."""
        other = Scene.__new__(Scene)
        other.__dict__.update(self.__dict__)
        other.variables = dict(self.variables)
        other.functions = dict(self.functions)
        other.aliases = dict(self.aliases)
        other.references = dict(self.references)
        return other

    def apart(self) -> "Scene":
        """For a subshell whose output goes somewhere else."""
        other = self.copy()
        other.onto = []
        return other

    @contextlib.contextmanager
    def called(self, function: str, words: tuple["Argument", ...]) -> Iterator[None]:
        """While the body of a function is read; what it changes stays, but for its own variables."""
        body = self.functions.pop(function)  # one turn is enough
        before = self.words, self.locals, dict(self.references)
        self.words, self.locals = words, {}
        yield
        for name, value in self.locals.items():
            if value is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = value
        self.words, self.locals, self.references = before
        self.functions.setdefault(function, body)

    def own(self, name: str) -> None:
        """In a function a variable of this name is its own."""
        if self.locals is not None:
            self.locals.setdefault(name, self.variables.get(name))

    def elsewhere(self) -> "Scene":
        """For another machine, which knows nothing of the variables of this one."""
        other = self.copy()
        other.exported = frozenset()
        return other

    def set(self, name: str, texts: tuple[str, ...], *, array: bool = False, stream: Stream | None = None) -> None:
        value = Value(_bounded(texts, MOST_ITEMS if array else MOST_VALUES) or ("",), array, stream)
        self.variables[self._meant(name)] = value

    def _meant(self, name: str) -> str:
        for _ in range(MOST_REFERENCES):
            name = self.references.get(name, name)
        return name

    def sink(self, body: Script) -> str:
        """The name of a pipe that this reads."""
        path = f"pipe:[{len(self.sinks)}]"
        self.sinks[path] = body
        return path

    def open(self, path: str, stream: Stream) -> str:
        """The number of a new descriptor."""
        number = str(10 + len(self.descriptors))
        self.descriptors[number] = (path, stream)
        return number

    def content(self, path: str) -> Stream:
        """What is in a file, as far as this line tells: its text, and what it was made of."""
        opened = self.descriptor(path)
        if opened is not None:
            return opened
        made = self.flows.get(path, UNSEEN)
        return Stream(self.written.get(path), made.origins | {"file"}, tuple(dict.fromkeys((path, *made.paths))))

    def descriptor(self, path: str) -> Stream | None:
        """What flows in a descriptor that the line opened, where a path names it: `/dev/fd/3`, `/proc/self/fd/3`."""
        found = self._descriptor(path)
        return found[1] if found is not None else None

    def opened(self, path: str) -> str:
        """What a path leads to, where it names a descriptor that the line opened."""
        found = self._descriptor(path)
        return found[0] if found is not None and found[0] else path

    def _descriptor(self, path: str) -> tuple[str, Stream] | None:
        head, _, number = path.rpartition("/")
        named = head == "/dev/fd" or (head.startswith("/proc/") and head.endswith("/fd"))
        return self.descriptors.get(number) if named else None

    def is_unpacked(self, path: str) -> bool:
        return path not in self.flows and any(path.startswith(f"{place.rstrip('/')}/") for place in self.unpacked)

    def keep(self, path: str, stream: Stream) -> None:
        """The line writes this into a file."""
        self.written[path] = stream.text
        self.flows[path] = stream

    def forget(self, path: str) -> None:
        """The line deletes a file."""
        self.written.pop(path, None)
        self.flows.pop(path, None)

    def may_be(self, before: Mapping[str, Value]) -> None:
        """After something that may not have happened: both what was and what is are possible."""
        for name, value in self.variables.items():
            old = before.get(name)
            if old is not None and old != value:
                texts = tuple(dict.fromkeys((*old.texts, *value.texts)))
                self.variables[name] = Value(_bounded(texts, MOST_VALUES), stream=value.stream or old.stream)

    def value(self, name: str) -> Value | None:
        """What a variable is known to hold; None if it comes from elsewhere."""
        name = self._meant(name) if self.references else name
        if name in self.variables:
            return self.variables[name]
        if name == "PWD":
            return Value((self.cwd,))
        if name == "OLDPWD":
            return Value((self.previous,))
        if name == "HOME":
            return Value((self.world.home,))
        if name in {"USER", "LOGNAME"}:
            return Value((self.world.user,))
        if name == "SHELL":
            return Value(("/bin/bash",))
        if name == "TMPDIR":
            return Value((self.world.temporary[0],))
        return Value((" \t\n",)) if name == "IFS" else None

    def absolute(self, text: str) -> str:
        """A path as the line means it, by its words alone: nothing is looked up on the disk."""
        if text.startswith(UNKNOWN):
            return text
        path = text if text.startswith("/") else f"{self.cwd}/{text}"
        if path.startswith(UNKNOWN):
            return path
        clean = posixpath.normpath(path)
        return "/" + clean.lstrip("/")

    def tilde(self, text: str) -> str:
        """`~`, `~user`, `~+`, `~-` at the beginning of a word."""
        name, slash, rest = text[1:].partition("/")
        homes = {"": self.value("HOME"), self.world.user: Value((self.world.home,))}
        homes |= {"+": Value((self.cwd,)), "-": Value((self.previous,)), "root": Value(("/root",))}
        found = homes.get(name)
        if found is None:
            parent = posixpath.dirname(self.world.home)
            return f"{parent}/{name}{slash}{rest}" if name.isidentifier() else text
        return found.texts[0] + slash + rest


def _bounded(texts: tuple[str, ...], most: int) -> tuple[str, ...]:
    """What is too much to follow is not forgotten: it is there, and not known."""
    return texts if len(texts) <= most else (*texts[:most], UNKNOWN)
