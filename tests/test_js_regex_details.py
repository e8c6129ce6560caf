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


@pytest.mark.parametrize("source, text, found", [*ESCAPES, *CLASSES, *COUNTS, *NO_REFERENCES, *CASELESS])
def test_a_pattern_finds_what_javascript_finds(source: str, text: str, found: bool) -> None:
    assert finds(source, text) is found


@pytest.mark.parametrize("source, beyond", BEYOND)
def test_a_pattern_just_beyond_re2_is_valid(source: str, beyond: str) -> None:
    assert parse_js_regex(source) == (source, None, beyond)


def test_a_count_may_have_more_digits_than_python_reads() -> None:
    assert parse_js_regex("x{" + "9" * 5000 + "}").unsupported == "repetition over 1000"
    assert finds("^x{" + "0" * 5000 + "2}$", "xx")


@pytest.mark.parametrize("source, message, offset", INVALID)
def test_an_invalid_pattern_is_refused_at_its_fault(source: str, message: str, offset: int) -> None:
    assert refused(source) == (message, offset)


@pytest.mark.parametrize("char", STARTS)
def test_a_name_may_start_with_these_characters(char: str) -> None:
    assert finds(f"^(?<{char}>x)(?<{char}a>x)(?<a{char}b>x)$", "xxx")


@pytest.mark.parametrize("char", FOLLOWERS)
def test_a_name_may_continue_with_these_characters(char: str) -> None:
    assert finds(f"^(?<a{char}>x)$", "x")
    assert refused(f"(?<{char}>x)") == refused(f"(?<{char}a>x)") == ("invalid group name", 3)


@pytest.mark.parametrize("char", OUTSIDERS)
def test_a_name_may_not_contain_these_characters(char: str) -> None:
    assert refused(f"(?<{char}>x)") == refused(f"(?<a{char}>x)") == ("invalid group name", 3)


@pytest.mark.parametrize("greatest", GREATEST.values(), ids=GREATEST)
def test_a_pattern_has_a_size_limit(greatest: str) -> None:
    assert parse_js_regex(greatest).unsupported == ""
    assert parse_js_regex(f"{greatest}|").unsupported == "size"


@pytest.mark.parametrize("source, text, found", FOR_REGRESS)
def test_regress_agrees_with_the_examples(source: str, text: str, found: bool) -> None:
    assert (regress.Regex(source).find(text) is not None) is found


@pytest.mark.parametrize("source", VALID_FOR_REGRESS)
def test_regress_accepts_the_valid_examples(source: str) -> None:
    regress.Regex(source)


@pytest.mark.parametrize("source", INVALID_FOR_REGRESS)
def test_regress_refuses_the_invalid_examples(source: str) -> None:
    with pytest.raises(regress.RegressError):
        regress.Regex(source)
