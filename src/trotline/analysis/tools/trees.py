"""Programs that go through whole trees: find, and those that copy between machines."""

from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import Stream, joined


def _find(step: Step) -> None:
    words = [word for word in step.words if word.text not in {"-H", "-L", "-P"}]
    begin = next((at for at, word in enumerate(words) if word.text[:1] in {"-", "(", "!"}), len(words))
    roots = words[:begin] or [Argument(".", step.start, step.end)]
    tests, at = words[begin:], 0
    narrowed = any(word.text in _NARROWING for word in tests)
    while at < len(tests):
        word = tests[at]
        at += 2 if word.text in _VALUED else 1
        if word.text == "-delete":
            for root in roots:
                _found(step, root, word, narrowed=narrowed)
        elif word.text in {"-exec", "-execdir", "-ok", "-okdir"}:
            end = next((n for n in range(at, len(tests)) if tests[n].text in {";", "+"}), len(tests))
            _find_exec(step, roots, tests[at:end], narrowed=narrowed)
            at = end + 1
        elif word.text in {"-fprint", "-fls", "-fprintf", "-fprint0"} and at < len(tests):
            step.write(tests[at])
    step.out = Stream(None, frozenset({"names"}), tuple(step.path(root) for root in roots))


_VALUED = frozenset(
    "-amin -anewer -atime -cmin -cnewer -context -ctime -fstype -gid -group -ilname -iname -inum"
    " -ipath -iregex -iwholename"
    " -links -lname -maxdepth -mindepth -mmin -mtime -name -newer -path -perm -printf -regex -regextype -samefile -size"
    " -type -uid -used -user -wholename -xtype".split()
)
_NARROWING = frozenset(
    "-name -iname -path -ipath -regex -iregex -wholename -empty -mtime -mmin -newer -size -atime"
    " -ctime -maxdepth".split()
)


def _found(step: Step, root: Argument, at: Argument, *, narrowed: bool) -> None:
    path = step.path(root) + ("/" + UNKNOWN if narrowed else "")
    step.effect(
        "delete",
        "find",
        at._replace(text=root.text, why=root.why),
        path=path,
        recursive=True,
        writes=True,
        source="selected" if narrowed else "",
    )


def _find_exec(step: Step, roots: list[Argument], words: list[Argument], *, narrowed: bool) -> None:
    for root in roots[:8]:
        text = root.text.rstrip("/") + "/" + UNKNOWN if narrowed else root.text
        name = root._replace(text=text, why="what find will find" if narrowed else root.why)
        scene = step.scene.copy()
        scene.walks = True
        step.run(
            [
                word._replace(text=word.text.replace("{}", name.text), why=name.why) if "{}" in word.text else word
                for word in words
            ],
            Stream(),
            scene=scene,
        )


def _rsync(step: Step) -> None:
    found = step.options(
        "e f T B M rsh exclude include filter files-from exclude-from rsync-path chown log-file".split()
    )
    if found.has("n", "dry-run"):
        return
    for shell in found.values("e", "rsh"):
        step.script(shell)
    sources, targets = found.rest[:-1], found.rest[-1:]
    for source in sources:
        if _remote(source.text):
            step.effect("fetch", "rsync", source, host=_remote(source.text))
        else:
            step.read(source, recursive=True, verb="copy")
            if found.has("remove-source-files"):
                step.delete(source, recursive=True)
    for target in targets:
        if _remote(target.text):
            _sent(step, target, sources)
        elif any(flag == "del" or flag.startswith("delete") for flag in found.flags):
            step.delete(target, recursive=True, verb="rsync --delete")
        else:
            step.write(target, verb="copy", recursive=True)
            for source in sources:
                step.scene.keep(step.path(target), step.scene.content(step.path(source)))


def _remote(text: str) -> str:
    """The host of `user@host:path` or `rsync://host/...`, or nothing."""
    if "://" in text:
        return text.partition("://")[2].partition("/")[0].rpartition("@")[2]
    host, colon, _ = text.partition(":")
    return host.rpartition("@")[2] if colon and "/" not in host and len(host) > 1 else ""


def _sent(step: Step, target: Argument, sources: tuple[Argument, ...]) -> None:
    content = joined([step.scene.content(step.path(source)) for source in sources])
    path = target.text.partition(":")[2].lstrip(":")
    step.effect("send", step.name, target, host=_remote(target.text), target=path, source=content.carried)


def _scp(step: Step) -> None:
    found = step.options("c F i J l o P S".split())
    sources, targets = found.rest[:-1], found.rest[-1:]
    for source in sources:
        if _remote(source.text):
            step.effect("fetch", step.name, source, host=_remote(source.text))
        else:
            step.read(source, recursive=found.has("r"), verb="copy")
    for target in targets:
        if _remote(target.text):
            _sent(step, target, sources)
        else:
            step.write(target, verb="copy")


TOOLS: dict[str, Handler] = {
    "find": _find,
    "gfind": _find,
    "rsync": _rsync,
    "scp": _scp,
}
