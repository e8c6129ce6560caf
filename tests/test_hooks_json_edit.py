"""Edits of hooks files: own entries are inserted and removed, and no other byte changes."""

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

from kit import convert_lists, read_corpus, read_rows
from trotline.agents.cursor.cursor_editions import NEWEST_EDITION, get_edition
from trotline.config.install import edit
from trotline.config.install.edit import (
    BOM,
    EditTerms,
    EntryEdit,
    HooksFileEdit,
    Shape,
    install_entries,
    is_empty_file,
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
both_shapes = pytest.mark.parametrize("terms", [FLAT, GROUPED], ids=["flat", "grouped"])
MANY_EXAMPLES = settings(max_examples=220)

# ---- actual and expected content


def read_value(data: bytes) -> Any:
    root = parse_jsonc(data).root
    return convert_node(root) if root else None


def convert_node(node: JsonNode) -> Any:
    if node.kind is JsonKind.OBJECT:
        return {key: convert_node(member.value) for key, member in node.members.items()}
    return [convert_node(item) for item in node.items] if node.kind is JsonKind.ARRAY else node.value


def build_item(entry: EntryEdit, terms: EditTerms) -> dict[str, Any]:
    """Build the item of an event's list for an entry."""
    matcher = {"matcher": entry.matcher} if entry.matcher else {}
    if terms.shape is Shape.GROUPED:
        return {**matcher, "hooks": [entry.body]}
    return {**entry.body, **matcher}


def add_entries(value: dict[str, Any], entries: list[EntryEdit], terms: EditTerms) -> dict[str, Any]:
    """Return the content of a file without own entries after an install."""
    value = deepcopy(value)
    if terms.version is not None and "version" not in value:
        value = {"version": terms.version, **value}
    hooks = value.setdefault("hooks", {})
    before: dict[str, list[Any]] = {event: [] for event in hooks}
    for entry in entries:
        hooks.setdefault(entry.event, [])
        before.setdefault(entry.event, []).append(build_item(entry, terms))
    for event, items in before.items():
        if items:
            hooks[event] = items + hooks[event] if terms.first else hooks[event] + items
    return value


def remove_own_entries(value: Any) -> Any:
    """Return the content without own entries, and without containers that are then empty."""
    hooks = value.get("hooks") if isinstance(value, dict) else None
    if not isinstance(hooks, dict):
        hooks = {}
    remaining = {
        event: list_foreign_items(listed) if isinstance(listed, list) else listed for event, listed in hooks.items()
    }
    rest = {key: inner for key, inner in value.items() if key not in {"hooks", "version"}}
    return {**rest, "hooks": {event: listed for event, listed in remaining.items() if listed != []}}


def list_foreign_items(listed: list[Any]) -> list[Any]:
    foreign = []
    for item in listed:
        inner = item.get("hooks") if isinstance(item, dict) else None
        if is_own_entry(item):
            continue
        if isinstance(inner, list):
            others = [entry for entry in inner if not is_own_entry(entry)]
            if others or set(item) - {"matcher", "hooks"}:
                foreign.append({**item, "hooks": others})
        else:
            foreign.append(item)
    return foreign


def is_own_entry(entry: Any) -> bool:
    return isinstance(entry, dict) and isinstance(entry.get("command"), str) and is_ours(entry["command"])


def list_own_entries(value: Any) -> list[tuple[str, str, str]]:
    """Return event, matcher and body of every own entry, in either shape."""
    own_entries = []
    for event, listed in value.get("hooks", {}).items():
        for item in listed if isinstance(listed, list) else ():
            if is_own_entry(item):
                own_entries.append((event, "", json.dumps(item, sort_keys=True)))
            inner = item.get("hooks") if isinstance(item, dict) else None
            entries = [entry for entry in inner if is_own_entry(entry)] if isinstance(inner, list) else []
            own_entries += [(event, item.get("matcher", ""), json.dumps(entry, sort_keys=True)) for entry in entries]
    return sorted(own_entries)


def list_wanted_entries(entries: list[EntryEdit], terms: EditTerms) -> list[tuple[str, str, str]]:
    return list_own_entries({"hooks": {f"{n}": [build_item(entry, terms)] for n, entry in enumerate(entries)}})


def list_comments(document: JsonDocument) -> list[str]:
    return [document.text[start:end] for start, end in document.comments]


def list_foreign_comments(data: bytes) -> list[str]:
    """Return every comment outside of own entries."""
    document = parse_jsonc(data)
    spans = [(node.start, node.end) for node in iterate_nodes(document.root) if is_own_entry(convert_node(node))]
    return [
        document.text[start:end]
        for start, end in document.comments
        if not any(begin < start < close for begin, close in spans)
    ]


def iterate_nodes(node: JsonNode | None) -> Iterator[JsonNode]:
    if node is not None:
        yield node
        for inner in [*node.items, *(member.value for member in node.members.values())]:
            yield from iterate_nodes(inner)


def list_codes(data: bytes) -> set[str]:
    return {fault.code for fault in parse_jsonc(data).faults}


# ---- generated files

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


def build_files(entry: st.SearchStrategy[Any], shape: Shape) -> st.SearchStrategy[dict[str, Any]]:
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


FILES = {shape: build_files(OTHER_ENTRY | PROMPT, shape) for shape in Shape}
FILES_WITH_OURS = {shape: build_files(OTHER_ENTRY | PROMPT | OUR_ENTRY, shape) for shape in Shape}

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


def format_with_layout(value: Any, layout: dict[str, Any]) -> bytes:
    """Format a value as a program does."""
    comma = "," if layout["tight"] or layout["indent"] is not None else ", "
    colon = ":" if layout["tight"] else ": "
    text = json.dumps(value, indent=layout["indent"], separators=(comma, colon), ensure_ascii=False)
    text = text.replace("\n", layout["newline"]) + (layout["newline"] if layout["final"] else "")
    return (BOM if layout["bom"] else b"") + text.encode()


def iterate_tokens(value: Any, chance: Iterator[int]) -> Iterator[str]:
    """Format a value as a person might: trailing commas, escaped keys, and duplicate keys."""
    if isinstance(value, dict | list):
        yield "{" if isinstance(value, dict) else "["
        for number, key in enumerate(value):
            yield from ([","] if number else [])
            if isinstance(value, dict):
                yield from (json.dumps(key), ":", '[{"command": "old"}]', ",") if next(chance) == 0 else ()
                yield from (escape_key(key) if next(chance) == 1 else json.dumps(key), ":")
            yield from iterate_tokens(value[key] if isinstance(value, dict) else key, chance)
        if value and next(chance) == 2:
            yield ","
        yield "}" if isinstance(value, dict) else "]"
    else:
        yield json.dumps(value, ensure_ascii=next(chance) > 7)


def escape_key(key: str) -> str:
    return '"' + "".join(f"\\u{ord(char):04x}" if ord(char) < 0x10000 else char for char in key) + '"'


@st.composite
def draw_file(draw: Any, values: st.SearchStrategy[Any]) -> bytes:
    """Draw a file with whitespace and comments between its tokens."""
    chance = cycle(draw(st.lists(st.integers(0, 15), min_size=1, max_size=20)))
    gaps = cycle(draw(st.lists(GAPS, min_size=1, max_size=12)))
    text = "".join(piece for token in iterate_tokens(draw(values), chance) for piece in (next(gaps), token))
    data: bytes = (text + next(gaps)).encode()
    return BOM + data if next(chance) % 2 else data


# ---- the laws


def install(data: bytes | None, terms: EditTerms) -> HooksFileEdit:
    done = install_entries(data, ENTRIES[terms.shape], terms)
    assert not done.refused, done.problems
    return done


@contextmanager
def watch_editors() -> Iterator[list[JsonEditor]]:
    """Collect the editors that are created."""
    drafts: list[JsonEditor] = []

    class Watched(JsonEditor):
        def __init__(self, document: JsonDocument) -> None:
            super().__init__(document)
            drafts.append(self)

    with mock.patch.object(edit, "JsonEditor", Watched):
        yield drafts


@both_shapes
@MANY_EXAMPLES
@given(st.data())
def test_install_only_inserts_text(terms: EditTerms, data: Any) -> None:
    before = data.draw(draw_file(FILES[terms.shape]))
    with watch_editors() as drafts:
        after = install(before, terms._replace(first=data.draw(st.booleans()))).data
    (draft,) = drafts
    assert all(change.start == change.end for change in draft.changes)
    assert draft.text == before.removeprefix(BOM).decode()
    assert draft.render() == after.removeprefix(BOM).decode()
    assert before.startswith(BOM) == after.startswith(BOM)


@both_shapes
@MANY_EXAMPLES
@given(st.data())
def test_installed_file_has_its_old_content_and_own_entries(terms: EditTerms, data: Any) -> None:
    before = data.draw(draw_file(FILES[terms.shape]))
    terms = terms._replace(first=data.draw(st.booleans()))
    after = install(before, terms).data
    assert read_value(after) == add_entries(read_value(before), ENTRIES[terms.shape], terms)
    assert list_comments(parse_jsonc(after)) == list_comments(parse_jsonc(before))
    assert list_codes(after) <= list_codes(before)


@both_shapes
@MANY_EXAMPLES
@given(st.data())
def test_second_install_changes_nothing(terms: EditTerms, data: Any) -> None:
    once = install(data.draw(draw_file(FILES_WITH_OURS[terms.shape])), terms).data
    twice = install(once, terms)
    assert (twice.data, twice.changed) == (once, False)


@both_shapes
@MANY_EXAMPLES
@given(st.data())
def test_install_leaves_only_the_wanted_own_entries(terms: EditTerms, data: Any) -> None:
    before = data.draw(draw_file(FILES_WITH_OURS[terms.shape]))
    after = install(before, terms).data
    assert list_own_entries(read_value(after)) == sorted(
        (entry.event, matcher, body)
        for entry in ENTRIES[terms.shape]
        for _, matcher, body in list_wanted_entries([entry], terms)
    )
    assert remove_own_entries(read_value(after)) == remove_own_entries(read_value(before))
    assert list_foreign_comments(after) == list_foreign_comments(before)
    assert list_codes(after) <= list_codes(before)


@both_shapes
@MANY_EXAMPLES
@given(st.data())
def test_removal_leaves_foreign_entries(terms: EditTerms, data: Any) -> None:
    before = data.draw(draw_file(FILES_WITH_OURS[terms.shape]))
    with watch_editors() as drafts:
        done = remove_entries(before, terms)
    assert not done.refused
    assert not any(change.text for change in drafts[0].changes)
    assert list_own_entries(read_value(done.data)) == []
    assert remove_own_entries(read_value(done.data)) == remove_own_entries(read_value(before))
    assert read_value(done.data).get("version") == read_value(before).get("version")
    assert list_foreign_comments(done.data) == list_foreign_comments(before)
    assert list_codes(done.data) <= list_codes(before)
    assert done.changed == bool(list_own_entries(read_value(before)))
    assert done.changed or done.data == before
    assert not remove_entries(done.data, terms).changed


@both_shapes
@MANY_EXAMPLES
@given(st.data())
def test_removal_with_the_original_restores_its_content(terms: EditTerms, data: Any) -> None:
    before = data.draw(draw_file(FILES[terms.shape]))
    back = remove_entries(install(before, terms).data, terms, before)
    version = {} if terms.version is None else {"version": terms.version}
    assert read_value(back.data) == {**version, **read_value(before)}
    assert list_comments(parse_jsonc(back.data)) == list_comments(parse_jsonc(before))


@both_shapes
@MANY_EXAMPLES
@given(st.data(), LAYOUTS)
def test_inserted_entries_follow_the_layout_of_the_file(terms: EditTerms, data: Any, layout: dict[str, Any]) -> None:
    terms = terms._replace(first=data.draw(st.booleans()))
    value = {**data.draw(st.sampled_from([{"version": 1}, {"a": []}])), **data.draw(FILES[terms.shape])}
    before = format_with_layout(value, layout)
    after = install(before, terms).data
    assert after == format_with_layout(add_entries(value, ENTRIES[terms.shape], terms), layout)
    if "version" in value or terms.version is None:
        assert remove_entries(after, terms, before).data == before


# ---- awkward comments, commas and lines: the list before and after; `@` is the own entry

NEW_ENTRIES = convert_lists(read_corpus("hooks_json_edit")["new_entries"])


@pytest.mark.parametrize("name", NEW_ENTRIES)
def test_new_entry_is_inserted_and_removed_between_comments(name: str) -> None:
    old, new = NEW_ENTRIES[name]
    written = '{"command": "/opt/trotline/bin/trotline hook"}'
    before = f'{{"version": 1, "hooks": {{"stop": {old}}}}}'
    entries = [EntryEdit("stop", {"command": LINE})]
    after = install_entries(before.encode(), entries, FLAT).data.decode()
    after = re.sub(r'\{\s*"command": "(/opt[^"]*)"\s*\}', r'{"command": "\1"}', after)
    assert after == before.replace(old, new.replace("@", written))
    back = remove_entries(after.encode(), FLAT, before.encode()).data.decode()
    assert back == before.replace(old, old.replace("1,", "1") if "trailing" in name else old)


def test_list_with_a_comment_stays_on_its_line() -> None:
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
def test_first_entry_comes_before_the_comments_of_the_next(name: str) -> None:
    old, new = FIRST_PLACES[name]
    before = f'{{"version": 1, "hooks": {{"stop": {old}}}}}'
    terms = FLAT._replace(first=True)
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE})], terms).data.decode()
    after = re.sub(r'\{\s*"command": "(/opt[^"]*)"\s*\}', r'{"command": "\1"}', after)
    assert after == before.replace(old, new.replace("@", f'{{"command": "{LINE}"}}'))
    assert remove_entries(after.encode(), terms, before.encode()).data.decode() == before


REMOVED_ENTRIES = convert_lists(read_corpus("hooks_json_edit")["removed_entries"])


@pytest.mark.parametrize("name", REMOVED_ENTRIES)
def test_removed_entry_takes_its_comma_and_no_comment(name: str) -> None:
    old, new = REMOVED_ENTRIES[name]
    before = f'{{"version": 1, "hooks": {{"stop": {old}, "x": [1]}}}}'.replace("@", f'{{"command": "{LINE}"}}')
    expected = (
        f'{{"version": 1, "hooks": {{"stop": {new}, "x": [1]}}}}' if new else '{"version": 1, "hooks": {"x": [1]}}'
    )
    assert remove_entries(before.encode(), FLAT).data.decode() == expected


# ---- faults of other installers (peers.md 2.4)

PROBE = (
    '{"version":1,"hooks":{"beforeShellExecution":[{"command":"./mine.sh","timeout":7,"matcher":"curl",'
    '"failClosed":true}],"stop":[{"type":"prompt","prompt":"done?","loop_limit":null}]},"x-team":"keep"}'
)


def test_probe_keeps_every_field_and_is_restored() -> None:
    after = install(PROBE.encode(), FLAT).data
    assert '"timeout":7,"matcher":"curl","failClosed":true}' in after.decode()
    assert '{"type":"prompt","prompt":"done?","loop_limit":null}' in after.decode()
    assert after.endswith(b',"x-team":"keep"}')
    assert remove_entries(after, FLAT).data.decode() == PROBE


def test_file_with_only_a_version_gets_a_hooks_object() -> None:
    after = install_entries(b'{"version":1}', [EntryEdit("stop", {"command": LINE})], FLAT)
    assert after.data.decode() == '{"version":1,"hooks":{"stop":[{"command":"' + LINE + '"}]}}'
    assert remove_entries(after.data, FLAT, b'{"version":1}').data == b'{"version":1}'


def test_file_with_comments_is_edited_in_place() -> None:
    before = b'// mine\n{\n  "version": 1, /* one */\n  "hooks": {"stop": [{"command": "./a.sh"}]} // all\n}\n// end\n'
    after = install(before, FLAT)
    assert list_comments(parse_jsonc(after.data)) == ["// mine", "/* one */", "// all", "// end"]
    assert remove_entries(after.data, FLAT).data == before


@pytest.mark.parametrize(
    "command", [LINE + "-lint", "/opt/trotline/bin/trotline hookline", f"echo '{LINE}'", "trotline"]
)
def test_similar_command_is_left_alone(command: str) -> None:
    before = json.dumps({"version": 1, "hooks": {"stop": [{"command": command}]}}).encode()
    assert remove_entries(before, FLAT) == HooksFileEdit(before)
    assert json.dumps({"command": command}) in install(before, FLAT).data.decode()


def test_missing_version_is_added_and_an_existing_one_stays() -> None:
    hooks = '"hooks": {"stop": [1]}'
    added = install_entries(f"{{{hooks}}}".encode(), [EntryEdit("stop", {"command": LINE})], FLAT).data.decode()
    assert added == f'{{"version": 1, "hooks": {{"stop": [1, {{"command": "{LINE}"}}]}}}}'
    for version in ("2", '"1"', "null", "0"):
        before = f'{{{hooks}, "version": {version}}}'
        assert install(before.encode(), FLAT).data.decode().endswith(f', "version": {version}}}')


def test_entries_without_a_command_are_left_alone() -> None:
    before = b'{"version": 1, "hooks": {"stop": [{"type": "prompt"}, {"command": null}, {"command": 3}, [], null, {}]}}'
    after = install_entries(before, [EntryEdit("stop", {"command": LINE})], FLAT)
    assert remove_entries(after.data, FLAT).data == before


# ---- new files


@pytest.mark.parametrize("data", [None, b"", b"\n", b" \t\r\n", BOM, BOM + b"\n"])
def test_missing_and_empty_files_are_created(data: bytes | None) -> None:
    after = install(data, FLAT)
    value = add_entries({"version": 1}, ENTRIES[Shape.FLAT], FLAT)
    assert after.data.decode() == json.dumps(value, indent=2) + "\n"
    assert is_empty_file(remove_entries(after.data, FLAT, b"").data)


def test_install_of_no_entries_creates_no_file() -> None:
    assert install_entries(None, [], FLAT) == HooksFileEdit(b"")
    assert install_entries(b"{}", [], FLAT) == HooksFileEdit(b"{}")


def test_install_of_no_entries_removes_own_entries() -> None:
    after = install(PROBE.encode(), FLAT).data
    assert install_entries(after, [], FLAT).data.decode() == PROBE
    settings_file = install(b'{"model": "x"}', GROUPED).data
    assert install_entries(settings_file, [], GROUPED).data == b'{"model": "x"}'


@pytest.mark.parametrize("text, nothing", read_rows("hooks_json_edit", "a_file_that_says_nothing_is_known"))
def test_file_without_content_is_recognised(text: str, nothing: bool) -> None:
    assert is_empty_file(text.encode()) is nothing


# ---- containers


def test_emptied_containers_are_removed_unless_they_existed() -> None:
    for before in ('{"hooks": {"Stop": []}, "model": "x"}', '{"hooks": {}, "model": "x"}', '{"model": "x"}'):
        after = install(before.encode(), GROUPED).data
        assert remove_entries(after, GROUPED).data == b'{"model": "x"}'
        assert remove_entries(after, GROUPED, before.encode()).data.decode() == before


def test_hooks_object_stays_in_a_hooks_file() -> None:
    after = install(b'{"version": 1}', FLAT).data
    assert remove_entries(after, FLAT).data == b'{"version": 1, "hooks": {}}'


def test_container_with_a_comment_is_not_empty() -> None:
    before = f'{{"hooks": {{ /* a */ "Stop": [ /* b */ {{"hooks": [{{"command": "{LINE}"}}]}} ]}}}}'
    assert remove_entries(before.encode(), GROUPED).data == b'{"hooks": { /* a */ "Stop": [ /* b */ ]}}'
    group = f'{{"hooks": {{"Stop": [{{"hooks": [{{"command": "{LINE}"}}] /* why */}}]}}}}'
    assert remove_entries(group.encode(), GROUPED).data == b'{"hooks": {"Stop": [{"hooks": [] /* why */}]}}'


def test_group_with_unknown_keys_stays() -> None:
    before = f'{{"hooks": {{"Stop": [{{"sequential": true, "hooks": [{{"command": "{LINE}"}}]}}]}}}}'
    assert remove_entries(before.encode(), GROUPED).data == b'{"hooks": {"Stop": [{"sequential": true, "hooks": []}]}}'


def test_shared_group_loses_only_the_own_entry() -> None:
    group = '{"matcher": "Bash", "hooks": [{"type": "command", "command": "a"}%s]}'
    before = f'{{"hooks": {{"PreToolUse": [{group}]}}}}'
    shared = before % f', {{"command": "{LINE}"}}'
    assert remove_entries(shared.encode(), GROUPED).data.decode() == before % ""


# ---- replacing


def test_changed_entry_is_replaced_in_place() -> None:
    before = f'{{"version": 1, "hooks": {{"stop": [1, {{ "command": "{LINE} --old" }}, /* two */ 2]}}}}'
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE})], FLAT).data.decode()
    assert after == before.replace(f'{{ "command": "{LINE} --old" }}', f'{{"command": "{LINE}"}}')


def test_multiline_entry_is_replaced_by_a_multiline_entry() -> None:
    before = json.dumps({"version": 1, "hooks": {"stop": [{"command": f"{LINE} --old"}]}}, indent="\t")
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE, "timeout": 5})], FLAT).data.decode()
    assert after == json.dumps({"version": 1, "hooks": {"stop": [{"command": LINE, "timeout": 5}]}}, indent="\t")


def test_own_group_with_another_matcher_is_replaced() -> None:
    groups = [{"matcher": "Bash", "hooks": [{"command": LINE}]}, {"hooks": [{"command": "b"}]}]
    before = json.dumps({"hooks": {"PreToolUse": groups}})
    after = install_entries(
        before.encode(), [EntryEdit("PreToolUse", {"command": LINE}, "Edit")], GROUPED
    ).data.decode()
    assert after == before.replace("Bash", "Edit")


def test_shared_group_keeps_its_matcher() -> None:
    shared = [{"matcher": "Bash", "hooks": [{"command": "a"}, {"command": f"{LINE} --old"}]}]
    before = json.dumps({"hooks": {"PreToolUse": shared}}).encode()
    same = install_entries(before, [EntryEdit("PreToolUse", {"command": LINE}, "Bash")], GROUPED).data.decode()
    assert same == before.decode().replace(" --old", "")
    other = read_value(install_entries(before, [EntryEdit("PreToolUse", {"command": LINE}, "Edit")], GROUPED).data)
    assert other["hooks"]["PreToolUse"] == [
        {"matcher": "Bash", "hooks": [{"command": "a"}]},
        {"matcher": "Edit", "hooks": [{"command": LINE}]},
    ]


def test_own_entry_in_the_wrong_shape_is_corrected() -> None:
    flat = f'{{"hooks": {{"Stop": [{{"command": "{LINE}"}}]}}}}'.encode()
    nested = f'{{"version": 1, "hooks": {{"stop": [{{"hooks": [{{"command": "{LINE}"}}]}}]}}}}'.encode()
    grouped = install_entries(flat, [EntryEdit("Stop", {"command": LINE})], GROUPED).data
    assert read_value(grouped) == {"hooks": {"Stop": [{"hooks": [{"command": LINE}]}]}}
    straight = install_entries(nested, [EntryEdit("stop", {"command": LINE})], FLAT).data
    assert read_value(straight) == {"version": 1, "hooks": {"stop": [{"command": LINE}]}}


def test_differently_spelt_entry_is_unchanged() -> None:
    command = LINE.replace("/", "\\/")
    before = f'{{"version": 1, "hooks": {{"stop": [{{"timeout": 1e1, "command": "{command}"}}]}}}}'
    assert not install_entries(before.encode(), [EntryEdit("stop", {"command": LINE, "timeout": 10.0})], FLAT).changed
    assert install_entries(before.encode(), [EntryEdit("stop", {"command": LINE, "timeout": True})], FLAT).changed


@pytest.mark.parametrize("key", ["bash", "powershell", "command"])
def test_own_command_is_found_under_every_key(key: str) -> None:
    terms = FLAT._replace(fatal_codes=frozenset())
    after = install_entries(b'{"version": 1}', [EntryEdit("preToolUse", {"type": "command", key: LINE})], terms).data
    assert remove_entries(after, terms, b'{"version": 1}').data == b'{"version": 1}'


def test_entry_with_a_foreign_command_is_an_error() -> None:
    with pytest.raises(ValueError, match="could not be recognized as ours later"):
        install_entries(b"{}", [EntryEdit("stop", {"command": "somebody else's"})], FLAT)


# ---- duplicate keys


def test_last_of_duplicate_keys_is_edited() -> None:
    before = '{"version": 1, "hooks": {"stop": [1], "stop": [2]}, "hooks": {"stop": [3], "stop": [4]}}'
    after = install_entries(before.encode(), [EntryEdit("stop", {"command": LINE})], FLAT).data.decode()
    assert after == before.replace("[4]", f'[4, {{"command": "{LINE}"}}]')
    assert remove_entries(after.encode(), FLAT).data.decode() == before


def test_last_of_duplicate_keys_is_never_removed() -> None:
    entry = f'{{"command": "{LINE}"}}'
    stop = f'{{"version": 1, "hooks": {{"stop": [1], "stop": [{entry}]}}}}'
    assert read_value(remove_entries(stop.encode(), FLAT).data) == {"version": 1, "hooks": {"stop": []}}
    hooks = f'{{"hooks": {{"Stop": [1]}}, "hooks": {{"Stop": [{{"hooks": [{entry}]}}]}}}}'
    assert read_value(remove_entries(hooks.encode(), GROUPED).data) == {"hooks": {}}
    group = f'{{"hooks": {{"Stop": [{{"hooks": [1], "hooks": [{entry}]}}]}}}}'
    assert remove_entries(group.encode(), GROUPED).data.decode() == group.replace(entry, "")


def test_many_duplicate_keys_are_never_removed() -> None:
    duplicates = ", ".join('"a": 1' for _ in range(60))
    before = f'{{{duplicates}, "version": 1, "hooks": {{"stop": [1], "stop": [{{"command": "{LINE}"}}]}}}}'
    assert read_value(remove_entries(before.encode(), FLAT).data)["hooks"] == {"stop": []}


# ---- refused files and reported problems

REFUSED_FILES = {
    "TL101": b'{"version": 1, "hooks": {"stop": [}',
    "TL104": '{"version": 1}'.encode("utf-16"),
    "TL110": b'{"version": 1, "x": ' + b"[" * 300 + b"]" * 300 + b"}",
    "TL108": b'{"version": 1, "x": "' + b"a" * MAX_FILE_BYTES + b'"}',
    "TL201": b'[{"command": "a"}]',
    "TL205": b'{"version": 1, "hooks": []}',
    "TL209": b'{"version": 1, "hooks": {"preToolUse": {"command": "a"}}}',
}


@pytest.mark.parametrize("code", REFUSED_FILES)
def test_file_that_cannot_be_edited_safely_is_refused(code: str) -> None:
    done = install_entries(REFUSED_FILES[code], ENTRIES[Shape.FLAT], FLAT)
    assert (done.data, done.changed, done.refused) == (REFUSED_FILES[code], False, True)
    assert code in {problem.code for problem in done.problems}
    assert {problem.place.file for problem in done.problems} == {"hooks.json"}


@pytest.mark.parametrize("text", ["", "{", "nonsense", "// only a comment", "{'a': 1}", '{"a": 1} x', "\ufeff\ufeff{}"])
def test_removal_from_an_unparsable_file_is_refused(text: str) -> None:
    done = remove_entries(text.encode(), FLAT)
    assert (done.data, done.changed, done.refused) == (text.encode(), False, True)
    assert done.problems[0].severity is Severity.FATAL


def test_removal_from_a_file_of_another_shape_changes_nothing() -> None:
    for text in ("[]", "1", '{"hooks": 1}', '{"hooks": {"stop": 1}}', "null"):
        done = remove_entries(text.encode(), FLAT)
        assert (done.data, done.changed, done.refused) == (text.encode(), False, False)


def test_event_that_is_not_a_list_is_left_alone() -> None:
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
def test_file_with_a_fatal_problem_is_edited_and_the_problem_reported(data: bytes, code: str) -> None:
    done = install(data, FLAT)
    assert done.changed
    assert [(problem.code, problem.severity) for problem in done.problems] == [(code, Severity.FATAL)]


def test_url_in_a_string_is_a_problem_only_if_it_is_fatal() -> None:
    assert install(b'{"$schema": "https://x"}', GROUPED).problems == ()


def test_file_that_would_grow_too_large_is_refused() -> None:
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


def test_number_of_reported_syntax_errors_is_limited() -> None:
    done = remove_entries(b'{"a": 1 "b": 2 "c": 3\n "d" "e"\n:::\n\n' + b":\n" * 40, FLAT)
    assert 1 <= len(done.problems) <= 5


# ---- size and characters


def test_large_file_is_edited_in_one_place() -> None:
    others = ",\n".join(json.dumps({"command": f"./{n}.sh", "é": "🎣" * 25}) for n in range(2_700))
    before = f'{{"version": 1, "hooks": {{"stop": [\n{others}\n]}}}}'.encode()
    assert 700_000 < len(before) < MAX_FILE_BYTES
    after = install(before, FLAT).data
    assert remove_entries(after, FLAT).data == before


def test_deep_values_outside_of_hooks_are_ignored() -> None:
    before = b'{"version": 1, "x": ' + b"[" * 190 + b"]" * 190 + b"}"
    assert remove_entries(install(before, FLAT).data, FLAT, before).data == before


def test_unicode_is_written_unescaped_except_surrogates() -> None:
    entries = [EntryEdit("stop", {"command": f"{LINE} --home /home/josé/🎣"})]
    assert "josé/🎣" in install_entries(None, entries, FLAT).data.decode()
    half = [EntryEdit("stop", {"command": f"{LINE} --home /home/\udce9"})]
    after = install_entries(b"{}", half, FLAT).data
    assert b"\\udce9" in after
    assert not install_entries(after, half, FLAT).changed


def test_most_frequent_newline_is_used() -> None:
    before = b'{\r\n  "version": 1,\n  "hooks": {\r\n  }\r\n}\r\n'
    after = install(before, FLAT).data
    assert after.replace(b"\r\n", b"").count(b"\n") == 1
