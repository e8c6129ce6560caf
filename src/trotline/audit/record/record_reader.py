"""Bodies of audit log entries: as the text that is hashed into the chain, and as typed records.

Reading is strict first, which nearly all bodies pass. Entries written by other programs or other Trotline versions are
stored unchanged and may have fields of another type: then each field is read alone, an invalid one gets its default,
and the original values are kept under `invalid`.
"""

import json
from typing import Any, TypeVar

import msgspec

from trotline.audit.record.record import Detail, Record, decode_body
from trotline.audit.record.record_builder import DETAIL_SCHEMA, RECORD_SCHEMA
from trotline.audit.verify.chain import ENTRY_ID

BODY_KINDS = {RECORD_SCHEMA: "record", DETAIL_SCHEMA: "detail"}
PRE_RELEASE_SCHEMAS = frozenset({"trotline.record/1", "trotline.detail/1"})
"""Schemas that only development versions before 0.1.0 wrote."""

REQUIRED_DEFAULTS: dict[str, Any] = {"id": "", "at_us": 0, "agent": "", "event": "", "decided": ""}
RECORD_DECODER = msgspec.json.Decoder(Record)
DETAIL_DECODER = msgspec.json.Decoder(Detail)
INVALID_JSON = (msgspec.MsgspecError, UnicodeEncodeError, RecursionError)

Part = TypeVar("Part", Record, Detail)


def explain_unreadable(body: dict[str, Any]) -> str:
    """Return why a body is not a valid entry, or an empty string if it is one."""
    schema, id_ = body.get("schema"), body.get("id")
    if schema in PRE_RELEASE_SCHEMAS:
        return f"its schema is {schema!r}: of a development version of Trotline before 0.1.0"
    if schema not in BODY_KINDS:
        return f"its schema is {str(schema)[:80]!r}: of a newer Trotline?"
    if not isinstance(id_, str) or not ENTRY_ID.fullmatch(id_):
        return "its id is missing or malformed"
    return ""


def encode_body(body: dict[str, Any]) -> str:
    """Return the body as compact ASCII JSON."""
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def is_same_body(body: str, other: str) -> bool:
    """Check whether two bodies are equal apart from durations.

    If a service is killed before its response arrives, the call is evaluated again under the same id.
    """
    return body == other or _remove_durations(body) == _remove_durations(other)


def _remove_durations(body: str) -> dict[str, Any]:
    read = decode_body(body)
    responses = read.get("responses")
    if isinstance(responses, list):
        read["responses"] = [
            {**response, "micros": 0} if isinstance(response, dict) else response for response in responses
        ]
    return {**read, "micros": 0}


def decode_record(seq: int, text: str, detail: str | None) -> Record:
    """Return the record of a stored body, with its number and its detail."""
    try:
        record = RECORD_DECODER.decode(text)
        if detail is not None:
            record.detail = DETAIL_DECODER.decode(detail)
    except INVALID_JSON:
        joined = {} if detail is None else {"detail": decode_body(detail)}
        record = convert_record({**decode_body(text), **joined})
    else:
        record.texts = text, detail
    record.seq = seq
    return record


def convert_record(body: dict[str, Any]) -> Record:
    """Return the record of a JSON object that may contain the detail, such as an exported line."""
    try:
        record = RECORD_DECODER.decode(_encode_clean(body))
        record.body = body
    except INVALID_JSON:
        record = _repair_record(body)
    return record


def _repair_record(body: dict[str, Any]) -> Record:
    rest = {name: value for name, value in body.items() if name != "detail"}
    record, shown, invalid = _repair_fields(Record, rest, REQUIRED_DEFAULTS)
    detail = body.get("detail")
    if isinstance(detail, dict):
        record.detail, shown["detail"], invalid_detail = _repair_fields(Detail, detail, {})
        _add_invalid(record.detail, shown["detail"], invalid_detail)
    elif "detail" in body:
        invalid["detail"] = detail
    _add_invalid(record, shown, invalid)
    record.body = shown
    return record


def _repair_fields(
    kind: type[Part], body: dict[str, Any], required: dict[str, Any]
) -> tuple[Part, dict[str, Any], dict[str, Any]]:
    """Return the struct, the body with valid values, and the invalid values."""
    values, invalid = dict(required), {}
    for field in msgspec.structs.fields(kind):
        if field.name in body:
            try:
                values[field.name] = msgspec.json.decode(_encode_clean(body[field.name]), type=field.type)
            except INVALID_JSON:
                invalid[field.name] = body[field.name]
    part = kind(**values)
    valid = {name: value for name, value in body.items() if name not in invalid}
    defaults = {name: value for name, value in required.items() if name not in valid}
    return part, {**valid, **defaults}, invalid


def _add_invalid(part: Record | Detail, body: dict[str, Any], invalid: dict[str, Any]) -> None:
    if invalid:
        part.invalid = body["invalid"] = {**part.invalid, **invalid}


def _encode_clean(value: Any) -> bytes:
    """Return a value as JSON in which lone surrogates are replaced."""
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")
