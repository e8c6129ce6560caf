"""A plugin's hooks: a file named by its manifest, an object inside the manifest, or `hooks/hooks.json`."""

from pathlib import Path
from typing import NamedTuple

from trotline.config.files import content
from trotline.config.jsonc import Document, Kind, Node
from trotline.config.jsonc_reader import read
from trotline.config.sheet import Sheet
from trotline.editions import Edition
from trotline.hooks import Layer


class Found(NamedTuple):
    """The sheet to report on, and the object that holds `hooks`; no object when the plugin has no hooks."""

    sheet: Sheet
    root: Node | None


def hooks_of_plugin(layer: Layer, document: Document, edition: Edition) -> Found:
    """Follow a manifest to its hooks. A plugin without a manifest is its `hooks/hooks.json`."""
    sheet = Sheet(layer, document, edition)
    if not Path(layer.root).resolve().is_relative_to(Path(layer.root).parent.resolve()):
        sheet.report("TL511", (0, 0), f"the plugin is a link to `{Path(layer.root).resolve()}`, out of its directory")
        return Found(sheet, None)
    if Path(layer.file).name != "plugin.json" or document.root is None:
        return Found(sheet, document.root)
    hooks = document.root.get("hooks")
    if hooks is None:
        return _file(layer, edition, sheet, "hooks/hooks.json", None)
    if hooks.kind is Kind.OBJECT:
        wrapped = hooks if "hooks" in hooks.members else document.root
        return Found(sheet, Node(Kind.OBJECT, wrapped.start, wrapped.end, None, {"hooks": wrapped.members["hooks"]}))
    if hooks.kind is Kind.STRING:
        return _file(layer, edition, sheet, str(hooks.value), hooks)
    sheet.report("TL511", hooks, f"`hooks` is {hooks.kind.value}; it must be a path or an object")
    return Found(sheet, None)


def _file(layer: Layer, edition: Edition, manifest: Sheet, written: str, named_at: Node | None) -> Found:
    path = Path(layer.root) / written
    try:
        inside = path.resolve().is_relative_to(Path(layer.root).resolve())
        data = content(path)[0] if inside else b""
    except (FileNotFoundError, NotADirectoryError, ValueError, RuntimeError):  # or not a name, or links in a circle
        if named_at is not None:
            manifest.report("TL511", named_at, f"there is no file `{written}` in the plugin")
        return Found(manifest, None)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        manifest.report("TL511", named_at or (0, 0), f"`{written}` of the plugin cannot be read: {why}")
        return Found(manifest, None)
    if not inside:
        if named_at is not None:
            manifest.report("TL511", named_at, f"`{written}` leads out of the plugin")
        return Found(manifest, None)
    moved = Layer(kind=layer.kind, file=str(path), root=layer.root, cwd=layer.cwd)
    document = read(data)
    sheet = Sheet(moved, document, edition)
    sheet.problems += manifest.problems
    return Found(sheet, document.root)
