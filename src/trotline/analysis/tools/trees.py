"""Programs that go through whole trees: those that copy them between directories and machines."""

from trotline.analysis.scene import Argument
from trotline.analysis.step import Handler, Step
from trotline.analysis.streams import joined
from trotline.analysis.tools.ssh_options import started


def _rsync(step: Step) -> None:
    found = step.options(
        "e f T B M rsh exclude include filter files-from exclude-from rsync-path chown log-file".split()
    )
    for shell in found.values("e", "rsh"):  # for a dry run too: the other side is asked
        step.script(shell)
    if found.has("n", "dry-run"):
        return
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
    found = step.options("c D F i J l o P S X".split())
    started(step, found.values("o"))
    for program in found.values("S"):  # in the place of ssh
        step.script(program)
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
    "rsync": _rsync,
    "scp": _scp,
}
