"""Apply redirections: files, descriptors, network sockets, programs behind `>( ... )`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trotline.analysis.shell import syntax
from trotline.analysis.shell.invocation import Invocation
from trotline.analysis.shell.shell_state import Argument, Outputs, ShellState
from trotline.analysis.shell.streams import EMPTY_STREAM, UNKNOWN_STREAM, Stream, join_streams

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trotline.analysis.shell.shell_analyzer import ShellAnalyzer

SOCKETS = ("/dev/tcp/", "/dev/udp/")
"""Paths that bash opens as network connections."""
_CONNECTION = Stream(None, frozenset({"network"}))
_READS = frozenset({"<", "<>", "<&"})
_STDIN_PATHS = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def apply_redirects(
    analyzer: ShellAnalyzer, redirects: Sequence[syntax.Redirect], state: ShellState, stdin: Stream
) -> tuple[Stream, Outputs]:
    """Return standard input and the outputs of a command after its redirections."""
    reader = _RedirectReader(analyzer, state, stdin)
    for redirect in redirects:
        reader.read(redirect)
    return reader.stdin, reader.outputs


def route_output(analyzer: ShellAnalyzer, outputs: Outputs, stream: Stream, state: ShellState) -> Stream:
    """Send output to its targets and return what remains for the next command."""
    for target, appends in outputs:
        path = state.resolve_descriptor(target)
        if path in state.sinks:
            analyzer.analyze_script(state.sinks[path], state.copy_detached(), stream)
        elif path.startswith(SOCKETS):
            call = Invocation(analyzer, state, [Argument(">")], stream)
            if stream.effect_source:
                call.add_send(path.split("/")[3], source=stream.effect_source)
                analyzer.add_invocation(call)
        else:
            before = state.get_content(path) if appends and path in state.written_texts else EMPTY_STREAM
            state.record_write(path, join_streams([before, stream]))
    return EMPTY_STREAM if outputs else stream


class _RedirectReader:
    """Applies the redirections of one command in order."""

    def __init__(self, analyzer: ShellAnalyzer, state: ShellState, stdin: Stream) -> None:
        self.analyzer = analyzer
        self.state = state
        self.stdin = stdin
        self.outputs: Outputs = []

    def read(self, redirect: syntax.Redirect) -> None:
        program = _get_script(redirect)
        if program is not None:
            self._read_program(redirect, program)
            return
        expansion = self.analyzer.build_expansion(self.state)
        target = expansion.expand_text(redirect.target)
        if redirect.document is not None:
            texts = [expansion.expand_text(document) for document in redirect.document]
            self.stdin = _to_stream(texts[0] if texts else Argument(""))
        elif redirect.operator == "<<<":
            self.stdin = _to_stream(target)
        elif redirect.operator in {"<&", ">&"} and (target.text == "-" or target.text.isdigit()):
            self._duplicate_descriptor(redirect, target.text)
        else:
            self._open_file(redirect, target)

    def _read_program(self, redirect: syntax.Redirect, body: syntax.ShellScript) -> None:
        path = self.state.add_sink(body)
        if redirect.fd in {"", "1"}:
            self.outputs.append((path, True))
            return
        self.analyzer.analyze_script(
            body, self.state.copy_detached(), UNKNOWN_STREAM if redirect.fd == "2" else EMPTY_STREAM
        )
        _open_descriptor(redirect.fd, path, EMPTY_STREAM, self.state)

    def _duplicate_descriptor(self, redirect: syntax.Redirect, fd: str) -> None:
        """Duplicate a descriptor: `<&3`, `>&3`, `0>&1`."""
        if fd == "1" and redirect.fd in {"0", ""} and any(path.startswith(SOCKETS) for path, _ in self.outputs):
            self.stdin = _CONNECTION
            return
        path, stream = self.state.descriptors.get(fd, ("", self.stdin))
        if path and redirect.operator == ">&" and redirect.fd in {"", "1"}:
            self.outputs.append((path, True))
        if redirect.operator == "<&" and redirect.fd in {"", "0"}:
            self.stdin = stream

    def _open_file(self, redirect: syntax.Redirect, target: Argument) -> None:
        if not self.analyzer.has_room(target.start):
            return
        call = Invocation(
            self.analyzer, self.state, [Argument(redirect.operator, target.start, target.end)], self.stdin
        )
        path = call.resolve(target)
        stream = self._connect_file(call, redirect, target, path)
        if call.effects:
            self.analyzer.add_invocation(call)
        if redirect.fd in {"", "1"} and redirect.operator not in _READS:
            self.outputs.append((path, redirect.operator in {">>", "&>>"}))
        if not _open_descriptor(redirect.fd, path, stream, self.state):
            self.stdin = stream

    def _connect_file(self, call: Invocation, redirect: syntax.Redirect, target: Argument, path: str) -> Stream:
        """Return what the command reads afterwards."""
        if path.startswith(SOCKETS):
            call.add_effect("connect", "socket", target, host=path.split("/")[3])
            outgoing = redirect.operator in {">", ">>", ">|", ">&", "&>", "&>>"}
            return self.stdin if outgoing and redirect.fd in {"", "1", "2"} else _CONNECTION
        if redirect.operator not in _READS:
            call.add_write(target)
            return self.stdin
        if target.pipe is not None:
            return target.pipe
        if path in _STDIN_PATHS:
            return self.stdin
        call.add_read(target)
        return self.state.get_content(path) if path != "/dev/null" else EMPTY_STREAM


def _get_script(redirect: syntax.Redirect) -> syntax.ShellScript | None:
    """Return the script in `> >( ... )`, or None."""
    piece = redirect.target.pieces[0] if len(redirect.target.pieces) == 1 else None
    if redirect.operator in _READS or not isinstance(piece, syntax.SubstitutionPiece) or piece.opener != ">(":
        return None
    return piece.body


def _to_stream(target: Argument) -> Stream:
    origin = target.stream or Stream()
    return Stream(target.text, origin.origins, origin.paths)


def _open_descriptor(fd: str, path: str, stream: Stream, state: ShellState) -> bool:
    """Open a numbered descriptor and return True, or return False for a standard one. `{name}` stores the number."""
    if fd.startswith("{"):
        number = state.open_descriptor(path, stream)
        state.set(fd.strip("{}"), (number,))
        return True
    if fd in {"", "0", "1", "2"}:
        return False
    state.descriptors[fd] = (path, stream)
    return True
