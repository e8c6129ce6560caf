"""Where input comes from and where output goes: files, descriptors, connections, programs behind `>( ... )`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trotline.analysis.scene import Argument, Outputs, Scene
from trotline.analysis.shell import syntax
from trotline.analysis.step import Step
from trotline.analysis.streams import SILENT, UNSEEN, Stream, joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trotline.analysis.reading import Reading

SOCKETS = ("/dev/tcp/", "/dev/udp/")
"""Files that bash itself makes connections of."""
_CONNECTION = Stream(None, frozenset({"network"}))
_READS = frozenset({"<", "<>", "<&"})
_STANDARD = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def redirected(
    reading: Reading, redirects: Sequence[syntax.Redirect], scene: Scene, stdin: Stream
) -> tuple[Stream, Outputs]:
    """What standard input is then, and where the output goes."""
    plumbing = _Plumbing(reading, scene, stdin)
    for redirect in redirects:
        plumbing.lay(redirect)
    return plumbing.stdin, plumbing.outputs


def into(reading: Reading, outputs: Outputs, stream: Stream, scene: Scene) -> Stream:
    """What goes on after redirections: nothing, where it went to a file."""
    for target, appends in outputs:
        path = scene.opened(target)
        if path in scene.sinks:
            reading.script(scene.sinks[path], scene.apart(), stream)
        elif path.startswith(SOCKETS):
            step = Step(reading, scene, [Argument(">")], stream)
            if stream.carried:
                step.send(path.split("/")[3], source=stream.carried)
                reading.keep(step)
        else:
            before = scene.content(path) if appends and path in scene.written else SILENT
            scene.keep(path, joined([before, stream]))
    return SILENT if outputs else stream


class _Plumbing:
    """The redirections of one command, in their order."""

    def __init__(self, reading: Reading, scene: Scene, stdin: Stream) -> None:
        self.reading = reading
        self.scene = scene
        self.stdin = stdin
        self.outputs: Outputs = []

    def lay(self, redirect: syntax.Redirect) -> None:
        program = _program(redirect)
        if program is not None:
            self._to_program(redirect, program)
            return
        expansion = self.reading.expansion(self.scene)
        target = expansion.text(redirect.target)
        if redirect.document is not None:
            texts = [expansion.text(document) for document in redirect.document]
            self.stdin = _flowing(texts[0] if texts else Argument(""))
        elif redirect.operator == "<<<":
            self.stdin = _flowing(target)
        elif redirect.operator in {"<&", ">&"} and (target.text == "-" or target.text.isdigit()):
            self._same(redirect, target.text)
        else:
            self._file(redirect, target)

    def _to_program(self, redirect: syntax.Redirect, body: syntax.Script) -> None:
        path = self.scene.sink(body)
        if redirect.fd in {"", "1"}:
            self.outputs.append((path, True))
            return
        self.reading.script(body, self.scene.apart(), UNSEEN if redirect.fd == "2" else SILENT)
        _opened(redirect.fd, path, SILENT, self.scene)

    def _same(self, redirect: syntax.Redirect, fd: str) -> None:
        """`<&3`, `>&3`, `0>&1`: a descriptor under another number."""
        if fd == "1" and redirect.fd in {"0", ""} and any(path.startswith(SOCKETS) for path, _ in self.outputs):
            self.stdin = _CONNECTION
            return
        path, stream = self.scene.descriptors.get(fd, ("", self.stdin))
        if path and redirect.operator == ">&" and redirect.fd in {"", "1"}:
            self.outputs.append((path, True))
        if redirect.operator == "<&" and redirect.fd in {"", "0"}:
            self.stdin = stream

    def _file(self, redirect: syntax.Redirect, target: Argument) -> None:
        if not self.reading.has_room(target.start):
            return
        step = Step(self.reading, self.scene, [Argument(redirect.operator, target.start, target.end)], self.stdin)
        path = step.path(target)
        stream = self._flow(step, redirect, target, path)
        if step.effects:
            self.reading.keep(step)
        if redirect.fd in {"", "1"} and redirect.operator not in _READS:
            self.outputs.append((path, redirect.operator in {">>", "&>>"}))
        if not _opened(redirect.fd, path, stream, self.scene):
            self.stdin = stream

    def _flow(self, step: Step, redirect: syntax.Redirect, target: Argument, path: str) -> Stream:
        """What can be read there; whoever only writes goes on reading what it read before."""
        if path.startswith(SOCKETS):
            step.effect("connect", "socket", target, host=path.split("/")[3])
            outgoing = redirect.operator in {">", ">>", ">|", ">&", "&>", "&>>"}
            return self.stdin if outgoing and redirect.fd in {"", "1", "2"} else _CONNECTION
        if redirect.operator not in _READS:
            step.write(target)
            return self.stdin
        if target.pipe is not None:
            return target.pipe
        if path in _STANDARD:
            return self.stdin
        step.read(target)
        return self.scene.content(path) if path != "/dev/null" else SILENT


def _program(redirect: syntax.Redirect) -> syntax.Script | None:
    """The script in `> >( ... )`."""
    piece = redirect.target.pieces[0] if len(redirect.target.pieces) == 1 else None
    if redirect.operator in _READS or not isinstance(piece, syntax.Substitution) or piece.opener != ">(":
        return None
    return piece.body


def _flowing(target: Argument) -> Stream:
    origin = target.stream or Stream()
    return Stream(target.text, origin.origins, origin.paths)


def _opened(fd: str, path: str, stream: Stream, scene: Scene) -> bool:
    """Whether it is a descriptor of its own, which the line may name later; `{name}` puts its number in a variable."""
    if fd.startswith("{"):
        number = scene.open(path, stream)
        scene.set(fd.strip("{}"), (number,))
        return True
    if fd in {"", "0", "1", "2"}:
        return False
    scene.descriptors[fd] = (path, stream)
    return True
