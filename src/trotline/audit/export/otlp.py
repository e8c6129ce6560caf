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

INT64_LIMIT = 1 << 63
"""The first integer that does not fit into a signed 64-bit value."""

INFO, WARN, ERROR = (9, "INFO"), (13, "WARN"), (17, "ERROR")
INTERNAL, CLIENT = 1, 3
STATUS_ERROR = 2
MAX_RECORDS_PER_REQUEST = 200
"""Limit of records, or of spans, in one request."""

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

    def extend(self, at_us: int) -> "TimeRange":
        """Return the range extended to include a time."""
        return TimeRange(min(self.first_us, at_us), max(self.last_us, at_us))


def get_trace_id(record: Record) -> str:
    """Return the trace id of the conversation; a call outside any conversation gets its own trace."""
    return _compute_digest("trotline.trace/1", record.agent, record.conversation or record.id)[:32]


def get_span_id(record: Record) -> str:
    """Return the span id of a record."""
    return _compute_digest("trotline.span/1", record.id)[:16]


def get_scope_span_id(scope: ConversationScope) -> str:
    """Return the span id of a turn or a conversation."""
    return _compute_digest("trotline.talk/1", *scope)[:16]


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
    start, end = _compute_time_range(record)
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


def _compute_time_range(record: Record) -> tuple[int, int]:
    """Return the start and end of a span in microseconds.

    An event that reports a duration ends when it arrives, and an execution without one has no length. Any other span is
    our own response, which starts when the event arrives.
    """
    at, measures = record.at_us, record.measures
    duration_ms = next(
        (value for name in ("duration", "duration_ms") if _is_valid_measure(value := measures.get(name))), None
    )
    if duration_ms is not None:
        return at - int(duration_ms * 1000), at
    return at, at if record.is_execution else at + record.micros


def build_scope_span(scope: ConversationScope, extent: TimeRange) -> dict[str, Any]:
    """Return the span of a turn, or of a whole conversation, which is the root of its trace."""
    agent, conversation, generation = scope
    attributes = {"gen_ai.conversation.id": conversation, "gen_ai.agent.name": agent}
    if generation:
        attributes |= {"gen_ai.operation.name": "invoke_agent", "trotline.generation": generation}
    return {
        "traceId": _compute_digest("trotline.trace/1", agent, conversation)[:32],
        "spanId": get_scope_span_id(scope),
        **({"parentSpanId": get_scope_span_id((agent, conversation, ""))} if generation else {}),
        "name": f"invoke_agent {agent}" if generation else f"conversation {agent}",
        "kind": INTERNAL,
        "startTimeUnixNano": _format_nanos(extent.first_us),
        "endTimeUnixNano": _format_nanos(extent.last_us),
        "attributes": _build_attributes(attributes),
    }


class BatchInfo(NamedTuple):
    """Id of a batch, and the chain head when it was started."""

    id: str = ""
    head_seq: int | None = None
    head_digest: str = ""


NO_BATCH = BatchInfo()


def build_logs_request(
    records: Iterable[Record], *, with_detail: bool = True, resource: dict[str, str], batch: BatchInfo = NO_BATCH
) -> dict[str, Any]:
    """Return the request for `/v1/logs`."""
    logs = [build_log_record(record, with_detail=with_detail) for record in records]
    return {
        "resourceLogs": [
            {"resource": _build_resource(resource), "scopeLogs": [{"scope": _build_scope(batch), "logRecords": logs}]}
        ]
    }


def build_traces_request(
    spans: Iterable[dict[str, Any]], *, resource: dict[str, str], batch: BatchInfo = NO_BATCH
) -> dict[str, Any]:
    """Return the request for `/v1/traces`."""
    scoped = {"scope": _build_scope(batch), "spans": list(spans)}
    return {"resourceSpans": [{"resource": _build_resource(resource), "scopeSpans": [scoped]}]}


def get_batch_id(first: str, last: str, count: int) -> str:
    """Return the id of a batch, which is the same each time the same records are sent."""
    return _compute_digest("trotline.batch/1", first, last, str(count))[:32]


def format_otlp(records: Iterable[Record], *, with_detail: bool = True) -> Iterator[str]:
    """Yield lines of OTLP JSON, in the format of the collector's file exporter and file receiver."""
    for request in build_requests(records, with_detail=with_detail):
        yield json.dumps(request, ensure_ascii=True, separators=(",", ":"))


def build_requests(records: Iterable[Record], *, with_detail: bool = True) -> Iterator[dict[str, Any]]:
    """Yield requests of bounded size for all records, treating each conversation as ended with its last record."""
    extents: dict[ConversationScope, TimeRange] = {}
    batch: list[Record] = []
    for record in records:
        batch.append(record)
        for scope in list_scopes(record):
            extents[scope] = extents.get(scope, TimeRange(record.at_us, record.at_us)).extend(record.at_us)
        if len(batch) == MAX_RECORDS_PER_REQUEST:
            yield from _build_both_requests(batch, with_detail=with_detail)
            batch = []
    if batch:
        yield from _build_both_requests(batch, with_detail=with_detail)
    for chunk in _split_spans([build_scope_span(scope, extent) for scope, extent in extents.items()]):
        yield build_traces_request(chunk, resource={})


def _build_both_requests(records: list[Record], *, with_detail: bool) -> Iterator[dict[str, Any]]:
    yield build_logs_request(records, with_detail=with_detail, resource={})
    yield build_traces_request([build_span(record, with_detail=with_detail) for record in records], resource={})


def _split_spans(spans: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    yield from (
        spans[start : start + MAX_RECORDS_PER_REQUEST] for start in range(0, len(spans), MAX_RECORDS_PER_REQUEST)
    )


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
    attributes |= {
        name: measures[field] for field, name in NUMBER_ATTRIBUTES.items() if _is_valid_measure(measures.get(field))
    }
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


def _build_resource(resource: dict[str, str]) -> dict[str, Any]:
    named = {"service.name": "trotline", "service.version": __version__, **resource}
    return {"attributes": _build_attributes(named)}


def _build_attributes(named: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": name, "value": _build_value(value)} for name, value in named.items() if value not in (None, "", [])]


def _build_value(value: Any, depth: int = 0) -> dict[str, Any]:
    """Convert any JSON value to an OTLP value; lone surrogates, which JSON may contain, are replaced."""
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int) and -INT64_LIMIT <= value < INT64_LIMIT:
        return {"intValue": str(value)}
    if isinstance(value, float) and abs(value) < float("inf"):
        return {"doubleValue": value}
    if value is None:
        return {}
    if isinstance(value, dict | list) and depth >= MAX_DEPTH:
        return {"stringValue": _to_text(value)}
    if isinstance(value, dict):
        inner = [
            {"key": _replace_surrogates(name), "value": _build_value(child, depth + 1)} for name, child in value.items()
        ]
        return {"kvlistValue": {"values": inner}}
    if isinstance(value, list | tuple):
        return {"arrayValue": {"values": [_build_value(child, depth + 1) for child in value]}}
    return {"stringValue": _replace_surrogates(value)}


def _to_text(value: Any) -> str:
    return _replace_surrogates(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _replace_surrogates(value: Any) -> str:
    """Return a value as text without lone surrogates, which UTF-8 cannot encode."""
    return str(value if value is not None else "").encode("utf-8", "replace").decode()


def _is_valid_measure(value: Any) -> bool:
    """Check whether a value is a number that fits into 64 bits even when converted from milliseconds to nanoseconds."""
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < INT64_LIMIT // 1_000_000


def _format_nanos(micros: int) -> str:
    return str(micros * 1000)


def _compute_digest(*parts: str) -> str:
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


PROTOBUF, JSON = PROTOCOLS
CONTENT_TYPES = {PROTOBUF: "application/x-protobuf", JSON: "application/json"}
SIGNAL_PATHS = {"logs": "/v1/logs", "traces": "/v1/traces"}
SCALAR_FIELDS: dict[str, tuple[str, Callable[[Any], Any]]] = {
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
    data: bytes = _load_library().build_message(signal, request).SerializeToString()
    return data


def parse_rejection(signal: str, body: bytes, protocol: str) -> Rejection:
    """Return what the response reports as rejected; an unreadable one counts as none, since the status was success."""
    if not body:
        return Rejection()
    if protocol == JSON:
        return _parse_json_rejection(signal, body)
    response = _load_library().create_response(signal)
    try:
        response.ParseFromString(body)
    except Exception:  # noqa: BLE001 - the error class of the library is not public
        return Rejection()
    partial = response.partial_success
    return Rejection(getattr(partial, REJECTED_FIELDS[signal]), partial.error_message)


def _parse_json_rejection(signal: str, body: bytes) -> Rejection:
    try:
        partial = json.loads(body).get("partialSuccess") or {}
        first, *rest = REJECTED_FIELDS[signal].split("_")
        count = partial.get(first + "".join(word.capitalize() for word in rest), 0)
        return Rejection(int(count), str(partial.get("errorMessage", "")))
    except (ValueError, TypeError, OverflowError, AttributeError, RecursionError):
        return Rejection()


@functools.cache
def _load_library() -> "Library":
    """Import the library on first use: it is optional and slow to import."""
    try:
        return Library()
    except ImportError:
        hint = f"pip install 'trotline[otlp]', or set protocol = \"{JSON}\""
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
        self._responses: dict[str, Any] = {
            "logs": logs_service_pb2.ExportLogsServiceResponse,
            "traces": trace_service_pb2.ExportTraceServiceResponse,
        }
        self._requests: dict[str, Any] = {
            "logs": logs_service_pb2.ExportLogsServiceRequest,
            "traces": trace_service_pb2.ExportTraceServiceRequest,
        }
        message_types: dict[str, tuple[str, Any]] = {
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
            **{key: (name, functools.partial(self._convert, kind)) for key, (name, kind) in message_types.items()},
            **SCALAR_FIELDS,
            "attributes": ("attributes", self._build_key_values),
            "body": ("body", self._build_any_value),
        }

    def build_message(self, signal: str, request: dict[str, Any]) -> Any:
        """Return the request as a protobuf message."""
        return self._convert(self._requests[signal], request)

    def create_response(self, signal: str) -> Any:
        """Return an empty response message, to parse the body of a response into."""
        return self._responses[signal]()

    def _convert(self, kind: Any, body: Any) -> Any:
        """Return an object as a message of this kind, or a list of objects as a list of messages."""
        if isinstance(body, list):
            return [self._convert(kind, item) for item in body]
        fields = {}
        for key, value in body.items():
            name, convert = self._fields.get(key, (key, _identity))
            fields[name] = convert(value)
        return kind(**fields)

    def _build_key_values(self, items: list[dict[str, Any]]) -> list[Any]:
        """Return attributes in JSON form as KeyValue messages."""
        return [self._common.KeyValue(key=item["key"], value=self._build_any_value(item["value"])) for item in items]

    def _build_any_value(self, tagged: dict[str, Any]) -> Any:
        """Return a value in JSON form, an object with its type as the key, as an AnyValue message."""
        common = self._common
        for kind, value in tagged.items():
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
                    values = [self._build_any_value(child) for child in value["values"]]
                    return common.AnyValue(array_value=common.ArrayValue(values=values))
                case "kvlistValue":
                    pairs = self._build_key_values(value["values"])
                    return common.AnyValue(kvlist_value=common.KeyValueList(values=pairs))
        return common.AnyValue()


def _identity(value: Any) -> Any:
    return value
