"""Cursor's wire: payloads into events and back. Reading is liberal, writing is strict.

Ten years of clients are out there: fields were renamed, objects were sent as text and text as objects, a byte order
mark comes first on Windows, and Node cuts an emoji in two. None of that makes an event unreadable. What does: no JSON
object, no event name, or the one field missing that a judgement is about.
"""

import functools
import json
from math import isfinite
from typing import Any

import msgspec

from trotline.errors import UnreadablePayload
from trotline.events import EVENTS, NULLABLE, Event, OtherEvent
from trotline.hooks import mcp_parts
from trotline.hosts.cursor_replies import json_kind, read_reply, write_reply

__all__ = ["read_event", "read_reply", "write_event", "write_reply"]

RENAMED: dict[str, dict[str, str]] = {
    "beforeMCPExecution": {"server": "mcp_server_name"},
    "afterMCPExecution": {"server": "mcp_server_name"},
    "subagentStart": {"prompt": "task"},  # D2
    "subagentStop": {"prompt": "task", "result": "summary", "duration": "duration_ms"},  # D2
}
"""Older and foreign spellings, by event; the newer one wins where a payload has both."""

MCP_EVENTS = frozenset({"beforeMCPExecution", "afterMCPExecution"})
TEXT_ON_THE_WIRE = frozenset({"tool_output", "result_json"})
"""Fields that are JSON text on the wire, and that some clients send as the object itself."""


def read_event(payload: bytes | str) -> Event:
    """The event in a payload; an event we do not know is kept whole."""
    body = object_of(payload)
    name = body.pop("hook_event_name", None)
    if not isinstance(name, str) or not name:
        raise UnreadablePayload("the payload has no `hook_event_name`", hint="is this a hook payload at all?")
    return event_of(body, name)


def event_of(body: dict[str, Any], name: str) -> Event:
    """The event of this name with these fields."""
    if name not in EVENTS:
        return _convert(body, OtherEvent, {"hook_event_name": name})
    return _convert(_modern(body, name), EVENTS[name], {})


def write_event(event: Event) -> bytes:
    """The event as Cursor sends it: UTF-8, no newline at the end, empty optional fields left out."""
    body: dict[str, Any] = {**event.raw, **msgspec.to_builtins(event)}
    del body["raw"]
    body["hook_event_name"] = event.wire_name
    if event.wire_name in MCP_EVENTS and not isinstance(body["tool_input"], str):
        body["tool_input"] = _text(body["tool_input"])
    return _bytes(
        {key: value for key, value in body.items() if value is not None or key in NULLABLE or key in event.raw}
    )


def object_of(payload: bytes | str) -> dict[str, Any]:
    """The object that a payload must be; whatever else it is, it is no event.

    What the quicker reader does not take (half a surrogate pair, a mark at the beginning, a number beyond all bounds)
    may still be one, and what is none gets its reason from the other.
    """
    try:
        return OBJECT.decode(payload)
    except UNREAD:
        return _object_of(payload)


def _object_of(payload: bytes | str) -> dict[str, Any]:
    try:
        text = payload if isinstance(payload, str) else payload.decode("utf-8")
        body = _strict().decode(text.removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise UnreadablePayload(
            f"the payload is not UTF-8: byte {error.start} is `0x{payload[error.start]:02x}`"
        ) from None
    except RecursionError:
        raise UnreadablePayload("the payload is nested too deeply") from None
    except ValueError as error:
        raise UnreadablePayload(f"the payload is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise UnreadablePayload(f"the payload is {json_kind(body)}, not an object")
    return body


def _no_constant(word: str) -> None:
    raise ValueError(f"`{word}` is not JSON")


def _finite(digits: str) -> float | None:
    """A number beyond all bounds is null, as Node would send it on: no hook could read anything else."""
    number = float(digits)
    return number if isfinite(number) else None


@functools.cache
def _strict() -> "json.JSONDecoder":
    return json.JSONDecoder(parse_constant=_no_constant, parse_float=_finite)


OBJECT, STRUCTURE = msgspec.json.Decoder(dict[str, Any]), msgspec.json.Decoder(Any)
UNREAD = (msgspec.DecodeError, UnicodeError, RecursionError)


def _modern(body: dict[str, Any], name: str) -> dict[str, Any]:
    """The newest spelling of every field."""
    for old, new in RENAMED.get(name, {}).items():
        if old in body and body.get(new) is None:
            body[new] = body.pop(old)
    if isinstance(body.get("attachments"), list):
        body["attachments"] = [_attachment(item) for item in body["attachments"]]
    if isinstance(body.get("tool_input"), str):
        body["tool_input"] = _parsed(body["tool_input"])
    for field in TEXT_ON_THE_WIRE & body.keys():
        body[field] = body[field] if isinstance(body[field], str) else _text(body[field])
    server, tool = mcp_parts(str(body.get("tool_name", "")))
    if name in MCP_EVENTS and tool:
        body["tool_name"] = tool
        if server and not body.get("mcp_server_name"):
            body["mcp_server_name"] = server
    return body


def _attachment(item: Any) -> Any:
    if isinstance(item, dict) and "filePath" in item and "file_path" not in item:
        return {"file_path" if key == "filePath" else key: value for key, value in item.items()}
    return item


def _parsed(text: str) -> Any:
    """The object in a text, where there is one; `5` and `hello` stay the text they are."""
    if not text.lstrip().startswith(("{", "[")):
        return text
    try:
        return STRUCTURE.decode(text)
    except UNREAD:
        pass
    try:
        return _strict().decode(text)
    except (ValueError, RecursionError):
        return text


def _convert(body: dict[str, Any], cls: type[Event], fixed: dict[str, Any]) -> Event:
    fields = _fields(cls)
    known = {key: value for key, value in body.items() if key in fields and key != "raw" and value is not None}
    raw = {key: value for key, value in body.items() if key not in fields or key == "raw"}
    try:
        return msgspec.convert({**known, **fixed, "raw": raw}, cls, strict=False)
    except (msgspec.ValidationError, UnicodeError):
        return _by_field(known, raw, cls, fixed)


def _by_field(known: dict[str, Any], raw: dict[str, Any], cls: type[Event], fixed: dict[str, Any]) -> Event:
    """A field whose value cannot be read goes to `raw`; only a required one makes the payload unreadable."""
    fields = _fields(cls)
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
def _fields(cls: type[Event]) -> dict[str, msgspec.structs.FieldInfo]:
    """By name. Found once: to look for them takes longer than to read an event."""
    return {field.name: field for field in msgspec.structs.fields(cls)}


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def _bytes(body: dict[str, Any]) -> bytes:
    """Lone surrogates have no UTF-8; then everything beyond ASCII is escaped, as Node does for them."""
    try:
        return _text(body).encode()
    except UnicodeEncodeError:
        return json.dumps(body, separators=(",", ":"), allow_nan=False).encode()
