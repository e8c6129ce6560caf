"""Commands of the shell itself: they change the scene, print what is known, or read another text as a script."""

import re
from itertools import pairwise

from trotline.analysis.escapes import echoed, formatted
from trotline.analysis.options import options
from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SETTINGS, SILENT, Stream
from trotline.analysis.subscripts import reckoned, subscript
from trotline.analysis.tools import stands_for
from trotline.analysis.typed import as_written, windows

_HIDING = re.compile(r"(?:\\x[0-9a-fA-F]{2}|\\0?[0-7]{3}){3}")
"""Letters written as numbers, several in a row: a colour is one, a hidden word is many."""


def _quiet(step: Step) -> None:
    step.out = SILENT


def _cd(step: Step) -> None:
    words = options(step.words).rest
    scene = step.scene
    target = words[0].text if words else scene.world.home
    scene.previous, before = scene.cwd, scene.previous
    scene.cwd = before if target == "-" else scene.absolute(target)
    step.out = SILENT


def _popd(step: Step) -> None:
    step.scene.cwd, step.scene.previous = step.scene.previous, step.scene.cwd
    step.out = SILENT


def _echo(step: Step) -> None:
    words = [word.text for word in step.words]
    flags = []
    while words and len(words[0]) > 1 and words[0][0] == "-" and set(words[0][1:]) <= set("neE"):
        flags.append(words.pop(0))
    text = " ".join(words)
    if any("e" in flag for flag in flags):
        text = echoed(text)
    step.out = _spoken(step, text + ("" if any("n" in flag for flag in flags) else "\n"))


def _printf(step: Step) -> None:
    words = step.words
    if words and words[0].text == "-v" and len(words) > 2:
        _name(step, words[1])
        step.scene.set(words[1].text, (formatted(words[2].text, [word.text for word in words[3:]]),))
        step.out = SILENT
        return
    words = words[1:] if words and words[0].text == "--" else words
    text = formatted(words[0].text, [word.text for word in words[1:]]) if words else ""
    step.out = _spoken(step, text)
    if words and _HIDING.search(words[0].text):
        step.out = step.out.also("decoded")


def _spoken(step: Step, text: str) -> Stream:
    """Text that is printed, with where its parts come from."""
    sources = [word.stream for word in step.words if word.stream is not None]
    origins = frozenset().union(*(source.origins for source in sources))
    paths = tuple(path for source in sources for path in source.paths)
    return Stream(text, origins, paths)


def _pwd(step: Step) -> None:
    step.print(step.scene.cwd + "\n")


def _which(step: Step) -> None:
    names = options(step.words).rest
    step.print("".join(f"{name.text}\n" for name in names))


def _type(step: Step) -> None:
    """A name to look up; in the shell of Windows a file to show, which its way of writing paths gives away."""
    files = [word for word in step.words if {"\\", "%"} & {*as_written(step, word).text}]
    for file in files:
        step.read(windows(step, file), verb="type")
    if not files:
        _which(step)


def _command(step: Step) -> None:
    found = step.options("p", stops=True) if step.name == "builtin" else step.options(stops=True)
    if found.has("v", "V"):
        _which(step)
    elif found.rest:
        step.out = step.run(found.rest)


def _exec(step: Step) -> None:
    found = step.options({"a"}, stops=True)
    step.out = step.run(found.rest) if found.rest else SILENT


def _eval(step: Step) -> None:
    words = step.words[1:] if step.words and step.words[0].text == "--" else step.words
    if not words:
        return
    step.out = step.script(_together(words), scene=step.scene)


def _together(words: list[Argument]) -> Argument:
    """Several words as the one text that they are."""
    if len(words) == 1:
        return words[0]
    why = next((word.why for word in words if word.why), "")
    stream = next((word.stream for word in words if word.stream), None)
    text = " ".join(word.text for word in words)
    return Argument(text, words[0].start, words[-1].end, why, stream=stream)


def _source(step: Step) -> None:
    if not step.words:
        return
    at = step.words[0]
    if at.pipe is not None:
        _sourced(step, at, at.pipe)
        return
    path = step.path(at)
    if path in step.scene.written:
        _sourced(step, at, step.scene.content(path))
    elif path in {"/dev/stdin", "/proc/self/fd/0"}:
        _sourced(step, at, step.stdin)
    else:
        step.effect("execute", "source", at, path=path, source="file")


def _sourced(step: Step, at: Argument, stream: Stream) -> None:
    if stream == SETTINGS:
        return
    if stream.text is None or "network" in stream.origins:
        step.opaque("what is read as a script is not in this line", at, source=stream.origin)
    if stream.text is None:
        return
    step.out = step.script(at._replace(text=stream.text), scene=step.scene)


def _name(step: Step, word: Argument) -> None:
    """A word that is taken for the name of a variable."""
    script = subscript(word)
    if script is not None:
        step.script(script, SILENT)


def _declare(step: Step) -> None:
    given: dict[str, Argument] = {}
    found = options(step.words)
    is_export = step.name in {"export", "readonly"}
    kept_back = is_export and found.has("n")
    for word in found.rest:
        _name(step, word)
        name, equals, value = word.text.partition("=")
        if not is_export and not found.has("g"):
            step.scene.own(name)
        if equals and found.has("n") and not is_export:
            step.scene.references[name] = value
        elif equals and name.isidentifier():
            step.scene.set(name, (value,), stream=word.stream)
            given[name] = word._replace(text=value)
        if kept_back:
            step.effect("environment", "unset", word, target=name)
        if step.name == "export":
            step.scene.exported = step.scene.exported - {name} if kept_back else step.scene.exported | {name}
    if given:
        step.reading.environment(step, given)
    step.out = Stream() if not step.words else SILENT
    if not found.rest and (not step.words or step.words[0].text in {"-p", "-x"}):
        step.effect("read", "environment", target="environment")
        step.out = Stream(None, frozenset({"environment"}))


def _unset(step: Step) -> None:
    for word in options(step.words).rest:
        _name(step, word)
        step.scene.variables.pop(word.text, None)
        step.scene.functions.pop(word.text, None)
        step.effect("environment", "unset", word, target=word.text)
    step.out = SILENT


def _yes(step: Step) -> None:
    step.print((" ".join(word.text for word in step.words) or "y") + "\n")


def _read(step: Step) -> None:
    found = step.options({"p", "d", "n", "t", "u", "a", "N", "i"})
    _, source = step.scene.descriptors.get(found.value("u"), ("", step.stdin))
    lines = source.text.splitlines() if source.text is not None else None
    lines = list(source.names) if lines is None and source.names else lines
    first = lines[0] if lines else UNKNOWN
    for name in found.rest or (Argument("REPLY"),):
        texts = tuple(lines) if lines and len(found.rest) < 2 else (first,)
        _name(step, name)
        step.scene.set(name.text, texts, stream=source if source.origins else None)
    step.out = SILENT


def _mapfile(step: Step) -> None:
    """`mapfile -C` calls a program for each line."""
    found = step.options("d n O s u C c".split())
    lines = (step.stdin.text or "").splitlines()
    for at in found.values("C"):
        for line in lines[:16] or [UNKNOWN]:
            step.script(at._replace(text=f"{at.text} 0 {line}"), Stream())
    for name in found.rest[:1]:
        _name(step, name)
        stream = step.stdin if step.stdin.origins else None
        step.scene.set(name.text, tuple(lines) or (UNKNOWN,), array=True, stream=stream)
    step.out = SILENT


def _calls_later(step: Step) -> None:
    """`complete -C`, `bind -x`: a command for when a key is pressed."""
    found = step.options("A C F G P S W X o f m q r u x".split())
    for at in found.values("C", "x"):
        text = at.text.partition(":")[2] if step.name == "bind" else at.text
        step.script(at._replace(text=text.strip().strip("\"'")), Stream())
    step.out = SILENT


def _enable(step: Step) -> None:
    """`enable -f` loads a library into this shell."""
    for at in step.options(("f",)).values("f"):
        step.effect("execute", "load", at, path=step.path(at), source="file")
    step.out = SILENT


def _alias(step: Step) -> None:
    for word in options(step.words).rest:
        name, equals, value = word.text.partition("=")
        if equals:
            step.effect("environment", "alias", word, target=name, source=value)
            if stands_for(name):
                step.script(word._replace(text=value), Stream())  # whoever calls the program gets this instead
            step.scene.aliases[name] = value
    step.out = SILENT


def _trap(step: Step) -> None:
    words = options(step.words).rest
    if len(words) > 1 and words[0].text not in {"", "-"}:
        step.script(words[0])
    step.out = SILENT


def _set(step: Step) -> None:
    if not step.words:
        step.effect("read", "environment", target="environment")
        step.out = Stream(None, frozenset({"environment"}))
        return
    texts = [word.text for word in step.words]
    if texts[:2] in (["+o", "history"], ["+H"]):
        step.effect("system", "erase log", target="the history of the shell", writes=True)
    if "--" in texts:
        step.scene.words = tuple(step.words[texts.index("--") + 1 :])
    step.out = SILENT


def _shift(step: Step) -> None:
    count = step.words[0].text if step.words else "1"
    step.scene.words = (step.scene.words or ())[int(count) if count.isdecimal() else 1 :]
    step.out = SILENT


def _let(step: Step) -> None:
    for word in step.words:
        script = reckoned(word)
        if script is not None:
            step.script(script, SILENT)
    step.out = SILENT


def _test(step: Step) -> None:
    for before, word in pairwise(step.words):
        if before.text == "-v":
            _name(step, word)
    step.out = SILENT


def _hash(step: Step) -> None:
    """`hash -p` says which file a name means."""
    found = step.options(("p",))
    for file in found.values("p"):
        for name in found.rest:
            step.scene.aliases[name.text] = file.text
    step.out = SILENT


TOOLS: dict[str, Handler] = {
    ".": _source,
    ":": _quiet,
    "[": _test,
    "alias": _alias,
    "bind": _calls_later,
    "builtin": _command,
    "cd": _cd,
    "chdir": _cd,
    "command": _command,
    "complete": _calls_later,
    "declare": _declare,
    "echo": _echo,
    "enable": _enable,
    "eval": _eval,
    "exec": _exec,
    "export": _declare,
    "false": _quiet,
    "hash": _hash,
    "let": _let,
    "local": _declare,
    "mapfile": _mapfile,
    "popd": _popd,
    "printf": _printf,
    "pushd": _cd,
    "pwd": _pwd,
    "read": _read,
    "readarray": _mapfile,
    "readonly": _declare,
    "set": _set,
    "shift": _shift,
    "source": _source,
    "test": _test,
    "trap": _trap,
    "true": _quiet,
    "type": _type,
    "typeset": _declare,
    "unalias": _quiet,
    "unset": _unset,
    "which": _which,
    "yes": _yes,
}
