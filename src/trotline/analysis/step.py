"""A program that would be run, with all that its line tells about it, and what was found that it would do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any

from trotline.analysis.options import NONE, Options, options
from trotline.analysis.scene import UNKNOWN, Argument, Scene
from trotline.analysis.streams import SETTINGS, Stream
from trotline.effects import Certainty, Effect

if TYPE_CHECKING:
    from trotline.analysis.reading import Reading

GAP = "…"
"""How a part that is not known is written in an effect."""


class Step:
    """What handlers of programs work on: they look at the words and say what these do."""

    def __init__(self, reading: Reading, scene: Scene, words: Sequence[Argument], stdin: Stream) -> None:
        self.reading = reading
        self.scene = scene
        self.program = words[0]
        self.name = program_name(words[0].text)
        self.words = list(words[1:])
        self.stdin = stdin
        self.given: dict[str, Argument] = {}  # variables set for this program, and for what it runs as it is
        self.out: Stream | None = None
        self.effects: list[Effect] = []
        self.inner: list[Step] = []

    @property
    def start(self) -> int:
        return self.program.start

    @property
    def end(self) -> int:
        return max([self.program.end, *(word.end for word in self.words)])

    def options(self, valued: Iterable[str] = NONE, *, stops: bool = False, long_dash: bool = False) -> Options:
        return options(self.words, valued, stops=stops, long_dash=long_dash)

    def variable(self, name: str) -> str:
        """What the program finds in its environment, as far as the line tells."""
        if name in self.given:
            return self.given[name].text
        value = self.scene.value(name) if name in self.scene.exported else None
        return value.texts[0] if value is not None and len(value.texts) == 1 else ""

    # What it would do

    def effect(self, kind: str, verb: str = "", at: Argument | None = None, **fields: Any) -> None:
        """Note an effect. `at` is the word that names its object; without one the whole program is meant."""
        start, end = self.reading.window or ((at.start, at.end) if at is not None else (self.start, self.end))
        last = len(self.reading.source)  # a line that was read as if it were closed is longer than what was written
        found_only = kind == "execute" and at is not None and at.why  # a place is known, not what in it is run
        if at is not None and (not at.known or found_only) and "certainty" not in fields:
            fields |= {"certainty": Certainty.OPAQUE, "why": at.why}
        plain: dict[str, Any] = {
            name: value.replace(UNKNOWN, GAP) if type(value) is str else value for name, value in fields.items()
        }
        found = Effect(
            kind=kind,
            verb=(verb or self.name).replace(UNKNOWN, GAP),
            column_from=min(start, last),
            column_to=min(max(end, start), last),
            **plain,
        )
        self.effects.append(found)
        self.reading.effects.append(found)

    def path(self, at: Argument) -> str:
        return self.scene.absolute(at.text)

    def delete(self, at: Argument, *, recursive: bool = False, verb: str = "") -> None:
        deep = recursive or self.scene.walks
        source = "selected" if self.scene.walks else ""
        self.effect("delete", verb, at, path=self.path(at), recursive=deep, writes=True, source=source)

    def write(self, at: Argument, *, recursive: bool = False, verb: str = "", source: str = "") -> None:
        path = self.path(at)
        if path == "/dev/null" or path.startswith(("/dev/std", "/dev/tty", "/dev/fd/")):
            return
        self.effect("write", verb, at, path=path, recursive=recursive, writes=True, source=source)

    def read(self, at: Argument, *, recursive: bool = False, verb: str = "") -> None:
        if at.pipe is not None:
            return  # a pipe of this very line
        path = self.path(at)
        if path != "/dev/null":
            self.effect("read", verb, at, path=path, recursive=recursive or self.scene.walks)

    def send(self, host: str, at: Argument | None = None, *, source: str = "", verb: str = "") -> None:
        self.effect("send", verb, at, host=host, source=source)

    def opaque(self, why: str, at: Argument | None = None, kind: str = "execute", **fields: Any) -> None:
        """Something happens here that nobody can know from this line."""
        self.effect(kind, "", at, certainty=Certainty.OPAQUE, why=why, **fields)

    # What it would run

    def run(self, words: Sequence[Argument], stdin: Stream | None = None, *, scene: Scene | None = None) -> Stream:
        """Another program, with these words."""
        return self.reading.invoke(words, scene or self.scene, stdin if stdin is not None else self.stdin, self)

    def carry(self, words: Sequence[Argument]) -> Stream:
        """Another program in its place, with the variables that were set for this one."""
        return self.reading.invoke(words, self.scene, self.stdin, self, inherited=self.given)

    def script(self, at: Argument, stdin: Stream | None = None, *, scene: Scene | None = None) -> Stream:
        """A text that a shell would read; in this scene if it is this shell, in a copy otherwise."""
        if not at.known and at.text.strip(UNKNOWN + " ") == "":
            self._unseen(at)
            return Stream()
        whole = at.stream is not None and (at.stream.text or "").strip() == at.text.strip()
        if at.stream is not None and whole and at.stream.origin in {"network", "decoded"}:
            self.effect("execute", "pipe", at, source=at.stream.origin)
        return self.reading.text(at, scene or self.scene.copy(), stdin if stdin is not None else self.stdin, self)

    def _unseen(self, at: Argument) -> None:
        """A script of which not one word is known: where it comes from is what counts."""
        if at.stream == SETTINGS:
            return
        origin = at.stream.origin if at.stream is not None else ""
        if origin in {"network", "decoded"}:
            self.effect("execute", "pipe", at, source=origin, certainty=Certainty.KNOWN, why=at.why)
        else:
            source = "output" if at.stream is not None else "text"
            self.opaque(at.why or "the text of the script is not known", at, source=source)

    def print(self, text: str | None) -> None:
        self.out = Stream(text)


Handler = Callable[[Step], None]


def program_name(text: str) -> str:
    """What tables call a program: its file's name, without what Windows adds."""
    name = text.replace("\\", "/").rstrip("/").rpartition("/")[2]
    if name.lower().endswith((".exe", ".cmd", ".bat")):
        name = name[:-4]
    return name
