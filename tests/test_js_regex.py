"""JavaScript patterns: `parse` and RE2 agree with `new RegExp`, checked against regress and Node."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from itertools import combinations
from types import FrameType
from typing import Any, NamedTuple

import pytest
import re2
import regress
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from kit import read_rows
from trotline.formats import js_regex
from trotline.formats.js_regex import JsPattern, PatternError, encode_subject, parse_js_regex

OPTIONS = re2.Options()
OPTIONS.log_errors = False

INVALID = read_rows("js_regex", "invalid")

# Source, text, whether it is found.
FINDS = read_rows("js_regex", "finds")

# Of ES2025, which Node 20 does not have. Its flags say the same.
MODIFIED = read_rows("js_regex", "modified")

BEYOND = [*read_rows("js_regex", "beyond"), ("(?:" * 250 + ")" * 250, "nesting")]

# Errors of regress 2026.9.1: how to recognise them, and an example where Node agrees with us.
# Worse: it never returns from ((a?){2})*b on "a" and takes all memory, hence `)` before `{` is not run on it.
QUANTIFIERS = ("*", "+", "?", "{")
REGRESS_IS_WRONG: dict[str, tuple[Callable[[str], bool], str]] = {
    "it lets a word boundary be repeated": (
        lambda source: any(f"\\{letter}{sign}" in source for letter in "bB" for sign in QUANTIFIERS),
        r"\b+",
    ),
    "it takes \\k in a class where groups have names": (lambda source: "\\k" in source, r"[\k](?<a>x)"),
    "it reads \\u{2} as a character without the u flag": (lambda source: "\\u{" in source, r"\u{2}*"),
    "it overlooks a name in a later alternative": (
        lambda source: any(source.count(f"(?<{name}>") > 1 for name in "ab"),
        "(?:|(?<a>))(?:(?<a>))",
    ),
    "it compares counts that V8 reads as endless": (lambda source: "999999999" in source, "x{9999999999,2999999999}"),
}
REGRESS_FINDS_WRONGLY: dict[str, tuple[Callable[[str], bool], str, str]] = {
    "it drops the quantifier of a lone surrogate": (lambda source: "\\ud" in source, r"\ud83d*", ""),
    "it takes \u017f for an s under the i modifier": (lambda source: False, "(?i:s)", "\u017f"),
}


class Case(NamedTuple):
    source: str
    flags: str
    texts: list[str]


def read(source: str) -> JsPattern | None:
    try:
        return parse_js_regex(source)
    except PatternError:
        return None


def finds(pattern: JsPattern, text: str) -> bool:
    assert pattern.re2 is not None
    return re2.compile(pattern.re2, OPTIONS).search(encode_subject(text)) is not None


def regress_takes(source: str) -> Any:
    try:
        return regress.Regex(source)
    except regress.RegressError:
        return None


UNITS = [*"abkKsSzZ_-09 \0\n\r\x08\x0b\x1f]c", *"\\\xa0é\u017f\u212a\u2028\ud7ff\ue000\ufeff\uffff"]
SURROGATES = [*"😀\ud83d\ude00\ud800\udfff\U00100000\U0010ffff"]
ESCAPES = [rf"\{rest}" for rest in ("d", "D", "s", "S", "w", "W", "0", "07", "101", "400", "8", "cA", "c", "x41")]
ESCAPES += [rf"\{rest}" for rest in ("xg", "u2028", "u{2}", "k", "p", "A", "Q", "/", "-", "ud83d", "ude00", "udfff")]
SIGNS = ["*", "+", "?", "{2}", "{0}", "{1,2}", "{0,}", "{2,}", "{2,1}", "{0,3}", "{0,99999999999}"]
NASTY = [*UNITS, *SURROGATES, *r"{}[]()*+?|^$.\\\\<>=!:,im", "(?:", "(?=", "(?<=", "(?<a>", "\\k<a>", "{1,2}"]
NASTY += ["[^", "\\u00", "\\ud83d", "\\x4", "(?i:", "(?s-", "m:", "(?<b>", "\\1", "\\b", "\\B", "41", "99999999999"]


def quoted(unit: str) -> str:
    return f"\\{unit}" if unit in "\\]-" else unit


units = st.sampled_from(UNITS + SURROGATES).map(quoted)
class_atoms = units | st.sampled_from([*ESCAPES, "\\b", "\\c_", "\\c1", "-", "^", "[", ":", "."])
class_items = st.lists(class_atoms, min_size=1, max_size=2).map("-".join)
classes = st.builds("[{}{}]".format, st.sampled_from(["", "^"]), st.lists(class_items, max_size=4).map("".join))
atoms = units | classes | st.sampled_from([*ESCAPES, "\\1", "\\12", ".", "]", "{", "}", "{,2}"])
assertions = st.sampled_from(["^", "$", "\\b", "\\B"])
marks = st.just("") | st.builds("{}{}".format, st.sampled_from(SIGNS), st.sampled_from(["", "?"]))
OPENINGS = ["(", "(", "(?:", "(?:", "(?:", "(?<a>", "(?i:", "(?s:", "(?-i:", "(?m-s:", "(?=", "(?<!"]


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    groups = st.builds("{}{})".format, st.sampled_from(OPENINGS), inner)
    terms = st.builds("{}{}".format, atoms | groups, marks) | assertions
    return st.lists(st.lists(terms, max_size=4).map("".join), min_size=1, max_size=3).map("|".join)


grammatical = st.recursive(st.builds("{}{}".format, atoms, marks), grown, max_leaves=6)
raw = st.lists(st.sampled_from(NASTY), max_size=12).map("".join)
patterns = grammatical | raw
texts = st.lists(st.sampled_from(UNITS + SURROGATES), max_size=6).map("".join)
plain_texts = st.lists(st.sampled_from([unit for unit in UNITS if unit != "\u017f"]), max_size=6).map("".join)


def is_plain(text: str) -> bool:
    """Return whether regress, which compares characters only, can check a case."""
    return text == encode_subject(text)


def is_newer_than_node_20(source: str) -> bool:
    modifiers = any(opening in source for opening in ("(?i", "(?m", "(?s", "(?-"))
    return modifiers or source.count("(?<a>") > 1 or source.count("(?<b>") > 1


@pytest.mark.parametrize("source, message, offset", INVALID)
def test_an_invalid_pattern_is_refused_with_a_reason_and_a_place(source: str, message: str, offset: int) -> None:
    with pytest.raises(PatternError) as caught:
        parse_js_regex(source)
    assert (caught.value.message, caught.value.offset) == (message, offset)
    assert str(caught.value) == message


@pytest.mark.parametrize("source, text, found", FINDS + MODIFIED)
def test_a_translated_pattern_finds_what_javascript_finds(source: str, text: str, found: bool) -> None:
    pattern = parse_js_regex(source)
    assert (pattern.source, pattern.unsupported) == (source, "")
    assert finds(pattern, text) is found


@pytest.mark.parametrize("source, beyond", BEYOND)
def test_a_pattern_beyond_re2_is_valid_and_named(source: str, beyond: str) -> None:
    assert parse_js_regex(source) == (source, None, beyond)


@pytest.mark.parametrize("example", [example for _, example in REGRESS_IS_WRONG.values()])
def test_regress_still_has_the_faults_it_is_excused_for(example: str) -> None:
    assert (regress_takes(example) is None) != (read(example) is None)


@pytest.mark.parametrize("example, text", [example[1:] for example in REGRESS_FINDS_WRONGLY.values()])
def test_regress_still_finds_wrongly_where_it_is_excused(example: str, text: str) -> None:
    assert (regress.Regex(example).find(text) is None) == finds(parse_js_regex(example), text)


def test_a_subject_has_one_character_for_each_code_unit() -> None:
    text = "a\n é\uffff\ue000"
    assert encode_subject(text) == text
    assert encode_subject("\U00100000😀") == encode_subject("\udbc0\udc00\ud83d\ude00")
    assert [len(encode_subject(char)) for char in ("😀", "\ud83d", "\U0010ffff")] == [2, 1, 2]
    encode_subject("\ud83d").encode()  # which RE2's wrapper does


def test_the_set_of_spaces_and_its_opposite_share_out_all_units() -> None:
    space, other = parse_js_regex(r"\s"), parse_js_regex(r"\S")
    everything = encode_subject("".join(map(chr, range(0x10000))))
    spaces = re2.compile(space.re2, OPTIONS).findall(everything)
    others = re2.compile(other.re2, OPTIONS).findall(everything)
    assert sorted(spaces + others) == sorted(everything)


@settings(deadline=None, max_examples=700)
@given(patterns)
def test_regress_accepts_the_same_patterns(source: str) -> None:
    assume(is_plain(source))
    assume(not any(knows(source) for knows, _ in REGRESS_IS_WRONG.values()))
    assert (read(source) is None) == (regress_takes(source) is None)


def may_share_names(tokens: list[str]) -> bool:
    """Compare every two groups of one name by the alternatives around them, as the specification does."""
    path: list[tuple[int, int]] = [(-1, 0)]
    named: list[tuple[str, dict[int, int]]] = []
    for at, token in enumerate(tokens):
        if token == "|":
            path[-1] = (path[-1][0], path[-1][1] + 1)
        elif token == ")":
            path.pop()
        else:
            named += [(token, dict(path))] if "<" in token else []
            path.append((at, 0))
    return all(
        any(here[group] != there[group] for group in here.keys() & there.keys())
        for (name, here), (other, there) in combinations(named, 2)
        if name == other
    )


@settings(deadline=None, max_examples=400)
@given(st.lists(st.sampled_from(["(?<a>", "(?<b>", "(?:", "(", "|", "|", ")", ")", ")"]), max_size=20))
def test_groups_share_a_name_only_across_alternatives(drawn: list[str]) -> None:
    tokens: list[str] = []
    for token in drawn:
        if token != ")" or "".join(tokens).count("(") > tokens.count(")"):
            tokens.append(token)
    tokens += [")"] * ("".join(tokens).count("(") - tokens.count(")"))
    assert (read("".join(tokens)) is not None) is may_share_names(tokens)


@settings(deadline=None, max_examples=500)
@given(patterns, st.lists(plain_texts, min_size=1, max_size=5))
def test_regress_finds_the_same_matches(source: str, among: list[str]) -> None:
    assume(is_plain(source) and "){" not in source)
    assume(not any(knows(source) for knows, _ in REGRESS_IS_WRONG.values()))
    assume(not any(knows(source) for knows, _, _ in REGRESS_FINDS_WRONGLY.values()))
    pattern = read(source)
    assume(pattern is not None and pattern.re2 is not None)
    assert pattern is not None
    oracle = regress.Regex(source)
    assert {text: finds(pattern, text) for text in among} == {text: oracle.find(text) is not None for text in among}


NODE = """
const cases = JSON.parse(require('fs').readFileSync(0));
const verdict = ([source, flags, texts]) => {
  try { const regexp = new RegExp(source, flags); return texts.map((text) => regexp.test(text)); }
  catch { return null; }
};
console.log(JSON.stringify(cases.map(verdict)));
"""


def generated(count: int) -> list[Case]:
    """All generated cases with our verdicts, collected for one call of Node."""
    cases: list[Case] = []

    @settings(deadline=None, max_examples=count, phases=[Phase.generate], suppress_health_check=[*HealthCheck])
    @given(patterns, st.sampled_from(["", "", "", "i", "s", "is", "ims"]), st.lists(texts, max_size=5))
    def collect(source: str, flags: str, among: list[str]) -> None:
        if not is_newer_than_node_20(source):
            cases.append(Case(source, flags, among))

    collect()
    return cases


@pytest.fixture(scope="module")
def verdicts() -> list[tuple[Case, list[bool] | None]]:
    node = shutil.which("node")
    if node is None:
        pytest.skip("NODE IS NOT ON THE PATH: nothing here was checked against V8, only against regress")
    cases = [Case(source, "", []) for source, *_ in INVALID + BEYOND if not is_newer_than_node_20(source)]
    cases += [Case(source, "", [text]) for source, text, _ in FINDS]
    cases += [Case(example, "", []) for _, example in REGRESS_IS_WRONG.values()]
    cases += generated(1600)
    done = subprocess.run(
        [node, "-e", NODE], input=json.dumps(cases), capture_output=True, check=True, text=True, timeout=60
    )
    return list(zip(cases, json.loads(done.stdout), strict=True))


def ours(case: Case) -> JsPattern | None:
    """Return the pattern inside a modifier group that replaces its flags."""
    pattern = read(case.source)
    return read(f"(?{case.flags}:{case.source})") if pattern and case.flags else pattern


def test_node_accepts_the_same_patterns(verdicts: list[tuple[Case, list[bool] | None]]) -> None:
    wrong = [case.source for case, verdict in verdicts if (ours(case) is None) != (verdict is None)]
    assert sorted(wrong, key=len)[:5] == []


def test_node_finds_the_same_matches(verdicts: list[tuple[Case, list[bool] | None]]) -> None:
    wrong = []
    for case, verdict in verdicts:
        pattern = ours(case)
        if pattern is not None and pattern.re2 is not None:
            wrong += [case] if [finds(pattern, text) for text in case.texts] != verdict else []
    assert sorted(wrong, key=lambda case: len(case.source))[:5] == []


@settings(deadline=None, max_examples=400)
@given(patterns)
def test_re2_takes_every_translation(source: str) -> None:
    pattern = read(source)
    assume(pattern is not None)
    assert pattern is not None
    assert (pattern.re2 is None) == (pattern.unsupported != "")
    if pattern.re2 is not None:
        re2.compile(pattern.re2, OPTIONS)


@pytest.mark.parametrize("mark", ["", "?", "{1000}", "{0,1000}"])
@pytest.mark.parametrize("atom", ["a", ".", "(?s:.)", r"\W", r"\D", r"\s", r"\S", "[^k]", r"[é-\ufffe]", "(?:|a)"])
def test_re2_takes_the_greatest_pattern_that_we_call_possible(atom: str, mark: str) -> None:
    once = atom + mark
    count = 1
    while parse_js_regex(once * 2 * count).re2 is not None:
        count *= 2
    translation = parse_js_regex(once * (count + count // 2)).re2 or parse_js_regex(once * count).re2
    assert translation is None or re2.compile(translation, OPTIONS).programsize > 0


def steps(source: str) -> int:
    """Return how many lines of js_regex run: the same on every machine."""
    count = 0

    def tracer(frame: FrameType, _event: str, _argument: object) -> Any:
        nonlocal count
        count += 1
        return tracer if frame.f_code.co_filename == js_regex.__file__ else None

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        read(source)
    finally:
        sys.settrace(before)
    return count


HEAVY = ["(", ")", "()", "[", "[a", "[\\d-", "\\", "\\\\", "(?=", "(?<=", "(?<a>", "(?<a", "(?:)*", "(?:", "|"]
HEAVY += ["1", "9", "{", "{1", "{1,", "x{1}", "\\1", "\\c", "\\u{1}", "\\k<a>", "(?i", "(?i:", "😀", "\ud83d", "."]
HEAVY += ["(?:(?<a>x)|", "(?<a>)|", "(?:){1000}", "){1000}", "\\x4", "\\u004", "\\8", "a?", "-", "^", "i", "0"]
WRAPS = ["{}", "({})", "[{}]", "x{{{}", "x{{{}}}", "\\{}", "(?{}", "(?<{}>x)", "{}(?<a>)", "(?<\\u{{{}61}}>x)"]


@settings(deadline=None, max_examples=100)
@given(st.lists(st.sampled_from(HEAVY), min_size=1, max_size=3).map("".join), st.sampled_from(WRAPS))
def test_reading_takes_a_bounded_number_of_steps_for_each_character(token: str, wrap: str) -> None:
    source = wrap.format(token * 150)
    assert steps(source) < 200 * len(source)


@pytest.mark.parametrize("token", HEAVY)
def test_a_long_pattern_takes_no_more_steps_for_each_character_than_a_short_one(token: str) -> None:
    assert steps(token * 2000) < 2.2 * steps(token * 1000) + 500


@pytest.mark.parametrize("wrap", ["{}", "[{}]", "(?<{}>x)", "x{{{}}}"])
@pytest.mark.parametrize("token", ["(", "[", "\\", "(?=", "1", "😀"])
def test_a_hundred_thousand_characters_of_anything_are_answered(token: str, wrap: str) -> None:
    read(wrap.format(token * (100_000 // len(token))))


@pytest.mark.parametrize("opening, closing", [("(", ")*"), ("(?:", "){2}"), ("(?=", ")*?"), ("(?<!", ")")])
def test_a_hundred_thousand_nested_groups_are_handled(opening: str, closing: str) -> None:
    deep = 100_000
    assert read(opening * deep + closing * deep) is not None
    assert read(opening * deep + closing * (deep - 1)) is None
