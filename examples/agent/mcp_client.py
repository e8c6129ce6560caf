"""Speaks to MCP servers over their standard input and output: JSON-RPC, one message a line.

A server that hangs, dies or complains is an error of the one call, never of the agent.
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
PATIENCE = 2.0
"""Seconds that a server has to end by itself once nobody speaks to it."""


class ServerError(Exception):
    """The server did not do what it was asked; the sentence says why."""


class Server:
    """One server, alive inside a `with`. `name` is its key in an mcp.json, `command` what starts it."""

    def __init__(self, name: str, command: list[str], *, seconds: float = 30) -> None:
        self.name = name
        self.command = command
        self.seconds = seconds
        self._asked = 0
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
        self._ear, self._mouth = cast("IO[bytes]", self._process.stdin), cast("IO[bytes]", self._process.stdout)
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

    def tools(self) -> list[dict[str, Any]]:
        """Name, description and inputSchema of each."""
        return list(self._ask("tools/list", {}).get("tools", []))

    def call(self, tool: str, given: dict[str, Any]) -> dict[str, Any]:
        """What the tool gives: `content`, and `isError` where it failed."""
        return self._ask("tools/call", {"name": tool, "arguments": given})

    def _ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._asked += 1
        self._send({"id": self._asked, "method": method, "params": params})
        deadline = time.monotonic() + self.seconds
        while True:
            answer = json.loads(self._line(deadline))
            if "method" in answer:
                self._decline(answer)
            elif answer.get("id") == self._asked:  # any other answers a question that was given up
                return self._result(answer)

    def _result(self, answer: dict[str, Any]) -> dict[str, Any]:
        if "error" in answer:
            raise ServerError(f"{self.name}: {answer['error'].get('message', 'an error without a message')}")
        return dict(answer["result"])

    def _decline(self, request: dict[str, Any]) -> None:
        """A notification needs no answer; a wish of the server is one that this client does not grant."""
        if "id" in request:
            self._send({"id": request["id"], "error": {"code": METHOD_NOT_FOUND, "message": "not offered here"}})

    def _send(self, message: dict[str, Any]) -> None:
        try:
            self._ear.write(json.dumps({"jsonrpc": "2.0", **message}).encode() + b"\n")
        except BrokenPipeError:
            raise ServerError(f"{self.name}: the server has ended") from None

    def _line(self, deadline: float) -> bytes:
        while b"\n" not in self._buffer:
            ready, _, _ = select.select([self._mouth], [], [], max(0, deadline - time.monotonic()))
            if not ready:
                raise TimeoutError(f"{self.name}: no answer within {self.seconds:g} s")
            chunk = os.read(self._mouth.fileno(), 65_536)
            if not chunk:
                raise ServerError(f"{self.name}: the server has ended")
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def _end(self) -> None:
        self._ear.close()
        try:
            self._process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._mouth.close()
