"""Recognise the agent that sent a payload. Payloads count before variables, because nested agents inherit variables."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trotline.agents import AGENTS, DEFAULT_AGENT, get_agent, translation
from trotline.agents.agent import Agent
from trotline.agents.agent_json import parse_payload
from trotline.agents.cursor import payloads
from trotline.domain.errors import UnreadablePayload
from trotline.domain.events import EVENTS, Event, OtherEvent, ToolEvent

CURSOR_TOOLS = frozenset("Delete Grep LS Read Shell Task Write".split())
"""Cursor's names of its tools."""


def recognise_agent(body: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """Return the name of the agent that sent a payload, or the default agent."""
    agents = [get_agent(name) for name in AGENTS]
    by_place = next((agent.name for agent in agents if _has_mark(agent, body, by_place=True)), None)
    by_keys = next((agent.name for agent in agents if _has_mark(agent, body, by_place=False)), None)
    by_variable = next((agent.name for agent in agents if any(name in environ for name in agent.variables)), None)
    return by_place or by_keys or by_variable or DEFAULT_AGENT


def _has_mark(agent: Agent, body: Mapping[str, Any], *, by_place: bool) -> bool:
    """Return whether a mark of the agent matches. Marks by place are the stronger ones: many agents share keys."""
    return any(_matches_mark(body, mark) for mark in agent.payload_marks if ("=" in mark) is by_place)


def _matches_mark(body: Mapping[str, Any], mark: str) -> bool:
    return all(_matches_word(body, word) for word in mark.split())


def _matches_word(body: Mapping[str, Any], word: str) -> bool:
    if word.startswith("!"):
        return word[1:] not in body
    key, _, part = word.partition("=")
    return key in body and part in str(body[key]).replace("\\", "/")


def decode_any_event(payload: bytes | str) -> Event:
    """Return the event in a payload of any agent. Cursor's event names count first."""
    body = parse_payload(payload)
    if str(body.get("hook_event_name")) in EVENTS:
        event = payloads.read_event(payload)
        if not isinstance(event, ToolEvent):
            return event
        name, tool_input = to_cursor_tool(event.tool_name, event.tool_input)
        return msgspec.structs.replace(event, tool_name=name, tool_input=tool_input)
    for name in dict.fromkeys((recognise_agent(body, {}), *AGENTS)):
        event = translation.read_event(get_agent(name), payload)
        if not isinstance(event, OtherEvent):
            return event
    raise UnreadablePayload("no agent that Trotline knows raises this event", hint="`trotline events` lists ours")


def to_cursor_tool(name: str, tool_input: Any) -> tuple[str, Any]:
    """Return Cursor's name and input of a tool of any agent; an unknown tool is returned unchanged."""
    if name in CURSOR_TOOLS:
        return name, tool_input
    body = tool_input if isinstance(tool_input, dict) else {}
    agents = [get_agent(agent_name) for agent_name in AGENTS]
    rows = [(agent, row) for agent in agents for row in agent.tools if row.theirs == name]
    if rows:
        best = max(rows, key=lambda pair: translation.score_fields(pair[1].fields.values(), body))
        return translation.translate_tool(best[0], name, tool_input)
    servers = [translation.translate_tool(agent, name, tool_input) for agent in agents if agent.mcp.startswith("mcp")]
    return next((ours for ours in servers if ours[0] != name), (name, tool_input))
