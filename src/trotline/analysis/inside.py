"""Programs inside a container: paths are the container's, unless a directory of this machine is mounted there."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import msgspec

from trotline.analysis.scene import UNKNOWN, Argument
from trotline.analysis.step import GAP, Step
from trotline.analysis.streams import Stream
from trotline.effects import Effect

_PATHS = frozenset("delete write read permissions link disk persist".split())
_TAKES = frozenset("delete write permissions disk".split())


class Mount(NamedTuple):
    """A directory of this machine, and where it is seen inside."""

    here: str
    inside: str
    reads_only: bool = False


def run_inside(
    step: Step, words: Sequence[Argument], mounts: Iterable[Mount] = (), cwd: str = "", *, lasting: str = ""
) -> None:
    """Read the words as a program inside. `lasting`: the kind of effect if what it deletes there stays deleted; in a
    container that is gone afterwards nothing is lost.
    """
    scene = step.scene.elsewhere()
    scene.cwd = cwd or UNKNOWN
    scene.written = {}
    before = len(step.reading.effects)
    step.out = step.run(words, Stream(), scene=scene)
    found = step.reading.effects[before:]
    changed = {
        id(effect): _outside(effect, sorted(mounts, key=lambda mount: -len(mount.inside)), lasting) for effect in found
    }
    step.reading.effects[before:] = [new for effect in found if (new := changed[id(effect)]) is not None]
    _told(step.inner, changed)


def _told(steps: Iterable[Step], changed: dict[int, Effect | None]) -> None:
    """The steps say the same as the whole line."""
    for step in steps:
        kept = [changed.get(id(effect), effect) for effect in step.effects]
        step.effects = [effect for effect in kept if effect is not None]
        _told(step.inner, changed)


def _outside(effect: Effect, mounts: Sequence[Mount], lasting: str) -> Effect | None:
    """The effect as it is for this machine; nothing if it has none here."""
    if effect.kind not in _PATHS or not effect.path:
        return effect
    for mount in mounts:
        place = mount.inside.rstrip("/")
        if effect.path == mount.inside or effect.path.startswith(place + "/"):
            if mount.reads_only and effect.kind in _TAKES:
                return None
            rest = effect.path[len(place) :].strip("/")
            path = f"{mount.here.rstrip('/')}/{rest}".rstrip("/") or "/"
            return msgspec.structs.replace(effect, path=path)
        if place.startswith(effect.path.rstrip("/*") + "/") and effect.recursive and effect.kind in _TAKES:
            return None if mount.reads_only else msgspec.structs.replace(effect, path=mount.here)
    if lasting and effect.kind in _TAKES:
        verb = "delete inside" if effect.kind == "delete" else "write inside"
        shown = effect.path.replace(UNKNOWN, GAP)
        return msgspec.structs.replace(effect, kind=lasting, verb=verb, path="", target=shown)
    return None
