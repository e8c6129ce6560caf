"""Our entries in a host's file: put in, brought up to date, taken out. Bytes in, bytes out, and no other byte moves.

An entry is ours when its command is; all else is somebody's work and stays: comments, order, unknown keys, other tools'
entries, line endings, indentation, a byte order mark. The rules where the text alone does not decide:

* Of equal keys the last counts, so that one is edited. It is never taken out: the one before it would come alive.
* A trailing comma stays, and separates what is put after it; we write none.
* A list or object that becomes empty by our leaving goes too, unless a comment stands in it, or it is known to have
  been there before us. `hooks` stays where the file is about nothing else, and so does `version`.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from typing import Any, NamedTuple

from trotline.config.draft import Draft, Named, Part, as_json
from trotline.config.jsonc import Document, Kind, Member, Node
from trotline.config.jsonc_reader import read
from trotline.config.page import Page
from trotline.config.problems import Problem, Severity, severity_of
from trotline.config.sheet import MOST_SYNTAX_PROBLEMS, UNPARSABLE_ANYWHERE

BOM = b"\xef\xbb\xbf"
COMMANDS = ("command", "bash", "powershell")
"""Where the products keep what an entry runs."""


class Shape(StrEnum):
    """How a file holds entries: each with its own matcher in the event's list, in a file that is about hooks; or in
    groups that bear the matcher, in a file that may hold other settings too."""

    FLAT = "flat"
    GROUPED = "grouped"


class Entry(NamedTuple):
    """One hook to be in the file: the host's name of the event, and what to write there."""

    event: str
    body: dict[str, Any]
    matcher: str = ""


class Terms(NamedTuple):
    """What a host's file is like, and which commands in it are ours."""

    shape: Shape
    ours: Callable[[str], bool]
    version: int | None = None  # added where the file has none
    first: bool = False  # whether new entries stand before the others of their event
    file: str = ""  # how Problems call it
    voids: frozenset[str] = UNPARSABLE_ANYWHERE  # the codes for which the host loads nothing


class Edit(NamedTuple):
    """What the file is to hold. One that was refused is as it was, and its Problems say why."""

    data: bytes
    changed: bool = False
    refused: bool = False
    problems: tuple[Problem, ...] = ()


class _Wanted(NamedTuple):
    """An entry as it is compared (`matcher`, `same`) and written: `item` in the event's list, `body` inside a group."""

    matcher: str
    body: dict[str, Any]
    item: dict[str, Any]
    same: str


class _Slot(NamedTuple):
    """Where an entry of ours stands. `node` is what goes or is replaced: the entry, or a group that holds it alone."""

    node: Node
    entry: Node
    matcher: str | None  # none: nothing fits there
    whole: bool


class _Kept(NamedTuple):
    """What stays even when it is empty."""

    hooks: bool
    events: frozenset[str] = frozenset()


def installed(data: bytes | None, entries: Sequence[Entry], terms: Terms) -> Edit:
    """The file with exactly these entries of ours in it. What is there already stays where it is; what changed is
    replaced in its place."""
    wanted: dict[str, list[_Wanted]] = {}
    for entry in entries:
        wanted.setdefault(entry.event, []).append(_as_wanted(entry, terms))
    if data is None or not data.removeprefix(BOM).strip():
        return _new_file(data or b"", wanted, terms)
    document = read(data)
    refusal = _refusal(document, wanted, terms)
    if refusal:
        return Edit(data, refused=True, problems=refusal)
    draft = Draft(document)
    kept = _Kept(bool(wanted) or terms.shape is not Shape.GROUPED, frozenset(wanted))
    missing = _settle(draft, wanted, kept, terms)
    if draft.changes:
        document = read(draft.result())
        if _unparsable(document):
            return _finished(data, draft.result(), terms)
        draft = Draft(document)
    if wanted:
        _put(draft, missing, terms)
    return _finished(data, draft.result(), terms)


def removed(data: bytes, terms: Terms, original: bytes | None = None) -> Edit:
    """The file without our entries. `original`, if known, is what stood there before us (nothing: no file), and says
    which of the lists and objects that become empty were somebody else's."""
    document = read(data)
    problems = _problems(document, terms)
    if _unparsable(document):
        return Edit(data, refused=True, problems=problems)
    kept = _Kept(terms.shape is not Shape.GROUPED) if original is None else _held(read(original))
    draft = Draft(document)
    _settle(draft, {}, kept, terms)
    return _finished(data, draft.result(), terms)


def holds_nothing(data: bytes) -> bool:
    """Whether a file says nothing but its version."""
    document = read(data)
    root = document.root
    bare = root is not None and root.kind is Kind.OBJECT and root.members.keys() <= {"version"}
    return bare and not document.comments and not document.faults


def says_the_same(data: bytes, other: bytes) -> bool:
    """Whether two files hold the same, comments and layout and version aside."""
    one, two = (_plain(root) if root else {} for root in (read(data).root, read(other).root))
    for value in (one, two):
        if isinstance(value, dict):
            value.pop("version", None)
    return json.dumps(one, sort_keys=True) == json.dumps(two, sort_keys=True)


def _as_wanted(entry: Entry, terms: Terms) -> _Wanted:
    """Its value is taken from the reader, so that it is compared as it will be read: 10.0 is 10."""
    if not any(terms.ours(entry.body[key]) for key in COMMANDS if isinstance(entry.body.get(key), str)):
        raise ValueError(f"an entry of `{entry.event}` that could not be found again")
    matcher = {"matcher": entry.matcher} if entry.matcher else {}
    if terms.shape is Shape.GROUPED:
        item = {**matcher, "hooks": [entry.body]}
        return _Wanted(entry.matcher, entry.body, item, _content(read(as_json(entry.body)).root))
    item = {**entry.body, **matcher}
    return _Wanted("", item, item, _content(read(as_json(item)).root))


def _new_file(data: bytes, wanted: dict[str, list[_Wanted]], terms: Terms) -> Edit:
    if not wanted:
        return Edit(data)
    version = {} if terms.version is None else {"version": terms.version}
    hooks = {event: [one.item for one in listed] for event, listed in wanted.items()}
    return _finished(data, as_json({**version, "hooks": hooks}, indent=2) + "\n", terms, anew=True)


def _finished(data: bytes, text: str, terms: Terms, *, anew: bool = False) -> Edit:
    """What we cannot read again (it grew too large, or too deep) is not written."""
    new = text.encode() if anew or not data.startswith(BOM) else BOM + text.encode()
    document = read(new)
    problems = _problems(document, terms)
    if _unparsable(document):
        return Edit(data, refused=True, problems=problems)
    return Edit(new, new != data, problems=problems)


class _Margin(Page):
    """Faults of the text as Problems."""

    def __init__(self, document: Document, terms: Terms) -> None:
        super().__init__(terms.file, document)
        self.voids = terms.voids
        lines: set[int] = set()
        for fault in document.faults:
            if fault.code == "TL107" and fault.code not in terms.voids:
                continue  # the other hosts know a string when they see one
            line, _ = document.position(fault.start)
            if fault.code != "TL101" or (line not in lines and len(lines) < MOST_SYNTAX_PROBLEMS):
                self.report(fault.code, (fault.start, fault.end), fault.message, fault.hint)
            lines |= {line} if fault.code == "TL101" else set()

    def severity(self, code: str) -> Severity:
        return severity_of(code, self.voids)


def _problems(document: Document, terms: Terms) -> tuple[Problem, ...]:
    return tuple(_Margin(document, terms).problems)


def _unparsable(document: Document) -> bool:
    return document.root is None or any(fault.code in UNPARSABLE_ANYWHERE for fault in document.faults)


def _refusal(document: Document, wanted: dict[str, list[_Wanted]], terms: Terms) -> tuple[Problem, ...]:
    """Why nothing can be put into this file without destroying something; nothing if it can."""
    margin = _Margin(document, terms)
    root = document.root
    if root is None or _unparsable(document):
        return tuple(margin.problems)
    hooks = root.get("hooks")
    before = len(margin.problems)
    if root.kind is not Kind.OBJECT:
        margin.report("TL201", root, f"the file holds {root.kind.value}, not an object")
    elif hooks is not None and hooks.kind is not Kind.OBJECT:
        margin.report("TL205", hooks, f"`hooks` is {hooks.kind.value}, not an object", "make it `{}`, or remove it")
    for event in wanted if hooks else ():
        value = hooks.get(event) if hooks else None
        if value is not None and value.kind is not Kind.ARRAY:
            margin.report("TL209", value, f"`{event}` is {value.kind.value}, not a list", "put it in a list: `[...]`")
    return tuple(margin.problems) if len(margin.problems) > before else ()


def _held(original: Document) -> _Kept:
    root = original.root
    hooks = root.get("hooks") if root else None
    return _Kept(hooks is not None, frozenset(hooks.members if hooks else ()))


def _settle(draft: Draft, wanted: dict[str, list[_Wanted]], kept: _Kept, terms: Terms) -> dict[str, list[_Wanted]]:
    """Bring what is there up to date, take out what is not wanted, and say what is missing."""
    missing = {event: list(listed) for event, listed in wanted.items()}
    doomed: set[int] = set()
    for event, member in _events(draft.root):
        left = missing.get(event, [])
        free = []
        for slot in _slots(draft, member.value, terms):
            same = _content(slot.entry)
            fits = next((one for one in left if (one.matcher, one.same) == (slot.matcher, same)), None)
            if fits is None:
                free.append(slot)
            else:
                left.remove(fits)
        for slot in free:
            takes = next((one for one in left if slot.whole or one.matcher == slot.matcher), None)
            if takes is None:
                doomed.add(slot.node.start)
            else:
                left.remove(takes)
                draft.replace(slot.node, takes.item if slot.whole else takes.body)
    _prune(draft, doomed, kept)
    return {event: left for event, left in missing.items() if left}


def _slots(draft: Draft, listed: Node, terms: Terms) -> Iterator[_Slot]:
    """Our entries of one event. One in the wrong shape for this file is found too, and nothing is the same as it."""
    grouped = terms.shape is Shape.GROUPED
    for item in listed.items:
        inner = _inner(item)
        if _is_ours(item, terms):
            yield _Slot(item, item, None if grouped else "", whole=True)
        elif inner is not None:
            mine = [entry for entry in inner.items if _is_ours(entry, terms)]
            alone = grouped and len(mine) == len(inner.items) == 1 and _is_plain(draft, item, mine)
            matcher = item.get("matcher")
            named = "" if matcher is None else matcher.value if matcher.kind is Kind.STRING else None
            for entry in mine:
                yield _Slot(item if alone else entry, entry, named if grouped else None, whole=alone)


def _inner(item: Node) -> Node | None:
    """The list in a group."""
    inner = item.get("hooks")
    return inner if inner is not None and inner.kind is Kind.ARRAY else None


def _is_ours(node: Node, terms: Terms) -> bool:
    found = (node.get(key) for key in COMMANDS)
    return any(value is not None and value.kind is Kind.STRING and terms.ours(value.value) for value in found)


def _prune(draft: Draft, doomed: set[int], kept: _Kept) -> None:
    """Take out the nodes that begin at these places, and what has no use without them."""
    empty: list[Part] = []
    for event, member in _events(draft.root):
        gone = [item for item in member.value.items if _goes(draft, item, doomed)]
        alone = len(gone) == len(member.value.items) and event not in kept.events
        if gone and alone and _goes_with(draft, member, gone):
            empty.append(Part(member.key.start, member.value.end, member.value))
        elif gone:
            draft.take_out(member.value, {item.start for item in gone})
    hooks = draft.root.members.get("hooks")
    if hooks is not None and empty:
        alone = len(empty) == len(hooks.value.members) and not kept.hooks
        whole = alone and _goes_with(draft, hooks, empty)
        draft.take_out(draft.root if whole else hooks.value, {part.start for part in ([hooks.key] if whole else empty)})


def _goes_with(draft: Draft, member: Member, parts: Sequence[Node | Part]) -> bool:
    """Whether a key and its value say nothing but these parts: no comment, and no earlier value behind it."""
    span = Part(member.key.start, member.value.end, member.value)
    return not draft.has_comments_beside(span, parts) and not draft.is_repeated(member.key.start, member.key.end)


def _goes(draft: Draft, item: Node, doomed: set[int]) -> bool:
    """Whether an item of an event's list goes: it is doomed, or a group in which nothing is left. What is doomed in a
    group that stays is taken out here."""
    inner = _inner(item)
    if item.start in doomed or inner is None:
        return item.start in doomed
    gone = [entry for entry in inner.items if entry.start in doomed]
    if gone and len(gone) == len(inner.items) and _is_plain(draft, item, gone):
        return True
    if gone:
        draft.take_out(inner, {entry.start for entry in gone})
    return False


def _is_plain(draft: Draft, group: Node, entries: list[Node]) -> bool:
    """Whether a group is a matcher and these entries, and holds nobody's words beside."""
    plain = group.members.keys() <= {"matcher", "hooks"} and not draft.is_repeated(group.start, group.end)
    return plain and not draft.has_comments_beside(group, entries)


def _put(draft: Draft, missing: dict[str, list[_Wanted]], terms: Terms) -> None:
    """Write what is missing, and what has to be around it."""
    root = draft.root
    hooks = root.members.get("hooks")
    new = {event: [one.item for one in listed] for event, listed in missing.items()}
    for event, member in _events(root):
        items: list[Named] = [(None, item) for item in new.pop(event, ())]
        put = draft.prepend if terms.first else draft.append
        put(member.value, items, member.key.start)
    outer: list[Named] = [("hooks", new)] if hooks is None else []
    version: list[Named] = []
    if terms.version is not None and "version" not in root.members:
        version = [("version", terms.version)]
    if hooks is not None:
        draft.append(hooks.value, list(new.items()), hooks.key.start)
    if root.members:
        draft.prepend(root, version, root.start)
        draft.append(root, outer, root.start)
    else:
        draft.append(root, [*version, *outer], root.start)


def _events(root: Node) -> list[tuple[str, Member]]:
    """Every event that has a list."""
    hooks = root.get("hooks")
    members = hooks.members.items() if hooks else ()
    return [(event, member) for event, member in members if member.value.kind is Kind.ARRAY]


def _content(node: Node | None) -> str:
    """What a node says, however it is written."""
    return json.dumps(_plain(node), sort_keys=True) if node else ""


def _plain(node: Node) -> Any:
    if node.kind is Kind.OBJECT:
        return {key: _plain(member.value) for key, member in node.members.items()}
    return [_plain(item) for item in node.items] if node.kind is Kind.ARRAY else node.value
