"""A collector for tests: a real HTTP server on the loopback, which reads OTLP with the official library."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

REQUESTS: dict[str, Any] = {"/v1/logs": ExportLogsServiceRequest, "/v1/traces": ExportTraceServiceRequest}


class CollectedRequest(NamedTuple):
    """A request that arrived."""

    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> Any:
        return REQUESTS[self.path].FromString(self.body)

    @property
    def logs(self) -> list[Any]:
        if self.path != "/v1/logs":
            return []
        return [log for item in self.message.resource_logs for scope in item.scope_logs for log in scope.log_records]

    @property
    def spans(self) -> list[Any]:
        if self.path != "/v1/traces":
            return []
        return [span for item in self.message.resource_spans for scope in item.scope_spans for span in scope.spans]

    @property
    def scope(self) -> dict[str, Any]:
        is_log = self.path == "/v1/logs"
        part = self.message.resource_logs[0] if is_log else self.message.resource_spans[0]
        scope = part.scope_logs[0].scope if is_log else part.scope_spans[0].scope
        return read_attributes(scope.attributes)

    @property
    def batch(self) -> str:
        return str(self.scope["trotline.batch"])


class CollectorReply(NamedTuple):
    """A reply of the collector."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""


class Collector:
    """The received requests, and the replies to send in order; further replies are successful."""

    def __init__(self) -> None:
        self.requests: list[CollectedRequest] = []
        self.replies: list[CollectorReply] = []
        self.before_answer: Callable[[CollectedRequest], None] = lambda _: None
        self.url = ""
        self._new = threading.Condition()

    def take(self, request: CollectedRequest) -> CollectorReply:
        with self._new:
            self.requests.append(request)
            reply = self.replies.pop(0) if self.replies else CollectorReply()
            self._new.notify_all()
        self.before_answer(request)
        return reply

    def wait_for(self, enough: Callable[["Collector"], bool]) -> None:
        with self._new:
            assert self._new.wait_for(lambda: enough(self), timeout=60)

    @property
    def taken(self) -> list[str]:
        """Return the IDs of the received records in order."""
        return [read_attributes(log.attributes)["log.record.uid"] for request in self.requests for log in request.logs]

    @property
    def spans(self) -> list[Any]:
        return [span for request in self.requests for span in request.spans]


def read_attributes(attributes: Any) -> dict[str, Any]:
    return {item.key: getattr(item.value, item.value.WhichOneof("value")) for item in attributes}


@contextmanager
def serve_collector() -> Iterator[Collector]:
    collector = Collector()

    class CollectorHandler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            reply = collector.take(
                CollectedRequest(self.path, {name.lower(): text for name, text in self.headers.items()}, body)
            )
            self.send_response(reply.status)
            for name, text in reply.headers:
                self.send_header(name, text)
            self.send_header("content-length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: Any) -> None:
            """Print nothing."""

        def handle(self) -> None:
            try:
                super().handle()
            except ConnectionError:
                return  # a sender that was killed

    server = ThreadingHTTPServer(("127.0.0.1", 0), CollectorHandler)
    server.daemon_threads = True
    collector.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield collector
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
