"""Edits of hooks files: our entries go in and come out, and nobody else's byte moves."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from copy import deepcopy
from itertools import cycle
from typing import Any
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kit import read_rows
from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.config.install import edit
from trotline.config.install.edit import (
    BOM,
    EditTerms,
    EntryEdit,
    HooksFileEdit,
    Shape,
    holds_nothing,
    install_entries,
    remove_entries,
)
from trotline.config.problems import Severity
from trotline.formats.jsonc import MAX_FILE_BYTES, JsonDocument, JsonKind, JsonNode, parse_jsonc
from trotline.formats.jsonc_edit import JsonEditor

LINE = "/opt/trotline/bin/trotline hook"


def is_ours(command: str) -> bool:
    return command == LINE or command.startswith(LINE + " ")


FLAT = EditTerms(Shape.FLAT, is_ours, version=1, file="hooks.json", fatal_codes=get_edition(NEWEST_EDITION).fatal_codes)
GROUPED = EditTerms(Shape.GROUPED, is_ours, file="settings.json")
EVENTS = ("beforeShellExecution", "stop", "preToolUse")
ENTRIES = {
    Shape.FLAT: [
        EntryEdit("beforeShellExecution", {"command": LINE, "timeout": 10, "failClosed": True}),
        EntryEdit("preToolUse", {"command": f"{LINE} --event preToolUse"}, "Write|Edit"),
    ],
    Shape.GROUPED: [
        EntryEdit("PreToolUse", {"type": "command", "command": LINE, "timeout": 10}, "Bash"),
        EntryEdit("Stop", {"type": "command", "command": LINE}),
    ],
}
BOTH = pytest.mark.parametrize("terms", [FLAT, GROUPED], ids=["flat", "grouped"])
MANY = settings(max_examples=220)

# ---- what files hold, and what they are to hold


def value_of(data: bytes) -> Any:
    root = parse_jsonc(data).root
    return _value(root) if root else None


def _value(node: JsonNode) -> Any:
    if node.kind is JsonKind.OBJECT:
        return {key: _value(member.value) for key, member in node.members.items()}
    return [_value(item) for item in node.items] if node.kind is JsonKind.ARRAY else node.value


def item_of(entry: EntryEdit, terms: EditTerms) -> dict[str, Any]:
    """An entry as it stands in an event's list."""
    matcher = {"matcher": entry.matcher} if entry.matcher else {}
    if terms.shape is Shape.GROUPED:
        return {**matcher, "hooks": [entry.body]}
    return {**entry.body, **matcher}


def with_entries(value: dict[str, Any], entries: list[EntryEdit], terms: EditTerms) -> dict[str, Any]:
    """What a file that holds nothing of ours says after an installation, in this order."""
    value = deepcopy(value)
    if terms.version is not None and "version" not in value:
        value = {"version": terms.version, **value}
    hooks = value.setdefault("hooks", {})
    before: dict[str, list[Any]] = {event: [] for event in hooks}
    for entry in entries:
        hooks.setdefault(entry.event, [])
        before.setdefault(entry.event, []).append(item_of(entry, terms))
    for event, items in before.items():
        if items:
            hooks[event] = items + hooks[event] if terms.first else hooks[event] + items
    return value


def without_ours(value: Any) -> Any:
    """What a file says to everybody but us: our entries left out, and whatever is then empty."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    if not isinstance(hooks, dict):
        hooks = {}
    kept = {event: _foreign(listed) if isinstance(listed, list) else listed for event, listed in hooks.items()}
    rest = {key: inner for key, inner in value.items() if key not in {"hooks", "version"}}
    return {**rest, "hooks": {event: listed for event, listed in kept.items() if listed != []}}


def _foreign(listed: list[Any]) -> list[Any]:
    left = []
    for item in listed:
        inner = item.get("hooks") if isinstance(item, dict) else None
        if mine(item):
            continue
        if isinstance(inner, list):
            others = [entry for entry in inner if not mine(entry)]
            if others or set(item) - {"matcher", "hooks"}:
                left.append({**item, "hooks": others})
        else:
            left.append(item)
    return left


def mine(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("command"), str) and is_ours(entry["command"])


def ours_in(value: Any) -> list[tuple[str, str, str]]:
    """Event, matcher and body of every entry of ours, in either shape."""
    found = []
    for event, listed in value.get("hooks", {}).items():
        for item in listed if isinstance(listed, list) else ():
            if mine(item):
                found.append((event, "", json.dumps(item, sort_keys=True)))
            inner = item.get("hooks") if isinstance(item, dict) else None
            entries = [entry for entry in inner if mine(entry)] if isinstance(inner, list) else []
            found += [(event, item.get("matcher", ""), json.dumps(entry, sort_keys=True)) for entry in entries]
    return sorted(found)


def wanted(entries: list[EntryEdit], terms: EditTerms) -> list[tuple[str, str, str]]:
    return ours_in({"hooks": {f"{n}": [item_of(entry, terms)] for n, entry in enumerate(entries)}})


def comments_in(document: JsonDocument) -> list[str]:
    return [document.text[start:end] for start, end in document.comments]


def comments_of_others(data: bytes) -> list[str]:
    """Every comment that does not stand inside an entry of ours."""
    document = parse_jsonc(data)
    spans = [(node.start, node.end) for node in _nodes(document.root) if mine(_value(node))]
    return [
        document.text[start:end]
        for start, end in document.comments
        if not any(begin < start < close for begin, close in spans)
    ]


def _nodes(node: JsonNode | None) -> Iterator[JsonNode]:
    if node is not None:
        yield node
        for inner in [*node.items, *(member.value for member in node.members.values())]:
            yield from _nodes(inner)


def codes(data: bytes) -> set[str]:
    return {fault.code for fault in parse_jsonc(data).faults}


# ---- files that people might have

TEXTS = st.text(max_size=8) | st.sampled_from(
    ["./mine.sh", "é 🎣", "a//b", f"{LINE}s", f"echo {LINE}", "", "// no", "/*"]
)
SCALARS = st.none() | st.booleans() | st.integers() | TEXTS
OTHER_ENTRY = st.fixed_dictionaries(
    {"command": TEXTS}, optional={"timeout": st.integers(), "matcher": TEXTS, "failClosed": st.booleans()}
)
PROMPT = st.fixed_dictionaries({"type": st.just("prompt"), "prompt": TEXTS, "loop_limit": st.none()})
OUR_ENTRY = st.fixed_dictionaries(
    {"command": st.sampled_from([LINE, f"{LINE} --old", f"{LINE} --event preToolUse"])},
    optional={"timeout": st.sampled_from([10, 20]), "failClosed": st.booleans(), "type": st.just("command")},
)


def _files(entry: st.SearchStrategy[Any], shape: Shape) -> st.SearchStrategy[dict[str, Any]]:
    names = EVENTS if shape is Shape.FLAT else ("PreToolUse", "Stop", "Notification")
    groups = st.fixed_dictionaries(
        {"hooks": st.lists(entry, max_size=3)},
        optional={"matcher": st.sampled_from(["Bash", "", "*"]), "sequential": st.booleans()},
    )
    items = entry | st.sampled_from([1, "x", None]) if shape is Shape.FLAT else groups | entry | st.just("x")
    lists = st.dictionaries(st.sampled_from(names), st.lists(items, max_size=3), max_size=3)
    odd = st.dictionaries(TEXTS.filter(lambda text: text not in names), SCALARS, max_size=1)
    hooks = st.builds(lambda listed, more: {**listed, **more}, lists, odd)
    return st.fixed_dictionaries(
        {}, optional={"x-team": SCALARS | st.lists(SCALARS, max_size=2), "version": st.just(1), "hooks": hooks}
    )


FILES = {shape: _files(OTHER_ENTRY | PROMPT, shape) for shape in Shape}
FILES_WITH_OURS = {shape: _files(OTHER_ENTRY | PROMPT | OUR_ENTRY, shape) for shape in Shape}

SPACES = st.sampled_from(["", "", " ", "\n", "\n  ", "\t", "\r\n    ", "\r", "   "])
COMMENTS = st.sampled_from(
    ["// to the end\n", "/* one */", "/* two\nlines */", '/* " */', '// " } ] ,  \r\n', "/**/", "// \r"]
)
GAPS = st.lists(SPACES | COMMENTS, max_size=3).map("".join)
LAYOUTS = st.fixed_dictionaries(
    {
        "newline": st.sampled_from(["\n", "\r\n", "\r"]),
        "final": st.booleans(),
        "bom": st.booleans(),
        "indent": st.sampled_from([None, 1, 2, 3, 4, 8, "\t"]),
        "tight": st.booleans(),
    }
)


def laid_out(value: Any, layout: dict[str, Any]) -> bytes:
    """A value as a program writes it."""
    comma = "," if layout["tight"] or layout["indent"] is not None else ", "
    colon = ":" if layout["tight"] else ": "
    text = json.dumps(value, indent=layout["indent"], separators=(comma, colon), ensure_ascii=False)
    text = text.replace("\n", layout["newline"]) + (layout["newline"] if layout["final"] else "")
    return (BOM if layout["bom"] else b"") + text.encode()


def tokens(value: Any, chance: Iterator[int]) -> Iterator[str]:
    """A value as a person writes it: trailing commas, keys with escapes, and keys that stand twice."""
    if isinstance(value, dict | list):
        yield "{" if isinstance(value, dict) else "["
        for number, key in enumerate(value):
            yield from ([","] if number else [])
            if isinstance(value, dict):
                yield from (json.dumps(key), ":", '[{"command": "old"}]', ",") if next(chance) == 0 else ()
                yield from (_escaped(key) if next(chance) == 1 else json.dumps(key), ":")
            yield from tokens(value[key] if isinstance(value, dict) else key, chance)
        if value and next(chance) == 2:
            yield ","
        yield "}" if isinstance(value, dict) else "]"
    else:
        yield json.dumps(value, ensure_ascii=next(chance) > 7)


def _escaped(key: str) -> str:
    return '"' + "".join(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char for char in key) + '"'


@st.composite
def wild(draw: Any, values: st.SearchStrategy[Any]) -> bytes:
    """A file with anything at all between its tokens."""
    chance = cycle(draw(st.lists(st.integers(0, 15), min_size=1, max_size=20)))
    gaps = cycle(draw(st.lists(GAPS, min_size=1, max_size=12)))
    text = "".join(piece for token in tokens(draw(values), chance) for piece in (next(gaps), token))
    data: bytes = (text + next(gaps)).encode()
    return BOM + data if next(chance) % 2 else data


# ---- the laws


def install(data: bytes | None, terms: EditTerms) -> HooksFileEdit:
    done = install_entries(data, ENTRIES[terms.shape], terms)
    assert not done.refused, done.problems
    return done


@contextmanager
def watched() -> Iterator[list[JsonEditor]]:
    """The drafts that are made meanwhile."""
    drafts: list[JsonEditor] = []

    class Watched(JsonEditor):
        def __init__(self, document: JsonDocument) -> None:
            super().__init__(document)
            drafts.append(self)

    with mock.patch.object(edit, "JsonEditor", Watched):
        yield drafts


@BOTH
@MANY
@given(st.data())
def test_installing_only_inserts_and_deleting_what_was_inserted_gives_the_file_back(
    terms: EditTerms, data: Any
) -> None:
    before = data.draw(wild(FILES[terms.shape]))
    with watched() as drafts:
        after = install(before, terms._replace(first=data.draw(st.booleans()))).data
    (draft,) = drafts
    assert all(change.start == change.end for change in draft.changes)
    assert draft.text == before.removeprefix(BOM).decode()
    assert draft.render() == after.removeprefix(BOM).decode()
    assert before.startswith(BOM) == after.startswith(BOM)


@BOTH
@MANY
@given(st.data())
def test_an_installed_file_says_what_it_said_and_our_entries(terms: EditTerms, data: Any) -> None:
    before = data.draw(wild(FILES[terms.shape]))
    terms = terms._replace(first=data.draw(st.booleans()))
    after = install(before, terms).data
    assert value_of(after) == with_entries(value_of(before), ENTRIES[terms.shape], terms)
    assert comments_in(parse_jsonc(after)) == comments_in(parse_jsonc(before))
    assert codes(after) <= codes(before)


@BOTH
@MANY
@given(st.data())
def test_installing_twice_is_installing_once(terms: EditTerms, data: Any) -> None:
    once = install(data.draw(wild(FILES_WITH_OURS[terms.shape])), terms).data
    twice = install(once, terms)
    assert (twice.data, twice.changed) == (once, False)


@BOTH
@MANY
@given(st.data())
def test_whatever_of_ours_stood_there_only_what_is_wanted_is_left(terms: EditTerms, data: Any) -> None:
    before = data.draw(wild(FILES_WITH_OURS[terms.shape]))
    after = install(before, terms).data
    assert ours_in(value_of(after)) == sorted(
        (entry.event, matcher, body) for entry in ENTRIES[terms.shape] for _, matcher, body in wanted([entry], terms)
    )
    assert without_ours(value_of(after)) == without_ours(value_of(before))
    assert comments_of_others(after) == comments_of_others(before)
    assert codes(after) <= codes(before)


@BOTH
@MANY
@given(st.data())
def test_taking_our_entries_out_leaves_everybody_elses(terms: EditTerms, data: Any) -> None:
    before = data.draw(wild(FILES_WITH_OURS[terms.shape]))
    with watched() as drafts:
        done = remove_entries(before, terms)
    assert not done.refused
    assert not any(change.text for change in drafts[0].changes)
    assert ours_in(value_of(done.data)) == []
    assert without_ours(value_of(done.data)) == without_ours(value_of(before))
    assert value_of(done.data).get("version") == value_of(before).get("version")
    assert comments_of_others(done.data) == comments_of_others(before)
    assert codes(done.data) <= codes(before)
    assert done.changed == bool(ours_in(value_of(before)))
    assert done.changed or done.data == before
    assert not remove_entries(done.data, terms).changed


@BOTH
@MANY
@given(st.data())
def test_with_the_original_at_hand_what_it_said_comes_back(terms: EditTerms, data: Any) -> None:
    before = data.draw(wild(FILES[terms.shape]))
    back = remove_entries(install(before, terms).data, terms, before)
    version = {} if terms.version is None else {"version": terms.version}
    assert value_of(back.data) == {**version, **value_of(before)}
    assert comments_in(parse_jsonc(back.data)) == comments_in(parse_jsonc(before))


@BOTH
@MANY
@given(st.data(), LAYOUTS)
def test_what_a_program_wrote_looks_as_if_it_had_written_our_entries_too(
    terms: EditTerms, data: Any, layout: dict[str, Any]
) -> None:
    terms = terms._replace(first=data.draw(st.booleans()))
    value = {**data.draw(st.sampled_from([{"version": 1}, {"a": []}])), **data.draw(FILES[terms.shape])}
    before = laid_out(value, layout)
    after = install(before, terms).data
    assert after == laid_out(with_entries(value, ENTRIES[terms.shape], terms), layout)
    if "version" in value or terms.version is None:
        assert remove_entries(after, terms, before).data == before


# ---- where comments, commas and lines are awkward: the file before, and after; `@` is our entry

PLACES = {
    "after the last entry": ("[\n  [1] // one\n  // end\n]", "[\n  [1], // one\n  @\n  // end\n]"),
    "a block after the last entry": ('[{"command": "a"} /* a */]', '[{"command": "a"}, /* a */ @]'),
    "a line comment in a list on one line": ('[{"command": "a"} // a\n]', '[{"command": "a"}, // a\n  @\n]'),
    "before the comma": ("[\n  1 /* one */,\n  2\n]", "[\n  1 /* one */,\n  2,\n  @\n]"),
    "between comma and entry": ("[\n  1, // one\n  /* two */ 2\n]", "[\n  1, // one\n  /* two */ 2,\n  @\n]"),
    "a trailing comma": ("[\n  1,\n]", "[\n  1,\n  @\n]"),
    "a trailing comma and comments": ("[\n  1, // one\n  // end\n]", "[\n  1, // one\n  @\n  // end\n]"),
    "a trailing comma on one line": ("[1, ]", "[1, @ ]"),
    "an empty list": ("[]", "[@]"),
    "an empty list with a comment": ("[ /* none */ ]", "[ /* none */ @ ]"),
    "an empty list with a note": ("[\n  // none\n]", "[\n  // none\n  @\n]"),
    "commas first": ("[ 1\n, 2\n]", "[ 1\n, 2, @\n]"),
}


@pytest.mark.parametrize("name", PLACES)
def test_a_new_entry_finds_its_place_and_leaves_it_again(name: str) -> None:
    old, new = PLACES[name]
    written = '{"command": "/opt/trotline/bin/trotline hook"}'
    before = f'{{"version": 1, "hooks": {{"stop": {old}}}}}'
    entries = [EntryEdit("stop", {"command": LINE})]
    after = install_entries(before.encode(), entries, FLAT).data.decode()
    after = re.sub(r'\{\s*"command": "(/opt[^"]*)"\s*\}', r'{"command": "\1"}', after)
    assert after == before.replace(old, new.replace("@", written))
    back = remove_entries(after.encode(), FLAT, before.encode()).data.decode()
    assert back == before.replace(old, old.replace("1,", "1") if "trailing" in name else old)


def test_a_list_with_a_comment_on_its_line_stays_on_its_line() -> None:
    before = '{\n  "version": 1,\n  "hooks": {\n    "stop": [ /* none */ ]\n  }\n}\n'
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE})], FLAT).data.decode()
    assert after == before.replace("/* none */", f'/* none */ {{"command": "{LINE}"}}')


FIRST_PLACES = {
    "on lines": ("[\n  // about one\n  1\n]", "[\n  @,\n  // about one\n  1\n]"),
    "a comment on the bracket's line": ("[ // list\n  1\n]", "[ // list\n  @,\n  1\n]"),
    "on one line": ("[ /* about one */ 1 ]", "[ @, /* about one */ 1 ]"),
    "without a space": ("[1]", "[@, 1]"),
    "an empty list": ("[]", "[@]"),
}


@pytest.mark.parametrize("name", FIRST_PLACES)
def test_an_entry_that_is_to_be_first_stands_before_the_comments_of_the_next(name: str) -> None:
    old, new = FIRST_PLACES[name]
    before = f'{{"version": 1, "hooks": {{"stop": {old}}}}}'
    terms = FLAT._replace(first=True)
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE})], terms).data.decode()
    after = re.sub(r'\{\s*"command": "(/opt[^"]*)"\s*\}', r'{"command": "\1"}', after)
    assert after == before.replace(old, new.replace("@", f'{{"command": "{LINE}"}}'))
    assert remove_entries(after.encode(), terms, before.encode()).data.decode() == before


LEAVINGS = {
    "in the middle": ("[1, @, 2]", "[1, 2]"),
    "at the start": ("[@, 1]", "[1]"),
    "at the end": ("[1, @]", "[1]"),
    "at the end, with a trailing comma": ("[1, @,]", "[1,]"),
    "two beside each other": ("[1, @, @]", "[1]"),
    "two of three": ("[@, 1, @]", "[1]"),
    "on a line": ("[\n  1,\n  @,\n  2\n]", "[\n  1,\n  2\n]"),
    "first of a line": ("[\n  @, 1\n]", "[\n  1\n]"),
    "with a remark": ("[\n  1, // one\n  @, // ours\n  2\n]", "[\n  1, // one\n  // ours\n  2\n]"),
    "last, with a remark": ("[\n  1, // one\n  @ // ours\n]", "[\n  1 // one\n  // ours\n]"),
    "with a remark before it": ("[\n  1,\n  /* ours */ @,\n  2\n]", "[\n  1,\n  /* ours */\n  2\n]"),
    "before the bracket, after a line comment": ("[1, // one \n  @]", "[1 // one \n  ]"),
    "before the bracket, on a line of its own": ("[\n  1,\n  @]", "[\n  1]"),
    "two after a line comment": ("[1, // one\n  @,\n  @]", "[1 // one\n  ]"),
    "a comma on the next line": ("[\n  @\n  , 1]", "[\n   1]"),
    "a comma behind a comment": ("[@ /* ours */, 1]", "[/* ours */ 1]"),
    "the bracket at once": ("[@\n]", ""),
    "alone with a comment": ("[ /* here */ @ ]", "[ /* here */ ]"),
    "alone with a comment after it": ("[ @, // here\n ]", "[ // here\n ]"),
}


@pytest.mark.parametrize("name", LEAVINGS)
def test_an_entry_leaves_with_its_comma_and_its_line_and_without_anybodys_comment(name: str) -> None:
    old, new = LEAVINGS[name]
    before = f'{{"version": 1, "hooks": {{"stop": {old}, "x": [1]}}}}'.replace("@", f'{{"command": "{LINE}"}}')
    expected = (
        f'{{"version": 1, "hooks": {{"stop": {new}, "x": [1]}}}}' if new else '{"version": 1, "hooks": {"x": [1]}}'
    )
    assert remove_entries(before.encode(), FLAT).data.decode() == expected


# ---- what peers' installers break (peers.md 2.4)

PROBE = (
    '{"version":1,"hooks":{"beforeShellExecution":[{"command":"./mine.sh","timeout":7,"matcher":"curl",'
    '"failClosed":true}],"stop":[{"type":"prompt","prompt":"done?","loop_limit":null}]},"x-team":"keep"}'
)


def test_the_probe_keeps_every_field_and_its_prompt_hook_and_comes_back() -> None:
    after = install(PROBE.encode(), FLAT).data
    mine_, prompt = (
        '"timeout":7,"matcher":"curl","failClosed":true}',
        '{"type":"prompt","prompt":"done?","loop_limit":null}',
    )
    assert mine_ in after.decode()
    assert prompt in after.decode()
    assert after.endswith(b',"x-team":"keep"}')
    assert remove_entries(after, FLAT).data.decode() == PROBE


def test_a_file_with_nothing_but_a_version_gets_a_hooks_object() -> None:
    after = install_entries(b'{"version":1}', [EntryEdit("stop", {"command": LINE})], FLAT)
    assert after.data.decode() == '{"version":1,"hooks":{"stop":[{"command":"' + LINE + '"}]}}'
    assert remove_entries(after.data, FLAT, b'{"version":1}').data == b'{"version":1}'


def test_a_comment_is_no_reason_to_replace_a_file() -> None:
    before = b'// mine\n{\n  "version": 1, /* one */\n  "hooks": {"stop": [{"command": "./a.sh"}]} // all\n}\n// end\n'
    after = install(before, FLAT)
    assert comments_in(parse_jsonc(after.data)) == ["// mine", "/* one */", "// all", "// end"]
    assert remove_entries(after.data, FLAT).data == before


@pytest.mark.parametrize(
    "command", [LINE + "-lint", "/opt/trotline/bin/trotline hookline", f"echo '{LINE}'", "trotline"]
)
def test_a_command_that_only_looks_like_ours_is_left_alone(command: str) -> None:
    before = json.dumps({"version": 1, "hooks": {"stop": [{"command": command}]}}).encode()
    assert remove_entries(before, FLAT) == HooksFileEdit(before)
    assert json.dumps({"command": command}) in install(before, FLAT).data.decode()


def test_a_missing_version_is_added_at_the_top_and_one_that_is_there_is_left() -> None:
    hooks = '"hooks": {"stop": [1]}'
    added = install_entries(f"{{{hooks}}}".encode(), [EntryEdit("stop", {"command": LINE})], FLAT).data.decode()
    assert added == f'{{"version": 1, "hooks": {{"stop": [1, {{"command": "{LINE}"}}]}}}}'
    for version in ("2", '"1"', "null", "0"):
        before = f'{{{hooks}, "version": {version}}}'
        assert install(before.encode(), FLAT).data.decode().endswith(f', "version": {version}}}')


def test_entries_without_a_command_throw_nobody_off() -> None:
    before = b'{"version": 1, "hooks": {"stop": [{"type": "prompt"}, {"command": null}, {"command": 3}, [], null, {}]}}'
    after = install_entries(before, [EntryEdit("stop", {"command": LINE})], FLAT)
    assert remove_entries(after.data, FLAT).data == before


# ---- new files


@pytest.mark.parametrize("data", [None, b"", b"\n", b" \t\r\n", BOM, BOM + b"\n"])
def test_no_file_and_an_empty_one_give_a_new_one(data: bytes | None) -> None:
    after = install(data, FLAT)
    value = with_entries({"version": 1}, ENTRIES[Shape.FLAT], FLAT)
    assert after.data.decode() == json.dumps(value, indent=2) + "\n"
    assert holds_nothing(remove_entries(after.data, FLAT, b"").data)


def test_nothing_to_install_makes_no_file() -> None:
    assert install_entries(None, [], FLAT) == HooksFileEdit(b"")
    assert install_entries(b"{}", [], FLAT) == HooksFileEdit(b"{}")


def test_installing_nothing_takes_our_entries_out() -> None:
    after = install(PROBE.encode(), FLAT).data
    assert install_entries(after, [], FLAT).data.decode() == PROBE
    settings_file = install(b'{"model": "x"}', GROUPED).data
    assert install_entries(settings_file, [], GROUPED).data == b'{"model": "x"}'


@pytest.mark.parametrize("text, nothing", read_rows("hooks_json_edit", "a_file_that_says_nothing_is_known"))
def test_a_file_that_says_nothing_is_known(text: str, nothing: bool) -> None:
    assert holds_nothing(text.encode()) is nothing


# ---- containers


def test_lists_and_objects_that_become_empty_go_with_us_unless_they_were_there_before() -> None:
    for before in ('{"hooks": {"Stop": []}, "model": "x"}', '{"hooks": {}, "model": "x"}', '{"model": "x"}'):
        after = install(before.encode(), GROUPED).data
        assert remove_entries(after, GROUPED).data == b'{"model": "x"}'
        assert remove_entries(after, GROUPED, before.encode()).data.decode() == before


def test_the_hooks_object_stays_in_a_file_that_is_about_hooks() -> None:
    after = install(b'{"version": 1}', FLAT).data
    assert remove_entries(after, FLAT).data == b'{"version": 1, "hooks": {}}'


def test_a_list_or_object_with_a_comment_in_it_is_not_empty() -> None:
    before = f'{{"hooks": {{ /* a */ "Stop": [ /* b */ {{"hooks": [{{"command": "{LINE}"}}]}} ]}}}}'
    assert remove_entries(before.encode(), GROUPED).data == b'{"hooks": { /* a */ "Stop": [ /* b */ ]}}'
    group = f'{{"hooks": {{"Stop": [{{"hooks": [{{"command": "{LINE}"}}] /* why */}}]}}}}'
    assert remove_entries(group.encode(), GROUPED).data == b'{"hooks": {"Stop": [{"hooks": [] /* why */}]}}'


def test_a_group_with_keys_we_do_not_know_stays() -> None:
    before = f'{{"hooks": {{"Stop": [{{"sequential": true, "hooks": [{{"command": "{LINE}"}}]}}]}}}}'
    assert remove_entries(before.encode(), GROUPED).data == b'{"hooks": {"Stop": [{"sequential": true, "hooks": []}]}}'


def test_a_group_shared_with_others_loses_our_entry_only() -> None:
    group = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}%s]}'
    before = f'{{"hooks": {{"PreToolUse": [{group}]}}}}'
    shared = before % f', {{"command": "{LINE}"}}'
    assert remove_entries(shared.encode(), GROUPED).data.decode() == before % ""


# ---- replacing


def test_an_entry_that_changed_is_replaced_where_it_stands() -> None:
    before = f'{{"version": 1, "hooks": {{"stop": [1, {{ "command": "{LINE} --old" }}, /* two */ 2]}}}}'
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE})], FLAT).data.decode()
    assert after == before.replace(f'{{ "command": "{LINE} --old" }}', f'{{"command": "{LINE}"}}')


def test_an_entry_on_several_lines_is_replaced_by_one_on_several_lines() -> None:
    before = json.dumps({"version": 1, "hooks": {"stop": [{"command": f"{LINE} --old"}]}}, indent="\t")
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE, "timeout": 5})], FLAT).data.decode()
    assert after == json.dumps({"version": 1, "hooks": {"stop": [{"command": LINE, "timeout": 5}]}}, indent="\t")


def test_a_group_of_ours_with_another_matcher_is_replaced_whole() -> None:
    groups = [{"matcher": "Bash", "hooks": [{"command": LINE}]}, {"hooks": [{"command": "b"}]}]
    before = json.dumps({"hooks": {"PreToolUse": groups}})
    after = install_entries(
        before.encode(), [EntryEdit("PreToolUse", {"command": LINE}, "Edit")], GROUPED
    ).data.decode()
    assert after == before.replace("Bash", "Edit")


def test_a_group_shared_with_others_keeps_its_matcher() -> None:
    shared = [{"matcher": "Bash", "hooks": [{"command": "a"}, {"command": f"{LINE} --old"}]}]
    before = json.dumps({"hooks": {"PreToolUse": shared}}).encode()
    same = install_entries(before, [EntryEdit("PreToolUse", {"command": LINE}, "Bash")], GROUPED).data.decode()
    assert same == before.decode().replace(" --old", "")
    other = value_of(install_entries(before, [EntryEdit("PreToolUse", {"command": LINE}, "Edit")], GROUPED).data)
    assert other["hooks"]["PreToolUse"] == [
        {"matcher": "Bash", "hooks": [{"command": "a"}]},
        {"matcher": "Edit", "hooks": [{"command": LINE}]},
    ]


def test_an_entry_of_ours_in_the_wrong_shape_is_put_right() -> None:
    flat = f'{{"hooks": {{"Stop": [{{"command": "{LINE}"}}]}}}}'.encode()
    nested = f'{{"version": 1, "hooks": {{"stop": [{{"hooks": [{{"command": "{LINE}"}}]}}]}}}}'.encode()
    grouped = install_entries(flat, [EntryEdit("Stop", {"command": LINE})], GROUPED).data
    assert value_of(grouped) == {"hooks": {"Stop": [{"hooks": [{"command": LINE}]}]}}
    straight = install_entries(nested, [EntryEdit("stop", {"command": LINE})], FLAT).data
    assert value_of(straight) == {"version": 1, "hooks": {"stop": [{"command": LINE}]}}


def test_the_same_entry_in_other_words_is_the_same_entry() -> None:
    command = LINE.replace("/", "\\/")
    before = f'{{"version": 1, "hooks": {{"stop": [{{"timeout": 1e1, "command": "{command}"}}]}}}}'
    assert not install_entries(before.encode(), [EntryEdit("stop", {"command": LINE, "timeout": 10.0})], FLAT).changed
    assert install_entries(before.encode(), [EntryEdit("stop", {"command": LINE, "timeout": True})], FLAT).changed


@pytest.mark.parametrize("key", ["bash", "powershell", "command"])
def test_a_command_is_ours_under_every_key_that_products_have(key: str) -> None:
    terms = FLAT._replace(fatal_codes=frozenset())
    after = install_entries(b'{"version": 1}', [EntryEdit("preToolUse", {"type": "command", key: LINE})], terms).data
    assert remove_entries(after, terms, b'{"version": 1}').data == b'{"version": 1}'


def test_an_entry_that_could_not_be_found_again_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(ValueError, match="could not be found again"):
        install_entries(b"{}", [EntryEdit("stop", {"command": "somebody else's"})], FLAT)


# ---- duplicate keys


def test_of_equal_keys_the_last_is_edited() -> None:
    before = '{"version": 1, "hooks": {"stop": [1], "stop": [2]}, "hooks": {"stop": [3], "stop": [4]}}'
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE})], FLAT).data.decode()
    assert after == before.replace("[4]", f'[4, {{"command": "{LINE}"}}]')
    assert remove_entries(after.encode(), FLAT).data.decode() == before


def test_the_last_of_equal_keys_is_never_taken_out_because_the_one_before_would_come_alive() -> None:
    entry = f'{{"command": "{LINE}"}}'
    stop = f'{{"version": 1, "hooks": {{"stop": [1], "stop": [{entry}]}}}}'
    assert value_of(remove_entries(stop.encode(), FLAT).data) == {"version": 1, "hooks": {"stop": []}}
    hooks = f'{{"hooks": {{"Stop": [1]}}, "hooks": {{"Stop": [{{"hooks": [{entry}]}}]}}}}'
    assert value_of(remove_entries(hooks.encode(), GROUPED).data) == {"hooks": {}}
    group = f'{{"hooks": {{"Stop": [{{"hooks": [1], "hooks": [{entry}]}}]}}}}'
    assert remove_entries(group.encode(), GROUPED).data.decode() == group.replace(entry, "")


def test_with_more_equal_keys_than_the_reader_counts_nothing_is_taken_for_the_only_one() -> None:
    many = ", ".join('"a": 1' for _ in range(60))
    before = f'{{{many}, "version": 1, "hooks": {{"stop": [1], "stop": [{{"command": "{LINE}"}}]}}}}'
    assert value_of(remove_entries(before.encode(), FLAT).data)["hooks"] == {"stop": []}


# ---- what is refused, and what is only said

REFUSED = {
    "TL101": b'{"version": 1, "hooks": {"stop": [}',
    "TL104": '{"version": 1}'.encode("utf-16"),
    "TL110": b'{"version": 1, "x": ' + b"[" * 300 + b"]" * 300 + b"}",
    "TL108": b'{"version": 1, "x": "' + b"a" * MAX_FILE_BYTES + b'"}',
    "TL201": b'[{"command": "a"}]',
    "TL205": b'{"version": 1, "hooks": []}',
    "TL209": b'{"version": 1, "hooks": {"preToolUse": {"command": "a"}}}',
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_cannot_be_edited_without_destroying_something_is_refused_and_returned_as_it_is(code: str) -> None:
    done = install_entries(REFUSED[code], ENTRIES[Shape.FLAT], FLAT)
    assert (done.data, done.changed, done.refused) == (REFUSED[code], False, True)
    assert code in {problem.code for problem in done.problems}
    assert {problem.place.file for problem in done.problems} == {"hooks.json"}


@pytest.mark.parametrize("text", ["", "{", "nonsense", "// only a comment", "{'a': 1}", '{"a": 1} x', "\ufeff\ufeff{}"])
def test_taking_out_of_what_cannot_be_parsed_is_refused_too(text: str) -> None:
    done = remove_entries(text.encode(), FLAT)
    assert (done.data, done.changed, done.refused) == (text.encode(), False, True)
    assert done.problems[0].severity is Severity.FATAL


def test_nothing_of_ours_can_be_in_a_file_of_another_shape() -> None:
    for text in ("[]", "1", '{"hooks": 1}', '{"hooks": {"stop": 1}}', "null"):
        done = remove_entries(text.encode(), FLAT)
        assert (done.data, done.changed, done.refused) == (text.encode(), False, False)


def test_an_event_that_is_no_list_is_nobodys_business_unless_we_want_to_be_there() -> None:
    before = b'{"version": 1, "hooks": {"afterFileEdit": "x"}}'
    assert b'"afterFileEdit": "x"' in install(before, FLAT).data


@pytest.mark.parametrize(
    "data, code",
    [
        (b'{"version": 1, "hooks": {"stop": [1,]}}', "TL102"),
        (BOM + b'{"version": 1, "hooks": {}}', "TL103"),
        (b'{"version": 1, "$schema": "https://x"}', "TL107"),
    ],
)
def test_a_file_that_is_void_for_the_agent_is_installed_into_and_the_problem_is_said(data: bytes, code: str) -> None:
    done = install(data, FLAT)
    assert done.changed
    assert [(problem.code, problem.severity) for problem in done.problems] == [(code, Severity.FATAL)]


def test_an_address_in_a_string_is_a_problem_only_where_it_voids() -> None:
    assert install(b'{"$schema": "https://x"}', GROUPED).problems == ()


def test_a_file_that_would_grow_too_large_is_refused() -> None:
    before = json.dumps({"version": 1, "x": "a" * (MAX_FILE_BYTES - 100)}).encode()
    done = install_entries(before, ENTRIES[Shape.FLAT], FLAT)
    assert (done.data, done.refused, done.problems[0].code) == (before, True, "TL108")
    replaced = json.dumps(
        {"version": 1, "x": "a" * (MAX_FILE_BYTES - 200), "hooks": {"stop": [{"command": LINE}]}}
    ).encode()
    done = install_entries(
        replaced, [EntryEdit("stop", {"command": f"{LINE} {'x' * 500}"}), *ENTRIES[Shape.FLAT]], FLAT
    )
    assert (done.data, done.refused, done.problems[0].code) == (replaced, True, "TL108")


def test_one_slip_of_the_pen_is_not_told_fifty_times() -> None:
    done = remove_entries(b'{"a": 1 "b": 2 "c": 3\n "d" "e"\n:::\n\n' + b":\n" * 40, FLAT)
    assert 1 <= len(done.problems) <= 5


# ---- size and characters


def test_a_large_file_is_edited_in_one_place() -> None:
    others = ",\n".join(json.dumps({"command": f"./{n}.sh", "é": "🎣" * 25}) for n in range(2_700))
    before = f'{{"version": 1, "hooks": {{"stop": [\n{others}\n]}}}}'.encode()
    assert 700_000 < len(before) < MAX_FILE_BYTES
    after = install(before, FLAT).data
    assert remove_entries(after, FLAT).data == before


def test_deep_values_beside_the_hooks_are_not_looked_at() -> None:
    before = b'{"version": 1, "x": ' + b"[" * 190 + b"]" * 190 + b"}"
    assert remove_entries(install(before, FLAT).data, FLAT, before).data == before


def test_names_in_any_language_are_written_as_they_are_and_half_characters_escaped() -> None:
    entries = [EntryEdit("stop", {"command": f"{LINE} --home /home/josé/🎣"})]
    assert "josé/🎣" in install_entries(None, entries, FLAT).data.decode()
    half = [EntryEdit("stop", {"command": f"{LINE} --home /home/\udce9"})]
    after = install_entries(b"{}", half, FLAT).data
    assert b"\\udce9" in after
    assert not install_entries(after, half, FLAT).changed


def test_the_newline_that_most_lines_have_is_used() -> None:
    before = b'{\r\n  "version": 1,\n  "hooks": {\r\n  }\r\n}\r\n'
    after = install(before, FLAT).data
    assert after.replace(b"\r\n", b"").count(b"\n") == 1
