"""Programs of the file system: they write, copy, move and delete what their words name."""

import posixpath

from trotline.analysis.options import Options
from trotline.analysis.redirections import into
from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools.readers import contents
from trotline.analysis.typed import windows
from trotline.pattern import pattern


def _rm(step: Step) -> None:
    found = step.options(("interactive",))
    recursive = found.has("r", "R", "recursive")
    for word in found.rest:
        step.delete(word, recursive=recursive, verb="rm" if step.name != "srm" else "srm")
        step.scene.forget(step.path(word))
    if not found.rest and recursive:
        return
    step.out = Stream("")


def _rmdir(step: Step) -> None:
    if any(word.text.lower() in {"/s", "/q"} for word in step.words):
        _rd(step)  # typed for Windows, where it takes what is in the directory as well
        return
    for word in step.options().rest:
        step.effect("delete", "rmdir", word, path=step.path(word), source="empty", writes=True)
    step.out = Stream("")


def _unlink(step: Step) -> None:
    for word in step.options("n iterations s size random-source".split()).rest:
        step.delete(word, verb=step.name)
    step.out = Stream("")


def _wipe(step: Step) -> None:
    """Overwritten before they are deleted: what it takes nobody reads again."""
    found = step.options("b l o P Q R S T X q p".split())
    for word in found.rest:
        step.delete(word, recursive=found.has("r", "s"), verb="wipe")


def _rd(step: Step) -> None:
    """`rd /s /q`, `del /s`, and what PowerShell calls them."""
    switches = {word.text.lower() for word in step.words if word.text.startswith("/") and len(word.text) == 2}
    flags = {word.text.lower() for word in step.words if word.text.startswith("-")}
    recursive = "/s" in switches or any("-recurse".startswith(flag) and len(flag) > 1 for flag in flags)
    taken = {word.text.lower() for word in step.words if word.text.startswith("-")}
    for word in step.words:
        if word.text.lower() not in switches | taken:
            step.delete(windows(step, word), recursive=recursive, verb=step.name.lower())


def _cp(step: Step) -> None:
    found = step.options("t S target-directory suffix".split())
    sources, targets = _sources(found)
    for source in sources:
        step.read(source, verb="copy", recursive=found.has("r", "R", "a", "recursive", "archive"))
    for target in _inside(step, sources, targets):
        step.write(target, verb="copy", source=",".join(step.path(source) for source in sources))
    _remember(step, sources, targets)
    step.out = Stream("")


def _remember(step: Step, sources: tuple[Argument, ...], targets: tuple[Argument, ...]) -> None:
    """A copy is its original by another name, as long as the line lasts."""
    for target in targets[:1]:
        for source in sources:
            content = contents(step, (source,))
            inside = f"{step.path(target)}/{posixpath.basename(step.path(source))}"
            step.scene.keep(inside, content)  # where the target is a directory
            step.scene.keep(step.path(target), content)


def _inside(step: Step, sources: tuple[Argument, ...], targets: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """What is written: in a directory that is called one, each file under its own name."""
    if not targets or not targets[0].text.endswith("/") or not targets[0].known:
        return targets
    names = (posixpath.basename(step.path(source)) for source in sources[:MOST_FILES] if source.known)
    return tuple(targets[0]._replace(text=targets[0].text + name) for name in names) or targets


def _sources(found: Options) -> tuple[tuple[Argument, ...], tuple[Argument, ...]]:
    into = tuple(found.values("t", "target-directory"))
    return (found.rest, into) if into else (found.rest[:-1], found.rest[-1:])


def _mv(step: Step) -> None:
    found = step.options("t S target-directory suffix".split())
    sources, targets = _sources(found)
    for source in sources:
        where = step.path(targets[0]) if targets else ""
        step.effect("delete", "move", source, path=step.path(source), target=where, recursive=True, writes=True)
    for target in _inside(step, sources, targets):
        step.write(target, verb="move", source=",".join(step.path(source) for source in sources))
    _remember(step, sources, targets)
    step.out = Stream("")


def _trash(step: Step) -> None:
    """Moved to where it can be taken back from; what is too much to move is too much to throw away."""
    for file in step.options("trash-dir".split()).rest:
        step.effect("delete", "move", file, path=step.path(file), recursive=True, writes=True)


_GIO = {"cat": "cat", "copy": "cp", "move": "mv", "open": "xdg-open", "remove": "rm", "trash": "trash-put"}


def _gio(step: Step) -> None:
    verb, words = step.words[:1], step.words[1:]
    if verb and verb[0].text in _GIO:
        step.run((verb[0]._replace(text=_GIO[verb[0].text]), *words))


def _ln(step: Step) -> None:
    found = step.options("t S target-directory suffix".split())
    sources, targets = _sources(found)
    for target in targets:
        step.write(target, verb="link", source=",".join(step.path(source) for source in sources))
    for source in sources:
        step.effect("link", "link", source, path=step.path(source), target=step.path(targets[0]) if targets else "")
    _remember(step, sources, targets)


def _tee(step: Step) -> None:
    found = step.options()
    for file in found.rest:
        step.write(file, source=",".join(step.stdin.paths))
        into(step.reading, [(step.path(file), found.has("a", "append"))], step.stdin, step.scene)
    step.out = step.stdin


def _writes(step: Step) -> None:
    """`touch`, `mkdir`, `truncate`: every word is made or changed."""
    found = step.options("d r t s m size mode date reference".split())
    if step.name.lower() == "truncate" and found.rest and found.rest[0].text.lower() == "table":
        step.run([step.program._replace(text="drop"), *step.words])  # the statement, not the program
        return
    verb = (
        "empty"
        if step.name == "truncate"
        else "touch"
        if step.name in {"touch", "mkdir"}
        else "pipe"
        if step.name == "mkfifo"
        else ""
    )
    for file in found.rest:
        step.write(file, verb=verb)
    step.out = Stream("")


def _install(step: Step) -> None:
    found = step.options("m o g t S mode owner group target-directory".split())
    sources, targets = _sources(found)
    if found.has("d", "directory"):
        sources, targets = found.rest[:0], found.rest
    for source in sources:
        step.read(source, verb="copy")
    for target in _inside(step, sources, targets):
        step.write(target, verb="copy", source=",".join(step.path(source) for source in sources))
    if sources:
        _remember(step, sources, targets)


def _dd(step: Step) -> None:
    for word in step.words:
        name, _, value = word.text.partition("=")
        if name == "if":
            step.read(word._replace(text=value))
        elif name == "of":
            sources = [other._replace(text=other.text[3:]) for other in step.words if other.text.startswith("if=")]
            step.write(word._replace(text=value), source=sources[0].text if sources else "")
            step.scene.keep(step.path(word._replace(text=value)), contents(step, tuple(sources[:1])))
    step.out = step.stdin.passed_on()


def _sed(step: Step) -> None:
    found = step.options("e f l expression file".split())
    scripts = found.values("e", "expression")
    files = found.rest if scripts or found.has("f", "file") else found.rest[1:]
    in_place = found.has("i", "in-place") or any(flag.startswith("i") for flag in found.flags)
    for file in files:
        step.read(file)
        if in_place:
            step.write(file, verb="edit")
    for script in scripts or list(found.rest[:1]):
        _sed_script(step, script)
    before = contents(step, files)
    step.out = before.passed_on() if not in_place else Stream("")
    if before.text is not None and len(found.rest) - len(files) == 1 and not in_place:
        step.out = before._replace(text=_substituted(before.text, found.rest[0].text))


LONGEST_EXCHANGE = 200
MOST_FILES = 16
_LITERAL = pattern(r"s([/|#,:@!])([\w ./=:,@%+-]*)\1([\w ./=:,@%+-]*)\1(g?)")


def _substituted(text: str, script: str) -> str | None:
    """What becomes of a text, where the script only exchanges words; what else becomes of it is not known."""
    match = _LITERAL.fullmatch(script) if len(script) < LONGEST_EXCHANGE else None
    if match is None or "." in match[2] or not match[2]:
        return None
    return "\n".join(line.replace(match[2], match[3], -1 if match[4] else 1) for line in text.split("\n"))


_ADDRESS = r"(?:^|[;\n{}])[ \t]*(?:(?:\d+|\$|/(?:\\.|[^/\\\n])*/)[ \t]*,?[ \t]*){0,2}!?[ \t]*"
_SED_RUNS = pattern(_ADDRESS + r"e[ \t]+([^\n]+)")
_SED_WRITES = pattern(_ADDRESS + r"[wW][ \t]+([^\n;]+)")
_SED_EXCHANGES = pattern(
    _ADDRESS + r"s([^\w\s\\])((?:\\.|(?!\1)[^\\\n])*)\1((?:\\.|(?!\1)[^\\])*)\1([gpiIemM0-9]*)(?:w[ \t]+([^\n;]+))?"
)
LONGEST_SCRIPT = 10_000
"""Characters of a script of sed that are looked through."""


def _sed_script(step: Step, at: Argument) -> None:
    """GNU sed runs commands (`e`, `s///e`) and writes files (`w`)."""
    text = at.text[:LONGEST_SCRIPT]
    for match in _SED_RUNS.finditer(text):
        step.script(at._replace(text=match[1]))
    for match in _SED_WRITES.finditer(text):
        step.write(at._replace(text=match[1].strip()))
    for match in _SED_EXCHANGES.finditer(text):
        if match[5]:
            step.write(at._replace(text=match[5].strip()))
        if "e" in match[4]:
            step.script(at._replace(text=_PUT_IN.sub(UNKNOWN, match[3]).replace(f"\\{match[1]}", match[1])))
            step.opaque("sed runs what it has replaced", at)


_PUT_IN = pattern(r"(?<!\\)&|\\[0-9]")
"""What a replacement takes out of the line."""


def _chmod(step: Step) -> None:
    found = step.options(("reference",))
    recursive = found.has("R", "recursive") or step.scene.walks
    if step.name == "chmod":
        words = [word for word in step.words if not (word.text.startswith("-") and set(word.text[1:]) <= set("Rcfv"))]
        words = [word for word in words if not word.text.startswith("--")]
        mode, files = (words[0].text, words[1:]) if words else ("", [])
    else:
        mode, files = (found.rest[0].text, list(found.rest[1:])) if found.rest else ("", [])
    for file in files:
        step.effect("permissions", step.name, file, path=step.path(file), recursive=recursive, target=mode, writes=True)
    step.out = Stream("")


def _chattr(step: Step) -> None:
    """Its flags are the mode: `-i` takes an attribute away."""
    words = [word for word in step.words if word.text not in {"-f", "-V", "-R", "--"}]
    modes = [word.text for word in words if word.text[:1] in {"+", "-", "="}]
    deep = step.scene.walks or any(word.text == "-R" for word in step.words)
    for file in [word for word in words if word.text not in modes] if modes else ():
        path, mode = step.path(file), " ".join(modes)
        step.effect("permissions", "chattr", file, path=path, recursive=deep, target=mode, writes=True)
    step.out = Stream("")


def _mktemp(step: Step) -> None:
    found = step.options("p suffix tmpdir".split())
    template = found.rest[0].text if found.rest else "tmp.XXXXXXXXXX"
    name = template if template.startswith("/") else f"{step.scene.world.temporary[0]}/{template}"
    step.print(name + "\n")


def _dirname(step: Step) -> None:
    part = posixpath.dirname if step.name == "dirname" else posixpath.basename
    words = step.options().rest
    step.print(part(words[0].text) + "\n" if words else None)


def _realpath(step: Step) -> None:
    words = step.options("relative-to relative-base".split()).rest
    step.print(step.path(words[0]) + "\n" if words else None)


TOOLS: dict[str, Handler] = {
    "basename": _dirname,
    "chattr": _chattr,
    "chgrp": _chmod,
    "chmod": _chmod,
    "chown": _chmod,
    "cp": _cp,
    "dd": _dd,
    "del": _rd,
    "dirname": _dirname,
    "erase": _rd,
    "gio": _gio,
    "grm": _rm,
    "install": _install,
    "ln": _ln,
    "mkdir": _writes,
    "mkfifo": _writes,
    "mktemp": _mktemp,
    "mv": _mv,
    "rd": _rd,
    "readlink": _realpath,
    "realpath": _realpath,
    "rm": _rm,
    "rmdir": _rmdir,
    "sed": _sed,
    "sdelete": _wipe,
    "shred": _unlink,
    "sponge": _tee,
    "srm": _rm,
    "tee": _tee,
    "touch": _writes,
    **dict.fromkeys("gvfs-trash rmtrash trash trash-put".split(), _trash),
    "truncate": _writes,
    "unlink": _unlink,
    "wipe": _wipe,
}
