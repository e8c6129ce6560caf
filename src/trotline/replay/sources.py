"""Where calls come from: the trail, whole conversations of it, or lines that somebody gives."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from trotline.audit.columns import subject_of
from trotline.audit.query import Query
from trotline.audit.records import SCHEMA
from trotline.audit.store import Store
from trotline.errors import TrotlineError, UsageError
from trotline.hosts import host_named
from trotline.hosts.recognition import recognised
from trotline.hosts.translation import received
from trotline.replay.recalled import Recalled, recalled
from trotline.scanners.redaction import redacted


class Calls(NamedTuple):
    """Calls, oldest first, and which of them were asked for, by their ids; None for all."""

    every: Sequence[Recalled]
    wanted: frozenset[str] | None = None


def in_order(store: Store, query: Query) -> Calls:
    """The calls that a query finds, with all that came before them in their conversations."""
    found = list(store.search(query))
    wanted = frozenset(str(record["id"]) for record in found)
    last: dict[str, int] = {}
    for record in found:
        last.setdefault(str(record.get("conversation") or ""), int(record["seq"]))
    earlier = [
        record
        for conversation, seq in last.items()
        if conversation
        for record in store.search(Query(conversation=conversation, until_seq=seq, own=True))
    ]
    every = {str(record["id"]): record for record in (*found, *earlier)}
    return Calls([recalled(record) for record in sorted(every.values(), key=lambda one: int(one["seq"]))], wanted)


def given(lines: Iterable[str], host: str, event: str) -> Iterator[Recalled]:
    """Calls in lines of JSON: payloads as hosts send them, or records as `trotline log export` writes them."""
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            body = json.loads(line)
        except (ValueError, RecursionError):
            raise UsageError(f"line {number} is no JSON", hint="one payload on each line") from None
        if not isinstance(body, dict):
            raise UsageError(f"line {number} is no object", hint="one payload on each line")
        yield _record(body, number) if body.get("schema") == SCHEMA else _call(body, line, number, (host, event))


def _record(body: dict[str, Any], number: int) -> Recalled:
    try:
        return recalled(body)
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise UsageError(f"line {number} is no record of ours", hint="`trotline log export` writes them") from None


def _call(body: dict[str, Any], line: str, number: int, told: tuple[str, str]) -> Recalled:
    host = told[0] or recognised(body, {})
    try:
        got = received(host_named(host), line, told[1])
    except TrotlineError as error:
        raise UsageError(f"line {number}: {error.message}", hint=error.hint) from None
    return Recalled(
        host=host,
        event=got.event.wire_name,
        conversation=got.event.conversation_id,
        payload=line.encode("utf-8", "surrogatepass"),
        seq=number,
        id=f"line {number}",
        subject=redacted(subject_of({"detail": {"payload": body}}), b"")[0],  # it will be shown
    )
