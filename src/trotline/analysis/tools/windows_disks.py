"""Programs of Windows for disks and whole directories of them."""

from trotline.analysis.scene import UNKNOWN
from trotline.analysis.step import Handler, Step
from trotline.analysis.tools.keyrings import stolen
from trotline.analysis.typed import as_written, windows

_DISKPART = frozenset("clean format delete convert create remove".split())


def _said(step: Step) -> list[str]:
    return [as_written(step, word).text.lower() for word in step.words]


def _diskpart(step: Step) -> None:
    """It takes its commands from a file or from what comes in; typed by a person they are not in the line."""
    files = [step.words[at + 1] for at, word in enumerate(_said(step)[:-1]) if word == "/s"]
    text = step.scene.content(step.path(windows(step, files[0]))).text if files else step.stdin.text
    if text is None and (files or step.stdin.origins):
        step.opaque("what diskpart does is not in this line", step.program, kind="disk", target="a disk", writes=True)
    for line in (text or "").lower().splitlines():
        if line.split()[:1] and line.split()[0] in _DISKPART:
            step.effect("disk", f"diskpart {line.split()[0]}", target="the selected disk", writes=True)


def _robocopy(step: Step) -> None:
    switches = {word for word in _said(step) if word.startswith("/")}
    places = [windows(step, word) for word in step.words if not word.text.startswith("/")]
    if len(places) < 2 or "/l" in switches:
        return
    source, target = places[:2]
    step.read(source, verb="copy", recursive=True)
    step.write(target, verb="copy", recursive=True, source=step.path(source))
    if switches & {"/mir", "/purge"}:
        step.effect("delete", "robocopy --delete", target, path=step.path(target), recursive=True, writes=True)
    if switches & {"/move", "/mov"}:
        moved = {"path": step.path(source), "target": step.path(target)}
        step.effect("delete", "move", source, **moved, recursive=True, writes=True)


def _bitlocker(step: Step) -> None:
    words = _said(step)
    if "-off" in words or {"-protectors", "-disable"} <= {*words} or "-forcerecovery" in words:
        step.effect("system", "protection off", target=" ".join([step.name, *words[:2]]), writes=True)


def _fsutil(step: Step) -> None:
    words = _said(step)
    if words[:2] == ["usn", "deletejournal"]:
        step.effect("system", "erase log", target="the journal of a disk", writes=True)
    elif words[:2] == ["file", "setzerodata"]:
        step.write(windows(step, step.words[-1]), verb="empty")


def _directory(step: Step) -> None:
    """`ntdsutil ... ifm`: a copy of the passwords of a whole domain."""
    if any("ifm" in word.split() or "create full" in word for word in _said(step)) or UNKNOWN in "".join(_said(step)):
        stolen(step)


TOOLS: dict[str, Handler] = {
    "diskpart": _diskpart,
    "fsutil": _fsutil,
    "manage-bde": _bitlocker,
    "ntdsutil": _directory,
    "robocopy": _robocopy,
}
