"""Read the JSON of payloads, and write the JSON of replies, of any agent.

Simple replies are written without importing `json`, which costs a cold call more than the reply itself.
"""

import functools
import json
from math import isfinite
from typing import Any

import msgspec

from trotline.domain.errors import UnreadablePayload

OBJECT, STRUCTURE = msgspec.json.Decoder(dict[str, Any]), msgspec.json.Decoder(Any)
NOT_PARSED = (msgspec.DecodeError, UnicodeError, RecursionError)
JSON_KINDS = {"NoneType": "null", "bool": "a JSON boolean", "str": "a JSON string", "list": "a JSON array"}

_CONSTANTS = {True: "true", False: "false", None: "null"}


def dump_json(body: dict[str, Any]) -> str:
    """Return the same text as `json.dumps`, which is imported only for values that need it."""
    try:
        return _dump_plain(body)
    except ValueError:
        return json.dumps(body)


def _dump_plain(value: object) -> str:
    if isinstance(value, str):
        if not (value.isascii() and value.isprintable()) or '"' in value or "\\" in value:
            raise ValueError(value)
        return f'"{value}"'
    if isinstance(value, dict):
        return f"{{{', '.join([f'{_dump_plain(key)}: {_dump_plain(inner)}' for key, inner in value.items()])}}}"
    if value is None or isinstance(value, bool):
        return _CONSTANTS[value]
    raise ValueError(value)


def parse_payload(payload: bytes | str) -> dict[str, Any]:
    """Return the JSON object of a payload of any agent, or raise UnreadablePayload.

    The fast decoder rejects lone surrogates, byte order marks and huge numbers; the slow one accepts them and explains
    errors.
    """
    try:
        return OBJECT.decode(payload)
    except NOT_PARSED:
        return _parse_slowly(payload)


def _parse_slowly(payload: bytes | str) -> dict[str, Any]:
    try:
        text = payload if isinstance(payload, str) else payload.decode("utf-8")
        body = get_strict_decoder().decode(text.removeprefix("\ufeff"))
    except UnicodeDecodeError as error:
        raise UnreadablePayload(
            f"the payload is not UTF-8: byte {error.start} is `0x{payload[error.start]:02x}`"
        ) from None
    except RecursionError:
        raise UnreadablePayload("the payload is nested too deeply") from None
    except ValueError as error:
        raise UnreadablePayload(f"the payload is not JSON: {error}") from None
    if not isinstance(body, dict):
        raise UnreadablePayload(f"the payload is {get_json_kind(body)}, not an object")
    return body


def refuse_constant(word: str) -> None:
    """Raise an error for NaN and infinities, which Python's decoder accepts."""
    raise ValueError(f"`{word}` is not JSON")


def _check_finite(digits: str) -> float | None:
    """Return a number, or None if it is infinite, as Node does."""
    number = float(digits)
    return number if isfinite(number) else None


@functools.cache
def get_strict_decoder() -> "json.JSONDecoder":
    """Return a decoder that refuses NaN and infinities."""
    return json.JSONDecoder(parse_constant=refuse_constant, parse_float=_check_finite)


def get_json_kind(value: Any) -> str:
    """Return the JSON type of a value, with an article."""
    return JSON_KINDS.get(type(value).__name__, "a JSON number")
