"""OTLP as it travels: protobuf, made and read by the official library, or JSON, which needs none."""

import functools
import json
from collections.abc import Callable
from typing import Any, NamedTuple

from trotline.config.export_file import PROTOCOLS
from trotline.errors import TrotlineError

PROTOBUF, JSON = PROTOCOLS
TYPES = {PROTOBUF: "application/x-protobuf", JSON: "application/json"}
PATHS = {"logs": "/v1/logs", "traces": "/v1/traces"}
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
"""How JSON names a field, how protobuf does, and what makes the one of the other."""

REJECTED = {"logs": "rejected_log_records", "traces": "rejected_spans"}


class Refused(NamedTuple):
    """What a collector says it did not take of a request that it took."""

    number: int = 0
    why: str = ""


def encoded(signal: str, request: dict[str, Any], protocol: str) -> bytes:
    if protocol == JSON:
        return json.dumps(request, ensure_ascii=True, separators=(",", ":")).encode()
    data: bytes = _library().message(signal, request).SerializeToString()
    return data


def refused(signal: str, body: bytes, protocol: str) -> Refused:
    """What the answer says was not taken. One that cannot be read says nothing: the status has said enough."""
    if not body:
        return Refused()
    if protocol == JSON:
        return _refused_in_json(signal, body)
    answer = _library().answer(signal)
    try:
        answer.ParseFromString(body)
    except Exception:  # noqa: BLE001 - the library's own error, from a module that it does not name
        return Refused()
    partial = answer.partial_success
    return Refused(getattr(partial, REJECTED[signal]), partial.error_message)


def _refused_in_json(signal: str, body: bytes) -> Refused:
    try:
        partial = json.loads(body).get("partialSuccess") or {}
        first, *rest = REJECTED[signal].split("_")
        count = partial.get(first + "".join(word.capitalize() for word in rest), 0)
        return Refused(int(count), str(partial.get("errorMessage", "")))
    except (ValueError, TypeError, AttributeError, RecursionError):
        return Refused()


@functools.cache
def _library() -> "Library":
    """Imported by whoever sends, and by nobody else."""
    try:
        return Library()
    except ImportError:
        hint = f"pip install 'trotline[otlp]', or say protocol = \"{JSON}\""
        raise TrotlineError("OTLP as protobuf needs the library `opentelemetry-proto`", hint=hint) from None


class Library:
    """OTLP as JSON writes it becomes the library's messages. Its own reader of JSON takes ids for base64, which OTLP
    does not write, and takes three times as long."""

    def __init__(self) -> None:
        from opentelemetry.proto.collector.logs.v1 import logs_service_pb2  # noqa: PLC0415 - an extra, and 40 ms
        from opentelemetry.proto.collector.trace.v1 import trace_service_pb2  # noqa: PLC0415 - the same
        from opentelemetry.proto.common.v1 import common_pb2  # noqa: PLC0415 - the same
        from opentelemetry.proto.logs.v1 import logs_pb2  # noqa: PLC0415 - the same
        from opentelemetry.proto.resource.v1 import resource_pb2  # noqa: PLC0415 - the same
        from opentelemetry.proto.trace.v1 import trace_pb2  # noqa: PLC0415 - the same

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
            **{key: (name, functools.partial(self._filled, kind)) for key, (name, kind) in made.items()},
            **PLAIN,
            "attributes": ("attributes", self._attributes),
            "body": ("body", self._value),
        }

    def message(self, signal: str, request: dict[str, Any]) -> Any:
        return self._filled(self._requests[signal], request)

    def answer(self, signal: str) -> Any:
        return self._answers[signal]()

    def _filled(self, kind: Any, given: Any) -> Any:
        if isinstance(given, list):
            return [self._filled(kind, one) for one in given]
        named = {}
        for key, value in given.items():
            name, made = self._fields.get(key, (key, _as_it_is))
            named[name] = made(value)
        return kind(**named)

    def _attributes(self, given: list[dict[str, Any]]) -> list[Any]:
        return [self._common.KeyValue(key=one["key"], value=self._value(one["value"])) for one in given]

    def _value(self, given: dict[str, Any]) -> Any:
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
                    values = [self._value(one) for one in value["values"]]
                    return common.AnyValue(array_value=common.ArrayValue(values=values))
                case "kvlistValue":
                    pairs = self._attributes(value["values"])
                    return common.AnyValue(kvlist_value=common.KeyValueList(values=pairs))
        return common.AnyValue()


def _as_it_is(value: Any) -> Any:
    return value
