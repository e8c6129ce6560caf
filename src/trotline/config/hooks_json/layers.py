"""The files that may have hooks, in execution order, and the directories in which their commands run."""

from collections.abc import Iterator
from pathlib import Path

import msgspec

from trotline.config.paths import Roots
from trotline.domain.editions import Edition, PathBase
from trotline.domain.hooks import Layer, LayerKind


def find_layers(roots: Roots, edition: Edition, *, claude: bool = True) -> list[Layer]:
    """Return all layers, including those whose files are missing."""
    layers = [*_list_cursor_layers(roots), *(_list_claude_layers(roots) if claude else ()), *_find_plugins(roots)]
    if edition.path_base is PathBase.FILE:
        return [msgspec.structs.replace(layer, cwd=str(Path(layer.file).parent)) for layer in layers]
    return layers


def _list_cursor_layers(roots: Roots) -> Iterator[Layer]:
    enterprise, team, user = roots.enterprise_file, roots.team_file, roots.user_file
    yield _build_layer(LayerKind.ENTERPRISE, enterprise, enterprise.parent)
    yield _build_layer(LayerKind.TEAM, team, team.parent)
    for project in roots.projects:
        if project != roots.home:  # the file of a project in the home directory is the user's
            yield _build_layer(LayerKind.PROJECT, project / ".cursor" / "hooks.json", project)
    yield _build_layer(LayerKind.USER, user, user.parent)


def _list_claude_layers(roots: Roots) -> Iterator[Layer]:
    for project in roots.projects:
        yield _build_layer(LayerKind.CLAUDE_LOCAL, project / ".claude" / "settings.local.json", project)
    for project in (project for project in roots.projects if project != roots.home):
        yield _build_layer(LayerKind.CLAUDE_PROJECT, project / ".claude" / "settings.json", project)
    # no document says where Cursor runs these; Claude Code runs them in the project
    start = roots.projects[0] if roots.projects else roots.home
    yield _build_layer(LayerKind.CLAUDE_USER, roots.home / ".claude" / "settings.json", start)


def _find_plugins(roots: Roots) -> Iterator[Layer]:
    directory = roots.plugin_directory
    if not directory.is_dir():
        return
    for plugin in sorted(directory.iterdir()):
        if plugin.name.startswith(".") or not plugin.is_dir():
            continue
        manifest = plugin / ".cursor-plugin" / "plugin.json"
        yield _build_layer(
            LayerKind.PLUGIN, manifest if manifest.is_file() else plugin / "hooks" / "hooks.json", plugin
        )


def _build_layer(kind: LayerKind, file: Path, root: Path) -> Layer:
    return Layer(kind=kind, file=str(file), root=str(root), cwd=str(root))


def get_layer(file: Path, roots: Roots, edition: Edition, kind: LayerKind | None = None) -> Layer:
    """Return the layer of a file, by its place or else by its name."""
    known = next((layer for layer in find_layers(roots, edition) if Path(layer.file) == file), None)
    if known and kind in {None, known.kind}:
        return known
    guessed = kind or _guess_kind(file)
    directories = {".cursor-plugin", "hooks"} if guessed is LayerKind.PLUGIN else {".cursor", ".claude"}
    root = file.parent.parent if file.parent.name in directories else None
    if root is None:
        note = "it stands in no project, so scripts and paths were not looked for"
        return Layer(kind=guessed, file=str(file), root="", cwd="", note=note)
    cwd = file.parent if edition.path_base is PathBase.FILE or guessed is LayerKind.USER else root
    return Layer(kind=guessed, file=str(file), root=str(root), cwd=str(cwd))


def _guess_kind(file: Path) -> LayerKind:
    names = {"settings.json": LayerKind.CLAUDE_PROJECT, "settings.local.json": LayerKind.CLAUDE_LOCAL}
    if file.name == "plugin.json" or file.parent.name == "hooks":
        return LayerKind.PLUGIN
    return names.get(file.name, LayerKind.PROJECT)
