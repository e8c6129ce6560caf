"""Effects of programs: one file per family, one handler per program.

A handler takes an Invocation and adds its effects. A family is imported when a line first names one of its programs,
because a cold call should not pay for families that it does not need. families.json is the generated index.
"""

from collections.abc import Sequence
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path

import msgspec

from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument, ShellState
from trotline.analysis.shell.streams import SECRET_STREAM, Stream, join_streams
from trotline.analysis.windows import windows_words

FAMILIES_FILE = Path(__file__).with_name("families.json")


@cache
def _get_families() -> dict[str, str]:
    families = msgspec.json.decode(FAMILIES_FILE.read_bytes(), type=dict[str, str])
    return {program: family for family, programs in families.items() for program in programs.split()}


def replaces_program(name: str) -> bool:
    """Return whether a function or alias of this name hides a known program."""
    return name in _get_families() or name.startswith("command_not_found_handle")


@lru_cache(maxsize=1024)
def normalize_name(name: str) -> str:
    """Return the name of a program in the tables: `RM` (on some file systems) is `rm`, and `perl5.36` is `perl`."""
    families = _get_families()
    lower = name.lower()
    return next((known for known in (name, lower, lower.rstrip("0123456789.-")) if known in families), name)


@lru_cache(maxsize=1024)
def get_handler(name: str) -> Handler:
    """Return the handler of a program; an unknown program is only executed."""
    known = normalize_name(name)
    family = _get_families().get(known)
    if family is None:
        return handle_unknown
    programs: dict[str, Handler] = import_module(f"trotline.analysis.{family}").PROGRAMS
    return programs[known]


def is_known_program(name: str) -> bool:
    """Return whether there is a handler for a program or a script, such as `manage.py` or `jenkins-cli.jar`."""
    return get_handler(name) is not handle_unknown


_WINDOWS_SUFFIXES = (".exe", ".bat", ".cmd", ".ps1", ".com")
"""Windows also runs such files from the current directory, by their bare name."""


def handle_unknown(call: Invocation) -> None:
    """Add the execution of a program file, and analyze its text if the same line wrote it."""
    program = windows_words.to_posix_path(call, call.program)
    path = call.resolve(program)
    if "/" not in program.text and not (
        program.text.lower().endswith(_WINDOWS_SUFFIXES) and path in call.state.file_streams
    ):
        return
    content = call.state.get_content(path)
    written = path in call.state.written_texts
    source = "network" if "network" in content.origins else "written" if written else "file"
    source = "unpacked" if call.state.is_unpacked(path) else source
    call.add_effect("execute", "run", call.program, path=path, source=source)
    first = (content.text or "").partition("\n")[0]
    if content.text and (not first.startswith("#!") or first.rstrip().endswith("sh")):
        call.analyze_script(call.program._replace(text=content.text))


def join_words(words: Sequence[Argument]) -> Argument:
    """Return the words as one script for a shell."""
    text = " ".join(word.text for word in words)
    why = next((word.why for word in words if word.why), "")
    # An unquoted `$(...)` becomes several words with the same stream; joining it with itself would repeat its text.
    streams = list(dict.fromkeys(word.stream for word in words if word.stream is not None))
    stream = join_streams(streams) if streams else None
    return words[0]._replace(text=text, end=words[-1].end, why=why, stream=stream)


def enter_directories(state: ShellState, directories: Sequence[Argument]) -> ShellState:
    """Return a copy of the state in another directory, as after `-C`; the state itself if there is none."""
    state = state.copy() if directories else state
    for directory in directories:
        state.cwd = state.resolve(directory.text) if directory.text else state.cwd
    return state


def print_variables(call: Invocation) -> None:
    """Add that the program prints all variables."""
    call.add_effect("read", "environment", target="environment")
    call.stdout = Stream(None, frozenset({"environment"}))


def print_secret(call: Invocation, target: str, *, host: str = "", source: str = "", recursive: bool = False) -> None:
    """Add that the program prints a secret."""
    call.add_effect("read", "secret", target=target, host=host, source=source, recursive=recursive)
    call.stdout = SECRET_STREAM


SHELLS = frozenset("ash bash csh dash fish ksh mksh rbash sh tcsh zsh".split())

STANDARD_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
"""Paths of the standard input."""


def find_stream(call: Invocation, arg: Argument) -> Stream | None:
    """Return the stream that an argument names: a pipe, the standard input or a descriptor. None for a file."""
    if arg.pipe is not None:
        return arg.pipe
    path = call.resolve(arg)
    return call.stdin if arg.text == "-" or path in STANDARD_INPUT else call.state.get_descriptor(path)
