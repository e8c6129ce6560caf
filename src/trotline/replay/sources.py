"""Where calls come from: the trail, whole conversations of it, or lines that somebody gives."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from trotline.audit.columns import subject_of
from trotline.audit.query import Query
from trotline.audit.records import SCHEMA
from trotline.audit.store import Store
from trotline.audit.subjects import ANY, SUBJECTS, about_of
from trotline.errors import TrotlineError, UsageError
from trotline.events import Event, OtherEvent
from trotline.hosts import host_named
from trotline.hosts.recognition import recognised
from trotline.hosts.translation import Received, received
from trotline.replay.recalled import Recalled, recalled
from trotline.scanners.redaction import redacted, redacted_tree
from trotline.scanners.scan import Scanner

LONGEST_NAME = 80


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


class Told(NamedTuple):
    """What is known of lines that are given: whose payloads they are and of which event, where they do not say it
    themselves, and what must not be shown of them."""

    host: str = ""
    event: str = ""
    scanners: Sequence[Scanner] = ()

    def clean(self, text: str) -> str:
        return redacted(text, b"", self.scanners)[0]


def given(lines: Iterable[bytes], told: Told) -> list[Recalled]:
    """Calls in lines of JSON: payloads as hosts send them, or records as `trotline log export` writes them.

    An export has the newest first, and a conversation is judged from its first call: records come in the order in which
    they were made, payloads in that of their lines.
    """
    bodies = [(body.get("schema") == SCHEMA, body, number, line) for body, number, line in _bodies(lines)]
    records = [_record(body, number) for is_record, body, number, _ in bodies if is_record]
    calls = [_call(body, line, number, told) for is_record, body, number, line in bodies if not is_record]
    return [*sorted(records, key=lambda one: one.seq), *calls]


def _bodies(lines: Iterable[bytes]) -> Iterator[tuple[dict[str, Any], int, str]]:
    for number, raw in enumerate(lines, 1):
        try:
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
            body = json.loads(line) if line.strip() else None
        except UnicodeDecodeError as error:
            wrong = f"byte {error.start} is `0x{raw[error.start]:02x}`"
            raise UsageError(f"line {number} is not UTF-8: {wrong}", hint="one payload on each line") from None
        except (ValueError, RecursionError):
            raise UsageError(f"line {number} is no JSON", hint="one payload on each line") from None
        if not line.strip():
            continue
        if not isinstance(body, dict):
            raise UsageError(f"line {number} is no object", hint="one payload on each line")
        yield body, number, line


def _record(body: dict[str, Any], number: int) -> Recalled:
    try:
        return recalled(body)
    except (TypeError, ValueError, AttributeError, OverflowError):
        raise UsageError(f"line {number} is no record of ours", hint="`trotline log export` writes them") from None


def _call(body: dict[str, Any], line: str, number: int, told: Told) -> Recalled:
    host = told.host or recognised(body, {})
    try:
        got = received(host_named(host), line, told.event)
    except TrotlineError as error:
        raise UsageError(f"line {number}: {told.clean(error.message)}", hint=told.clean(error.hint)) from None
    known = not isinstance(got.event, OtherEvent)
    return Recalled(
        host=host,
        event=got.event.wire_name if known else told.clean(got.event.wire_name)[:LONGEST_NAME],
        conversation=got.event.conversation_id,
        payload=line.encode("utf-8", "surrogatepass"),
        missing="" if known else _unnamed(got, host, told),
        seq=number,
        id=f"line {number}",
        subject=_subject(got.event, body, told),
    )


def _subject(event: Event, body: dict[str, Any], told: Told) -> str:
    """As a record has it, whatever the host calls it; what is cut of it is cut when it is clean."""
    names = {*ANY, *SUBJECTS.get(event.wire_name, ())}
    given = body.get("tool_input")
    inner = {name: given[name] for name in names & given.keys()} if isinstance(given, dict) else {}
    payload = {**{name: body[name] for name in names & body.keys()}, "tool_input": inner}
    detail = redacted_tree({"payload": payload, "about": about_of(event, body)}, b"", told.scanners)[0]
    return subject_of({"event": event.wire_name, "tool": getattr(event, "tool_name", ""), "detail": detail})


def _unnamed(got: Received, host: str, told: Told) -> str:
    """What is no event that anybody judges would be let through by every candidate, and that says nothing of them."""
    if not got.theirs:
        return "no event is named; say --host and --event"
    return f"there is no event `{told.clean(got.theirs)[:LONGEST_NAME]}` of {host} that Trotline knows"
