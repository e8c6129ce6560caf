"""Install, update and remove Trotline's entries in the bytes of an agent's file.

An entry is ours if its command is. Everything else belongs to the user and stays unchanged: comments, order, unknown
keys, other tools' entries, line endings, indentation, a byte order mark. Rules for cases that the text leaves open:

* Of equal keys the last one counts, so that one is edited. It is never removed, because the one before it would then
  take effect.
* A trailing comma stays, and separates what is added after it. We never write one.
* A list or object that becomes empty when our entries are removed is removed too, unless it has a comment or was in the
  original file. `hooks` stays in a flat file whose original is unknown; `version` always stays.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from trotline.config.hooks_json.hooks_file import UNPARSABLE_CODES
from trotline.config.problems import Problem
from trotline.config.text_report import TextReport
from trotline.formats.jsonc import JsonDocument, JsonKind, JsonMember, JsonNode, parse_jsonc
from trotline.formats.jsonc_edit import JsonEditor, JsonPart, NamedValue, format_json

BOM = b"\xef\xbb\xbf"
COMMANDS = ("command", "bash", "powershell")
"""The keys under which agents have the command of an entry."""

CURSOR_CODES = frozenset({"TL107"})
"""Codes of problems that only Cursor has: it strips comments inside strings."""


class Shape(StrEnum):
    """The way a file holds entries.

    Flat: each entry has its own matcher in the event's list, in a file only for hooks. Grouped: entries are in groups
    that have the matcher, in a file that may hold other settings too.
    """

    FLAT = "flat"
    GROUPED = "grouped"


class EntryEdit(NamedTuple):
    """A hook that the file should have: the agent's name of the event, and the entry to write."""

    event: str
    body: dict[str, Any]
    matcher: str = ""


class EditTerms(NamedTuple):
    """The format of an agent's file, and a test for the commands in it that are ours."""

    shape: Shape
    ours: Callable[[str], bool]
    version: int | None = None  # added if the file has none
    first: bool = False  # put new entries before the others of their event
    file: str = ""  # the name in problems
    fatal_codes: frozenset[str] = UNPARSABLE_CODES  # problem codes for which the agent loads nothing


class HooksFileEdit(NamedTuple):
    """The new content of a file. If the edit was refused, the data is unchanged and the problems say why."""

    data: bytes
    changed: bool = False
    refused: bool = False
    problems: tuple[Problem, ...] = ()


class _WantedEntry(NamedTuple):
    """An entry to install.

    `matcher` and `canonical` are compared with the file; `item` is written in the event's list, `body` inside a group.
    """

    matcher: str
    body: dict[str, Any]
    item: dict[str, Any]
    canonical: str


class _Slot(NamedTuple):
    """The position of an entry of ours. `node` is removed or replaced: the entry, or a group with no other entry."""

    node: JsonNode
    entry: JsonNode
    matcher: str | None  # None: equals no wanted entry
    is_whole_group: bool  # also true for an entry that is not in a group


class _EmptyParts(NamedTuple):
    """The parts that stay even when they are empty."""

    hooks: bool
    events: frozenset[str] = frozenset()


def install_entries(data: bytes | None, entries: Sequence[EntryEdit], terms: EditTerms) -> HooksFileEdit:
    """Return the file with exactly these entries of ours.

    Entries that are already there stay where they are; changed entries are replaced in position.
    """
    wanted: dict[str, list[_WantedEntry]] = {}
    for entry in entries:
        wanted.setdefault(entry.event, []).append(_build_wanted(entry, terms))
    if data is None or not data.removeprefix(BOM).strip():
        return _build_file(data or b"", wanted, terms)
    document = parse_jsonc(data)
    refusal = _find_refusal(document, wanted, terms)
    if refusal:
        return HooksFileEdit(data, refused=True, problems=refusal)
    draft = JsonEditor(document)
    preserved = _EmptyParts(bool(wanted) or terms.shape is not Shape.GROUPED, frozenset(wanted))
    missing = _update_entries(draft, wanted, preserved, terms)
    if draft.changes:
        document = parse_jsonc(draft.render())
        if _is_unparsable(document):
            return _finish_edit(data, draft.render(), terms)
        draft = JsonEditor(document)
    if wanted:
        _add_entries(draft, missing, terms)
    return _finish_edit(data, draft.render(), terms)


def remove_entries(data: bytes, terms: EditTerms, original: bytes | None = None) -> HooksFileEdit:
    """Return the file without our entries.

    `original` is the content before our first edit, if known (empty: there was no file). It tells which of the lists
    and objects that become empty were there before.
    """
    document = parse_jsonc(data)
    problems = tuple(_report_faults(document, terms).problems)
    if _is_unparsable(document):
        return HooksFileEdit(data, refused=True, problems=problems)
    preserved = _EmptyParts(terms.shape is not Shape.GROUPED)
    if original is not None:
        preserved = _list_original_parts(parse_jsonc(original))
    draft = JsonEditor(document)
    _update_entries(draft, {}, preserved, terms)
    return _finish_edit(data, draft.render(), terms)


def is_empty_file(data: bytes) -> bool:
    """Check whether a file has nothing except its version."""
    document = parse_jsonc(data)
    root = document.root
    has_only_version = root is not None and root.kind is JsonKind.OBJECT and root.members.keys() <= {"version"}
    return has_only_version and not document.comments and not document.faults


def is_same_content(data: bytes, other: bytes) -> bool:
    """Check whether two files have the same content, apart from comments, layout and version."""
    values = [_get_json_value(root) if root else {} for root in (parse_jsonc(data).root, parse_jsonc(other).root)]
    for value in values:
        if isinstance(value, dict):
            value.pop("version", None)
    first, second = (json.dumps(value, sort_keys=True) for value in values)
    return first == second


def _build_wanted(entry: EntryEdit, terms: EditTerms) -> _WantedEntry:
    """Build the entry to compare. Its content is parsed first, to compare equal to what is read: 10.0 is 10."""
    if not any(terms.ours(entry.body[key]) for key in COMMANDS if isinstance(entry.body.get(key), str)):
        raise ValueError(f"an entry of `{entry.event}` that could not be recognized as ours later")
    matcher = {"matcher": entry.matcher} if entry.matcher else {}
    is_grouped = terms.shape is Shape.GROUPED
    body = entry.body if is_grouped else {**entry.body, **matcher}
    canonical = _format_canonical(parse_jsonc(format_json(body)).root)
    if is_grouped:
        return _WantedEntry(entry.matcher, body, {**matcher, "hooks": [body]}, canonical)
    return _WantedEntry("", body, body, canonical)


def _build_file(data: bytes, wanted: dict[str, list[_WantedEntry]], terms: EditTerms) -> HooksFileEdit:
    if not wanted:
        return HooksFileEdit(data)
    version = {} if terms.version is None else {"version": terms.version}
    hooks = {event: [entry.item for entry in listed] for event, listed in wanted.items()}
    return _finish_edit(data, format_json({**version, "hooks": hooks}, indent=2) + "\n", terms, is_new=True)


def _finish_edit(data: bytes, text: str, terms: EditTerms, *, is_new: bool = False) -> HooksFileEdit:
    """Build the result; refuse it if the new text became too large or too deep to be read again."""
    new = text.encode() if is_new or not data.startswith(BOM) else BOM + text.encode()
    document = parse_jsonc(new)
    problems = tuple(_report_faults(document, terms).problems)
    if _is_unparsable(document):
        return HooksFileEdit(data, refused=True, problems=problems)
    return HooksFileEdit(new, new != data, problems=problems)


def _report_faults(document: JsonDocument, terms: EditTerms) -> TextReport:
    report = TextReport(terms.file, document, terms.fatal_codes)
    report.report_faults(CURSOR_CODES - terms.fatal_codes)
    return report


def _is_unparsable(document: JsonDocument) -> bool:
    return document.root is None or any(fault.code in UNPARSABLE_CODES for fault in document.faults)


def _find_refusal(
    document: JsonDocument, wanted: dict[str, list[_WantedEntry]], terms: EditTerms
) -> tuple[Problem, ...]:
    """Return the problems that make it impossible to add entries without destroying something; empty if none."""
    report = _report_faults(document, terms)
    root = document.root
    if root is None or _is_unparsable(document):
        return tuple(report.problems)
    hooks = root.get("hooks")
    count = len(report.problems)
    if root.kind is not JsonKind.OBJECT:
        report.report("TL201", root, f"the file holds {root.kind.value}, not an object")
    elif hooks is not None and hooks.kind is not JsonKind.OBJECT:
        report.report("TL205", hooks, f"`hooks` is {hooks.kind.value}, not an object", "make it `{}`, or remove it")
    for event in wanted if hooks else ():
        value = hooks.get(event) if hooks else None
        if value is not None and value.kind is not JsonKind.ARRAY:
            report.report("TL209", value, f"`{event}` is {value.kind.value}, not a list", "put it in a list: `[...]`")
    return tuple(report.problems) if len(report.problems) > count else ()


def _list_original_parts(original: JsonDocument) -> _EmptyParts:
    root = original.root
    hooks = root.get("hooks") if root else None
    return _EmptyParts(hooks is not None, frozenset(hooks.members if hooks else ()))


def _update_entries(
    draft: JsonEditor, wanted: dict[str, list[_WantedEntry]], preserved: _EmptyParts, terms: EditTerms
) -> dict[str, list[_WantedEntry]]:
    """Update the entries in the file, remove those that are not wanted, and return those that are missing."""
    missing = {event: list(listed) for event, listed in wanted.items()}
    removed: set[int] = set()
    for event, member in _list_events(draft.root):
        remaining = missing.get(event, [])
        unmatched = []
        for slot in _find_slots(draft, member.value, terms):
            key = (slot.matcher, _format_canonical(slot.entry))
            same_entry = next((entry for entry in remaining if (entry.matcher, entry.canonical) == key), None)
            if same_entry is None:
                unmatched.append(slot)
            else:
                remaining.remove(same_entry)
        for slot in unmatched:
            replacement = next(
                (entry for entry in remaining if slot.is_whole_group or entry.matcher == slot.matcher), None
            )
            if replacement is None:
                removed.add(slot.node.start)
            else:
                remaining.remove(replacement)
                draft.replace(slot.node, replacement.item if slot.is_whole_group else replacement.body)
    _drop_entries(draft, removed, preserved)
    return {event: remaining for event, remaining in missing.items() if remaining}


def _find_slots(draft: JsonEditor, listed: JsonNode, terms: EditTerms) -> Iterator[_Slot]:
    """Yield our entries of one event. Those in the wrong shape for this file are included, but equal no entry."""
    grouped = terms.shape is Shape.GROUPED
    for item in listed.items:
        inner = _get_group_entries(item)
        if _is_ours(item, terms):
            yield _Slot(item, item, None if grouped else "", is_whole_group=True)
        elif inner is not None:
            mine = [entry for entry in inner.items if _is_ours(entry, terms)]
            is_only_entry = grouped and len(mine) == len(inner.items) == 1 and _is_plain_group(draft, item, mine)
            matcher = item.get("matcher")
            pattern = "" if matcher is None else matcher.value if matcher.kind is JsonKind.STRING else None
            for entry in mine:
                yield _Slot(
                    item if is_only_entry else entry, entry, pattern if grouped else None, is_whole_group=is_only_entry
                )


def _get_group_entries(item: JsonNode) -> JsonNode | None:
    """Return the list of entries in a group, or None if the item is not a group."""
    inner = item.get("hooks")
    return inner if inner is not None and inner.kind is JsonKind.ARRAY else None


def _is_ours(node: JsonNode, terms: EditTerms) -> bool:
    commands = (node.get(key) for key in COMMANDS)
    return any(value is not None and value.kind is JsonKind.STRING and terms.ours(value.value) for value in commands)


def _drop_entries(draft: JsonEditor, removed: set[int], preserved: _EmptyParts) -> None:
    """Remove the nodes that start at these offsets, and lists and objects that become empty without them."""
    empty: list[JsonPart] = []
    for event, member in _list_events(draft.root):
        removable = [item for item in member.value.items if _should_remove(draft, item, removed)]
        becomes_empty = len(removable) == len(member.value.items) and event not in preserved.events
        if removable and becomes_empty and _has_only(draft, member, removable):
            empty.append(JsonPart(member.key.start, member.value.end, member.value))
        elif removable:
            draft.remove(member.value, {item.start for item in removable})
    hooks = draft.root.members.get("hooks")
    if hooks is not None and empty:
        becomes_empty = len(empty) == len(hooks.value.members) and not preserved.hooks
        if becomes_empty and _has_only(draft, hooks, empty):
            draft.remove(draft.root, {hooks.key.start})
        else:
            draft.remove(hooks.value, {part.start for part in empty})


def _has_only(draft: JsonEditor, member: JsonMember, parts: Sequence[JsonNode | JsonPart]) -> bool:
    """Check whether a member has nothing but these parts: no comment, and no earlier value of the same key."""
    span = JsonPart(member.key.start, member.value.end, member.value)
    return not draft.has_other_comments(span, parts) and not draft.is_repeated(member.key.start, member.key.end)


def _should_remove(draft: JsonEditor, item: JsonNode, removed: set[int]) -> bool:
    """Check whether to remove an item of an event's list: it is removed, or is a group with only removed entries.

    Removed entries in a group that stays are removed here.
    """
    inner = _get_group_entries(item)
    if item.start in removed or inner is None:
        return item.start in removed
    removable = [entry for entry in inner.items if entry.start in removed]
    if removable and len(removable) == len(inner.items) and _is_plain_group(draft, item, removable):
        return True
    if removable:
        draft.remove(inner, {entry.start for entry in removable})
    return False


def _is_plain_group(draft: JsonEditor, group: JsonNode, entries: list[JsonNode]) -> bool:
    """Check whether a group has only a matcher and these entries, and no comment or repeated key."""
    has_usual_keys = group.members.keys() <= {"matcher", "hooks"}
    return (
        has_usual_keys
        and not draft.is_repeated(group.start, group.end)
        and not draft.has_other_comments(group, entries)
    )


def _add_entries(draft: JsonEditor, missing: dict[str, list[_WantedEntry]], terms: EditTerms) -> None:
    """Add the missing entries, and the keys and lists around them."""
    root = draft.root
    hooks = root.members.get("hooks")
    new = {event: [entry.item for entry in listed] for event, listed in missing.items()}
    for event, member in _list_events(root):
        items: list[NamedValue] = [(None, item) for item in new.pop(event, ())]
        add = draft.prepend if terms.first else draft.append
        add(member.value, items, member.key.start)
    outer: list[NamedValue] = [("hooks", new)] if hooks is None else []
    version: list[NamedValue] = []
    if terms.version is not None and "version" not in root.members:
        version = [("version", terms.version)]
    if hooks is not None:
        draft.append(hooks.value, list(new.items()), hooks.key.start)
    if root.members:
        draft.prepend(root, version, root.start)
        draft.append(root, outer, root.start)
    else:
        draft.append(root, [*version, *outer], root.start)


def _list_events(root: JsonNode) -> list[tuple[str, JsonMember]]:
    """Return every event that has a list."""
    hooks = root.get("hooks")
    members = hooks.members.items() if hooks else ()
    return [(event, member) for event, member in members if member.value.kind is JsonKind.ARRAY]


def _format_canonical(node: JsonNode | None) -> str:
    """Return the value of a node in a form that does not depend on its layout."""
    return json.dumps(_get_json_value(node), sort_keys=True) if node else ""


def _get_json_value(node: JsonNode) -> Any:
    if node.kind is JsonKind.OBJECT:
        return {key: _get_json_value(member.value) for key, member in node.members.items()}
    return [_get_json_value(item) for item in node.items] if node.kind is JsonKind.ARRAY else node.value
