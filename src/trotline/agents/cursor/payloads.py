"""Read and write Cursor's payloads. Reading is liberal, writing is strict.

Clients differ: fields were renamed, objects were sent as text and text as objects, Windows adds a byte order mark, and
Node splits surrogate pairs. None of that makes an event unreadable. A payload is unreadable only if it is no JSON
object, has no event name, or lacks a required field.
"""

import functools
import json
from typing import Any

import msgspec

from trotline.agents.agent_json import NOT_PARSED, STRUCTURE, get_strict_decoder, parse_payload
from trotline.agents.cursor.replies import read_reply, write_reply
from trotline.domain.errors import UnreadablePayload
from trotline.domain.events import EVENTS, NULLABLE, Event, OtherEvent
from trotline.domain.hooks import split_mcp_name

__all__ = ["read_event", "read_reply", "write_event", "write_reply"]

RENAMED_FIELDS: dict[str, dict[str, str]] = {
    "beforeMCPExecution": {"server": "mcp_server_name"},
    "afterMCPExecution": {"server": "mcp_server_name"},
    "subagentStart": {"prompt": "task"},  # D2
    "subagentStop": {"prompt": "task", "result": "summary", "duration": "duration_ms"},  # D2
}
"""Older and foreign field names by event; the newer name wins if a payload has both."""

MCP_EVENTS = frozenset({"beforeMCPExecution", "afterMCPExecution"})
TEXT_ON_THE_WIRE = frozenset({"tool_output", "result_json"})
"""Fields that are JSON text on the wire, and that some clients send as the object itself."""


def read_event(payload: bytes | str) -> Event:
    """Return the event in a payload; an unknown event keeps all its fields."""
    body = parse_payload(payload)
    name = body.pop("hook_event_name", None)
    if not isinstance(name, str) or not name:
        raise UnreadablePayload("the payload has no `hook_event_name`", hint="is this a hook payload at all?")
    return build_event(body, name)


def build_event(body: dict[str, Any], name: str) -> Event:
    """Return the event of this name with these fields."""
    if name not in EVENTS:
        return _convert(body, OtherEvent, {"hook_event_name": name})
    return _convert(_modernise(body, name), EVENTS[name], {})


def write_event(event: Event) -> bytes:
    """Return an event as Cursor sends it: UTF-8, no final newline, no empty optional fields."""
    body: dict[str, Any] = {**event.raw, **msgspec.to_builtins(event)}
    del body["raw"]
    name = body["hook_event_name"] = event.wire_name
    if name in MCP_EVENTS and not isinstance(body["tool_input"], str):
        body["tool_input"] = _dump_text(body["tool_input"])
    return _encode_bytes(
        {key: value for key, value in body.items() if value is not None or key in NULLABLE or key in event.raw}
    )


def _modernise(body: dict[str, Any], name: str) -> dict[str, Any]:
    """Return the fields with their newest names and types."""
    for old, new in RENAMED_FIELDS.get(name, {}).items():
        if old in body and body.get(new) is None:
            body[new] = body.pop(old)
    if isinstance(body.get("attachments"), list):
        body["attachments"] = [_modernise_attachment(item) for item in body["attachments"]]
    if isinstance(body.get("tool_input"), str):
        body["tool_input"] = _parse_embedded_json(body["tool_input"])
    for field in TEXT_ON_THE_WIRE & body.keys():
        body[field] = body[field] if isinstance(body[field], str) else _dump_text(body[field])
    if name in MCP_EVENTS:
        server, tool = split_mcp_name(str(body.get("tool_name", "")))
        body |= {"tool_name": tool} if tool else {}
        if server and not body.get("mcp_server_name"):
            body["mcp_server_name"] = server
    return body


def _modernise_attachment(item: Any) -> Any:
    if isinstance(item, dict) and "filePath" in item and "file_path" not in item:
        return {"file_path" if key == "filePath" else key: value for key, value in item.items()}
    return item


def _parse_embedded_json(text: str) -> Any:
    """Return the JSON object or list in a text; return other texts unchanged."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return STRUCTURE.decode(text)
    except NOT_PARSED:
        pass
    try:
        return get_strict_decoder().decode(text)
    except (ValueError, RecursionError):
        return text


def _convert(body: dict[str, Any], cls: type[Event], fixed: dict[str, Any]) -> Event:
    fields = _get_field_types(cls)
    known = {key: value for key, value in body.items() if key in fields and key != "raw" and value is not None}
    raw = {key: value for key, value in body.items() if key not in fields or key == "raw"}
    try:
        return msgspec.convert({**known, **fixed, "raw": raw}, cls, strict=False)
    except (msgspec.ValidationError, UnicodeError):
        return _convert_by_field(known, raw, cls, fixed)


def _convert_by_field(known: dict[str, Any], raw: dict[str, Any], cls: type[Event], fixed: dict[str, Any]) -> Event:
    """Convert field by field. An unreadable optional field goes to `raw`; an unreadable required one raises."""
    fields = _get_field_types(cls)
    for key, value in list(known.items()):
        try:
            known[key] = msgspec.convert(value, fields[key].type, strict=False)
        except (msgspec.ValidationError, UnicodeError) as error:
            if fields[key].required:
                raise UnreadablePayload(f"`{key}` cannot be read: {error}") from None
            raw[key] = known.pop(key)
    missing = [key for key, field in fields.items() if field.required and key not in known]
    if missing:
        raise UnreadablePayload(f"a {cls.contract.name} payload needs `{missing[0]}`")
    return cls(**known, **fixed, raw=raw)


@functools.cache
def _get_field_types(cls: type[Event]) -> dict[str, msgspec.structs.FieldInfo]:
    """Return the fields of an event class by name; looking them up takes longer than reading an event."""
    return {field.name: field for field in msgspec.structs.fields(cls)}


def _dump_text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _encode_bytes(body: dict[str, Any]) -> bytes:
    """Return JSON bytes. If the text has lone surrogates, non-ASCII characters are escaped, as Node does."""
    try:
        return _dump_text(body).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
