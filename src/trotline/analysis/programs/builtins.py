"""Builtins of the shell, which change its state, print known text, or run another text as a script."""

from functools import partial
from itertools import pairwise

from trotline.analysis.options import parse_options
from trotline.analysis.programs import join_words, print_variables, replaces_program
from trotline.analysis.programs.phrases import expand_names
from trotline.analysis.shell.expansion import get_arithmetic_script, get_subscript_script
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_escapes import decode_echo, format_printf
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import EMPTY_STREAM, SHELL_SETUP, Stream
from trotline.analysis.windows.windows_words import restore_backslashes, to_posix_path
from trotline.formats.lazy_regex import lazy_regex

_ESCAPED_TEXT = lazy_regex(r"(?:\\x[0-9a-fA-F]{2}|\\0?[0-7]{3}){3}")
"""Three characters in a row written as numbers. A colour code has one; a hidden word has more."""


MAX_LINES = 16
"""Lines for which `mapfile -C` is analyzed; the rest is assumed to be like them."""


def _handle_cd(call: Invocation) -> None:
    words = parse_options(call.args).rest
    state = call.state
    target = words[0].text if words else state.environment.home
    state.previous_cwd, before = state.cwd, state.previous_cwd
    state.cwd = before if target == "-" else state.resolve(target)


def _handle_popd(call: Invocation) -> None:
    call.state.cwd, call.state.previous_cwd = call.state.previous_cwd, call.state.cwd


def _handle_echo(call: Invocation) -> None:
    words = [word.text for word in call.args]
    flags = []
    while words and len(words[0]) > 1 and words[0][0] == "-" and set(words[0][1:]) <= set("neE"):
        flags.append(words.pop(0))
    text = " ".join(words)
    if any("e" in flag for flag in flags):
        text = decode_echo(text)
    call.stdout = _build_output(call, text + ("" if any("n" in flag for flag in flags) else "\n"))


def _handle_printf(call: Invocation) -> None:
    words = call.args
    if words and words[0].text == "-v" and len(words) > 2:
        _analyze_variable_name(call, words[1])
        call.state.set(words[1].text, (format_printf(words[2].text, [word.text for word in words[3:]]),))
        call.stdout = EMPTY_STREAM
        return
    words = words[1:] if words and words[0].text == "--" else words
    text = format_printf(words[0].text, [word.text for word in words[1:]]) if words else ""
    call.stdout = _build_output(call, text)
    if words and _ESCAPED_TEXT.search(words[0].text):
        call.stdout = call.stdout.add_origins("decoded")


def _build_output(call: Invocation, text: str) -> Stream:
    """Return a printed text with the origins of its parts."""
    sources = [word.stream for word in call.args if word.stream is not None]
    origins = frozenset().union(*(source.origins for source in sources))
    paths = tuple(path for source in sources for path in source.paths)
    return Stream(text, origins, paths)


def _handle_pwd(call: Invocation) -> None:
    call.print(call.state.cwd + "\n")


def _handle_which(call: Invocation) -> None:
    names = parse_options(call.args).rest
    call.print("".join(f"{name.text}\n" for name in names))


def _handle_type(call: Invocation) -> None:
    """Handle `type NAME`, which looks up a name, and `type FILE` of Windows, with `\\` or `%` in the path."""
    files = [word for word in call.args if {"\\", "%"} & {*restore_backslashes(call, word).text}]
    for file in files:
        call.add_read(to_posix_path(call, file), verb="type")
    if not files:
        _handle_which(call)


def _handle_command(call: Invocation) -> None:
    options = call.parse_options("p", stops=True) if call.name == "builtin" else call.parse_options(stops=True)
    if options.has("v", "V"):
        _handle_which(call)
    elif options.rest:
        call.stdout = call.analyze_command(options.rest)


def _handle_exec(call: Invocation) -> None:
    options = call.parse_options("a", stops=True)
    call.stdout = call.analyze_command(options.rest) if options.rest else EMPTY_STREAM


def _handle_eval(call: Invocation) -> None:
    words = call.args[1:] if call.args and call.args[0].text == "--" else call.args
    if words:
        call.stdout = call.analyze_script(join_words(words), state=call.state)


def _handle_source(call: Invocation) -> None:
    if not call.args:
        return
    arg = call.args[0]
    if arg.pipe is not None:
        _analyze_sourced(call, arg, arg.pipe)
        return
    path = call.resolve(arg)
    if path in call.state.written_texts:
        _analyze_sourced(call, arg, call.state.get_content(path))
    elif path in {"/dev/stdin", "/proc/self/fd/0"}:
        _analyze_sourced(call, arg, call.stdin)
    else:
        call.add_effect("execute", "source", arg, path=path, source="file")


def _analyze_sourced(call: Invocation, arg: Argument, stream: Stream) -> None:
    if stream == SHELL_SETUP:
        return
    if stream.text is None or "network" in stream.origins:
        call.add_opaque("what is read as a script is not in this line", arg, source=stream.origin)
    if stream.text is None:
        return
    call.stdout = call.analyze_script(arg._replace(text=stream.text), state=call.state)


def _analyze_variable_name(call: Invocation, word: Argument) -> None:
    """Analyze the commands in the subscript of a variable name: `a[$(x)]`."""
    script = get_subscript_script(word)
    if script is not None:
        call.analyze_script(script, EMPTY_STREAM)


def _handle_declare(call: Invocation) -> None:
    assignments: dict[str, Argument] = {}
    options = parse_options(call.args)
    is_export = call.name in {"export", "readonly"}
    is_removed = is_export and options.has("n")
    for word in options.rest:
        _analyze_variable_name(call, word)
        name, equals, value = word.text.partition("=")
        if not is_export and not options.has("g"):
            call.state.declare_local(name)
        if equals and options.has("n") and not is_export:
            call.state.name_references[name] = value
        elif equals and name.isidentifier():
            call.state.set(name, (value,), stream=word.stream)
            assignments[name] = word._replace(text=value)
        if is_removed:
            call.add_effect("environment", "unset", word, target=name)
        if call.name == "export":
            call.state.exported = call.state.exported - {name} if is_removed else call.state.exported | {name}
    if assignments:
        call.analyzer.analyze_assignments(call, assignments)
    if not options.rest and (not call.args or call.args[0].text in {"-p", "-x"}):
        print_variables(call)


def _handle_unset(call: Invocation) -> None:
    for word in parse_options(call.args).rest:
        _analyze_variable_name(call, word)
        call.state.variables.pop(word.text, None)
        call.state.functions.pop(word.text, None)
        call.add_effect("environment", "unset", word, target=word.text)


def _handle_yes(call: Invocation) -> None:
    call.print((" ".join(word.text for word in call.args) or "y") + "\n")


def _handle_read(call: Invocation) -> None:
    options = call.parse_options("p d n t u a N i")
    _, source = call.state.descriptors.get(options.value("u"), ("", call.stdin))
    lines = source.text.splitlines() if source.text is not None else None
    lines = list(source.listed_paths) if lines is None and source.listed_paths else lines
    first = lines[0] if lines else UNKNOWN_CHAR
    for name in options.rest or (Argument("REPLY"),):
        texts = tuple(lines) if lines and len(options.rest) < 2 else (first,)
        _analyze_variable_name(call, name)
        call.state.set(name.text, texts, stream=source if source.origins else None)


def _handle_mapfile(call: Invocation) -> None:
    """`mapfile -C` calls a program for each line."""
    options = call.parse_options("d n O s u C c")
    lines = (call.stdin.text or "").splitlines()
    for arg in options.values("C"):
        for line in lines[:MAX_LINES] or [UNKNOWN_CHAR]:
            call.analyze_script(arg._replace(text=f"{arg.text} 0 {line}"), Stream())
    for name in options.rest[:1]:
        _analyze_variable_name(call, name)
        stream = call.stdin if call.stdin.origins else None
        call.state.set(name.text, tuple(lines) or (UNKNOWN_CHAR,), array=True, stream=stream)


def _handle_bind(call: Invocation) -> None:
    """`complete -C` and `bind -x` set a command that runs when a key is pressed."""
    options = call.parse_options("A C F G P S W X o f m q r u x")
    for arg in options.values("C", "x"):
        text = arg.text.partition(":")[2] if call.name == "bind" else arg.text
        call.analyze_script(arg._replace(text=text.strip().strip("\"'")), Stream())


def _handle_enable(call: Invocation) -> None:
    """`enable -f` loads a library into this shell."""
    for arg in call.parse_options("f").values("f"):
        call.add_effect("execute", "load", arg, path=call.resolve(arg), source="file")


def _handle_alias(call: Invocation) -> None:
    for word in parse_options(call.args).rest:
        name, equals, value = word.text.partition("=")
        if equals:
            call.add_effect("environment", "alias", word, target=name, source=value)
            if replaces_program(name):
                call.analyze_script(word._replace(text=value), Stream())  # runs in place of the program
            call.state.aliases[name] = value


def _handle_trap(call: Invocation) -> None:
    words = parse_options(call.args).rest
    if len(words) > 1 and words[0].text not in {"", "-"}:
        call.analyze_script(words[0])


def _handle_set(call: Invocation) -> None:
    if not call.args:
        print_variables(call)
        return
    texts = [word.text for word in call.args]
    if texts[:2] in (["+o", "history"], ["+H"]):
        call.add_effect("system", "erase log", target="the history of the shell", writes=True)
    if "--" in texts:
        call.state.args = tuple(call.args[texts.index("--") + 1 :])


def _handle_shift(call: Invocation) -> None:
    count = call.args[0].text if call.args else "1"
    call.state.args = (call.state.args or ())[int(count) if count.isdecimal() else 1 :]


def _handle_let(call: Invocation) -> None:
    for word in call.args:
        script = get_arithmetic_script(word)
        if script is not None:
            call.analyze_script(script, EMPTY_STREAM)


def _handle_test(call: Invocation) -> None:
    for before, word in pairwise(call.args):
        if before.text == "-v":
            _analyze_variable_name(call, word)


def _handle_hash(call: Invocation) -> None:
    """`hash -p FILE NAME` makes a name run a file."""
    options = call.parse_options("p")
    for file in options.values("p"):
        for name in options.rest:
            call.state.aliases[name.text] = file.text


def _handle_silently(call: Invocation, *, handler: Handler | None = None) -> None:
    """Run the handler of a builtin that prints nothing unless its handler says so."""
    call.stdout = EMPTY_STREAM
    if handler is not None:
        handler(call)


_SILENT = {
    ": false true unalias": None,
    "[ test": _handle_test,
    "alias": _handle_alias,
    "bind complete": _handle_bind,
    "cd chdir pushd": _handle_cd,
    "declare export local readonly typeset": _handle_declare,
    "enable": _handle_enable,
    "hash": _handle_hash,
    "let": _handle_let,
    "mapfile readarray": _handle_mapfile,
    "popd": _handle_popd,
    "read": _handle_read,
    "set": _handle_set,
    "shift": _handle_shift,
    "trap": _handle_trap,
    "unset": _handle_unset,
}

PROGRAMS: dict[str, Handler] = {
    **{name: partial(_handle_silently, handler=handler) for name, handler in expand_names(_SILENT).items()},
    **dict.fromkeys(". source".split(), _handle_source),
    **dict.fromkeys("builtin command".split(), _handle_command),
    "echo": _handle_echo,
    "eval": _handle_eval,
    "exec": _handle_exec,
    "printf": _handle_printf,
    "pwd": _handle_pwd,
    "type": _handle_type,
    "which": _handle_which,
    "yes": _handle_yes,
}
