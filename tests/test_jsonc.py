"""The JSONC reader: values, positions, faults and recovery."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kit import build_text, count_steps, find_mark, read_corpus, read_rows, remove_mark
from trotline.config.problems import load_codes
from trotline.formats import jsonc
from trotline.formats.jsonc import (
    MAX_FAULTS,
    MAX_FILE_BYTES,
    MAX_JSON_DEPTH,
    JsonDocument,
    JsonKind,
    JsonNode,
    parse_jsonc,
)

TEXTS = st.text(max_size=12).filter(lambda text: "//" not in text)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXTS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=5) | st.dictionaries(TEXTS, inner, max_size=5), max_leaves=25
)
SPACES = st.sampled_from(["", " ", "\n", "\t", "\r\n", "\r", "   "])
COMMENTS = st.sampled_from(["// to the end\n", "/* one */", "/* two\nlines */", '/* " */', '// " } ]\r\n', "/**/"])
GAPS = st.lists(SPACES | COMMENTS, min_size=1, max_size=6)
JSON_LIKE = st.text(alphabet='{}[],:"\\/* \n\tu0123456789.eE+-truefalsn', max_size=60)
NASTY = st.text(alphabet="{}[],:\"'\\/*\r\n\t\0\x1b\ufeff\u2028\ud800é🎣$_-+.0123456789eEtruefalsn#`;", max_size=200)


def value_of(node: JsonNode) -> Any:
    if node.kind is JsonKind.OBJECT:
        return {key: value_of(member.value) for key, member in node.members.items()}
    return [value_of(item) for item in node.items] if node.kind is JsonKind.ARRAY else node.value


def all_nodes(node: JsonNode | None) -> Iterator[JsonNode]:
    """Yield the node and everything in it, including keys."""
    if node is None:
        return
    yield node
    for item in node.items:
        yield from all_nodes(item)
    for member in node.members.values():
        yield member.key
        yield from all_nodes(member.value)


def tokens(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield "{"
        for number, (key, inner) in enumerate(value.items()):
            yield from ([","] if number else [])
            yield from (json.dumps(key), ":")
            yield from tokens(inner)
        yield "}"
    elif isinstance(value, list):
        yield "["
        for number, inner in enumerate(value):
            yield from ([","] if number else [])
            yield from tokens(inner)
        yield "]"
    else:
        yield json.dumps(value)


def spread(value: Any, gaps: list[str]) -> str:
    """Return the value as JSON with these gaps around its tokens, in turn."""
    gap = cycle(gaps)
    return "".join(next(gap) + token for token in tokens(value)) + next(gap)


def in_javascript(value: Any) -> Any:
    """Return the value with JavaScript's numbers, where 1.0 and 1 are the same."""
    if isinstance(value, dict):
        return {key: in_javascript(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [in_javascript(inner) for inner in value]
    whole = isinstance(value, float) and value.is_integer() and abs(value) < 2**53
    return int(value) if whole else value


def same(found: Any, written: Any) -> bool:
    """Return whether values and types are equal; 1 and true differ, and 1.0 is read as 1."""
    return repr(found) == repr(in_javascript(written))


def root_of(document: JsonDocument) -> JsonNode:
    assert document.root is not None
    return document.root


def codes(document: JsonDocument) -> list[str]:
    return [fault.code for fault in document.faults]


@given(VALUES, st.booleans(), st.sampled_from([None, 0, 2, "\t"]))
def test_standard_json_is_read_as_by_the_json_module(value: Any, ascii_only: bool, indent: int | str | None) -> None:
    document = parse_jsonc(json.dumps(value, ensure_ascii=ascii_only, indent=indent).encode())
    assert document.faults == []
    assert same(value_of(root_of(document)), value)


@given(VALUES, GAPS)
def test_space_and_comments_between_tokens_change_nothing(value: Any, gaps: list[str]) -> None:
    document = parse_jsonc(spread(value, gaps))
    assert document.faults == []
    assert same(value_of(root_of(document)), value)


@given(VALUES, GAPS)
def test_the_text_of_every_node_is_that_node(value: Any, gaps: list[str]) -> None:
    document = parse_jsonc(spread(value, gaps))
    for node in all_nodes(document.root):
        piece = document.text[node.start : node.end]
        assert same(value_of(root_of(parse_jsonc(piece))), value_of(node))
        if node.kind not in {JsonKind.OBJECT, JsonKind.ARRAY}:
            assert same(node.value, json.loads(piece))


@given(VALUES, GAPS)
def test_comments_are_remembered_with_their_places(value: Any, gaps: list[str]) -> None:
    document = parse_jsonc(spread(value, gaps))
    found = [document.text[start:end] for start, end in document.comments]
    assert all(comment.startswith(("//", "/*")) for comment in found)
    without = document.text
    for start, end in reversed(document.comments):
        without = without[:start] + " " + without[end:]
    assert repr(json.loads(without)) == repr(value)


@given(JSON_LIKE)
def test_a_text_has_a_fault_exactly_when_it_is_not_json(text: str) -> None:
    document = parse_jsonc(text)
    assume(not document.comments)
    assume(not {"TL105", "TL107"} & set(codes(document)))
    try:
        value = json.loads(text)
    except ValueError:
        assert document.faults
    else:
        assert document.faults == []
        assert same(value_of(root_of(document)), value)


@given(NASTY | JSON_LIKE)
def test_no_text_makes_it_raise_or_point_outside_the_text(text: str) -> None:
    check_the_places_in(parse_jsonc(text))


@given(st.binary(max_size=200) | NASTY.map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_no_bytes_make_it_raise_or_point_outside_the_text(data: bytes) -> None:
    check_the_places_in(parse_jsonc(data))


@given(st.sampled_from([b"\xff\xfe", b"\xfe\xff", b"\xef\xbb\xbf", b"\xef\xbb\xbf\xff"]), st.binary(max_size=60))
def test_no_bytes_after_a_byte_order_mark_make_it_raise(mark: bytes, data: bytes) -> None:
    document = parse_jsonc(mark + data)
    assert set(codes(document)) & {"TL103", "TL104"}
    check_the_places_in(document)


@given(VALUES, st.integers(min_value=0), st.integers(min_value=0, max_value=3))
def test_a_torn_file_is_read_up_to_the_tear(value: Any, at: int, lost: int) -> None:
    whole = json.dumps({"first": 1, "then": value})
    at = 12 + at % len(whole)  # after `{"first": 1,`
    document = parse_jsonc(whole[:at] + whole[at + lost :])
    check_the_places_in(document)
    assert root_of(document).members["first"].value.value == 1


def check_the_places_in(document: JsonDocument) -> None:
    size = len(document.text)
    assert all(count <= MAX_FAULTS for count in Counter(fault.code for fault in document.faults).values())
    for fault in document.faults:
        assert fault.code in load_codes()
        assert 0 <= fault.start <= fault.end <= size + 1
        assert fault.message
        line, column = document.position(fault.start)
        assert 1 <= line <= len(document.line_starts)
        assert column >= 1
    for node in all_nodes(document.root):
        assert 0 <= node.start <= node.end <= size
        for inner in (*node.items, *(member.value for member in node.members.values())):
            assert node.start < inner.start
            assert inner.end <= node.end
    assert document.root is not None or document.faults


@pytest.mark.parametrize("written, message", read_rows("jsonc", "what_is_not_json_is_said_where_it_begins"))
def test_invalid_json_is_reported_at_its_start(written: str, message: str) -> None:
    document = parse_jsonc(remove_mark(written))
    fault = document.faults[0]
    assert (fault.code, document.position(fault.start)) == ("TL101", find_mark(written))
    assert fault.message.startswith(message)


@pytest.mark.parametrize(
    "code, written",
    [*read_rows("jsonc", "fault_positions"), ("TL110", "[" * MAX_JSON_DEPTH + "‸[1]" + "]" * MAX_JSON_DEPTH)],
)
def test_faults_are_reported_at_their_start(code: str, written: str) -> None:
    document = parse_jsonc(remove_mark(written))
    assert [(fault.code, document.position(fault.start)) for fault in document.faults] == [(code, find_mark(written))]


def test_a_byte_order_mark_is_a_fault_at_the_start_and_the_rest_is_read() -> None:
    document = parse_jsonc(b'\xef\xbb\xbf{"a": 1}')
    assert [(fault.code, fault.start) for fault in document.faults] == [("TL103", 0)]
    assert value_of(root_of(document)) == {"a": 1}


@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf_16_is_a_fault_at_the_start_and_the_rest_is_read(encoding: str) -> None:
    document = parse_jsonc('\ufeff{"a": "é"}'.encode(encoding))
    assert [(fault.code, fault.start) for fault in document.faults] == [("TL104", 0)]
    assert value_of(root_of(document)) == {"a": "é"}


def test_a_byte_that_is_not_utf_8_is_named_at_its_place_and_the_rest_is_read() -> None:
    document = parse_jsonc('{"ü": "café", "b": 2}'.encode().replace("é".encode(), b"\xe9"))
    assert [(fault.code, document.position(fault.start)) for fault in document.faults] == [("TL104", (1, 11))]
    assert "0xe9" in document.faults[0].message
    assert root_of(document).members["b"].value.value == 2


@pytest.mark.parametrize("text, after", read_rows("jsonc", "what_comes_after_a_mistake_is_still_read"))
def test_values_after_a_fault_are_read(text: str, after: int) -> None:
    document = parse_jsonc(text)
    assert document.faults
    assert root_of(document).members["after"].value.value == after


def test_the_last_of_two_equal_keys_counts_and_the_fault_names_the_line_of_the_first() -> None:
    document = parse_jsonc('{"a": 1,\n"a": 2}')
    assert value_of(root_of(document)) == {"a": 2}
    assert "on line 1" in document.faults[0].message


def test_values_before_a_missing_end_are_read() -> None:
    document = parse_jsonc('{"a": {"b": [1, 2')
    assert value_of(root_of(document)) == {"a": {"b": [1, 2]}}
    assert root_of(document).end == len(document.text)


def test_lines_end_in_any_of_three_ways_and_columns_count_characters() -> None:
    document = parse_jsonc('{\r\n"é🎣": 1,\r"b": 2,\n"c": "🎣" }')
    places = [document.position(member.key.start) for member in root_of(document).members.values()]
    assert places == [(2, 1), (3, 1), (4, 1)]
    assert document.position(len(document.text)) == (4, 11)


def test_slashes_in_a_string_are_distinguished_from_a_url() -> None:
    first, second = parse_jsonc('["https://a.b/c", "a // b"]').faults
    assert first.message.startswith("an address")
    assert second.message.startswith("`//`")


@pytest.mark.parametrize("text", ["[1e999]", "[" + "9" * 5000 + "]", "[0." + "1" * 5000 + "]", "[1E+400]"])
def test_absurd_numbers_are_numbers(text: str) -> None:
    document = parse_jsonc(text)
    assert document.faults == []
    assert root_of(document).items[0].kind is JsonKind.NUMBER


def test_an_absurd_negative_number_is_negative() -> None:
    value = root_of(parse_jsonc("[-" + "9" * 500 + "]")).items[0].value
    assert isinstance(value, int | float)
    assert value < 0


@pytest.mark.parametrize(
    "data", [b" " * (MAX_FILE_BYTES + 1), b"\xff" * (MAX_FILE_BYTES + 1), "[" * (MAX_FILE_BYTES + 1)]
)
def test_a_file_over_the_limit_is_refused_without_a_look_at_it(data: bytes | str) -> None:
    documents: list[JsonDocument] = []
    assert count_steps(lambda: documents.append(parse_jsonc(data)), jsonc.__file__) < 10
    assert (codes(documents[0]), documents[0].root, documents[0].text) == (["TL108"], None, "")
    assert documents[0].position(0) == (1, 1)


def test_a_file_of_exactly_the_limit_is_read() -> None:
    document = parse_jsonc(b"[1]".ljust(MAX_FILE_BYTES))
    assert (document.faults, value_of(root_of(document))) == ([], [1])


def test_faults_are_counted_only_so_far() -> None:
    document = parse_jsonc("[" + "yes," * 1000 + "]")
    assert len(document.faults) == MAX_FAULTS


N = 8_000
GROWING: dict[str, Callable[[int], str]] = {
    **{name: partial(build_text, parts) for name, parts in read_corpus("jsonc_limits")["growing"].items()},
    "a flat object": lambda n: "{" + ",".join(f'"{i}":1' for i in range(n)) + "}",
    "equal keys": lambda n: "{" + ",".join('"a":1' for _ in range(n)) + "}",
}


@pytest.mark.parametrize("kind", GROWING)
def test_twice_the_text_is_at_most_twice_the_work(kind: str) -> None:
    once, twice = GROWING[kind](N), GROWING[kind](2 * N)
    work = count_steps(lambda: parse_jsonc(once), jsonc.__file__)
    assert count_steps(lambda: parse_jsonc(twice), jsonc.__file__) <= 2.3 * work + 100


@pytest.mark.parametrize("kind", GROWING)
def test_a_hundred_thousand_of_anything_have_an_answer(kind: str) -> None:
    document = parse_jsonc(GROWING[kind](100_000))
    check_the_places_at_the_top_of(document)


def check_the_places_at_the_top_of(document: JsonDocument) -> None:
    assert document.root is not None or document.faults
    assert all(count <= MAX_FAULTS for count in Counter(fault.code for fault in document.faults).values())
    assert all(document.position(fault.start)[0] <= len(document.line_starts) for fault in document.faults)


@pytest.mark.parametrize("mistakes", range(MAX_FAULTS - 2, MAX_FAULTS + 3))
@pytest.mark.parametrize("closing", ["}", ",}", "]}", ', "k":}'])
def test_nodes_stay_inside_their_parent_after_too_many_faults(mistakes: int, closing: str) -> None:
    document = parse_jsonc('{"first": 1' + ", a: 1" * mistakes + closing + " x")
    check_the_places_in(document)
    assert root_of(document).end > root_of(document).members["first"].value.end
