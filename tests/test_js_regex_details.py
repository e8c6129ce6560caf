"""Details of JavaScript patterns: an example for every branch of `parse`."""

import pytest
import re2
import regress

from kit import read_rows
from trotline.formats.js_regex import PatternError, encode_subject, parse_js_regex

OPTIONS = re2.Options()
OPTIONS.log_errors = False

# Source, text, whether it is found; here and below.
ESCAPES = read_rows("js_regex_details", "escapes")

CLASSES = read_rows("js_regex_details", "classes")

COUNTS = [*read_rows("js_regex_details", "counts"), ("^" + "(?:" * 249 + "x" + ")" * 249 + "$", "x", True)]

# Text that looks like a reference is none if no group captures or has a name.
NO_REFERENCES = read_rows("js_regex_details", "no_references")

CASELESS = read_rows("js_regex_details", "caseless")

FOUND = ESCAPES + CLASSES + COUNTS + NO_REFERENCES + CASELESS

BEYOND = read_rows("js_regex_details", "beyond")

INVALID = read_rows("js_regex_details", "invalid")

# Characters that may start a name, only follow, or never occur; Python's identifiers differ in most of them.
STARTS = [*"$_aX\u037a\u0e33\u0eb3\u309b\u309c\ufdfa\ufdfb\uff9e\uff9f"]
STARTS += [*"\ufc5e\ufc5f\ufc60\ufc61\ufc62\ufc63\ufc64\ufe70\ufe72\ufe74\ufe76\ufe78\ufe7a\ufe7c\ufe7e\ufe80"]
FOLLOWERS = [*"5\u200c\u200d\u0300\u30fb\uff65"]
OUTSIDERS = [*"-?\x01\ufe75\ufffd", "\ud800", r"\u{f}"]

# Each is of size 50,000: an atom counts as the length of its translation and one more, times its greatest count.
GREATEST = {
    "units": "a{1000}" * 25,
    "spelled units": "-{1000}" * 7 + "a{500}",
    "classes": "[ab]{1000}" * 5 + "a{1000}a{1000}a{500}",
    "groups": "(?:a){1000}" * 7 + "a{500}",
    "edges": "(?:^){1000}" * 7 + "a{500}",
    "alternatives": "(?:|){1000}" * 8 + "a{1000}",
    "endless": "a{1000,}" * 25,
}

# regress knows characters only, and compares counts that V8 reads as endless.
FOR_REGRESS = [row for row in FOUND if row[1] == encode_subject(row[1])]
VALID_FOR_REGRESS = [source for source, _ in BEYOND if "2147483648" not in source]
VALID_FOR_REGRESS += [f"(?<{char}>)" for char in STARTS] + [f"(?<a{char}>)" for char in FOLLOWERS]
INVALID_FOR_REGRESS = [source for source, _, _ in INVALID] + [f"(?<{char}>)" for char in FOLLOWERS]
INVALID_FOR_REGRESS += [f"(?<a{char}>)" for char in OUTSIDERS if char == encode_subject(char)]


def finds(source: str, text: str) -> bool:
    pattern = parse_js_regex(source)
    assert pattern.re2 is not None
    return re2.compile(pattern.re2, OPTIONS).search(encode_subject(text)) is not None


def refused(source: str) -> tuple[str, int]:
    with pytest.raises(PatternError) as caught:
        parse_js_regex(source)
    return caught.value.message, caught.value.offset


@pytest.mark.parametrize("source, text, found", ESCAPES)
def test_an_escape_takes_its_own_digits_and_no_more(source: str, text: str, found: bool) -> None:
    assert finds(source, text) is found


@pytest.mark.parametrize("source, text, found", CLASSES)
def test_a_class_holds_what_is_written_in_it_and_nothing_else(source: str, text: str, found: bool) -> None:
    assert finds(source, text) is found


@pytest.mark.parametrize("source, text, found", COUNTS)
def test_a_quantifier_counts_exactly(source: str, text: str, found: bool) -> None:
    assert finds(source, text) is found


@pytest.mark.parametrize("source, text, found", NO_REFERENCES)
def test_what_captures_nothing_cannot_be_referred_to(source: str, text: str, found: bool) -> None:
    assert finds(source, text) is found


@pytest.mark.parametrize("source, text, found", CASELESS)
def test_the_i_modifier_adds_the_other_case_and_none_of_its_neighbours(source: str, text: str, found: bool) -> None:
    assert finds(source, text) is found


@pytest.mark.parametrize("source, beyond", BEYOND)
def test_what_is_just_beyond_re2_is_valid_still(source: str, beyond: str) -> None:
    assert parse_js_regex(source) == (source, None, beyond)


def test_a_count_may_have_more_digits_than_python_reads() -> None:
    assert parse_js_regex("x{" + "9" * 5000 + "}").unsupported == "repetition over 1000"
    assert finds("^x{" + "0" * 5000 + "2}$", "xx")


@pytest.mark.parametrize("source, message, offset", INVALID)
def test_what_is_nearly_right_is_refused_where_it_goes_wrong(source: str, message: str, offset: int) -> None:
    assert refused(source) == (message, offset)


@pytest.mark.parametrize("char", STARTS)
def test_a_name_may_start_with_it(char: str) -> None:
    assert finds(f"^(?<{char}>x)(?<{char}a>x)(?<a{char}b>x)$", "xxx")


@pytest.mark.parametrize("char", FOLLOWERS)
def test_a_name_may_go_on_with_it_only(char: str) -> None:
    assert finds(f"^(?<a{char}>x)$", "x")
    assert refused(f"(?<{char}>x)") == refused(f"(?<{char}a>x)") == ("invalid group name", 3)


@pytest.mark.parametrize("char", OUTSIDERS)
def test_no_name_has_it(char: str) -> None:
    assert refused(f"(?<{char}>x)") == refused(f"(?<a{char}>x)") == ("invalid group name", 3)


@pytest.mark.parametrize("greatest", GREATEST.values(), ids=GREATEST)
def test_a_pattern_may_have_a_certain_size_and_not_one_character_more(greatest: str) -> None:
    assert parse_js_regex(greatest).unsupported == ""
    assert parse_js_regex(f"{greatest}|").unsupported == "size"


@pytest.mark.parametrize("source, text, found", FOR_REGRESS)
def test_regress_finds_what_stands_here(source: str, text: str, found: bool) -> None:
    assert (regress.Regex(source).find(text) is not None) is found


@pytest.mark.parametrize("source", VALID_FOR_REGRESS)
def test_regress_takes_what_is_called_valid_here(source: str) -> None:
    regress.Regex(source)


@pytest.mark.parametrize("source", INVALID_FOR_REGRESS)
def test_regress_refuses_what_is_called_invalid_here(source: str) -> None:
    with pytest.raises(regress.RegressError):
        regress.Regex(source)
