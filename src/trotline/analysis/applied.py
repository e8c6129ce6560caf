"""What manifests on the disk would do that are applied to a cluster: files, directories, and kustomizations of them.

The disk is looked at anew for each action, while a line that was read before is not read again.
"""

import posixpath
from collections.abc import Iterator, Sequence

from trotline.analysis.manifests import KUSTOMIZATIONS, KubeObject, kube_objects, parts_of, powers_of
from trotline.analysis.scene import World
from trotline.effects import Certainty, Effect

APPLY = "apply"
"""The verb of a read effect whose file is then applied."""

_ENDINGS = (".yaml", ".yml", ".json")
MOST_FILES = 500
DEEPEST = 8


def applied(effects: Sequence[Effect], world: World) -> list[Effect]:
    """The same effects, and those of the manifests that they name."""
    named = [effect for effect in effects if (effect.kind, effect.verb) == ("read", APPLY)]
    return [*effects, *(one for effect in named for one in _Looking(effect, world).found())]


def of_objects(objects: Sequence[KubeObject]) -> Iterator[dict[str, str]]:
    """What is said of objects: each as it is, and those that get more than a container has."""
    for one in objects:
        yield {"verb": "object", "target": one.title, "source": " ".join(one.images)}
        if one.powers:
            yield {"verb": "privileged", "target": one.words}


class _Looking:
    """One manifest that is named, and all that it leads to."""

    def __init__(self, effect: Effect, world: World) -> None:
        self.effect = effect
        self.world = world
        self.seen: set[str] = set()

    def found(self) -> Iterator[Effect]:
        yield from self._at(self.effect.path, DEEPEST, deep=self.effect.recursive)

    def _at(self, path: str, depth: int, *, deep: bool) -> Iterator[Effect]:
        if path in self.seen:
            return
        self.seen.add(path)
        if depth < 0 or len(self.seen) > MOST_FILES:
            yield self._effect("unseen", path, "there are more files than are looked at")
            return
        names = self.world.names(path)
        if names is None:
            yield from self._file(path)
            return
        made = next((name for name in KUSTOMIZATIONS if name in names), "")
        if made:
            yield from self._kustomization(f"{path.rstrip('/')}/{made}", depth)
            return
        for name in names:
            inner = f"{path.rstrip('/')}/{name}"
            if name.endswith(_ENDINGS) or (deep and self.world.names(inner) is not None):
                yield from self._at(inner, depth - 1, deep=deep)

    def _file(self, path: str) -> Iterator[Effect]:
        text = self.world.text(path)
        if text is None:
            yield self._effect("unseen", path, "the manifest is not there, or too large to be looked at")
            return
        for said in of_objects(kube_objects(text)):
            yield self._effect(said["verb"], said["target"], source=said.get("source", ""), path=path)

    def _kustomization(self, path: str, depth: int) -> Iterator[Effect]:
        text = self.world.text(path)
        if text is None:
            yield self._effect("unseen", path, "the kustomization is not there, or too large to be looked at")
            return
        yield from self._patched(path, text)
        parts = parts_of(text)
        for place in parts.elsewhere:
            yield self._effect("foreign", place, path=path)
        for part in parts.paths:
            inner = posixpath.normpath(posixpath.join(posixpath.dirname(path), part))
            if self.world.names(inner) is not None:
                yield from self._at(inner, depth - 1, deep=False)
            elif inner not in self.seen and (part_text := self.world.text(inner)) is not None:
                self.seen.add(inner)
                yield from self._file(inner)
                yield from self._patched(inner, part_text)

    def _patched(self, path: str, text: str) -> Iterator[Effect]:
        """A patch need not say of what kind it is."""
        powers = powers_of(text)
        if powers and not any(one.powers for one in kube_objects(text)):
            yield self._effect("privileged", f"{posixpath.basename(path)}: {', '.join(powers)}", path=path)

    def _effect(self, verb: str, target: str, why: str = "", *, source: str = "", path: str = "") -> Effect:
        return Effect(
            kind="kube",
            verb=verb,
            target=target,
            path=path,
            source=source,
            writes=True,
            column_from=self.effect.column_from,
            column_to=self.effect.column_to,
            certainty=Certainty.OPAQUE if why else Certainty.KNOWN,
            why=why,
        )
