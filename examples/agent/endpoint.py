"""A model behind an endpoint that speaks OpenAI's chat completions, as most do today.

Configured by AGENT_BASE_URL (such as http://localhost:11434/v1), AGENT_MODEL, and AGENT_API_KEY where one is needed.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import httpx2

from agent.model import Message, ModelError, Reply, ToolCall, ToolSpec

SECONDS = 120.0
COLON = "__"
"""Names of functions may hold no colon: `MCP:find` travels as `MCP__find`."""


class EndpointModel:
    """A model without state between replies, so sub-agents can use the same one."""

    def __init__(self, base_url: str, name: str, api_key: str = "") -> None:
        self.name = name
        self._url = f"{base_url.rstrip('/')}/chat/completions"
        self._headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}

    @classmethod
    def from_environment(cls, environ: Mapping[str, str]) -> "EndpointModel | None":
        url, name = environ.get("AGENT_BASE_URL"), environ.get("AGENT_MODEL")
        return cls(url, name, environ.get("AGENT_API_KEY", "")) if url and name else None

    def reply(self, messages: Sequence[Message], tools: Sequence[ToolSpec]) -> Reply:
        body = {
            "model": self.name,
            "messages": [_build_message(message) for message in messages],
            "tools": [_build_function(tool) for tool in tools],
        }
        try:
            answer = httpx2.post(self._url, json=body, headers=self._headers, timeout=SECONDS)
            answer.raise_for_status()
            return _parse_reply(answer.json()["choices"][0]["message"])
        except httpx2.HTTPError as error:
            raise ModelError(f"the model cannot be reached: {error}") from None
        except (ValueError, KeyError, IndexError, TypeError) as error:
            raise ModelError(f"the model's answer cannot be read: {error!r}") from None

    def for_subagent(self, kind: str) -> "EndpointModel":  # noqa: ARG002 - one model serves all kinds
        return self


def _build_message(message: Message) -> dict[str, Any]:
    body: dict[str, Any] = {"role": message.role, "content": message.text}
    if message.calls:
        body["tool_calls"] = [
            {
                "id": call.id,
                "type": "function",
                "function": {"name": _encode_name(call.name), "arguments": json.dumps(call.input)},
            }
            for call in message.calls
        ]
    return {**body, "tool_call_id": message.call_id} if message.call_id else body


def _build_function(tool: ToolSpec) -> dict[str, Any]:
    function = {"name": _encode_name(tool.name), "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": function}


def _encode_name(name: str) -> str:
    return name.replace(":", COLON)


def _parse_reply(message: dict[str, Any]) -> Reply:
    calls = tuple(_parse_call(call["id"], call["function"]) for call in message.get("tool_calls") or ())
    thought = message.get("reasoning_content") or message.get("reasoning") or ""
    return Reply(message.get("content") or "", str(thought), calls)


def _parse_call(call_id: str, function: dict[str, Any]) -> ToolCall:
    """Parse a tool call. The model reads errors of its arguments and may try again."""
    name = function["name"].replace(COLON, ":")
    try:
        arguments = json.loads(function["arguments"] or "{}")
    except ValueError as error:
        return ToolCall(name, {}, call_id, f"the arguments are not JSON: {error}")
    if not isinstance(arguments, dict):
        return ToolCall(name, {}, call_id, "the arguments are not a JSON object")
    return ToolCall(name, arguments, call_id)
