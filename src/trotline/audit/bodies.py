"""Bodies: what an entry of the trail says, as the text that is chained and as the record that is shown."""

import json
from typing import Any

import msgspec

from trotline.audit.chain import ID
from trotline.audit.records import DETAIL
from trotline.audit.records import SCHEMA as RECORD

KINDS = {RECORD: "record", DETAIL: "detail"}


def why_unread(body: dict[str, Any]) -> str:
    """Why something is no entry of ours; empty if it is one."""
    schema, id_ = body.get("schema"), body.get("id")
    if schema not in KINDS:
        return f"its schema is {str(schema)[:80]!r}: of a newer Trotline?"
    if not isinstance(id_, str) or not ID.fullmatch(id_):
        return "its id is none"
    return ""


def as_text(body: dict[str, Any]) -> str:
    return json.dumps(body, ensure_ascii=True, separators=(",", ":"))


def say_the_same(one: str, other: str) -> bool:
    """Whether two bodies differ only in how long it took: a call that is judged again, because a service was killed
    before its answer was heard, has the same id."""
    return one == other or _without_times(one) == _without_times(other)


def _without_times(body: str) -> Any:
    read = _read(body)
    voices = read.get("voices")
    if isinstance(voices, list):
        read["voices"] = [{**one, "micros": 0} if isinstance(one, dict) else one for one in voices]
    return {**read, "micros": 0}


def joined(seq: int, record: str, detail: str | None) -> dict[str, Any]:
    """A record as it is shown: with its place in the trail, and with what was said."""
    words = {"detail": _read(detail)} if detail is not None else {}
    return {**_read(record), **words, "seq": seq}


def _read(body: str) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        return dict(json.loads(body))  # half a surrogate pair, which a host may send, is none to the quicker reader
