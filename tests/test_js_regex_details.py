"""The small print of JavaScript's patterns: an example for every turn that `parse` takes; nothing is left to chance."""

import pytest
import re2
import regress

from trotline.formats.js_regex import PatternError, encode_subject, parse_js_regex

OPTIONS = re2.Options()
OPTIONS.log_errors = False

# Source, text, whether it is found; here and below.
ESCAPES = [
    (r"^\f\n\r\t\v$", "\x0c\x0a\x0d\x09\x0b", True),
    (r"^\F\N\R\T\V\X$", "FNRTVX", True),
    (r"^\D\W$", "a ", True),
    (r"\D", "5", False),
    (r"\W", "a", False),
    (r"^\x4A\x4a\xaF$", "JJ\xaf", True),
    (r"^\x414$", "A4", True),  # two digits, never a third
    (r"^\x4X\xX4\xg1$", "x4XxX4xg1", True),
    (r"^\u00414$", "A4", True),
    (r"^\uX041\u004X$", "uX041u004X", True),
    (r"^\1014$", "A4", True),  # three digits of an octal number, if the first is under 4
    (r"^\0X\1X\4X\477$", "\0X\x01X\x04X'7", True),
    ("^\uffff[\uffff]$", "\uffff\uffff", True),
]

CLASSES = [
    ("[k]", "X", False),
    ("[ab]", "X", False),
    (r"[\d]", "-", False),
    (r"[\d-z]", "X", False),
    (r"[\ud700-\ue0ff]", "X", False),
    (r"^[\0]$", "\0", True),
    (r"^[\ud800]$", "\ud800", True),
    (r"^[\ue000]$", "\ue000", True),
    ("^[^a][^a]$", "[^", True),
    ("^[a-]$", "-", True),
    ("^[a-]b$", "-b", True),
    ("^[]*$", "", True),
    ("[]+", "XXX", False),
]

COUNTS = [
    ("^x?$", "", True),
    ("^x?$", "xx", False),
    ("^x+$", "", False),
    ("^x+$", "x", True),
    ("^x{1,2}$", "xx", True),
    ("^x{1,2}$", "xxx", False),
    ("^x{000000000001}$", "x", True),
    ("^x{000000000001}$", "xx", False),
    ("^x{X}$", "x{X}", True),
    ("^x{1$", "x{1", True),  # without its brace it is text
    ("^x{1$", "x", False),
    ("^x{1,2z$", "x{1,2z", True),
    ("^(?:^){1000}$", "", True),
    ("^(?:x?){1000}$", "x", True),
    ("^" + "(?:" * 249 + "x" + ")" * 249 + "$", "x", True),
]

# What looks like a reference is none where no group captures, or none has a name.
NO_REFERENCES = [
    (r"^[(]\1$", "(\x01", True),
    (r"^[X(]\1$", "(\x01", True),
    (r"^(?:a)\1$", "a\x01", True),
    (r"^(a)\k$", "ak", True),
    (r"^(a)\k<b>$", "ak<b>", True),
    (r"^[(?<b>]\k$", "bk", True),
]

CASELESS = [
    ("^(?i:a[z]A[Z])$", "Azaz", True),
    ("(?i:[B-Y])", "azAZ", False),
    ("(?i:[b-y])", "azAZ", False),
    ("(?i:B|[Y])", "5aczACXZ", False),
    ("(?i:b|[y])", "5aczACXZ", False),
    (r"(?i:[A-\[])", "{", False),
    ("(?i:[a-{])", "[", False),
    (r"^(?i:\x7f)$", "\x7f", True),
    (r"^(?i:\ud800[\udfff])$", "\ud800\udfff", True),
]

FOUND = ESCAPES + CLASSES + COUNTS + NO_REFERENCES + CASELESS

BEYOND = [
    (r"(?<=a)\k", "lookbehind"),
    (r"x(?<!a)\k", "lookbehind"),
    (r"(?<=a)\1", "lookbehind"),
    (r"(?<\u{61}b>x)\k<ab>", "backreference"),
    (r"(?<a\u0062>x)\k<\u{0061}b>", "backreference"),
    ("x{0,1001}", "repetition over 1000"),
    ("x{2147483648,2147483647}", "repetition over 1000"),  # the least count that is endless for V8
    (r"(?i:\x80)", "modifiers"),
    (r"(?i:\ue000)", "modifiers"),
    (r"(?i:[\ud7ff-\ud800])", "modifiers"),
]

INVALID = [
    ("((", "unterminated group", 1),
    ("((a)(", "unterminated group", 4),
    ("\uffff*+", "nothing to repeat", 2),
    ("x{1000000000,999999999}", "numbers out of order in {} quantifier", 1),
    ("x{2147483647,2147483646}", "numbers out of order in {} quantifier", 1),
    ("(?X:a)", "invalid group", 0),
    ("(?<ab", "invalid group name", 3),
    (r"(?<\u{61}->x)", "invalid group name", 3),
    (r"(?<\u{61>x)", "invalid group name", 3),
    (r"(?<\u{61}}>x)", "invalid group name", 3),
    (r"(?<\u{a>x)", "invalid group name", 3),
]

# What a name may start with, what may only follow, and what is in none; Python's identifiers differ in most of these.
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
