"""A program that would be run, and the effects that its handler finds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from trotline.analysis.options import ParsedOptions, parse_options
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument, ShellState
from trotline.analysis.shell.streams import SHELL_SETUP, Stream
from trotline.domain.effects import Certainty, Effect

if TYPE_CHECKING:
    from trotline.analysis.shell.shell_analyzer import ShellAnalyzer

UNKNOWN_TEXT = "…"
"""Stands for an unknown part in an effect."""


class Invocation:
    """A program call. Handlers of programs read its arguments and add effects."""

    def __init__(self, analyzer: ShellAnalyzer, state: ShellState, words: Sequence[Argument], stdin: Stream) -> None:
        self.analyzer = analyzer
        self.state = state
        self.program = words[0]
        self.name = get_program_name(words[0].text)
        self.args = list(words[1:])
        self.stdin = stdin
        self.assignments: dict[str, Argument] = {}  # variables set for this call and for a wrapped program
        self.stdout: Stream | None = None
        self.effects: list[Effect] = []
        self.children: list[Invocation] = []

    @property
    def start(self) -> int:
        """The column where the call begins."""
        return self.program.start

    @property
    def end(self) -> int:
        """The column where the call ends."""
        return max([self.program.end, *(word.end for word in self.args)])

    def parse_options(
        self,
        valued: str = "",
        *,
        reads: str = "",
        writes: str = "",
        scripts: str = "",
        runs: str = "",
        stops: bool = False,
        long_dash: bool = False,
    ) -> ParsedOptions:
        """Parse the arguments as options; see `parse_options`.

        `reads`, `writes`, `scripts` and `runs` are further options that take a value: a file that the program reads or
        writes, a script, or a file of code. Their effects are added.
        """
        valued = f"{valued} {reads} {writes} {scripts} {runs}"
        options = parse_options(self.args, valued, stops=stops, long_dash=long_dash)
        for file in options.values(*reads.split()):
            self.add_read(file)
        for file in options.values(*writes.split()):
            self.add_write(file)
        for script in options.values(*scripts.split()):
            self.analyze_script(script)
        for file in options.values(*runs.split()):
            self.add_run(file)
        return options

    def get_variable(self, name: str) -> str:
        """Return the value of an environment variable of the program if the line sets it."""
        if name in self.assignments:
            return self.assignments[name].text
        value = self.state.get_variable(name) if name in self.state.exported else None
        return value.texts[0] if value is not None and len(value.texts) == 1 else ""

    # Effects

    def add_effect(self, kind: str, verb: str = "", at: Argument | None = None, **fields: Any) -> None:
        """Add an effect. `at` is the argument that names its object; by default the whole call is meant."""
        start, end = self.analyzer.span or ((at.start, at.end) if at is not None else (self.start, self.end))
        last = len(self.analyzer.source)  # an unclosed line is analyzed with added quotes and is longer than the source
        found_only = (
            kind == "execute" and at is not None and at.why
        )  # only the place is known, not which file in it runs
        if at is not None and (not at.is_known or found_only) and "certainty" not in fields:
            fields |= {"certainty": Certainty.OPAQUE, "why": at.why}
        plain: dict[str, Any] = {
            name: value.replace(UNKNOWN_CHAR, UNKNOWN_TEXT) if type(value) is str else value
            for name, value in fields.items()
        }
        found = Effect(
            kind=kind,
            verb=(verb or self.name).replace(UNKNOWN_CHAR, UNKNOWN_TEXT),
            column_from=min(start, last),
            column_to=min(max(end, start), last),
            **plain,
        )
        self.effects.append(found)
        self.analyzer.effects.append(found)

    def resolve(self, at: Argument) -> str:
        """Return the absolute path of an argument."""
        return self.state.resolve(at.text)

    def add_delete(self, at: Argument, *, recursive: bool = False, verb: str = "") -> None:
        """Add the deletion of a path."""
        deep = recursive or self.state.walks_tree
        source = "selected" if self.state.walks_tree else ""
        self.add_effect("delete", verb, at, path=self.resolve(at), recursive=deep, writes=True, source=source)

    def add_write(self, at: Argument, *, recursive: bool = False, verb: str = "", source: str = "") -> None:
        """Add a write to a path, except to terminals and `/dev/null`."""
        path = self.resolve(at)
        if path == "/dev/null" or path.startswith(("/dev/std", "/dev/tty", "/dev/fd/")):
            return
        self.add_effect("write", verb, at, path=path, recursive=recursive, writes=True, source=source)

    def add_read(self, at: Argument, *, recursive: bool = False, verb: str = "") -> None:
        """Add a read of a path, except of pipes and `/dev/null`."""
        if at.pipe is not None:
            return  # a pipe of the same line
        path = self.resolve(at)
        if path != "/dev/null":
            self.add_effect("read", verb, at, path=path, recursive=recursive or self.state.walks_tree)

    def add_run(self, at: Argument, *, target: str = "") -> bool:
        """Add the execution of a file of code, and return whether this line wrote the file."""
        path = self.resolve(at)
        is_written = path in self.state.written_texts
        self.add_effect("execute", "run", at, path=path, source="written" if is_written else "file", target=target)
        return is_written

    def add_send(self, host: str, at: Argument | None = None, *, source: str = "", verb: str = "") -> None:
        """Add data that is sent to a host."""
        self.add_effect("send", verb, at, host=host, source=source)

    def add_opaque(self, why: str, at: Argument | None = None, kind: str = "execute", **fields: Any) -> None:
        """Add an effect that cannot be known from the line."""
        self.add_effect(kind, "", at, certainty=Certainty.OPAQUE, why=why, **fields)

    # Nested programs

    def analyze_command(
        self, words: Sequence[Argument], stdin: Stream | None = None, *, state: ShellState | None = None
    ) -> Stream:
        """Analyze another program that this one runs."""
        return self.analyzer.invoke(words, state or self.state, stdin if stdin is not None else self.stdin, self)

    def analyze_wrapped(self, words: Sequence[Argument]) -> Stream:
        """Analyze a program that replaces this one and inherits its variables."""
        return self.analyzer.invoke(words, self.state, self.stdin, self, inherited=self.assignments)

    def analyze_script(self, at: Argument, stdin: Stream | None = None, *, state: ShellState | None = None) -> Stream:
        """Analyze a text as a shell script, by default in a copy of the state."""
        if not at.is_known and at.text.strip(UNKNOWN_CHAR + " ") == "":
            self._add_unknown_script(at)
            return Stream()
        whole = at.stream is not None and (at.stream.text or "").strip() == at.text.strip()
        if at.stream is not None and whole and at.stream.origin in {"network", "decoded"}:
            self.add_effect("execute", "pipe", at, source=at.stream.origin)
        return self.analyzer.analyze_text(
            at, state or self.state.copy(), stdin if stdin is not None else self.stdin, self
        )

    def _add_unknown_script(self, at: Argument) -> None:
        """Add an effect for a script without any known part, depending on its origin."""
        if at.stream == SHELL_SETUP:
            return
        origin = at.stream.origin if at.stream is not None else ""
        if origin in {"network", "decoded"}:
            self.add_effect("execute", "pipe", at, source=origin, certainty=Certainty.KNOWN, why=at.why)
        else:
            source = "output" if at.stream is not None else "text"
            self.add_opaque(at.why or "the text of the script is not known", at, source=source)

    def print(self, text: str | None) -> None:
        """Set the output to a text, or to an unknown one."""
        self.stdout = Stream(text)


Handler = Callable[[Invocation], None]


def get_program_name(text: str) -> str:
    """Return the name of a program without directory and Windows extension."""
    name = text.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if name.lower().endswith((".exe", ".cmd", ".bat")):
        name = name[:-4]
    return name
