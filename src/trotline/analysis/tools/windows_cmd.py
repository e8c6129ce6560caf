"""`cmd /c`: the shell of Windows, as far as its words go."""

import re

from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream, joined
from trotline.analysis.typed import as_written, windows

_PART = re.compile(
    r'\^.|"[^"]*"?|&&|\|\||[&|()\n]|>>?|[ \t,;=]+|%[A-Za-z_][\w():]*%|[^\^"&|()\n> \t,;=%]+|.', re.DOTALL
)
MOST_PARTS = 10_000


def _statements(text: str, step: Step) -> list[tuple[str, list[str]]]:
    """What joins a command to the one before, and its words."""
    found: list[tuple[str, list[str]]] = [("", [])]
    word: str | None = None
    for count, match in enumerate(_PART.finditer(text)):
        part = match.group()
        if count > MOST_PARTS:
            break
        joins = part in {"&", "&&", "||", "|", "\n", "(", ")"}
        if joins or part.isspace() or part in {">", ">>"} or not part.strip(" \t,;="):
            if word is not None:
                found[-1][1].append(word)
            word = None
            if joins:
                found.append((part, []))
            elif part in {">", ">>"}:
                found[-1][1].append(part)
            continue
        word = (word or "") + _meant(part, step)
    if word is not None:
        found[-1][1].append(word)
    return [(sign, words) for sign, words in found if words]


def _meant(part: str, step: Step) -> str:
    if part[0] == "^":
        return part[1:]
    if part[0] == '"':
        return part.strip('"')
    if part[0] == "%" and len(part) > 2:
        world = step.scene.world
        known = {
            "appdata": f"{world.home}/AppData/Roaming",
            "cd": step.scene.cwd,
            "homepath": world.home,
            "systemdrive": "C:",
            "systemroot": "/Windows",
            "temp": world.temporary[0],
            "tmp": world.temporary[0],
            "username": world.user,
            "userprofile": world.home,
            "windir": "/Windows",
            "homedrive": "",
        }
        return known.get(part.strip("%").lower(), UNKNOWN)
    return part


def _cmd(step: Step) -> None:
    words = list(step.words)
    while words and words[0].text[:1] == "/" and words[0].text[1:2].lower() not in {"c", "k", "r"}:
        words.pop(0)
    if not words or words[0].text[:1] != "/":
        if step.stdin.text:
            _run(step, step.program._replace(text=step.stdin.text))
        return
    first = words.pop(0)
    glued = [first._replace(text=first.text[2:])] if len(first.text) > 2 else []
    rest = [*glued, *(as_written(step, word) for word in words)]
    if rest:
        text = " ".join(_requoted(word.text) if len(rest) > 1 else word.text for word in rest)
        _run(step, rest[0]._replace(text=text, end=rest[-1].end))


def _requoted(text: str) -> str:
    return f'"{text}"' if " " in text and '"' not in text else text


def _run(step: Step, at: Argument) -> None:
    stream = step.stdin
    for sign, words in _statements(at.text, step):
        stream = _command(step, at, words, stream if sign == "|" else step.stdin)
    step.out = stream


def _command(step: Step, at: Argument, words: list[str], stdin: Stream) -> Stream:
    signs = [index for index, word in enumerate(words) if word in {">", ">>"}]
    for target in (word for index in signs for word in words[index + 1 : index + 2]):
        if target.lower() not in {"nul", "con"} and not target.startswith("&"):
            step.write(windows(step, at._replace(text=target)))
    taken = {index + shift for index in signs for shift in (0, 1)}
    words = [word for index, word in enumerate(words) if index not in taken]
    if not words:
        return Stream("")
    name = words[0].lower().lstrip("@").removesuffix(".exe")
    rest = [at._replace(text=word, why="" if UNKNOWN not in word else "a variable of Windows") for word in words[1:]]
    act = _BUILTINS.get(name)
    if act is not None:
        return act(step, name, rest)
    return step.run([at._replace(text=words[0].lstrip("@")), *rest], stdin)


def _files(words: list[Argument]) -> list[Argument]:
    return [
        word for word in words if not (word.text.startswith("/") and len(word.text) <= 3 and word.text[1:].isalpha())
    ]


def _flags(words: list[Argument]) -> set[str]:
    return {part.lower() for word in words if word.text.startswith("/") for part in word.text.split("/") if part}


def _delete(step: Step, name: str, words: list[Argument]) -> Stream:
    plain = [word for word in words if not re.fullmatch(r"(?:/[A-Za-z])+", word.text)]
    flags = _flags([word for word in words if word not in plain])
    for word in plain:
        path = windows(step, word)
        if name in {"rd", "rmdir"} and "s" not in flags:
            step.effect("delete", "rmdir", path, path=step.path(path), source="empty", writes=True)
        else:
            step.delete(path, recursive="s" in flags, verb=name)
    return Stream("")


def _copy(step: Step, name: str, words: list[Argument]) -> Stream:
    files = [windows(step, word) for word in _files(words)]
    if len(files) < 2:
        return Stream("")
    source, target = step.path(files[0]), step.path(files[1])
    if name in {"move", "ren", "rename"}:
        step.effect("delete", "move", files[0], path=source, target=target, recursive=True, writes=True)
    else:
        step.read(files[0], verb="copy")
    step.write(files[1], verb="copy" if name in {"copy", "xcopy"} else "move", source=source)
    return Stream("")


def _type(step: Step, _: str, words: list[Argument]) -> Stream:
    files = [windows(step, word) for word in words]
    for file in files:
        step.read(file, verb="type")
    return joined([step.scene.content(step.path(file)) for file in files])


def _format(step: Step, name: str, words: list[Argument]) -> Stream:
    for word in _files(words)[:1]:
        step.effect("disk", name, word, target=word.text, writes=True)
    return Stream("")


def _echo(_: Step, __: str, words: list[Argument]) -> Stream:
    return Stream(" ".join(word.text for word in words) + "\n")


def _cd(step: Step, _: str, words: list[Argument]) -> Stream:
    for word in _files(words)[:1]:
        step.scene.cwd = step.path(windows(step, word))
    return Stream("")


def _start(step: Step, _: str, words: list[Argument]) -> Stream:
    """`start`, `call`: another command; a title in quotes and flags come first."""
    rest = [word for word in words if word.text and not re.fullmatch(r"/\w+", word.text)]
    return step.run(rest) if rest else Stream("")


_BUILTINS = {
    "call": _start,
    "cd": _cd,
    "chdir": _cd,
    "copy": _copy,
    "del": _delete,
    "echo": _echo,
    "erase": _delete,
    "format": _format,
    "move": _copy,
    "rd": _delete,
    "ren": _copy,
    "rename": _copy,
    "rmdir": _delete,
    "start": _start,
    "type": _type,
    "xcopy": _copy,
}


def _bare(step: Step) -> None:
    """A builtin as a line of its own: hosts on Windows hand such lines over as they are."""
    words = [as_written(step, word).text for word in (step.program, *step.words)]
    _run(step, step.program._replace(text=" ".join(map(_requoted, words)), end=step.end))


TOOLS: dict[str, Handler] = {"cmd": _cmd, **dict.fromkeys("copy move ren xcopy".split(), _bare)}
