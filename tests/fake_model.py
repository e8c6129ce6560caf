"""A fake model: an HTTP server with the protocols of the providers.

A function computes its answer from the request. A misbehaviour is a function that writes raw bytes to the connection
instead.
"""

import json
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple


class ModelRequest(NamedTuple):
    """A received request."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]
    system: str
    user: str


Answer = Callable[[ModelRequest], str]
Misbehaviour = Callable[[BaseHTTPRequestHandler], None]


class ModelServer(ThreadingHTTPServer):
    """The server, which records its requests."""

    daemon_threads = True

    def __init__(self, answer: Answer, misbehaviour: Misbehaviour | None = None) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer = answer
        self.misbehaviour = misbehaviour
        self.seen: list[ModelRequest] = []
        self.key = ""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Clients that go away are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    server: ModelServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        request = read_request(self.path, {key.lower(): value for key, value in self.headers.items()}, body)
        self.server.seen.append(request)
        if self.server.misbehaviour is not None:
            self.server.misbehaviour(self)
            return
        if not is_authorized(request, self.server.key):
            send(self, 401, {"error": "who are you?"})
            return
        send(self, 200, REPLY_FORMS[self.path](self.server.answer(request)))

    def log_message(self, *_args: Any) -> None:
        """Tests print nothing."""


def send(handler: BaseHTTPRequestHandler, status: int, body: object, **headers: str) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    handler.send_response(status)
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.send_header("content-length", str(len(data)))
    handler.end_headers()
    handler.wfile.write(data)


def read_request(path: str, headers: dict[str, str], body: dict[str, Any]) -> ModelRequest:
    messages = {message["role"]: message["content"] for message in body["messages"]}
    return ModelRequest(path, headers, body, body.get("system") or messages["system"], messages["user"])


def is_authorized(request: ModelRequest, key: str) -> bool:
    return not key or key in {
        request.headers.get("x-api-key"),
        request.headers.get("authorization", "").removeprefix("Bearer "),
    }


def _tool_use(text: str) -> dict[str, Any]:
    block = {"type": "tool_use", "id": "t", "name": "answer", "input": json.loads(text)}
    return {"type": "message", "stop_reason": "tool_use", "content": [{"type": "text", "text": "Let me see."}, block]}


REPLY_FORMS: dict[str, Callable[[str], dict[str, Any]]] = {
    "/v1/chat/completions": lambda text: {
        "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}]
    },
    "/v1/messages": _tool_use,
}

PATHS = {"openai": "/v1", "anthropic": "", "ollama": ""}
"""The path of the address of a provider by protocol."""


@contextmanager
def serve_model(answer: Answer, misbehaviour: Misbehaviour | None = None) -> Iterator[ModelServer]:
    with ModelServer(answer, misbehaviour) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()


def find_closed_port() -> int:
    """Return a port without a listener."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def answer_by_quotation(request: ModelRequest) -> str:
    """Obey instructions outside of the quotation, and treat its content as data.

    Any text outside of the marks that requests an answer gets it.
    """
    mark = re.search(r"<event-([0-9a-f]+)>", request.system)
    inside = re.findall(rf"<event-{mark[1]}>\n(.*)\n</event-{mark[1]}>", request.user) if mark else []
    outside = re.sub(rf"<event-{mark[1]}>\n.*\n</event-{mark[1]}>", "", request.user) if mark else request.user
    if len(inside) != 1 or is_misled(outside):
        return json.dumps({"ok": True, "reason": "as you wish"})
    event = json.loads(inside[0])
    harmful = "rm -rf" in json.dumps(event)
    return json.dumps({"ok": not harmful, "reason": "it deletes" if harmful else ""})


def is_misled(text: str) -> bool:
    return bool(re.search(r"ok\W{0,4}[:=]?\W{0,4}true|ignore|approve|</?event|system:|assistant:", text, re.IGNORECASE))
