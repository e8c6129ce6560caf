"""What a machine knows about packages that would be installed: those that a line names, and those that files name.

The disk is looked at anew for each action, while a line that was read before is not read again.
"""

import posixpath
from collections.abc import Iterator, Sequence

import msgspec

from trotline.analysis.scene import Reports, World
from trotline.effects import Effect

_VERBS = frozenset({"install", "fetch-and-run"})
_LOCKS: dict[str, tuple[str, ...]] = {
    "Cargo.toml": ("Cargo.lock",),
    "package.json": ("package-lock.json", "npm-shrinkwrap.json", "yarn.lock", "pnpm-lock.yaml"),
    "pyproject.toml": ("uv.lock", "poetry.lock", "pdm.lock"),
}
"""Files that say which versions a manifest comes to; where there is one, the manifest itself says less."""


def reported(effects: Sequence[Effect], world: World) -> list[Effect]:
    """The same effects, with what is reported about their packages; and one for each reported package of a file."""
    reports = world.reports()
    if reports is None:
        return list(effects)
    known = [_known(effect, reports) for effect in effects]
    return [*known, *(one for effect in effects for one in _in_files(effect, world, reports))]


def _known(effect: Effect, reports: Reports) -> Effect:
    if effect.kind != "install" or effect.verb not in _VERBS or not effect.package.startswith("pkg:"):
        return effect
    why = reports.of(effect.package)
    return msgspec.structs.replace(effect, why=why) if why else effect


def _in_files(effect: Effect, world: World, reports: Reports) -> Iterator[Effect]:
    for path in _files(effect, world):
        for package in _packages(path, world):
            why = reports.of(package)
            if why:
                yield Effect(
                    kind="install",
                    verb="install",
                    package=package,
                    source="manifest",
                    path=path,
                    writes=True,
                    why=why,
                    column_from=effect.column_from,
                    column_to=effect.column_to,
                )


def _files(effect: Effect, world: World) -> list[str]:
    """The files that an install goes by."""
    if effect.kind == "read" and effect.verb == "install":
        return [effect.path]
    if effect.kind != "install" or effect.source != "manifest" or effect.verb not in _VERBS or not effect.path:
        return []
    directory, name = posixpath.split(effect.path)
    locks = [f"{directory}/{lock}" for lock in _LOCKS.get(name, ())]
    return [path for path in locks if world.text(path) is not None] or [effect.path]


def _packages(path: str, world: World) -> tuple[str, ...]:
    from trotline.analysis.tools.packages_locked import packages_of  # noqa: PLC0415 - few lines install by a file

    text = world.text(path)
    return packages_of(path, text) if text else ()
