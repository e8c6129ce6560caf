"""Shells: the script comes from `-c`, a file or a pipe."""

from trotline.analysis.programs import SHELLS, find_stream
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream


def _handle_shell(call: Invocation) -> None:
    options = call.parse_options("o O rcfile init-file", stops=True)
    if options.has("n"):
        return  # it only checks the syntax
    for file in options.values("rcfile", "init-file"):
        _analyze_script_file(call, (file,))
    if options.has("c"):
        if options.rest:
            state = call.state.copy()
            state.args = options.rest[2:]
            state.script_name = options.rest[1].text if len(options.rest) > 1 else call.name
            call.stdout = call.analyze_script(options.rest[0], state=state)
        return
    words = options.rest
    while words and words[0].text[:1] in {"-", "+"}:  # `-` ends the options, and `+e` is one
        words = words[2 if words[0].text in {"+o", "+O"} else 1 :]
    if words and not options.has("s"):
        _analyze_script_file(call, words)
        return
    _analyze_script_stream(call, call.program, call.stdin)


def _analyze_script_file(call: Invocation, words: tuple[Argument, ...]) -> None:
    arg = words[0]
    stream, path = find_stream(call, arg), call.resolve(arg)
    if stream is not None:
        _analyze_script_stream(call, arg, stream)
    elif path not in call.state.written_texts:
        source = "unpacked" if call.state.is_unpacked(path) else "file"
        call.add_effect("execute", "run", arg, path=path, source=source)
    else:
        content = call.state.get_content(path)
        call.add_effect("execute", "run", arg, path=path, source="written")
        if content.text is None and content.origin == "file":
            call.add_opaque("a shell reads what a program of this line wrote", arg, source="output")
        _analyze_script_stream(call, arg, content, words[1:])


def _analyze_script_stream(call: Invocation, arg: Argument, stream: Stream, words: tuple[Argument, ...] = ()) -> None:
    """Analyze a script from a pipe: its text if it is known, and its origin if it is not."""
    origins = stream.origins
    if stream.text is None and stream.origin == "output":
        call.add_opaque("a shell reads what a program prints", arg, source="output")
    elif origins & {"network", "decoded"} or (stream.text is None and origins):
        path = stream.paths[0] if stream.paths else ""
        why = "a shell reads what comes through the pipe"
        call.add_effect("execute", "pipe", arg, source=stream.origin, path=path, why=why)
    if stream.text is not None and stream.text.strip():
        state = call.state.copy()
        state.args = words
        call.stdout = call.analyze_script(arg._replace(text=stream.text), Stream(), state=state)


PROGRAMS: dict[str, Handler] = dict.fromkeys(SHELLS, _handle_shell)
