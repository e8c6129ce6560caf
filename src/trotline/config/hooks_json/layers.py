"""Which files may hold hooks, in the order in which their hooks run and speak, and where their commands run."""

from collections.abc import Iterator
from pathlib import Path

from trotline.config.paths import Roots
from trotline.domain.editions import Edition, PathBase
from trotline.domain.hooks import Layer, LayerKind


def find_layers(roots: Roots, edition: Edition, *, claude: bool = True) -> list[Layer]:
    """Every place that is looked at, whether or not there is a file: what is absent is said, not left out."""
    layers = [*_cursor(roots), *(_claude(roots) if claude else ()), *_plugins(roots)]
    if edition.path_base is PathBase.FILE:
        return [_run_from_its_file(layer) for layer in layers]
    return layers


def _cursor(roots: Roots) -> Iterator[Layer]:
    yield _layer(LayerKind.ENTERPRISE, roots.enterprise_file, roots.enterprise_file.parent)
    yield _layer(LayerKind.TEAM, roots.team_file, roots.team_file.parent)
    for project in roots.projects:
        if project != roots.home:  # there the project's file is the person's own
            yield _layer(LayerKind.PROJECT, project / ".cursor" / "hooks.json", project)
    yield _layer(LayerKind.USER, roots.user_file, roots.user_file.parent)


def _claude(roots: Roots) -> Iterator[Layer]:
    for project in roots.projects:
        yield _layer(LayerKind.CLAUDE_LOCAL, project / ".claude" / "settings.local.json", project)
    for project in (project for project in roots.projects if project != roots.home):
        yield _layer(LayerKind.CLAUDE_PROJECT, project / ".claude" / "settings.json", project)
    # where Cursor runs these is documented nowhere; Claude Code itself runs them in the project
    start = roots.projects[0] if roots.projects else roots.home
    yield _layer(LayerKind.CLAUDE_USER, roots.home / ".claude" / "settings.json", start)


def _plugins(roots: Roots) -> Iterator[Layer]:
    directory = roots.plugin_directory
    if not directory.is_dir():
        return
    for plugin in sorted(directory.iterdir()):
        if plugin.name.startswith(".") or not plugin.is_dir():
            continue
        manifest = plugin / ".cursor-plugin" / "plugin.json"
        yield _layer(LayerKind.PLUGIN, manifest if manifest.is_file() else plugin / "hooks" / "hooks.json", plugin)


def _layer(kind: LayerKind, file: Path, root: Path) -> Layer:
    return Layer(kind=kind, file=str(file), root=str(root), cwd=str(root))


def _run_from_its_file(layer: Layer) -> Layer:
    return Layer(kind=layer.kind, file=layer.file, root=layer.root, cwd=str(Path(layer.file).parent))


def get_layer(file: Path, roots: Roots, edition: Edition, kind: LayerKind | None = None) -> Layer:
    """The layer that a named file belongs to, by its place; a file in no known place counts as a project's."""
    known = next((layer for layer in find_layers(roots, edition) if Path(layer.file) == file), None)
    if known and kind in {None, known.kind}:
        return known
    guessed = kind or _by_name(file)
    homes = {".cursor-plugin", "hooks"} if guessed is LayerKind.PLUGIN else {".cursor", ".claude"}
    root = file.parent.parent if file.parent.name in homes else None
    if root is None:
        note = "it stands in no project, so scripts and paths were not looked for"
        return Layer(kind=guessed, file=str(file), root="", cwd="", note=note)
    cwd = file.parent if edition.path_base is PathBase.FILE or guessed is LayerKind.USER else root
    return Layer(kind=guessed, file=str(file), root=str(root), cwd=str(cwd))


def _by_name(file: Path) -> LayerKind:
    names = {"settings.json": LayerKind.CLAUDE_PROJECT, "settings.local.json": LayerKind.CLAUDE_LOCAL}
    if file.name == "plugin.json" or file.parent.name == "hooks":
        return LayerKind.PLUGIN
    return names.get(file.name, LayerKind.PROJECT)
