"""Programs that only read what their words name."""

import re
from typing import NamedTuple

from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.shell.ansi import decoded
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream, joined

_TEXT = r'"((?:[^"\\]|\\.)*)"'
_AWK_RUNS = re.compile(rf"system\s*\(\s*(?:{_TEXT}|[^)]*)|{_TEXT}\s*\|\s*getline|\|\s*{_TEXT}")
_AWK_SAYS = re.compile(rf"printf?\s*\(?\s*{_TEXT}\s*\)?\s*\|&?\s*{_TEXT}")
_AWK_TEXTS = re.compile(r'"(?:[^"\\]|\\.)*"(?:[ \t]+"(?:[^"\\]|\\.)*")*')
_BETWEEN_TEXTS = re.compile(r'(?<!\\)"[ \t]+"')
_AWK_PRINTS = re.compile(r'\b(printf?)\b[ \t(]*((?:"(?:[^"\\]|\\.)*"|[^;}\n|>"])*)(?=[;}\n]|$)')
_AWK_PARTS = re.compile(rf"{_TEXT}|,|[^\s,\"]+")
_AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_AWK_CONNECTS = re.compile(r"/inet[46]?/(?:tcp|udp)/\w+/([\w.:-]+)/")
_MOST_TOLD = 8
_AWK_TOLD = re.compile(r"\|&\s*getline\s+(\w+)")
_AWK_WRITES = re.compile(r'>\s*"([^"]*)"')


class Reads(NamedTuple):
    """Programs that only read: the options that take a value, and how many words come before the files."""

    valued: str = ""
    skips: int = 0
    prints: bool = True  # the content, or something that is made of it
    deep: str = "r R recursive"


READERS = {
    "awk": Reads("F v f i include", 1),
    "b2sum": Reads(prints=False),
    "bat": Reads("l r H language line-range", deep=""),
    "cat": Reads(),
    "cksum": Reads(prints=False),
    "cmp": Reads("n i", prints=False),
    "column": Reads("s t o c"),
    "comm": Reads(),
    "cut": Reads("d f c b delimiter fields"),
    "diff": Reads("U C I x exclude"),
    "du": Reads("d max-depth", prints=False),
    "egrep": Reads("e f A B C m", 1),
    "expand": Reads("t"),
    "fgrep": Reads("e f A B C m", 1),
    "file": Reads(prints=False),
    "fmt": Reads("w"),
    "fold": Reads("w"),
    "gawk": Reads("F v f i include", 1),
    "grep": Reads("e f A B C m include exclude exclude-dir max-count regexp context color", 1),
    "head": Reads("n c lines bytes"),
    "hexdump": Reads("n s e"),
    "hexyl": Reads("n s"),
    "join": Reads("1 2 t o"),
    "jq": Reads("f L arg argjson", 1),
    "less": Reads("p P"),
    "ls": Reads(prints=False),
    "mawk": Reads("F v f", 1),
    "md5sum": Reads(prints=False),
    "more": Reads(),
    "nawk": Reads("F v f", 1),
    "nl": Reads("b w"),
    "od": Reads("A t N j w"),
    "paste": Reads("d"),
    "rg": Reads("e f g t T A B C m glob type max-count", 1),
    "sha1sum": Reads(prints=False),
    "sha256sum": Reads(prints=False),
    "shasum": Reads("a", prints=False),
    "sort": Reads("k t S T o"),
    "stat": Reads("c f printf", prints=False),
    "strings": Reads("n t"),
    "sum": Reads(prints=False),
    "tac": Reads(),
    "tail": Reads("n c lines bytes pid"),
    "tree": Reads("L I P", prints=False),
    "unexpand": Reads("t"),
    "uniq": Reads("f s w"),
    "view": Reads(),
    "wc": Reads(prints=False),
    "yq": Reads("", 1),
    "zgrep": Reads("e A B C m", 1),
    "zless": Reads(),
}


def _reads(step: Step) -> None:
    row = READERS.get(step.name) or READERS[step.name.lower()]
    found = step.options(row.valued.split())
    skips = 0 if row.skips and found.has("e", "f", "regexp", "file") else row.skips
    files = found.rest[skips:]
    if step.name in _PAGERS:
        files = _paged(step, files)
    if step.name in _AWKS and found.rest and skips:
        _awk_program(step, found.rest[0])
    if any(value.text in _IN_PLACE for value in found.values("i", "include")):
        for file in files:
            step.write(file, verb="edit")
    if step.name == "sort":
        for file in found.values("o"):
            step.write(file)
            step.scene.keep(step.path(file), contents(step, files))
    for file in files:
        step.read(file, verb=step.name if row.prints else "look", recursive=found.has(*row.deep.split()))
    step.out = contents(step, files) if row.prints else Stream()
    lists = _listed(step, files) if step.name in _LISTS and found.has(*_LISTS[step.name]) else ()
    if lists:
        step.out = Stream(None, frozenset({"names"}), (), lists)
    if not row.prints or lists:
        return
    if step.name in _AWKS and found.rest and skips:
        step.out = _awk_prints(found.rest[0].text, contents(step, files))
    elif step.name not in {"cat", "head", "tail", "tac"} and files:
        step.out = step.out.passed_on()


_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_LISTING = ("l", "L", "files-with-matches", "files-without-match", "files")
_LISTS = dict.fromkeys(("grep", "egrep", "fgrep", "rg"), _LISTING)
"""Options with which a program prints names of files, and not what is in them."""


def _listed(step: Step, files: tuple[Argument, ...]) -> tuple[str, ...]:
    """Some of what is there."""
    return tuple(f"{step.path(place).rstrip('/')}/{UNKNOWN}" for place in files[:8] or (Argument("."),))


def _ls(step: Step) -> None:
    """The names of everything here, or of what a pattern says; of another directory they lead nowhere."""
    _reads(step)
    files = [word for word in step.words if not word.text.startswith("-")]
    if not files or any(word.pattern for word in files):
        names = tuple(step.path(word) for word in files[:8]) or (f"{step.scene.cwd.rstrip('/')}/*",)
        step.out = Stream(None, frozenset({"names"}), (), names)


_IN_PLACE = frozenset({"inplace", "inplace.awk"})  # a library of gawk's
_PAGERS = frozenset({"less", "more", "zless"})


def _paged(step: Step, words: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """`+!ls`: what a pager does first; an exclamation mark is a shell's."""
    for word in words:
        if word.text.startswith(("+!", "++!")):
            step.script(word._replace(text=word.text.lstrip("+")[1:]))
    return tuple(word for word in words if not word.text.startswith("+"))


def _awk_program(step: Step, at: Argument) -> None:
    """awk runs commands (`system`, pipes) and writes files."""
    at = at._replace(text=_AWK_TEXTS.sub(lambda found: _BETWEEN_TEXTS.sub("", found[0]), at.text))
    stream = step.stdin.passed_on()
    for match in _AWK_SAYS.finditer(at.text):
        step.script(at._replace(text=decoded(match[2])), Stream(decoded(match[1])))
    for match in _AWK_RUNS.finditer(at.text):
        text = match[1] or match[2] or match[3]
        if not text:
            step.opaque("awk runs what it reads", at, source="text")
            continue
        stream = joined([stream, step.script(at._replace(text=decoded(text)), stream)]).passed_on()
    hosts = list(dict.fromkeys(_AWK_CONNECTS.findall(at.text)))[:_MOST_TOLD]
    if hosts:
        _awk_connections(step, at, hosts)
    for match in _AWK_WRITES.finditer(at.text):
        step.write(at._replace(text=match[1]))
        step.scene.keep(step.path(at._replace(text=match[1])), step.stdin)


def _awk_prints(program: str, read: Stream) -> Stream:
    """What comes out of it, with gaps for what it takes from elsewhere, where any of it stands in the program."""
    lines = []
    for match in _AWK_PRINTS.finditer(_AWK_TEXTS.sub(lambda found: _BETWEEN_TEXTS.sub("", found[0]), program)):
        parts = list(_AWK_PARTS.finditer(match[2]))[:_MOST_PARTS]
        if match[1] == "printf":
            parts = parts[:1]
        texts = [" " if part[0] == "," else decoded(part[1]) if part[1] is not None else UNKNOWN for part in parts]
        if any(part[1] for part in parts):
            lines.append(_PLACE.sub(UNKNOWN, "".join(texts)) if match[1] == "printf" else "".join(texts))
    return Stream("\n".join(lines) + "\n", read.origins, read.paths) if lines else read.passed_on()


_MOST_PARTS = 64
_PLACE = re.compile(r"%[-+ #0-9.*]*[a-z]")


def _awk_connections(step: Step, at: Argument, hosts: list[str]) -> None:
    """Files of gawk's that are connections; what it reads there and runs is another machine's."""
    for host in hosts:
        step.effect("connect", "socket", at, host=host)
    told = list(dict.fromkeys(_AWK_TOLD.findall(at.text)))[:_MOST_TOLD]
    if any(re.search(rf"\b{name}\s*\|&?\s*getline|\bsystem\(\s*{name}\b", at.text) for name in told):
        why = "what runs is steered by another machine"
        step.effect("execute", "connect", at, source="network", host=hosts[0], why=why)


def contents(step: Step, files: tuple[Argument, ...]) -> Stream:
    """What flows out of a program that prints these files, or its standard input."""
    if not files:
        return step.stdin
    streams = []
    for file in files:
        if file.text in _STANDARD_INPUT:
            streams.append(step.stdin)
        elif file.pipe is not None:
            streams.append(file.pipe)
        else:
            streams.append(step.scene.content(step.path(file)))
    return joined(streams)


TOOLS: dict[str, Handler] = {**dict.fromkeys(READERS, _reads), "ls": _ls}
