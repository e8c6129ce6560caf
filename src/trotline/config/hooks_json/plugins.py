"""A plugin's hooks: a file named by its manifest, an object inside the manifest, or `hooks/hooks.json`."""

from pathlib import Path
from typing import NamedTuple

from trotline.config.hooks_json.layer_file import Sheet
from trotline.domain.editions import Edition
from trotline.domain.errors import describe_os_error
from trotline.domain.hooks import Layer
from trotline.formats.jsonc import JsonDocument, JsonKind, JsonNode, parse_jsonc
from trotline.system.files import read_file


class FoundPlugin(NamedTuple):
    """The sheet to report on, and the object that holds `hooks`; no object when the plugin has no hooks."""

    sheet: Sheet
    root: JsonNode | None


def hooks_of_plugin(layer: Layer, document: JsonDocument, edition: Edition) -> FoundPlugin:
    """Follow a manifest to its hooks. A plugin without a manifest is its `hooks/hooks.json`."""
    sheet = Sheet(layer, document, edition)
    if not Path(layer.root).resolve().is_relative_to(Path(layer.root).parent.resolve()):
        sheet.report("TL511", (0, 0), f"the plugin is a link to `{Path(layer.root).resolve()}`, out of its directory")
        return FoundPlugin(sheet, None)
    if Path(layer.file).name != "plugin.json" or document.root is None:
        return FoundPlugin(sheet, document.root)
    hooks = document.root.get("hooks")
    if hooks is None:
        return _file(layer, edition, sheet, "hooks/hooks.json", None)
    if hooks.kind is JsonKind.OBJECT:
        wrapped = hooks if "hooks" in hooks.members else document.root
        return FoundPlugin(
            sheet, JsonNode(JsonKind.OBJECT, wrapped.start, wrapped.end, None, {"hooks": wrapped.members["hooks"]})
        )
    if hooks.kind is JsonKind.STRING:
        return _file(layer, edition, sheet, str(hooks.value), hooks)
    sheet.report("TL511", hooks, f"`hooks` is {hooks.kind.value}; it must be a path or an object")
    return FoundPlugin(sheet, None)


def _file(layer: Layer, edition: Edition, manifest: Sheet, written: str, named_at: JsonNode | None) -> FoundPlugin:
    path = Path(layer.root) / written
    try:
        inside = path.resolve().is_relative_to(Path(layer.root).resolve())
        data = read_file(path) if inside else b""
    except (FileNotFoundError, NotADirectoryError, ValueError, RuntimeError):  # or not a name, or links in a circle
        if named_at is not None:
            manifest.report("TL511", named_at, f"there is no file `{written}` in the plugin")
        return FoundPlugin(manifest, None)
    except OSError as error:
        why = describe_os_error(error)
        manifest.report("TL511", named_at or (0, 0), f"`{written}` of the plugin cannot be read: {why}")
        return FoundPlugin(manifest, None)
    if not inside:
        if named_at is not None:
            manifest.report("TL511", named_at, f"`{written}` leads out of the plugin")
        return FoundPlugin(manifest, None)
    moved = Layer(kind=layer.kind, file=str(path), root=layer.root, cwd=layer.cwd)
    document = parse_jsonc(data)
    sheet = Sheet(moved, document, edition)
    sheet.problems += manifest.problems
    return FoundPlugin(sheet, document.root)
