"""Cursor's hooks.json: a version, and for each event a flat list of entries."""

from trotline.config.hooks_json import entries, foreign_names
from trotline.config.hooks_json.layer_file import Sheet
from trotline.domain.events import EVENTS
from trotline.domain.hooks import Hook
from trotline.formats.jsonc import JsonKind, JsonNode

TOP_LEVEL_KEYS = frozenset({"version", "hooks"})


def read_hooks(sheet: Sheet, root: JsonNode | None, *, version_required: bool) -> list[Hook]:
    """The hooks that can be read, good ones beside bad ones; everything else is a Problem on the sheet."""
    if root is None:
        return []
    if root.kind is not JsonKind.OBJECT:
        sheet.report("TL201", root, f"the file holds {root.kind.value}, not an object")
        return []
    _version(sheet, root, required=version_required)
    for key, member in root.members.items():
        if key not in TOP_LEVEL_KEYS and not key.startswith("$"):
            sheet.report("TL215", member.key, f"`{key}` means nothing at the top of hooks.json")
    hooks = root.get("hooks")
    if hooks is None or hooks.kind is not JsonKind.OBJECT:
        found = f"`hooks` is {hooks.kind.value}, not an object" if hooks else "there is no `hooks` object"
        sheet.report("TL205", hooks or (root.start, root.start + 1), found, 'write `"hooks": {"stop": [...]}`')
        return []
    if not hooks.members:
        sheet.report("TL223", hooks, "no event is configured here")
    return [hook for event in hooks.members for hook in _event(sheet, hooks, event)]


def _version(sheet: Sheet, root: JsonNode, *, required: bool) -> None:
    version = root.get("version")
    hint = 'write `"version": 1`'
    if version is None:
        if required:
            sheet.report("TL202", (root.start, root.start + 1), "there is no `version`", f"{hint} at the top")
    elif version.kind is not JsonKind.NUMBER or not isinstance(version.value, int) or version.value < 1:
        shown = sheet.document.text[version.start : version.end][:40]
        sheet.report("TL203", version, f"`version` is `{shown}`, not a whole number from 1", hint)
    elif version.value != 1:
        sheet.report("TL204", version, f"the documentation knows no version {version.value}", hint)


def _event(sheet: Sheet, hooks: JsonNode, event: str) -> list[Hook]:
    member = hooks.members[event]
    if event not in sheet.edition.events:
        _unknown_event(sheet, member.key, event)
        if event not in EVENTS:
            return []
    if member.value.kind is not JsonKind.ARRAY:
        wrap = "put it in a list: `[...]`"
        sheet.report("TL209", member.value, f"`{event}` is {member.value.kind.value}, not a list of entries", wrap)
        return []
    return entries.read_entries(sheet, event, member.value.items)


def _unknown_event(sheet: Sheet, key: JsonNode, event: str) -> None:
    if event in EVENTS:
        sheet.report("TL206", key, f"edition {sheet.edition.name} does not know the event `{event}`")
        return
    if event in foreign_names.NO_SUCH_EVENT:
        sheet.report("TL206", key, f"there is no event `{event}`", foreign_names.NO_SUCH_EVENT[event])
        return
    if event in foreign_names.EVENTS_ELSEWHERE:
        product, ours = foreign_names.EVENTS_ELSEWHERE[event]
        hint = f"Cursor's event is `{ours}`" if ours else "Cursor has none like it; remove the entry"
        sheet.report("TL207", key, f"`{event}` is an event of {product}, not of Cursor", hint)
        return
    from difflib import get_close_matches  # noqa: PLC0415 - only a misspelt name needs it

    lowered = {name.lower(): name for name in sheet.edition.events}
    near = get_close_matches(event.lower(), lowered, n=1, cutoff=0.6)
    hint = f"did you mean `{lowered[near[0]]}`?" if near else "`trotline events` lists them"
    sheet.report("TL206", key, f"there is no event `{event}`", hint)
