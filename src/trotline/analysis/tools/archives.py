"""Archivers: they read what they pack, write what they unpack, and some run other programs on the way."""

from trotline.analysis.options import Options
from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import SILENT, Stream, joined

_TAR = (
    "f C T X I b g V L N H K F file directory files-from exclude exclude-from use-compress-program"
    " checkpoint-action to-command transform xform strip-components owner group mode mtime"
    " info-script new-volume-script rsh-command rmt-command one-top-level starting-file suffix newer"
).split()


def _tar(step: Step) -> None:
    _old_letters(step)
    given = step.scene.value("TAR_OPTIONS")
    if given is not None and given.texts[0]:
        step.words = [*(step.program._replace(text=part) for part in given.texts[0].split()), *step.words]
    found = step.options(_TAR)
    _tar_runs(step, found)
    scene = step.scene
    for at in found.values("C", "directory"):
        scene = scene.copy()
        scene.cwd = scene.absolute(at.text)
    archives = found.values("f", "file")
    if found.has("c", "create", "r", "append", "u", "update", "A"):
        _packed(step, found, archives[-1:], scene.cwd)
    elif found.has("x", "extract", "get"):
        stream = _unpacked_from(step, archives)
        if found.has("O", "to-stdout"):
            step.out = stream.passed_on().also("decoded")
        else:
            at = (found.values("C", "directory") or [Argument(".", step.start, step.end)])[-1]
            step.write(at, verb="unpack", recursive=True, source=stream.carried)
            _unpacked(step, stream, scene.cwd)
            step.out = SILENT
    elif found.has("t", "list", "d", "diff"):
        _unpacked_from(step, archives)
        step.out = Stream()


def _old_letters(step: Step) -> None:
    """`tar xzf a.tgz`: the first word holds letters of options without a dash."""
    if step.words and step.words[0].text[:1].isalpha() and "/" not in step.words[0].text:
        first = step.words[0]
        if {*first.text} & set("cxtruA") and len(first.text) < 9:
            step.words = [first._replace(text="-" + first.text), *step.words[1:]]
            letters = [letter for letter in first.text if letter in "fCTXIbVLgNHK"]
            if len(letters) > 1 or (letters and first.text[-1] not in letters):
                plain = "".join(letter for letter in first.text if letter not in letters)
                values = step.words[1 : 1 + len(letters)]
                pairs = [
                    first._replace(text=f"-{letter}{value.text}")
                    for letter, value in zip(letters, values, strict=False)
                ]
                step.words = [first._replace(text="-" + plain), *pairs, *step.words[1 + len(letters) :]]


def _tar_runs(step: Step, found: Options) -> None:
    for at in found.values("checkpoint-action"):
        if at.text.startswith("exec="):
            step.script(at._replace(text=at.text[5:]))
    for at in found.values("to-command", "info-script", "new-volume-script", "F", "rsh-command", "rmt-command"):
        step.script(at)
    for at in found.values("I", "use-compress-program"):
        step.script(at)


def _packed(step: Step, found: Options, archives: list[Argument], cwd: str) -> None:
    scene = step.scene.copy()
    scene.cwd = cwd
    streams = []
    deep = not found.has("no-recursion")
    for at in found.rest:
        path = scene.absolute(at.text)
        absolute = at._replace(text=path)
        step.read(absolute, verb="pack", recursive=deep)
        streams.append(step.scene.content(path))
        if found.has("remove-files"):
            step.delete(absolute, recursive=True)
    for at in found.values("T", "files-from"):
        step.read(at)
    content = joined(streams).passed_on()
    step.out = content
    for at in archives:
        _archive(step, at, content)


def _archive(step: Step, at: Argument, content: Stream) -> None:
    """Where an archive goes: a pipe, a file, or with `host:` another machine."""
    if at.text in {"-", "/dev/stdout"}:
        return
    host, colon, _ = at.text.partition(":")
    if colon and "/" not in host and len(host) > 1:
        step.send(host.rpartition("@")[2], at, source=content.carried)
    elif at.text.startswith("/dev/fd/") and at.text[8:] in step.scene.descriptors:
        path = step.scene.descriptors[at.text[8:]][0]
        step.send(path.split("/")[3] if path.startswith("/dev/tcp/") else "", at, source=content.carried)
    else:
        step.write(at, verb="pack", source=content.carried)
        step.scene.keep(step.path(at), content)
        step.out = SILENT


def _unpacked(step: Step, stream: Stream, directory: str) -> None:
    if "network" in stream.origins:
        step.scene.unpacked.append(directory)


def _unpacked_from(step: Step, archives: list[Argument]) -> Stream:
    for at in archives[-1:]:
        if at.text != "-" and at.pipe is None:
            step.read(at, verb="look")
            return step.scene.content(step.path(at))
        if at.pipe is not None:
            return at.pipe
    return step.stdin


def _zip(step: Step) -> None:
    found = step.options("b n t P Z TT unzip-command temp-path i x".split())
    words = list(step.words)
    for index, word in enumerate(words[:-1]):
        if word.text in {"-TT", "--unzip-command"}:
            step.script(words[index + 1])
    files = [word for word in found.rest if word.text != "-" or word is found.rest[0]]
    named = [step.program._replace(text=line) for line in (step.stdin.text or "").split()] if found.has("@") else []
    streams = []
    for at in [*files[1:], *named]:
        if at.text == "-":
            continue
        step.read(at, verb="pack", recursive=found.has("r"))
        streams.append(step.scene.content(step.path(at)))
        if found.has("m", "move"):
            step.delete(at, recursive=found.has("r"))
    content = joined(streams).passed_on() if streams else step.stdin.passed_on()
    step.out = content
    for at in files[:1]:
        if at.text != "-":
            step.write(at, verb="pack", source=content.carried)
            step.scene.keep(step.path(at), content)
            step.out = SILENT


def _unzip(step: Step) -> None:
    found = step.options("d P x".split())
    for at in found.rest[:1]:
        step.read(at, verb="look")
    if found.has("l", "t", "v", "z", "Z"):
        return
    if found.has("p", "c"):
        step.out = joined([step.scene.content(step.path(at)) for at in found.rest[:1]]).passed_on().also("decoded")
        return
    at = (found.values("d") or [Argument(".", step.start, step.end)])[-1]
    step.write(at, verb="unpack", recursive=True)


def _seven(step: Step) -> None:
    """`7z`, `rar`, `ar`, `jar`: a letter or a word, the archive, the files."""
    words = [word for word in step.words if not (word.text.startswith("-") and len(word.text) > 1)]
    if len(words) < 2:
        return
    verb = words[0].text.lower() or "?"
    archive, files = words[1], words[2:]
    if verb[0] in "ex" or verb.startswith("extract"):
        step.read(archive, verb="look")
        where = next((word._replace(text=word.text[2:]) for word in step.words if word.text.startswith("-o")), None)
        step.write(where or Argument(".", step.start, step.end), verb="unpack", recursive=True)
    elif verb[0] in "aucmrqp" and verb != "p":
        streams = []
        for at in files:
            step.read(at, verb="pack", recursive=True)
            streams.append(step.scene.content(step.path(at)))
        step.write(archive, verb="pack")
        step.scene.keep(step.path(archive), joined(streams).passed_on() if streams else Stream())
        if any(word.text == "-sdel" for word in step.words) or (step.name == "rar" and verb == "m"):
            for at in files:
                step.delete(at, recursive=True)


def _cpio(step: Step) -> None:
    found = step.options("F I O D E H file rsh-command directory format".split())
    for at in found.values("rsh-command"):
        step.script(at)
    names = [step.program._replace(text=line) for line in (step.stdin.text or "").split()]
    if found.has("o", "create", "p", "pass-through"):
        for at in names:
            step.read(at, verb="pack")
        step.out = Stream(None, step.stdin.origins, (*step.stdin.paths, *(step.path(at) for at in names)))
        for at in (*found.values("F", "O", "file"), *(found.rest if found.has("p") else ())):
            step.write(at, verb="pack")
    elif found.has("i", "extract") and not found.has("t", "list"):
        step.write(Argument(".", step.start, step.end), verb="unpack", recursive=True)


def _squash(step: Step) -> None:
    found = step.options("d dest comp b".split(), long_dash=True)
    for at in found.rest[:-1]:
        step.read(at, verb="pack", recursive=True)
    for at in found.rest[-1:]:
        step.write(at, verb="pack")


TOOLS: dict[str, Handler] = {
    **dict.fromkeys("7z 7za 7zr 7zz rar ar jar p7zip".split(), _seven),
    **dict.fromkeys("tar gtar bsdtar".split(), _tar),
    "cpio": _cpio,
    "mksquashfs": _squash,
    "genisoimage": _squash,
    "unrar": _seven,
    "unzip": _unzip,
    "zip": _zip,
}
