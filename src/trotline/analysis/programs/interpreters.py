"""Interpreters: code comes from an option, a file or a pipe."""

from typing import NamedTuple

from trotline.analysis.network_addresses import get_host
from trotline.analysis.options import ParsedOptions, parse_options
from trotline.analysis.programs import find_stream, is_known_program
from trotline.analysis.shell.invocation import Handler, Invocation, get_program_name
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import EMPTY_STREAM, Stream
from trotline.domain.effects import Certainty
from trotline.formats.lazy_regex import lazy_regex


class Interpreter(NamedTuple):
    """The options of an interpreter that hold or name code."""

    language: str
    code: str = "e"  # options whose value is code
    valued: str = ""  # other options that take a value
    loads: str = ""  # options that name code to load first
    verbs: str = ""  # words before the file: `deno run`


_INTERPRETER_ROWS = {
    "bun": Interpreter("javascript", "e eval p print", "c cwd config", "r preload", "run test x"),
    "deno": Interpreter("javascript", "", "c config import-map lock reload ext", verbs="run eval test bench serve"),
    "elixir": Interpreter("others", "e eval", "r pr S"),
    "ghc": Interpreter("others", "e", "package o"),
    "ghci": Interpreter("others", "e", "package"),
    "gnuplot": Interpreter("others", "e", "c"),
    "groovy": Interpreter("others", "e", "cp classpath D"),
    "irb": Interpreter("ruby", "e", "r I"),
    "jshell": Interpreter("others", "", "class-path C R feedback", "startup"),
    "julia": Interpreter("others", "e E eval print", "p t L project threads", "L load"),
    "lua luajit": Interpreter("lua", "e", "l"),
    "node nodejs": Interpreter(
        "javascript", "e eval p print pe", "C conditions env-file", "r require import loader experimental-loader"
    ),
    "octave octave-cli": Interpreter("others", "eval", "path p"),
    "perl": Interpreter("perl", "e E", "I M m x C D 0 F l i"),
    "php": Interpreter("php", "r B R E run", "c d z S t"),
    "R": Interpreter("r", "e", "f file"),
    "Rscript": Interpreter("r", "e", "default-packages"),
    "ruby": Interpreter("ruby", "e", "I C E x F r K W"),
    "runghc runhaskell": Interpreter("others", ""),
    "scala": Interpreter("others", "e", "cp classpath"),
    "swift": Interpreter("others", "e", "I L F"),
    "ts-node": Interpreter("javascript", "e eval p print", "P project", "r require"),
    "tsx": Interpreter("javascript", "e eval p print", "", "r require import"),
}
INTERPRETERS = {name: row for names, row in _INTERPRETER_ROWS.items() for name in names.split()}
PYTHONS = "bpython ipython ipython3 jython micropython py pypy pypy3 python python2 python3 pythonw".split()
_INTERPRETERS_BY_LOWER_NAME = {name.lower(): row for name, row in INTERPRETERS.items()}


# Sources of code


def _analyze_code(call: Invocation, arg: Argument, language: str, words: tuple[Argument, ...] = ()) -> None:
    if language == "python":
        from trotline.analysis.code import python_code  # noqa: PLC0415 - brings Python's own parser, which most lines do not need

        python_code.analyze_python(call, arg, arg.text, words)
        return
    from trotline.analysis.code.code_effects import CodeEffects  # noqa: PLC0415 - only for lines with code
    from trotline.analysis.code.code_scanner import scan_code  # noqa: PLC0415 - only for lines with code
    from trotline.analysis.code.languages import load_languages  # noqa: PLC0415 - only for lines with code

    row = load_languages()[language]
    effects = CodeEffects(call, arg, lambda inner, text: scan_code(inner, text, row))
    scan_code(effects, arg.text, row)
    call.stdout = effects.get_output()


def _analyze_code_text(call: Invocation, arg: Argument, language: str, words: tuple[Argument, ...] = ()) -> None:
    """Analyze code in an argument; code without any known part is opaque."""
    stream = arg.stream
    if stream is not None and stream.origins & {"network", "decoded"}:
        _add_foreign_code(call, arg, stream)
    if not arg.is_known and not arg.text.strip("\0 \n;"):
        if stream is None or not stream.origins & {"network", "decoded"}:
            call.add_opaque(arg.why or "the code is not in this line", arg, source="text")
        return
    _analyze_code(call, arg, language, words)


def _add_foreign_code(call: Invocation, arg: Argument, stream: Stream) -> None:
    path = stream.paths[0] if stream.paths else ""
    why = f"{call.name} runs what comes through the pipe"
    call.add_effect("execute", "pipe", arg, source=stream.origin, path=path, why=why, certainty=Certainty.KNOWN)


def _analyze_code_stream(
    call: Invocation, arg: Argument, stream: Stream, language: str, words: tuple[Argument, ...] = ()
) -> None:
    """Analyze code that comes through a pipe."""
    if stream.origins & {"network", "decoded"} or (stream.text is None and stream.origins):
        _add_foreign_code(call, arg, stream)
    if stream.text is not None and stream.text.strip():
        _analyze_code(call, arg._replace(text=stream.text, stream=None), language, words)


def analyze_code_file(call: Invocation, words: tuple[Argument, ...], language: str) -> None:
    """Analyze a file of code; the first word is the file, the others are its arguments."""
    arg = words[0]
    stream = find_stream(call, arg)
    if stream is not None:
        _analyze_code_stream(call, arg, stream, language, words[1:])
        return
    if "://" in arg.text:
        host = get_host(arg.text)
        call.add_effect("fetch", "load", arg, host=host, target=arg.text)
        call.add_effect("execute", "run", arg, source="network", target=arg.text, host=host)
        return
    is_written = call.add_run(arg)
    call.stdout = Stream()
    if is_written:
        _analyze_code_stream(call, arg, call.state.get_content(call.resolve(arg)), language, words[1:])
    elif is_known_program(get_program_name(arg.text)):
        call.stdout = call.analyze_wrapped(words)


# Python


def _handle_python(call: Invocation) -> None:
    options = call.parse_options("c m W X Q check-hash-based-pycs", stops=True)
    for index, word in enumerate(call.args):  # `-c` and `-m` end the options of Python
        if not word.text.startswith("-") or word.text == "-":
            break
        letters = word.text[1:]
        if not word.text.startswith("--") and ("c" in letters or "m" in letters) and letters[:1] not in "WX":
            _analyze_python_option(call, index)
            return
    if options.rest:
        analyze_code_file(call, options.rest, "python")
    elif not options.has("V", "version", "h", "help"):
        _analyze_code_stream(call, call.program, call.stdin, "python")


def _analyze_python_option(call: Invocation, index: int) -> None:
    """Analyze `-c CODE` or `-m MODULE`, also within a bundle of letters."""
    word, following = call.args[index], tuple(call.args[index + 1 :])
    letters = word.text[1:]
    option = min(place for place in (letters.find("c"), letters.find("m")) if place >= 0)
    value, rest = word._replace(text=letters[option + 1 :]), following
    if not value.text:
        if not following:
            return
        value, rest = following[0], following[1:]
    if letters[option] == "c":
        _analyze_code_text(call, value, "python", rest)
    else:
        _analyze_python_module(call, value, rest)


_PYTHON_TOOLS = frozenset("pip pip3 black build coverage flake8 mypy pytest pipx poetry uv ruff tox twine".split())
_MODULE_PROGRAMS = {
    **{name: name for name in "aerich alembic ansible flask".split()},
    "awscli": "aws",
    "django": "django-admin",
    "manage": "manage.py",
}
"""Modules that are also programs, with the name of the program."""
_SERVER_MODULES = frozenset("http.server SimpleHTTPServer pyftpdlib smtpd".split())
_ALL_ADDRESSES = "0.0.0.0"  # noqa: S104 - the default of these modules
_HARMLESS_MODULES = frozenset("calendar this ast dis tokenize platform sysconfig site".split())


def _analyze_python_module(call: Invocation, arg: Argument, rest: tuple[Argument, ...]) -> None:
    """Analyze `-m MODULE`: a tool, a part of the standard library, or code of the project."""
    name = arg.text
    if name in _PYTHON_TOOLS:
        call.stdout = call.analyze_wrapped([arg, *rest])
    elif name in _SERVER_MODULES:
        bound = [rest[i + 1].text for i, word in enumerate(rest[:-1]) if word.text in {"-b", "--bind"}]
        address = bound[0] if bound else _ALL_ADDRESSES
        call.add_effect("connect", "listen", arg, host=address, target=name)
    elif name == "timeit":
        options = parse_options(list(rest), "n r s u number repeat setup unit")
        for code in (*options.values("s", "setup"), *options.rest):
            _analyze_code_text(call, code, "python")
    elif name in {"venv", "virtualenv"}:
        for word in rest:
            if not word.text.startswith("-"):
                call.add_write(word, verb="touch")
    elif name in {"zipfile", "tarfile", "gzip", "base64", "json.tool"}:
        _analyze_archive_module(call, name, rest)
    elif name in _MODULE_PROGRAMS:
        call.stdout = call.analyze_wrapped([arg._replace(text=_MODULE_PROGRAMS[name]), *rest])
    elif name not in _HARMLESS_MODULES:
        call.add_effect("execute", "module", arg, source="file", target=name)
        _add_listeners(call, arg, rest)
    # What we did not analyze as a program passes its input on in an unknown form.
    if name not in _PYTHON_TOOLS and name not in _MODULE_PROGRAMS:
        call.stdout = call.stdin.drop_text()


def _add_listeners(call: Invocation, arg: Argument, rest: tuple[Argument, ...]) -> None:
    """Add the addresses of `--host`, `--bind` or `--listen`, if they are open to all."""
    options = parse_options(rest, "host bind listen")
    for address in options.values("host", "bind", "listen"):
        if address.text.startswith((_ALL_ADDRESSES, "[::]", "::")):
            call.add_effect("connect", "listen", arg, host=_ALL_ADDRESSES, target=arg.text)


def _analyze_archive_module(call: Invocation, name: str, rest: tuple[Argument, ...]) -> None:
    files = [word for word in rest if not word.text.startswith("-")]
    for file in files[:1]:
        call.add_read(file, verb=name)
    for file in files[1:2]:
        call.add_write(file, verb=name)


# Other languages


def handle_interpreter(call: Invocation) -> None:
    """Analyze the code that an interpreter runs."""
    name = call.name.lower()
    unversioned_name = name.rstrip("0123456789.-")  # `ruby3.2` is `ruby`
    row = _INTERPRETERS_BY_LOWER_NAME.get(name) or _INTERPRETERS_BY_LOWER_NAME[unversioned_name]
    verb = call.args[0].text if call.args and call.args[0].text in row.verbs.split() else ""
    options = _parse_interpreter_options(call, row)
    _add_loaded_code(call, options, row)
    if row.language == "php" and options.has("S"):
        address, _, port = options.value("S").rpartition(":")
        call.add_effect("connect", "listen", host=address, target=port)
    codes = options.values(*row.code.split())
    files = options.rest[1:] if verb else options.rest
    if verb == "eval":  # `deno eval CODE`
        codes, files = list(files[:1]), ()
    for code in codes:
        _analyze_code_text(call, code, row.language, files)
    if row.language in {"perl", "ruby"} and codes:
        _analyze_edited_files(call, options, files)
    # bun and deno also take words such as `install`; without a verb, only a word with a dot is a file.
    elif not codes and files and (verb or not row.verbs or "." in files[0].text):
        analyze_code_file(call, files, row.language)
    # With `-S`, php is a server that does not read code from the standard input.
    elif not codes and not files and not options.has("v", "V", "version", "h", "help", "S"):
        _analyze_code_stream(call, call.program, call.stdin, row.language)


def _parse_interpreter_options(call: Invocation, row: Interpreter) -> ParsedOptions:
    if row.language not in {"perl", "ruby"} or call.name == "irb":
        return call.parse_options(f"{row.code} {row.valued} {row.loads}", stops=not row.verbs)
    flags: dict[str, list[Argument | None]] = {}
    queue = list(call.args)
    while queue and len(queue[0].text) > 1 and queue[0].text.startswith("-"):
        word = queue.pop(0)
        if word.text == "--":
            break
        _parse_switches(word, row, queue, flags)
    return ParsedOptions(flags, tuple(queue))


def _parse_switches(
    word: Argument, row: Interpreter, queue: list[Argument], flags: dict[str, list[Argument | None]]
) -> None:
    """Parse `-lane`, `-i.bak`, `-Mstrict`: some letters take the rest of the word or the next word as their value."""
    letters = word.text[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        values = flags.setdefault(letter, [])
        if letter in row.code.split() or (letter in "Ir" and not letters):
            rest = word._replace(text=letters) if letters else queue.pop(0) if queue else None
            values.append(rest)
            return
        values.append(None)
        if letter in row.valued.split() and letter not in "0l":
            return
        letters = letters.lstrip("0123456789") if letter in "0l" else letters


def _add_loaded_code(call: Invocation, options: ParsedOptions, row: Interpreter) -> None:
    for word in options.values(*row.loads.split()):
        if word.text.startswith((".", "/", "http")):
            call.add_effect("execute", "load", word, path=call.resolve(word), source="file")


def _analyze_edited_files(call: Invocation, options: ParsedOptions, files: tuple[Argument, ...]) -> None:
    """Add the files that `perl -ne` reads and `perl -pi -e` edits."""
    if not options.has("n", "p", "i"):
        return
    for file in files:
        call.add_read(file)
        if options.has("i"):
            call.add_write(file, verb="edit")
    if not options.has("i"):
        call.stdout = call.stdin.drop_text()


# Tcl

_TCL_COMMAND = lazy_regex(
    r"(?:^|[;\[{\n])[ \t]*(?:(?:eval|catch|uplevel|after[ \t]+\w+)[ \t]+\{?)*"
    r"(?P<name>exec|file[ \t]+delete|open[ \t]+\"?\|)(?P<rest>[^\n;\]]*)"
)


def _handle_tcl(call: Invocation) -> None:
    files = call.parse_options("encoding").rest
    call.stdout = EMPTY_STREAM
    if not files:
        if call.stdin.origins & {"network", "decoded"}:
            why = f"{call.name} runs what comes through the pipe"
            call.add_effect("execute", "pipe", source=call.stdin.origin, why=why)
        _analyze_tcl(call, call.program._replace(text=call.stdin.text or ""))
        return
    call.add_run(files[0])
    _analyze_tcl(call, files[0]._replace(text=call.state.written_texts.get(call.resolve(files[0])) or ""))


def _analyze_tcl(call: Invocation, arg: Argument) -> None:
    for match in _TCL_COMMAND.finditer(arg.text):
        rest = match["rest"].strip().rstrip('}"')
        line = f"rm -rf {rest.removeprefix('-force')}" if match["name"].startswith("file") else rest
        call.analyze_script(arg._replace(text=line))


# AppleScript

_APPLESCRIPT_SHELL = lazy_regex(r'(?i)do\s*(?:shell\s*)?script\s*(?:\(\s*)?"((?:[^"\\]|\\.)*)"')
_HIDDEN_ANSWER = lazy_regex(r"(?i)hidden answer")


def _handle_osascript(call: Invocation) -> None:
    options = call.parse_options("e l s i")
    texts = options.values("e") or [call.program._replace(text=call.stdin.text or "")]
    is_piped = not options.has("e") and (not options.rest or options.rest[0].text == "-")
    if is_piped and call.stdin.origins & {"network", "decoded"}:
        call.add_effect("execute", "pipe", source=call.stdin.origin, why="osascript runs what comes through the pipe")
    for arg in texts:
        for match in _APPLESCRIPT_SHELL.finditer(arg.text):
            call.analyze_script(arg._replace(text=match[1].replace('\\"', '"').replace("\\\\", "\\")))
        if _HIDDEN_ANSWER.search(arg.text):
            call.add_effect("read", "secret", arg, target="a password that the person is asked for")
        if "administrator privileges" in arg.text.lower():
            call.add_effect("privilege", "osascript", arg)
    for arg in options.rest[:1] if not options.has("e") else ():
        call.add_run(arg)


# Java


def _handle_java(call: Invocation) -> None:
    options = call.parse_options("jar cp classpath p m module-path D", stops=True, long_dash=True)
    texts = [word.text for word in call.args]
    if "-jar" in texts[:-1]:
        jar, *rest = call.args[texts.index("-jar") + 1 :]
        call.add_run(jar)
        name = get_program_name(jar.text).removesuffix(".jar")
        call.analyze_command([jar._replace(text=name), *rest])  # `jenkins-cli.jar` has a handler
        return
    if options.rest and options.rest[0].text.endswith(".java"):
        call.add_run(options.rest[0])


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys(PYTHONS, _handle_python),
    **dict.fromkeys(
        INTERPRETERS.keys() - {"bun", "deno"}, handle_interpreter
    ),  # these are in the family of package managers
    "java": _handle_java,
    "osascript": _handle_osascript,
    **dict.fromkeys(("tclsh", "wish"), _handle_tcl),
}
