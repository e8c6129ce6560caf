"""Fast JSON and hashing for cold calls, which have no time to import json and OpenSSL."""

import hashlib
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trotline.agents.agent_json import _parse_slowly, dump_json, parse_payload
from trotline.domain.errors import TrotlineError
from trotline.domain.ids import hash_name

TEXTS = st.text() | st.text(alphabet='ab"\\ \n{}é\ud800')
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | TEXTS
VALUES = st.recursive(PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3))
BODIES = st.dictionaries(TEXTS, VALUES, max_size=4)


@given(BODIES)
def test_output_equals_that_of_python(body: dict[str, Any]) -> None:
    assert dump_json(body) == json.dumps(body)


def read(reader: Any, payload: bytes | str) -> str:
    """Return the value with the type and sign of every number, or the error message."""
    try:
        return repr(reader(payload))
    except TrotlineError as error:
        return f"refused: {error}"


@given(BODIES, st.booleans())
def test_both_readers_read_valid_payloads_alike(body: dict[str, Any], escaped: bool) -> None:
    text = json.dumps(body, ensure_ascii=escaped)
    assert read(parse_payload, text) == read(_parse_slowly, text)
    payload = text.encode("utf-8", "surrogatepass")
    assert read(parse_payload, payload) == read(_parse_slowly, payload)


@given(st.binary(max_size=40) | st.text(alphabet='{}[]":,\\ud80e01.-+ \x00\tntrufalsé', max_size=40).map(str.encode))
def test_both_readers_agree_on_any_bytes(payload: bytes) -> None:
    assert read(parse_payload, payload) == read(_parse_slowly, payload)
    inside = b'{"a":' + payload + b"}"
    assert read(parse_payload, inside) == read(_parse_slowly, inside)


@pytest.mark.parametrize(
    "payload",
    [
        b'{"a":-0}',
        b'{"a":1e400}',
        b'{"a":123456789012345678901234567890}',
        b'{"a":1,"a":2}',
        b'{"a":NaN}',
        b'{"a":01}',
        b'{"a":"\\ud800"}',
        b'{"a":"\\ude00\\ud83d"}',
        b'{"a":"\x01"}',
        b"\xef\xbb\xbf{}",
        b'{"a":"\xff"}',
        b'{"a":1}x',
        b'{"a":' + b"[" * 5000 + b"]" * 5000 + b"}",
        b"[]",
        b"",
    ],
    ids=ascii,
)
def test_both_readers_agree_on_odd_payloads(payload: bytes) -> None:
    assert read(parse_payload, payload) == read(_parse_slowly, payload)


@given(TEXTS)
def test_name_of_a_text_is_its_digest(text: str) -> None:
    assert hash_name(text, 64) == hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
    assert hash_name(text, 16) == hash_name(text, 64)[:16]
