"""Records as OpenTelemetry: each is a log record and a span, a conversation is a trace.

Everything here is OTLP as JSON writes it, in plain objects; `otlp_wire.py` makes protobuf of it. Ids are made from the
ids of records and conversations, so that what is sent twice is the same twice. Names under `gen_ai.`, `mcp.`, `log.`
and `error.` are those of the semantic conventions of OpenTelemetry, copied here; ours are under `trotline.`.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from trotline import __version__
from trotline.audit import deeds
from trotline.audit.actions import verdict_of
from trotline.audit.shapes import is_time

DEEPEST = 8
"""Levels of a value that are sent as such; what is deeper is one text. Readers of protobuf stop at a hundred messages
inside each other, and three of them are one level."""

LARGEST = 1 << 63

INFO, WARN, ERROR = (9, "INFO"), (13, "WARN"), (17, "ERROR")
INTERNAL, CLIENT = 1, 3
FAILED = 2
LINES = 200
"""Records in one line of a file."""

EVENT_NAME = "trotline.record"
ENDS = {"stop": "generation", "sessionEnd": "conversation"}
"""Events after which a turn, or a whole conversation, is over."""

TEXTS = {
    "tool_use_id": "gen_ai.tool.call.id",
    "tool_input": "gen_ai.tool.call.arguments",
    "tool_output": "gen_ai.tool.call.result",
    "result_json": "gen_ai.tool.call.result",
    "model": "gen_ai.request.model",
    "subagent_id": "gen_ai.agent.id",
    "mcp_server_name": "trotline.mcp.server",
}
NUMBERS = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "exit": "process.exit.code",
}
"""Fields of payloads, and of what was measured, that have a name in the conventions."""

ABOUT = {"machine": "trotline.machine", "user": "trotline.user", "version": "trotline.host.version"}
"""What words may say of the place."""

Talk = tuple[str, str, str]
"""Host, conversation and generation; without a generation it is the whole conversation."""


class Extent(NamedTuple):
    """From the first record of a conversation or a turn to its last, in microseconds."""

    first_us: int
    last_us: int

    def with_(self, at_us: int) -> "Extent":
        return Extent(min(self.first_us, at_us), max(self.last_us, at_us))


def trace_id(record: dict[str, Any]) -> str:
    """The conversation's; a call outside of every conversation is a trace of its own."""
    talk = _text(record.get("conversation")) or _text(record["id"])
    return _digest("trotline.trace/1", _text(record.get("host")), talk)[:32]


def span_id(record: dict[str, Any]) -> str:
    return _digest("trotline.span/1", _text(record["id"]))[:16]


def talk_span_id(talk: Talk) -> str:
    return _digest("trotline.talk/1", *talk)[:16]


def talks_of(record: dict[str, Any]) -> list[Talk]:
    """What a record is part of, the larger first."""
    host, conversation, generation = (_text(record.get(name)) for name in ("host", "conversation", "generation"))
    if not conversation:
        return []
    return [(host, conversation, "")] + ([(host, conversation, generation)] if generation else [])


def at_of(record: dict[str, Any]) -> int:
    """When it came; what is no time, which only a foreign hand can have written, is the beginning of all times."""
    return _time(record.get("at_us"))


def log_of(record: dict[str, Any], *, words: bool = True) -> dict[str, Any]:
    number, text = _severity(record)
    kept = record if words else {name: value for name, value in record.items() if name != "detail"}
    return {
        "timeUnixNano": _nanos(at_of(record)),
        "observedTimeUnixNano": _nanos(at_of(record)),
        "severityNumber": number,
        "severityText": text,
        "eventName": EVENT_NAME,
        "body": _value(kept),
        "attributes": _attributes({"log.record.uid": record["id"], **_about(record, words=words)}),
        "traceId": trace_id(record),
        "spanId": span_id(record),
    }


def span_of(record: dict[str, Any], *, words: bool = True) -> dict[str, Any]:
    start, end = _extent(record)
    talks = talks_of(record)
    is_call = deeds.is_execution(record) and deeds.is_mcp(record)
    name = ("tools/call" if is_call else "execute_tool") if deeds.is_execution(record) else _text(record.get("event"))
    return {
        "traceId": trace_id(record),
        "spanId": span_id(record),
        **({"parentSpanId": talk_span_id(talks[-1])} if talks else {}),
        "name": f"{name} {_text(deeds.tool_of(record))}".strip(),
        "kind": CLIENT if is_call else INTERNAL,
        "startTimeUnixNano": _nanos(max(0, start)),
        "endTimeUnixNano": _nanos(end),
        "attributes": _attributes(_about(record, words=words)),
        **({"status": {"code": FAILED}} if _error(record) else {}),
    }


def _extent(record: dict[str, Any]) -> tuple[int, int]:
    """What an event tells of something that took time ends when it came, and has no length where nobody tells one;
    anything else is our answer, and begins then."""
    at, told = at_of(record), deeds.measured(record)
    took = next((given for name in ("duration", "duration_ms") if _is_time(given := told.get(name))), None)
    if took is not None:
        return at - int(took * 1000), at
    return at, at if deeds.is_execution(record) else at + _time(record.get("micros"))


def talk_span(talk: Talk, extent: Extent) -> dict[str, Any]:
    """A turn of the agent, or the whole conversation, which is the root of its trace."""
    host, conversation, generation = talk
    named = {"gen_ai.conversation.id": conversation, "gen_ai.agent.name": host}
    if generation:
        named |= {"gen_ai.operation.name": "invoke_agent", "trotline.generation": generation}
    return {
        "traceId": _digest("trotline.trace/1", host, conversation)[:32],
        "spanId": talk_span_id(talk),
        **({"parentSpanId": talk_span_id((host, conversation, ""))} if generation else {}),
        "name": f"invoke_agent {host}" if generation else f"conversation {host}",
        "kind": INTERNAL,
        "startTimeUnixNano": _nanos(extent.first_us),
        "endTimeUnixNano": _nanos(extent.last_us),
        "attributes": _attributes(named),
    }


class Batch(NamedTuple):
    """Which one it is, and the head of the chain when it was begun."""

    id: str = ""
    head_seq: int | None = None
    head_digest: str = ""


NONE = Batch()


def logs_request(
    records: Iterable[dict[str, Any]], *, words: bool = True, about: dict[str, str], batch: Batch = NONE
) -> dict[str, Any]:
    """What is posted to `/v1/logs`."""
    logs = [log_of(record, words=words) for record in records]
    return {
        "resourceLogs": [{"resource": _resource(about), "scopeLogs": [{"scope": _scope(batch), "logRecords": logs}]}]
    }


def traces_request(spans: Iterable[dict[str, Any]], *, about: dict[str, str], batch: Batch = NONE) -> dict[str, Any]:
    """What is posted to `/v1/traces`."""
    scoped = {"scope": _scope(batch), "spans": list(spans)}
    return {"resourceSpans": [{"resource": _resource(about), "scopeSpans": [scoped]}]}


def batch_id(first: str, last: str, count: int) -> str:
    """The same records have the same one, whoever sends them and how often."""
    return _digest("trotline.batch/1", first, last, str(count))[:32]


def as_otlp(records: Iterable[dict[str, Any]], *, words: bool = True) -> Iterator[str]:
    """Lines of OTLP as JSON, as the collector's file exporter writes them and its file receiver reads them."""
    for request in requests(records, words=words):
        yield json.dumps(request, ensure_ascii=True, separators=(",", ":"))


def requests(records: Iterable[dict[str, Any]], *, words: bool = True) -> Iterator[dict[str, Any]]:
    """All of them as requests of bounded size. Here every conversation ends with its last record."""
    extents: dict[Talk, Extent] = {}
    waiting: list[dict[str, Any]] = []
    for record in records:
        waiting.append(record)
        for talk in talks_of(record):
            extents[talk] = extents.get(talk, Extent(at_of(record), at_of(record))).with_(at_of(record))
        if len(waiting) == LINES:
            yield from _both(waiting, words=words)
            waiting = []
    if waiting:
        yield from _both(waiting, words=words)
    for part in _parts([talk_span(talk, extent) for talk, extent in extents.items()]):
        yield traces_request(part, about={})


def _both(records: list[dict[str, Any]], *, words: bool) -> Iterator[dict[str, Any]]:
    yield logs_request(records, words=words, about={})
    yield traces_request([span_of(record, words=words) for record in records], about={})


def _parts(spans: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    yield from (spans[at : at + LINES] for at in range(0, len(spans), LINES))


def _about(record: dict[str, Any], *, words: bool) -> dict[str, Any]:
    """What logs and spans are asked by. Of the payload nothing, unless words are wanted; they were redacted before."""
    event, payload = _text(record.get("event")), deeds.payload_of(record)
    found = {
        "gen_ai.conversation.id": record.get("conversation"),
        "gen_ai.agent.name": record.get("host"),
        "gen_ai.tool.name": _text(deeds.tool_of(record)),
        "trotline.event": event,
        "trotline.generation": record.get("generation"),
        "trotline.verdict": verdict_of(record),
        "trotline.deciders": record.get("deciders"),
        "trotline.findings": [" ".join(map(str, one[:2])) for one in _lists(record.get("findings"))],
        "trotline.failures": [_text(one.get("author")) for one in _voices(record) if one.get("failure")],
        "trotline.losses": [_text(one[0]) for one in _lists(record.get("losses"))],
        "trotline.monitored": record.get("monitored") or None,
        "trotline.micros": record.get("micros"),
        "trotline.seq": record.get("seq"),
    }
    if deeds.is_execution(record):
        found["gen_ai.operation.name"] = "execute_tool"
    if deeds.is_mcp(record):
        found["mcp.method.name"] = "tools/call"
    told = deeds.measured(record)
    found |= {name: told.get(field) for field, name in NUMBERS.items() if _is_time(told.get(field))}
    found["error.type"] = _error(record)
    if words:
        found |= {name: _as_text(payload[field]) for field, name in TEXTS.items() if payload.get(field)}
        found |= {name: deeds.detail_of(record).get(field) for field, name in ABOUT.items()}
        found["trotline.effects"] = [
            " ".join(map(str, one[:3])) for one in _lists(deeds.detail_of(record).get("effects"))
        ]
    return found


def _error(record: dict[str, Any]) -> str:
    """Of what was executed, so that one failure is one error: what was refused has none."""
    return _text(deeds.failure_of(record)) if deeds.is_execution(record) else ""


def _severity(record: dict[str, Any]) -> tuple[int, str]:
    if record.get("alarms"):
        return ERROR
    return WARN if verdict_of(record) == "deny" else INFO


def _scope(batch: Batch) -> dict[str, Any]:
    named = {
        "trotline.batch": batch.id,
        "trotline.head.seq": batch.head_seq,
        "trotline.head.digest": batch.head_digest,
    }
    return {"name": "trotline", "version": __version__, "attributes": _attributes(named)}


def _resource(about: dict[str, str]) -> dict[str, Any]:
    named = {"service.name": "trotline", "service.version": __version__, **about}
    return {"attributes": _attributes(named)}


def _attributes(named: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _value(value)} for name, value in named.items() if value not in (None, "", [])]


def _value(value: Any, depth: int = 0) -> dict[str, Any]:
    """Any JSON as a value of OTLP; half a surrogate pair, which JSON may hold, is no text there."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -LARGEST <= value < LARGEST:
        return {"intValue": str(value)}
    if isinstance(value, float) and abs(value) < float("inf"):
        return {"doubleValue": value}
    if value is None:
        return {}
    if isinstance(value, dict | list) and depth >= DEEPEST:
        return {"stringValue": _as_text(value)}
    if isinstance(value, dict):
        inner = [{"key": _text(name), "value": _value(one, depth + 1)} for name, one in value.items()]
        return {"kvlistValue": {"values": inner}}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_value(one, depth + 1) for one in value]}}
    return {"stringValue": _text(value)}


def _as_text(value: Any) -> str:
    return _text(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _text(value: Any) -> str:
    return str(value if value is not None else "").encode("utf-8", "replace").decode()


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < LARGEST // 1_000_000


def _time(value: Any) -> int:
    return int(value) if is_time(value) else 0


def _nanos(micros: int) -> str:
    return str(micros * 1000)


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


def _lists(value: Any) -> list[list[Any]]:
    return [one for one in value if isinstance(one, list) and one] if isinstance(value, list) else []


def _voices(record: dict[str, Any]) -> list[dict[str, Any]]:
    voices = record.get("voices")
    return [one for one in voices if isinstance(one, dict)] if isinstance(voices, list) else []
