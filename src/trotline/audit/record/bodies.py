"""Bodies of audit log entries: as the text that is hashed into the chain, and as the decoded record."""

import json
from typing import Any

import msgspec

from trotline.audit.record.record_builder import DETAIL_SCHEMA
from trotline.audit.record.record_builder import RECORD_SCHEMA as RECORD
from trotline.audit.verify.chain import ENTRY_ID

BODY_KINDS = {RECORD: "record", DETAIL_SCHEMA: "detail"}


def explain_unreadable(body: dict[str, Any]) -> str:
    """Return why a body is not a valid entry, or an empty string if it is one."""
    schema, id_ = body.get("schema"), body.get("id")
    if schema not in BODY_KINDS:
        return f"its schema is {str(schema)[:80]!r}: of a newer Trotline?"
    if not isinstance(id_, str) or not ENTRY_ID.fullmatch(id_):
        return "its id is none"
    return ""


def encode_body(body: dict[str, Any]) -> str:
    """Return the body as compact ASCII JSON."""
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def is_same_body(one: str, other: str) -> bool:
    """Check whether two bodies are equal apart from durations.

    If a service is killed before its response arrives, the call is evaluated again under the same id.
    """
    return one == other or _without_times(one) == _without_times(other)


def _without_times(body: str) -> Any:
    read = decode_body(body)
    responses = read.get("responses")
    if isinstance(responses, list):
        read["responses"] = [{**one, "micros": 0} if isinstance(one, dict) else one for one in responses]
    return {**read, "micros": 0}


def join_bodies(seq: int, record: str, detail: str | None) -> dict[str, Any]:
    """Return a record as it was written, with its sequence number and its detail."""
    words = {"detail": decode_body(detail)} if detail is not None else {}
    return {**decode_body(record), **words, "seq": seq}


def decode_body(body: str) -> dict[str, Any]:
    """Return the object of a JSON body."""
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        # msgspec rejects lone surrogates, which agents may send. NaN becomes a string: other readers reject it.
        return dict(json.loads(body, parse_constant=str))
