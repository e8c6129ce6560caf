"""Programs that only read files: cat, grep, awk, diff, checksums."""

import re
from typing import NamedTuple

from trotline.analysis.programs import STANDARD_INPUT
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.analysis.shell.shell_escapes import decode_escapes
from trotline.analysis.shell.shell_state import UNKNOWN_CHAR, Argument
from trotline.analysis.shell.streams import Stream, join_streams
from trotline.formats.lazy_regex import lazy_regex

_TEXT = r'"((?:[^"\\]|\\.)*)"'
_AWK_RUNS = lazy_regex(rf"system\s*\(\s*(?:{_TEXT}|[^)]*)|{_TEXT}\s*\|\s*getline|\|\s*{_TEXT}")
_AWK_PIPES = lazy_regex(rf"printf?\s*\(?\s*{_TEXT}\s*\)?\s*\|&?\s*{_TEXT}")
_AWK_TEXTS = lazy_regex(r'"(?:[^"\\]|\\.)*"(?:[ \t]+"(?:[^"\\]|\\.)*")*')
_BETWEEN_TEXTS = lazy_regex(r'(?<!\\)"[ \t]+"')
_AWK_PRINTS = lazy_regex(r'\b(printf?)\b[ \t(]*((?:"(?:[^"\\]|\\.)*"|[^;}\n|>"])*)(?=[;}\n]|$)')
_AWK_PARTS = lazy_regex(rf"{_TEXT}|,|[^\s,\"]+")
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_AWK_CONNECTS = lazy_regex(r"/inet[46]?/(?:tcp|udp)/\w+/([\w.:-]+)/")
_MAX_HOSTS = 8
_AWK_RECEIVES = lazy_regex(r"\|&\s*getline\s+(\w+)")
_AWK_WRITES = lazy_regex(r'>\s*"([^"]*)"')


class Reader(NamedTuple):
    """A program that only reads its files."""

    valued: str = ""  # options that take a value
    skips: int = 0  # words before the files: a pattern, a program
    prints: bool = True  # it prints the content, or parts of it
    recursive: str = "r R recursive"  # options with which it reads directories


_ROWS = {
    "awk gawk": Reader("F v f i include", 1),
    "b2sum cksum file ls md5sum sha1sum sha256sum sum wc": Reader(prints=False),
    "bat": Reader("l r H language line-range", recursive=""),
    "cat comm more tac view zless": Reader(),
    "cmp": Reader("n i", prints=False),
    "column": Reader("s t o c"),
    "cut": Reader("d f c b delimiter fields"),
    "diff": Reader("U C I x exclude"),
    "du": Reader("d max-depth", prints=False),
    "egrep fgrep": Reader("e f A B C m", 1),
    "expand unexpand": Reader("t"),
    "fmt fold": Reader("w"),
    "grep": Reader("e f A B C m include exclude exclude-dir max-count regexp context color", 1),
    "head": Reader("n c lines bytes"),
    "hexdump": Reader("n s e"),
    "hexyl": Reader("n s"),
    "join": Reader("1 2 t o"),
    "jq": Reader("f L arg argjson", 1),
    "less": Reader("p P"),
    "mawk nawk": Reader("F v f", 1),
    "nl": Reader("b w"),
    "od": Reader("A t N j w"),
    "paste": Reader("d"),
    "rg": Reader("e f g t T A B C m glob type max-count", 1),
    "shasum": Reader("a", prints=False),
    "sort": Reader("k t S T o"),
    "stat": Reader("c f printf", prints=False),
    "strings": Reader("n t"),
    "tail": Reader("n c lines bytes pid"),
    "tree": Reader("L I P", prints=False),
    "uniq": Reader("f s w"),
    "yq": Reader("", 1),
    "zgrep": Reader("e A B C m", 1),
}
READERS = {name: row for names, row in _ROWS.items() for name in names.split()}


def _handle_reader(call: Invocation) -> None:
    row = READERS[call.name]
    options = call.parse_options(row.valued)
    skips = 0 if row.skips and options.has("e", "f", "regexp", "file") else row.skips
    files = options.rest[skips:]
    if call.name in _PAGERS:
        files = _analyze_pager_commands(call, files)
    if call.name in _AWKS and options.rest and skips:
        _analyze_awk_program(call, options.rest[0])
    if any(value.text in _IN_PLACE for value in options.values("i", "include")):
        for file in files:
            call.add_write(file, verb="edit")
    if call.name == "sort":
        for file in options.values("o"):
            call.add_write(file)
            call.state.record_write(call.resolve(file), read_contents(call, files))
    for file in files:
        call.add_read(file, verb=call.name if row.prints else "look", recursive=options.has(*row.recursive.split()))
    call.stdout = read_contents(call, files) if row.prints else Stream()
    if call.name in _GREPS and options.has(*_LIST_OPTIONS):
        call.stdout = Stream(None, frozenset({"names"}), (), _build_listed_paths(call, files))
        return
    if not row.prints:
        return
    if call.name in _AWKS and options.rest and skips:
        call.stdout = _build_awk_output(options.rest[0].text, read_contents(call, files))
    elif call.name not in {"cat", "head", "tail", "tac"} and files:
        call.stdout = call.stdout.drop_text()


_GREPS = frozenset({"grep", "egrep", "fgrep", "rg"})
_LIST_OPTIONS = ("l", "L", "files-with-matches", "files-without-match", "files")
"""With these, grep prints names of files instead of their content."""
MAX_PATHS = 8


def _build_listed_paths(call: Invocation, files: tuple[Argument, ...]) -> tuple[str, ...]:
    """Return an unknown file in each directory."""
    return tuple(f"{call.resolve(file).rstrip('/')}/{UNKNOWN_CHAR}" for file in files[:MAX_PATHS] or (Argument("."),))


def _handle_ls(call: Invocation) -> None:
    """Record what `ls` reads, and the paths whose names it prints.

    `ls DIR` prints names without the directory. The next program would look for them in the current directory, so none
    are recorded.
    """
    _handle_reader(call)
    files = [word for word in call.args if not word.text.startswith("-")]
    if not files or any(word.has_wildcard for word in files):
        names = tuple(call.resolve(word) for word in files[:MAX_PATHS]) or (f"{call.state.cwd.rstrip('/')}/*",)
        call.stdout = Stream(None, frozenset({"names"}), (), names)


_IN_PLACE = frozenset({"inplace", "inplace.awk"})  # a library of gawk
_PAGERS = frozenset({"less", "more", "zless"})


def _analyze_pager_commands(call: Invocation, words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Analyze `less +!COMMAND`, and return the words that are files."""
    for word in words:
        if word.text.startswith(("+!", "++!")):
            call.analyze_script(word._replace(text=word.text.lstrip("+")[1:]))
    return tuple(word for word in words if not word.text.startswith("+"))


def _analyze_awk_program(call: Invocation, arg: Argument) -> None:
    """Analyze the commands (`system`, pipes), connections and files of an awk program."""
    arg = arg._replace(text=_AWK_TEXTS.sub(lambda match: _BETWEEN_TEXTS.sub("", match[0]), arg.text))
    stream = call.stdin.drop_text()
    for match in _AWK_PIPES.finditer(arg.text):
        call.analyze_script(arg._replace(text=decode_escapes(match[2])), Stream(decode_escapes(match[1])))
    for match in _AWK_RUNS.finditer(arg.text):
        text = match[1] or match[2] or match[3]
        if not text:
            call.add_opaque("awk runs what it reads", arg, source="text")
            continue
        output = call.analyze_script(arg._replace(text=decode_escapes(text)), stream)
        stream = join_streams([stream, output]).drop_text()
    hosts = list(dict.fromkeys(_AWK_CONNECTS.findall(arg.text)))[:_MAX_HOSTS]
    if hosts:
        _add_awk_connections(call, arg, hosts)
    for match in _AWK_WRITES.finditer(arg.text):
        call.add_write(arg._replace(text=match[1]))
        call.state.record_write(call.resolve(arg._replace(text=match[1])), call.stdin)


def _build_awk_output(program: str, content: Stream) -> Stream:
    """Return the text that an awk program prints, with unknown parts for what it takes from its input."""
    lines = []
    for match in _AWK_PRINTS.finditer(_AWK_TEXTS.sub(lambda match: _BETWEEN_TEXTS.sub("", match[0]), program)):
        parts = list(_AWK_PARTS.finditer(match[2]))[:_MAX_PARTS]
        if match[1] == "printf":
            parts = parts[:1]
        texts = [
            " " if part[0] == "," else decode_escapes(part[1]) if part[1] is not None else UNKNOWN_CHAR
            for part in parts
        ]
        if any(part[1] for part in parts):
            lines.append(_PRINTF_PLACE.sub(UNKNOWN_CHAR, "".join(texts)) if match[1] == "printf" else "".join(texts))
    return Stream("\n".join(lines) + "\n", content.origins, content.paths) if lines else content.drop_text()


_MAX_PARTS = 64
_PRINTF_PLACE = lazy_regex(r"%[-+ #0-9.*]*[a-z]")


def _add_awk_connections(call: Invocation, arg: Argument, hosts: list[str]) -> None:
    """Add the connections of gawk, and the execution of commands that it receives."""
    for host in hosts:
        call.add_effect("connect", "socket", arg, host=host)
    received = list(dict.fromkeys(_AWK_RECEIVES.findall(arg.text)))[:_MAX_HOSTS]
    if any(re.search(rf"\b{name}\s*\|&?\s*getline|\bsystem\(\s*{name}\b", arg.text) for name in received):
        why = "what runs is steered by another machine"
        call.add_effect("execute", "connect", arg, source="network", host=hosts[0], why=why)


def read_contents(call: Invocation, files: tuple[Argument, ...]) -> Stream:
    """Return the contents of the files, or the standard input if there are none."""
    if not files:
        return call.stdin
    streams = []
    for file in files:
        if file.text in {"-", *STANDARD_INPUT}:
            streams.append(call.stdin)
        elif file.pipe is not None:
            streams.append(file.pipe)
        else:
            streams.append(call.state.get_content(call.resolve(file)))
    return join_streams(streams)


PROGRAMS: dict[str, Handler] = {**dict.fromkeys(READERS, _handle_reader), "ls": _handle_ls}
