"""Programs that run code: its text comes by an option, from a file, or through a pipe."""

from typing import NamedTuple

from trotline.analysis.addresses import host_of
from trotline.analysis.options import Options, options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step, program_name
from trotline.analysis.streams import Stream
from trotline.analysis.tools import knows
from trotline.effects import Certainty


class Runs(NamedTuple):
    """How an interpreter gets its code."""

    language: str
    code: str = "e"  # options whose value is code
    valued: str = ""  # other options that take a value
    loads: str = ""  # options that name code to be loaded first
    verbs: str = ""  # words before the file: `deno run`
    long_dash: bool = False


_NODE = Runs("javascript", "e eval p print pe", "C conditions env-file", "r require import loader experimental-loader")
_DENO = Runs("javascript", "", "c config import-map lock reload ext", verbs="run eval test bench serve")
_BUN = Runs("javascript", "e eval p print", "c cwd config", "r preload", "run test x")
_PERL = Runs("perl", "e E", "I M m x C D 0 F l i", "")
_RUBY = Runs("ruby", "e", "I C E x F r K W")

INTERPRETERS = {
    "bun": _BUN,
    "deno": _DENO,
    "elixir": Runs("others", "e eval", "r pr S"),
    "gnuplot": Runs("others", "e", "c"),
    "ghc": Runs("others", "e", "package o"),
    "ghci": Runs("others", "e", "package"),
    "groovy": Runs("others", "e", "cp classpath D"),
    "irb": Runs("ruby", "e", "r I"),
    "jshell": Runs("others", "", "class-path C R feedback", "startup"),
    "julia": Runs("others", "e E eval print", "p t L project threads", "L load"),
    "lua": Runs("lua", "e", "l"),
    "luajit": Runs("lua", "e", "l"),
    "node": _NODE,
    "octave": Runs("others", "eval", "path p"),
    "octave-cli": Runs("others", "eval", "path p"),
    "nodejs": _NODE,
    "perl": _PERL,
    "php": Runs("php", "r B R E run", "c d z S t", "", long_dash=False),
    "Rscript": Runs("r", "e", "default-packages"),
    "R": Runs("r", "e", "f file"),
    "ruby": _RUBY,
    "runghc": Runs("others", "", ""),
    "runhaskell": Runs("others", "", ""),
    "scala": Runs("others", "e", "cp classpath"),
    "swift": Runs("others", "e", "I L F"),
    "ts-node": Runs("javascript", "e eval p print", "P project", "r require"),
    "tsx": Runs("javascript", "e eval p print", "", "r require import"),
}
PYTHONS = "bpython ipython ipython3 jython micropython py pypy pypy3 python python2 python3 pythonw".split()
_LOWER = {name.lower(): row for name, row in INTERPRETERS.items()}


# Where code comes from


def _read(step: Step, at: Argument, language: str, words: tuple[Argument, ...] = ()) -> None:
    if language == "python":
        from trotline.analysis.code import python  # noqa: PLC0415 - brings Python's own parser, which most lines do not need

        python.read(step, at, at.text, words)
        return
    from trotline.analysis.code.deeds import Deeds  # noqa: PLC0415 - only for lines with code
    from trotline.analysis.code.languages import LANGUAGES  # noqa: PLC0415 - only for lines with code
    from trotline.analysis.code.scan import scan  # noqa: PLC0415 - only for lines with code

    row = LANGUAGES[language]
    deeds = Deeds(step, at, lambda inner, text: scan(inner, text, row))
    scan(deeds, at.text, row)
    step.out = deeds.output()


def _text(step: Step, at: Argument, language: str, words: tuple[Argument, ...] = ()) -> None:
    """Code that stands in the line; nothing can be said of code that is wholly unknown."""
    stream = at.stream
    if stream is not None and stream.origins & {"network", "decoded"}:
        _foreign(step, at, stream)
    if not at.known and not at.text.strip("\0 \n;"):
        if stream is None or not stream.origins & {"network", "decoded"}:
            step.opaque(at.why or "the code is not in this line", at, source="text")
        return
    _read(step, at, language, words)


def _foreign(step: Step, at: Argument, stream: Stream) -> None:
    path = stream.paths[0] if stream.paths else ""
    why = f"{step.name} runs what comes through the pipe"
    step.effect("execute", "pipe", at, source=stream.origin, path=path, why=why, certainty=Certainty.KNOWN)


def _stream(step: Step, at: Argument, stream: Stream, language: str, words: tuple[Argument, ...] = ()) -> None:
    """Code that comes through a pipe."""
    if stream.origins & {"network", "decoded"} or (stream.text is None and stream.origins):
        _foreign(step, at, stream)
    if stream.text is not None and stream.text.strip():
        _read(step, at._replace(text=stream.text, stream=None), language, words)


def run_file(step: Step, words: tuple[Argument, ...], language: str) -> None:
    """A file of code, wherever it comes from, and the words that it gets."""
    at = words[0]
    if at.pipe is not None:
        _stream(step, at, at.pipe, language, words[1:])
        return
    if at.text == "-" or step.path(at) in {"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"}:
        _stream(step, at, step.stdin, language, words[1:])
        return
    if "://" in at.text:
        host = host_of(at.text)
        step.effect("fetch", "load", at, host=host, target=at.text)
        step.effect("execute", "run", at, source="network", target=at.text, host=host)
        return
    path = step.path(at)
    opened = step.scene.descriptor(path)
    if opened is not None:
        _stream(step, at, opened, language, words[1:])
        return
    known = path in step.scene.written
    step.effect("execute", "run", at, path=path, source="written" if known else "file")
    step.out = Stream()
    if known:
        _stream(step, at, step.scene.content(path), language, words[1:])
    elif knows(program_name(at.text)):
        step.out = step.carry(words)


# Python


def _python(step: Step) -> None:
    found = step.options("c m W X Q check-hash-based-pycs".split(), stops=True)
    words = step.words
    for index, word in enumerate(words):  # `-c` and `-m` end the options: what follows belongs to the code
        if not word.text.startswith("-") or word.text == "-":
            break
        letters = word.text[1:]
        if not word.text.startswith("--") and ("c" in letters or "m" in letters) and letters[:1] not in "WX":
            _python_given(step, index)
            return
    if found.rest:
        run_file(step, found.rest, "python")
    elif not found.has("V", "version", "h", "help"):
        _stream(step, step.program, step.stdin, "python")


def _python_given(step: Step, index: int) -> None:
    word, following = step.words[index], tuple(step.words[index + 1 :])
    letters = word.text[1:]
    at = min(place for place in (letters.find("c"), letters.find("m")) if place >= 0)
    given, rest = word._replace(text=letters[at + 1 :]), following
    if not given.text:
        if not following:
            return
        given, rest = following[0], following[1:]
    if letters[at] == "c":
        _text(step, given, "python", rest)
    else:
        _module(step, given, rest)


_TOOLS = frozenset("pip pip3 black build coverage flake8 mypy pytest pipx poetry uv ruff tox twine unittest".split())
_PROGRAMS = {
    **{name: name for name in "aerich alembic ansible flask".split()},
    "awscli": "aws",
    "django": "django-admin",
    "manage": "manage.py",
}
"""Modules of packages that also bring a program, and what that is called."""
_SERVERS = frozenset("http.server SimpleHTTPServer pyftpdlib smtpd".split())
_EVERYWHERE = "0.0.0.0"  # noqa: S104 - what such a module binds to by itself
_HARMLESS = frozenset("json.tool venv virtualenv calendar this ast dis tokenize platform sysconfig site".split())


def _module(step: Step, at: Argument, rest: tuple[Argument, ...]) -> None:
    """`-m`: a module that is a program of its own, a part of Python, or code of the project."""
    name = at.text
    if name in _TOOLS - {"unittest"}:
        step.out = step.carry([at, *rest])
    elif name in _SERVERS:
        bound = [rest[i + 1].text for i, word in enumerate(rest[:-1]) if word.text in {"-b", "--bind"}]
        address = bound[0] if bound else _EVERYWHERE
        step.effect("connect", "listen", at, host=address, target=name)
    elif name == "timeit":
        found = options(list(rest), "n r s u number repeat setup unit".split())
        for code in (*found.values("s", "setup"), *found.rest):
            _text(step, code, "python")
    elif name in {"venv", "virtualenv"}:
        for word in rest:
            if not word.text.startswith("-"):
                step.write(word, verb="touch")
    elif name in {"zipfile", "tarfile", "gzip", "base64", "json.tool"}:
        _archive(step, name, rest)
    elif name in _PROGRAMS:
        step.out = step.carry([at._replace(text=_PROGRAMS[name]), *rest])
    elif name not in _HARMLESS:
        step.effect("execute", "module", at, source="file", target=name)
        _listens(step, at, rest)
    if name not in _TOOLS and name not in _PROGRAMS:
        step.out = step.stdin.passed_on()


def _listens(step: Step, at: Argument, rest: tuple[Argument, ...]) -> None:
    """Servers are told where they listen by an option that most of them call the same."""
    found = options(rest, ("host", "bind", "listen"))
    for address in found.values("host", "bind", "listen"):
        if address.text.startswith((_EVERYWHERE, "[::]", "::")):
            step.effect("connect", "listen", at, host=_EVERYWHERE, target=at.text)


def _archive(step: Step, name: str, rest: tuple[Argument, ...]) -> None:
    files = [word for word in rest if not word.text.startswith("-")]
    for file in files[:1]:
        step.read(file, verb=name)
    for file in files[1:2]:
        step.write(file, verb=name)


# The others


def interpreter(step: Step) -> None:
    row = _LOWER.get(step.name.lower()) or _LOWER[step.name.lower().rstrip("0123456789.-")]
    words = step.words
    verb = words[0].text if words and words[0].text in row.verbs.split() else ""
    found = _options(step, row)
    _loaded(step, found, row)
    if row.language == "php" and found.has("S"):
        address, _, port = found.value("S").rpartition(":")
        step.effect("connect", "listen", host=address, target=port)
    codes = found.values(*row.code.split()) if row.code else []
    files = found.rest[1:] if verb else found.rest
    if verb == "eval":
        codes, files = list(files[:1]), ()
    for code in codes:
        _text(step, code, row.language, files)
    if row.language in {"perl", "ruby"} and codes:
        _over_files(step, found, files)
    elif not codes and files and (verb or not row.verbs or "." in files[0].text):
        run_file(step, files, row.language)
    elif not codes and not files and not found.has("v", "V", "version", "h", "help", "S"):
        _stream(step, step.program, step.stdin, row.language)


def _options(step: Step, row: Runs) -> Options:
    if row.language not in {"perl", "ruby"} or step.name == "irb":
        return step.options(f"{row.code} {row.valued} {row.loads}".split(), stops=not row.verbs)
    flags: dict[str, list[Argument | None]] = {}
    queue = list(step.words)
    while queue and len(queue[0].text) > 1 and queue[0].text.startswith("-"):
        word = queue.pop(0)
        if word.text == "--":
            break
        _switches(word, row, queue, flags)
    return Options(flags, tuple(queue))


def _switches(word: Argument, row: Runs, queue: list[Argument], flags: dict[str, list[Argument | None]]) -> None:
    """`-lane`, `-i.bak`, `-Mstrict`: one letter after the other; some take the rest of the word, or the next one."""
    letters = word.text[1:]
    while letters:
        letter, letters = letters[0], letters[1:]
        given = flags.setdefault(letter, [])
        if letter in row.code.split() or (letter in "Ir" and not letters):
            rest = word._replace(text=letters) if letters else queue.pop(0) if queue else None
            given.append(rest)
            return
        given.append(None)
        if letter in row.valued.split() and letter not in "0l":
            return
        letters = letters.lstrip("0123456789") if letter in "0l" else letters


def _loaded(step: Step, found: Options, row: Runs) -> None:
    for word in found.values(*row.loads.split()) if row.loads else []:
        if word.text.startswith((".", "/", "http")):
            step.effect("execute", "load", word, path=step.path(word), source="file")


def _over_files(step: Step, found: Options, files: tuple[Argument, ...]) -> None:
    """`perl -ne` and `-pi -e` work on files."""
    if not found.has("n", "p", "i"):
        return
    for file in files:
        step.read(file)
        if found.has("i"):
            step.write(file, verb="edit")
    if not found.has("i"):
        step.out = step.stdin.passed_on()


def _java(step: Step) -> None:
    found = step.options("jar cp classpath p m module-path D".split(), stops=True, long_dash=True)
    texts = [word.text for word in step.words]
    if "-jar" in texts[:-1]:
        jar, *rest = step.words[texts.index("-jar") + 1 :]
        step.effect("execute", "run", jar, path=step.path(jar), source="file")
        name = program_name(jar.text).removesuffix(".jar")
        step.run([jar._replace(text=name), *rest])  # some are known by the name of their archive
        return
    if found.rest and found.rest[0].text.endswith(".java"):
        step.effect("execute", "run", found.rest[0], path=step.path(found.rest[0]), source="file")


TOOLS: dict[str, Handler] = {
    **dict.fromkeys(PYTHONS, _python),
    **dict.fromkeys(INTERPRETERS.keys() - {"bun", "deno"}, interpreter),  # these two are package managers first
    "java": _java,
}
