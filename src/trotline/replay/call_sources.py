"""The calls to evaluate again: records of the audit log, or JSON lines from a file."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from trotline.agents import get_agent
from trotline.agents.recognition import recognise_agent
from trotline.agents.translation import DecodedEvent, decode_event
from trotline.audit.query.query import Query
from trotline.audit.record.record_reader import convert_record, explain_unreadable
from trotline.audit.record.subjects import DEFAULT_SUBJECT_FIELDS, SUBJECT_FIELDS, extract_subject
from trotline.audit.store.store import Store
from trotline.domain.errors import TrotlineError, UsageError
from trotline.domain.events import Event, OtherEvent
from trotline.replay.recorded_call import RecordedCall, build_call
from trotline.scanners.redaction import redact, redact_tree
from trotline.scanners.scan import Scanner

MAX_EVENT_NAME = 80
RECORD_PREFIX = "trotline.record/"


class CallSelection(NamedTuple):
    """Calls, oldest first, and the ids of the selected ones; None if all are selected."""

    calls: Sequence[RecordedCall]
    selected: frozenset[str] | None = None


def find_calls(store: Store, query: Query) -> CallSelection:
    """Return the calls that match a query, together with all earlier calls of their conversations."""
    found = list(store.search(query))
    selected = frozenset(record.id for record in found)
    last: dict[str, int] = {}
    for record in found:
        last.setdefault(record.conversation, record.seq)
    earlier = [
        record
        for conversation, seq in last.items()
        if conversation
        for record in store.search(Query(conversation=conversation, until_seq=seq, include_self_tests=True))
    ]
    records = {record.id: record for record in (*found, *earlier)}
    ordered = sorted(records.values(), key=lambda record: record.seq)
    return CallSelection([build_call(record) for record in ordered], selected)


class LineFormat(NamedTuple):
    """Agent and event of payloads that do not name them, and the scanners that redact what is shown."""

    agent: str = ""
    event: str = ""
    scanners: Sequence[Scanner] = ()

    def clean(self, text: str) -> str:
        """Return the text with secrets and personal data redacted."""
        return redact(text, b"", self.scanners)[0]


def read_calls(lines: Iterable[bytes], form: LineFormat) -> list[RecordedCall]:
    """Read calls from JSON lines: payloads as agents send them, or records as `trotline log export` writes them.

    An export has the newest record first, and a conversation is evaluated from its first call. So records are sorted
    by their number; payloads keep the order of their lines.
    """
    records, calls = [], []
    for body, number, line in _parse_lines(lines):
        if str(body.get("schema")).startswith(RECORD_PREFIX):
            records.append(_read_exported(body, number))
        else:
            calls.append(_read_payload(body, line, number, form))
    return [*sorted(records, key=lambda call: call.seq), *calls]


def _read_exported(body: dict[str, Any], number: int) -> RecordedCall:
    reason = explain_unreadable(body)
    if reason:
        raise UsageError(f"line {number} is no record of ours: {reason}", hint="`trotline log export` writes them")
    return build_call(convert_record(body))


def _parse_lines(lines: Iterable[bytes]) -> Iterator[tuple[dict[str, Any], int, str]]:
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


def _read_payload(body: dict[str, Any], line: str, number: int, form: LineFormat) -> RecordedCall:
    agent = form.agent or recognise_agent(body, {})
    try:
        got = decode_event(get_agent(agent), line, form.event)
    except TrotlineError as error:
        raise UsageError(f"line {number}: {form.clean(error.message)}", hint=form.clean(error.hint)) from None
    is_known = not isinstance(got.event, OtherEvent)
    return RecordedCall(
        agent=agent,
        event=got.event.wire_name if is_known else form.clean(got.event.wire_name)[:MAX_EVENT_NAME],
        conversation=got.event.conversation_id,
        payload=line.encode("utf-8", "surrogatepass"),
        missing="" if is_known else _explain_unknown_event(got, agent, form),
        seq=number,
        id=f"line {number}",
        subject=_build_subject(got.event, body, form),
    )


def _build_subject(event: Event, body: dict[str, Any], form: LineFormat) -> str:
    """Return the subject as a record has it. Redaction comes before cutting."""
    names = {*DEFAULT_SUBJECT_FIELDS, *SUBJECT_FIELDS.get(event.wire_name, ())}
    tool_input = body.get("tool_input")
    inner = {name: tool_input[name] for name in names & tool_input.keys()} if isinstance(tool_input, dict) else {}
    payload = {**{name: body[name] for name in names & body.keys()}, "tool_input": inner}
    detail = redact_tree({"payload": payload, "subject": extract_subject(event, body)}, b"", form.scanners)[0]
    fields = {"event": event.wire_name, "tool": getattr(event, "tool_name", ""), "detail": detail}
    return convert_record({**fields, "id": "", "at_us": 0, "agent": "", "decided": ""}).subject


def _explain_unknown_event(got: DecodedEvent, agent: str, form: LineFormat) -> str:
    """Return the reason why a payload has no event that Trotline knows.

    An unknown event is never evaluated: every candidate would let it pass, which says nothing about candidates.
    """
    if not got.theirs:
        return "no event is named; say --agent and --event"
    return f"there is no event `{form.clean(got.theirs)[:MAX_EVENT_NAME]}` of {agent} that Trotline knows"
