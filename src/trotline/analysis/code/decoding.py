"""Functions that turn a text into another: what is hidden in base64, hexadecimal digits or packed bytes."""

import base64
import binascii
import codecs

from trotline.analysis.code.deeds import Deeds
from trotline.analysis.code.values import LONGEST, Call, Value
from trotline.analysis.scene import UNKNOWN


def _plain(value: Value, data: bytes) -> Value:
    """Bytes as text; those that are none are kept one by one, because they may be packed."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        text = data.decode("latin-1")
    return Value(text, "", None, value.origins | {"decoded"}, value.paths)


def _unknown_decoded(value: Value) -> Value:
    return Value(UNKNOWN, "", None, value.origins | {"decoded"}, value.paths)


def base64_decoded(deeds: Deeds, call: Call) -> Value:
    del deeds
    value = call.first()
    if not value.known:
        return _unknown_decoded(value)
    packed = "".join(value.text.split()).replace("-", "+").replace("_", "/").encode("utf-8", "replace")
    try:
        return _plain(value, base64.b64decode(packed + b"=" * (-len(packed) % 4)))
    except (binascii.Error, ValueError):
        return _unknown_decoded(value)


def hex_decoded(deeds: Deeds, call: Call) -> Value:
    del deeds
    value = call.first()
    digits = "".join(value.text.split())
    try:
        return _plain(value, bytes.fromhex(digits)) if value.known else _unknown_decoded(value)
    except ValueError:
        return _unknown_decoded(value)


def codec_decoded(deeds: Deeds, call: Call) -> Value:
    """`decode(text, how)`."""
    value, how = call.first(), call.at(1, "encoding")
    name = how.text.lower().replace("-", "").replace("_", "") if how is not None else ""
    if name in {"rot13", "rot"}:
        return _plain(value, codecs.encode(value.text, "rot13").encode("utf-8", "replace"))
    if name.startswith("hex"):
        return hex_decoded(deeds, call)
    if name.startswith("base64"):
        return base64_decoded(deeds, call)
    return value if name.startswith(("utf", "ascii", "latin")) else _unknown_decoded(value)


def inflated(deeds: Deeds, call: Call) -> Value:
    del deeds
    import zlib  # noqa: PLC0415 - seldom

    value = call.first()
    try:
        unpacked = zlib.decompressobj(wbits=47).decompress(value.text.encode("latin-1"), LONGEST)
    except (zlib.error, UnicodeEncodeError):
        return _unknown_decoded(value)
    return _plain(value, unpacked)
