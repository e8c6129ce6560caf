"""A client of MCP servers over standard input and output: JSON-RPC, one message per line.

A server that hangs, exits or reports an error fails one call, never the agent.
"""

import json
import os
import select
import subprocess
import time
from types import TracebackType
from typing import IO, Any, Self, cast

VERSION = "2025-06-18"
METHOD_NOT_FOUND = -32601
SHUTDOWN_SECONDS = 2.0
"""The time that a server has to exit after its standard input is closed."""


class ServerError(Exception):
    """An error of the server."""


class Server:
    """A server that runs inside a `with` block. `name` is its key in an mcp.json, `command` what starts it."""

    def __init__(self, name: str, command: list[str], *, seconds: float = 30) -> None:
        self.name = name
        self.command = command
        self.seconds = seconds
        self._last_id = 0
        self._buffer = b""

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            self.command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            start_new_session=True,
        )
        self._stdin, self._stdout = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
        try:
            about = {"name": "reference-agent", "version": "1"}
            self._ask("initialize", {"protocolVersion": VERSION, "capabilities": {}, "clientInfo": about})
            self._send({"method": "notifications/initialized"})
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end()

    def list_tools(self) -> list[dict[str, Any]]:
        """Return name, description and inputSchema of each tool."""
        return list(self._ask("tools/list", {}).get("tools", []))

    def call(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        """Call a tool and return its result with `content` and `isError`."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._last_id += 1
        self._send({"id": self._last_id, "method": method, "params": params})
        deadline = time.monotonic() + self.seconds
        while True:
            answer = json.loads(self._read_line(deadline))
            if "method" in answer:
                self._decline(answer)
            elif answer.get("id") == self._last_id:  # others answer requests that timed out
                return self._get_result(answer)

    def _get_result(self, answer: dict[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            raise ServerError(f"{self.name}: {answer['error'].get('message', 'an error without a message')}")
        return dict(answer["result"])

    def _decline(self, request: dict[str, Any]) -> None:
        """Decline a request of the server; notifications need no answer."""
        if "id" in request:
            self._send({"id": request["id"], "error": {"code": METHOD_NOT_FOUND, "message": "not offered here"}})

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._stdin.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        except BrokenPipeError:
            raise ServerError(f"{self.name}: the server has ended") from None

    def _read_line(self, deadline: float) -> bytes:
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._stdout], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"{self.name}: no answer within {self.seconds:g} s")
            chunk = os.read(self._stdout.fileno(), 65_536)
            if not chunk:
                raise ServerError(f"{self.name}: the server has ended")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _end(self) -> None:
        self._stdin.close()
        try:
            self._process.wait(SHUTDOWN_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._stdout.close()
