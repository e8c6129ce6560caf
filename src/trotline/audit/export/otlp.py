"""OpenTelemetry export: each record is a log record and a span, each conversation a trace.

Requests are built as plain objects in the JSON form of OTLP. They are sent as JSON, or as protobuf, which needs the
official library. Ids are derived from the ids of records and conversations, so that sending something twice gives the
same ids. Names under `gen_ai.`, `mcp.`, `log.`, `error.` and `process.` follow the OpenTelemetry semantic conventions;
ours are under `trotline.`.
"""

import functools
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from trotline import __version__
from trotline.audit.record.record import Record
from trotline.config.export_file import PROTOCOLS
from trotline.domain.errors import TrotlineError

MAX_DEPTH = 8
"""Nesting levels of a value that are sent as such; anything deeper is sent as text.

Protobuf readers stop at a hundred nested messages, and one level takes three.
"""

MAX_INT64 = 1 << 63

INFO, WARN, ERROR = (9, "INFO"), (13, "WARN"), (17, "ERROR")
INTERNAL, CLIENT = 1, 3
STATUS_ERROR = 2
RECORDS_PER_REQUEST = 200
"""Limit of records, or of spans, in one line of a file."""

EVENT_NAME = "trotline.record"
SCOPE_END_EVENTS = {"stop": "generation", "sessionEnd": "conversation"}
"""Events that end a turn or a whole conversation."""

TEXT_ATTRIBUTES = {
    "tool_use_id": "gen_ai.tool.call.id",
    "tool_input": "gen_ai.tool.call.arguments",
    "tool_output": "gen_ai.tool.call.result",
    "result_json": "gen_ai.tool.call.result",
    "model": "gen_ai.request.model",
    "subagent_id": "gen_ai.agent.id",
    "mcp_server_name": "trotline.mcp.server",
}
NUMBER_ATTRIBUTES = {
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "exit": "process.exit.code",
}
"""Attribute names for measures. Those for payload fields are in TEXT_ATTRIBUTES."""

ORIGIN_ATTRIBUTES = {"machine": "trotline.machine", "user": "trotline.user", "version": "trotline.agent.version"}
"""Attributes for the origin of a record, sent only with detail."""

ConversationScope = tuple[str, str, str]
"""Agent, conversation and generation; an empty generation means the whole conversation."""


class TimeRange(NamedTuple):
    """Times of the first and last record of a conversation or turn, in microseconds."""

    first_us: int
    last_us: int

    def with_(self, at_us: int) -> "TimeRange":
        """Return the range extended to include a time."""
        return TimeRange(min(self.first_us, at_us), max(self.last_us, at_us))


def get_trace_id(record: Record) -> str:
    """Return the trace id of the conversation; a call outside any conversation gets its own trace."""
    return _digest("trotline.trace/1", record.agent, record.conversation or record.id)[:32]


def get_span_id(record: Record) -> str:
    """Return the span id of a record."""
    return _digest("trotline.span/1", record.id)[:16]


def get_scope_span_id(scope: ConversationScope) -> str:
    """Return the span id of a turn or a conversation."""
    return _digest("trotline.talk/1", *scope)[:16]


def list_scopes(record: Record) -> list[ConversationScope]:
    """Return the conversation and the turn of a record, as far as it has them."""
    agent, conversation, generation = record.agent, record.conversation, record.generation
    if not conversation:
        return []
    return [(agent, conversation, "")] + ([(agent, conversation, generation)] if generation else [])


def build_log_record(record: Record, *, with_detail: bool = True) -> dict[str, Any]:
    """Return the record as an OTLP log record, with its detail if `with_detail` is set."""
    number, text = _get_severity(record)
    body = record.to_dict()
    if not with_detail:
        body.pop("detail", None)
    return {
        "timeUnixNano": _format_nanos(record.at_us),
        "observedTimeUnixNano": _format_nanos(record.at_us),
        "severityNumber": number,
        "severityText": text,
        "eventName": EVENT_NAME,
        "body": _build_value(body),
        "attributes": _build_attributes(
            {"log.record.uid": record.id, **_collect_attributes(record, with_detail=with_detail)}
        ),
        "traceId": get_trace_id(record),
        "spanId": get_span_id(record),
    }


def build_span(record: Record, *, with_detail: bool = True) -> dict[str, Any]:
    """Return the record as an OTLP span, with attributes from its detail if `with_detail` is set."""
    start, end = _compute_extent(record)
    scopes = list_scopes(record)
    is_call = record.is_execution and record.is_mcp
    name = ("tools/call" if is_call else "execute_tool") if record.is_execution else record.event
    return {
        "traceId": get_trace_id(record),
        "spanId": get_span_id(record),
        **({"parentSpanId": get_scope_span_id(scopes[-1])} if scopes else {}),
        "name": f"{name} {record.tool_name}".strip(),
        "kind": CLIENT if is_call else INTERNAL,
        "startTimeUnixNano": _format_nanos(max(0, start)),
        "endTimeUnixNano": _format_nanos(end),
        "attributes": _build_attributes(_collect_attributes(record, with_detail=with_detail)),
        **({"status": {"code": STATUS_ERROR}} if _get_error(record) else {}),
    }


def _compute_extent(record: Record) -> tuple[int, int]:
    """Return the start and end of a span in microseconds.

    An event that reports a duration ends when it arrives, and an execution without one has no length. Any other span is
    our own response, which starts when the event arrives.
    """
    at, measures = record.at_us, record.measures
    took = next((value for name in ("duration", "duration_ms") if _is_time(value := measures.get(name))), None)
    if took is not None:
        return at - int(took * 1000), at
    return at, at if record.is_execution else at + record.micros


def build_scope_span(scope: ConversationScope, extent: TimeRange) -> dict[str, Any]:
    """Return the span of a turn, or of a whole conversation, which is the root of its trace."""
    agent, conversation, generation = scope
    named = {"gen_ai.conversation.id": conversation, "gen_ai.agent.name": agent}
    if generation:
        named |= {"gen_ai.operation.name": "invoke_agent", "trotline.generation": generation}
    return {
        "traceId": _digest("trotline.trace/1", agent, conversation)[:32],
        "spanId": get_scope_span_id(scope),
        **({"parentSpanId": get_scope_span_id((agent, conversation, ""))} if generation else {}),
        "name": f"invoke_agent {agent}" if generation else f"conversation {agent}",
        "kind": INTERNAL,
        "startTimeUnixNano": _format_nanos(extent.first_us),
        "endTimeUnixNano": _format_nanos(extent.last_us),
        "attributes": _build_attributes(named),
    }


class BatchInfo(NamedTuple):
    """Id of a batch, and the chain head when it was started."""

    id: str = ""
    head_seq: int | None = None
    head_digest: str = ""


NO_BATCH = BatchInfo()


def build_logs_request(
    records: Iterable[Record], *, with_detail: bool = True, about: dict[str, str], batch: BatchInfo = NO_BATCH
) -> dict[str, Any]:
    """Return the request for `/v1/logs`."""
    logs = [build_log_record(record, with_detail=with_detail) for record in records]
    return {
        "resourceLogs": [
            {"resource": _build_resource(about), "scopeLogs": [{"scope": _build_scope(batch), "logRecords": logs}]}
        ]
    }


def build_traces_request(
    spans: Iterable[dict[str, Any]], *, about: dict[str, str], batch: BatchInfo = NO_BATCH
) -> dict[str, Any]:
    """Return the request for `/v1/traces`."""
    scoped = {"scope": _build_scope(batch), "spans": list(spans)}
    return {"resourceSpans": [{"resource": _build_resource(about), "scopeSpans": [scoped]}]}


def get_batch_id(first: str, last: str, count: int) -> str:
    """Return the id of a batch, which is the same each time the same records are sent."""
    return _digest("trotline.batch/1", first, last, str(count))[:32]


def format_otlp(records: Iterable[Record], *, with_detail: bool = True) -> Iterator[str]:
    """Yield lines of OTLP JSON, in the format of the collector's file exporter and file receiver."""
    for request in build_requests(records, with_detail=with_detail):
        yield json.dumps(request, ensure_ascii=True, separators=(",", ":"))


def build_requests(records: Iterable[Record], *, with_detail: bool = True) -> Iterator[dict[str, Any]]:
    """Yield requests of bounded size for all records, treating each conversation as ended with its last record."""
    extents: dict[ConversationScope, TimeRange] = {}
    waiting: list[Record] = []
    for record in records:
        waiting.append(record)
        for scope in list_scopes(record):
            extents[scope] = extents.get(scope, TimeRange(record.at_us, record.at_us)).with_(record.at_us)
        if len(waiting) == RECORDS_PER_REQUEST:
            yield from _build_both_requests(waiting, with_detail=with_detail)
            waiting = []
    if waiting:
        yield from _build_both_requests(waiting, with_detail=with_detail)
    for part in _split_spans([build_scope_span(scope, extent) for scope, extent in extents.items()]):
        yield build_traces_request(part, about={})


def _build_both_requests(records: list[Record], *, with_detail: bool) -> Iterator[dict[str, Any]]:
    yield build_logs_request(records, with_detail=with_detail, about={})
    yield build_traces_request([build_span(record, with_detail=with_detail) for record in records], about={})


def _split_spans(spans: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    yield from (spans[at : at + RECORDS_PER_REQUEST] for at in range(0, len(spans), RECORDS_PER_REQUEST))


def _collect_attributes(record: Record, *, with_detail: bool) -> dict[str, Any]:
    """Return the attributes of logs and spans; redacted text from the payload is included only with `with_detail`."""
    attributes = {
        "gen_ai.conversation.id": record.conversation,
        "gen_ai.agent.name": record.agent,
        "gen_ai.tool.name": record.tool_name,
        "trotline.event": record.event,
        "trotline.generation": record.generation,
        "trotline.verdict": record.effective_verdict,
        "trotline.deciders": record.deciders,
        "trotline.findings": [f"{finding.scanner} {finding.kind}" for finding in record.findings],
        "trotline.failures": [response.author for response in record.responses if response.failure],
        "trotline.losses": [loss.part for loss in record.losses],
        "trotline.monitored": record.monitored or None,
        "trotline.micros": record.micros,
        "trotline.seq": record.seq,
    }
    if record.is_execution:
        attributes["gen_ai.operation.name"] = "execute_tool"
    if record.is_mcp:
        attributes["mcp.method.name"] = "tools/call"
    measures, payload, detail = record.measures, record.payload, record.detail_or_empty
    attributes |= {name: measures[field] for field, name in NUMBER_ATTRIBUTES.items() if _is_time(measures.get(field))}
    attributes["error.type"] = _get_error(record)
    if with_detail:
        attributes |= {name: _to_text(payload[field]) for field, name in TEXT_ATTRIBUTES.items() if payload.get(field)}
        attributes |= {name: getattr(detail, field) for field, name in ORIGIN_ATTRIBUTES.items()}
        attributes["trotline.effects"] = [f"{effect.kind} {effect.verb} {effect.object}" for effect in detail.effects]
    return attributes


def _get_error(record: Record) -> str:
    """Return the error of an execution. Denied actions have none, so that one failure counts as one error."""
    return record.failure if record.is_execution else ""


def _get_severity(record: Record) -> tuple[int, str]:
    if record.alarms:
        return ERROR
    return WARN if record.effective_verdict == "deny" else INFO


def _build_scope(batch: BatchInfo) -> dict[str, Any]:
    named = {
        "trotline.batch": batch.id,
        "trotline.head.seq": batch.head_seq,
        "trotline.head.digest": batch.head_digest,
    }
    return {"name": "trotline", "version": __version__, "attributes": _build_attributes(named)}


def _build_resource(about: dict[str, str]) -> dict[str, Any]:
    named = {"service.name": "trotline", "service.version": __version__, **about}
    return {"attributes": _build_attributes(named)}


def _build_attributes(named: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _build_value(value)} for name, value in named.items() if value not in (None, "", [])]


def _build_value(value: Any, depth: int = 0) -> dict[str, Any]:
    """Convert any JSON value to an OTLP value; lone surrogates, which JSON may contain, are replaced."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -MAX_INT64 <= value < MAX_INT64:
        return {"intValue": str(value)}
    if isinstance(value, float) and abs(value) < float("inf"):
        return {"doubleValue": value}
    if value is None:
        return {}
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        return {"stringValue": _to_text(value)}
    if isinstance(value, dict):
        inner = [{"key": _clean(name), "value": _build_value(one, depth + 1)} for name, one in value.items()]
        return {"kvlistValue": {"values": inner}}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_build_value(child, depth + 1) for child in value]}}
    return {"stringValue": _clean(value)}


def _to_text(value: Any) -> str:
    return _clean(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _clean(value: Any) -> str:
    return str(value if value is not None else "").encode("utf-8", "replace").decode()


def _is_time(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < MAX_INT64 // 1_000_000


def _format_nanos(micros: int) -> str:
    return str(micros * 1000)


def _digest(*words: str) -> str:
    return hashlib.sha256("\n".join(words).encode()).hexdigest()


PROTOBUF, JSON = PROTOCOLS
CONTENT_TYPES = {PROTOBUF: "application/x-protobuf", JSON: "application/json"}
SIGNAL_PATHS = {"logs": "/v1/logs", "traces": "/v1/traces"}
PLAIN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "traceId": ("trace_id", bytes.fromhex),
    "spanId": ("span_id", bytes.fromhex),
    "parentSpanId": ("parent_span_id", bytes.fromhex),
    "timeUnixNano": ("time_unix_nano", int),
    "observedTimeUnixNano": ("observed_time_unix_nano", int),
    "startTimeUnixNano": ("start_time_unix_nano", int),
    "endTimeUnixNano": ("end_time_unix_nano", int),
    "severityNumber": ("severity_number", int),
    "severityText": ("severity_text", str),
    "eventName": ("event_name", str),
}
"""Protobuf name and converter of each scalar field, by its JSON name."""

REJECTED_FIELDS = {"logs": "rejected_log_records", "traces": "rejected_spans"}


class Rejection(NamedTuple):
    """The part of an accepted request that the collector rejected."""

    number: int = 0
    why: str = ""


def encode_request(signal: str, request: dict[str, Any], protocol: str) -> bytes:
    """Return the request body in the given protocol."""
    if protocol == JSON:
        return json.dumps(request, ensure_ascii=True, separators=(",", ":")).encode()
    data: bytes = _load_library().message(signal, request).SerializeToString()
    return data


def parse_rejection(signal: str, body: bytes, protocol: str) -> Rejection:
    """Return what the answer reports as rejected; an unreadable answer counts as none, since the status was success."""
    if not body:
        return Rejection()
    if protocol == JSON:
        return _parse_json_rejection(signal, body)
    answer = _load_library().answer(signal)
    try:
        answer.ParseFromString(body)
    except Exception:  # noqa: BLE001 - the error class of the library is not public
        return Rejection()
    partial = answer.partial_success
    return Rejection(getattr(partial, REJECTED_FIELDS[signal]), partial.error_message)


def _parse_json_rejection(signal: str, body: bytes) -> Rejection:
    try:
        partial = json.loads(body).get("partialSuccess") or {}
        first, *rest = REJECTED_FIELDS[signal].split("_")
        count = partial.get(first + "".join(word.capitalize() for word in rest), 0)
        return Rejection(int(count), str(partial.get("errorMessage", "")))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return Rejection()


@functools.cache
def _load_library() -> "Library":
    """Import the library on first use: it is optional and slow to import."""
    try:
        return Library()
    except ImportError:
        hint = f"pip install 'trotline[otlp]', or say protocol = \"{JSON}\""
        raise TrotlineError("OTLP as protobuf needs the library `opentelemetry-proto`", hint=hint) from None


class Library:
    """Converter from OTLP JSON objects to messages of `opentelemetry-proto`.

    The JSON parser of protobuf reads ids as base64, which OTLP does not use, and takes three times as long.
    """

    def __init__(self) -> None:
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2  # noqa: PLC0415 - optional, takes 40 ms
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: PLC0415 - see above
        from opentelemetry.proto.common.v1 import common_pb2  # noqa: PLC0415 - see above
        from opentelemetry.proto.logs.v1 import logs_pb2  # noqa: PLC0415 - see above
        from opentelemetry.proto.resource.v1 import resource_pb2  # noqa: PLC0415 - see above
        from opentelemetry.proto.trace.v1 import trace_pb2  # noqa: PLC0415 - see above

        self._common: Any = common_pb2
        self._answers: dict[str, Any] = {
            "logs": logs_service_pb2.ExportLogsServiceResponse,
            "traces": trace_service_pb2.ExportTraceServiceResponse,
        }
        self._requests: dict[str, Any] = {
            "logs": logs_service_pb2.ExportLogsServiceRequest,
            "traces": trace_service_pb2.ExportTraceServiceRequest,
        }
        made: dict[str, tuple[str, Any]] = {
            "resource": ("resource", resource_pb2.Resource),
            "resourceLogs": ("resource_logs", logs_pb2.ResourceLogs),
            "resourceSpans": ("resource_spans", trace_pb2.ResourceSpans),
            "scope": ("scope", common_pb2.InstrumentationScope),
            "scopeLogs": ("scope_logs", logs_pb2.ScopeLogs),
            "scopeSpans": ("scope_spans", trace_pb2.ScopeSpans),
            "logRecords": ("log_records", logs_pb2.LogRecord),
            "spans": ("spans", trace_pb2.Span),
            "status": ("status", trace_pb2.Status),
        }
        self._fields: dict[str, tuple[str, Callable[[Any], Any]]] = {
            **{key: (name, functools.partial(self._build_message, kind)) for key, (name, kind) in made.items()},
            **PLAIN,
            "attributes": ("attributes", self._build_attributes),
            "body": ("body", self._build_value),
        }

    def message(self, signal: str, request: dict[str, Any]) -> Any:
        """Return the request as a protobuf message."""
        return self._build_message(self._requests[signal], request)

    def answer(self, signal: str) -> Any:
        """Return an empty response message, to parse an answer into."""
        return self._answers[signal]()

    def _build_message(self, kind: Any, given: Any) -> Any:
        if isinstance(given, list):
            return [self._build_message(kind, item) for item in given]
        named = {}
        for key, value in given.items():
            name, made = self._fields.get(key, (key, _identity))
            named[name] = made(value)
        return kind(**named)

    def _build_attributes(self, given: list[dict[str, Any]]) -> list[Any]:
        return [self._common.KeyValue(key=item["key"], value=self._build_value(item["value"])) for item in given]

    def _build_value(self, given: dict[str, Any]) -> Any:
        common = self._common
        for kind, value in given.items():
            match kind:
                case "stringValue":
                    return common.AnyValue(string_value=value)
                case "intValue":
                    return common.AnyValue(int_value=int(value))
                case "boolValue":
                    return common.AnyValue(bool_value=value)
                case "doubleValue":
                    return common.AnyValue(double_value=value)
                case "arrayValue":
                    values = [self._build_value(child) for child in value["values"]]
                    return common.AnyValue(array_value=common.ArrayValue(values=values))
                case "kvlistValue":
                    pairs = self._build_attributes(value["values"])
                    return common.AnyValue(kvlist_value=common.KeyValueList(values=pairs))
        return common.AnyValue()


def _identity(value: Any) -> Any:
    return value
