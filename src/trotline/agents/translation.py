"""Translate payloads between an agent's names and Cursor's newest names, using the tables of the agent.

Unknown keys are kept: those of a payload go to `raw`, those of a tool input stay in place.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from trotline.agents.agent import Agent, Body, Tool
from trotline.agents.agent_json import parse_payload
from trotline.agents.cursor.payloads import build_event
from trotline.agents.derived_events import LAST_MESSAGE_KEY
from trotline.domain.errors import UnreadablePayload
from trotline.domain.events import EVENTS, Event, OtherEvent, ToolEvent
from trotline.domain.hooks import split_mcp_name

TEXT_FIELDS = frozenset({"tool_output", "result_json", "output", "prompt"})
"""Fields that are text in our events. Some agents send a structure; it is kept in `raw`."""

NORMALISED_FIELDS = TEXT_FIELDS | {"tool_name", "tool_input", "cwd"}
"""Fields that are converted even if the agent uses Cursor's name."""

RAW_FIELDS = frozenset({LAST_MESSAGE_KEY})
"""Keys of `raw` that have one name for all agents."""


class DecodedEvent(NamedTuple):
    """An event with the agent's names of the event and its tool, which the reply must use."""

    event: Event
    theirs: str
    tool: str = ""


def read_event(agent: Agent, payload: bytes | str, name: str = "") -> Event:
    """Return the event in a payload; `name` is the agent's event name if the payload lacks it."""
    return decode_event(agent, payload, name).event


def decode_event(agent: Agent, payload: bytes | str, name: str = "") -> DecodedEvent:
    """Return the event with the agent's names. An event name in the payload wins over `name`, because a hook line that
    was copied to another event must not disable a guard."""
    body = parse_payload(payload)
    sent_name = str(_get(body, agent.event_key) or "")
    theirs = sent_name if sent_name in agent.events else name or sent_name
    ours = agent.events.get(theirs)
    if ours is None:
        return DecodedEvent(OtherEvent(hook_event_name=theirs or "unknown", raw=body), theirs)
    tool = _get(body, get_fields(agent, ours).get("tool_name", ""))
    return DecodedEvent(build_event(_rename_fields(agent, body, ours), ours), theirs, str(tool or ""))


def find_event_name(agent: Agent, payload: bytes | str) -> str:
    """Return the agent's event name in a payload, or an empty text."""
    try:
        sent_name = str(_get(parse_payload(payload), agent.event_key) or "")
    except UnreadablePayload:
        return ""
    return sent_name if sent_name in agent.events else ""


def write_event(agent: Agent, event: Event) -> bytes:
    """Return an event as the agent sends it. A field without a place keeps Cursor's name."""
    body: Body = json.loads(json.dumps(event.raw))
    if key := _get_first_place(agent.event_key):
        body[key] = next(theirs for theirs, ours in agent.events.items() if ours == event.wire_name)
    fields = get_fields(agent, event.wire_name)
    elsewhere = {place.partition(".")[0] for places in fields.values() for place in places.split("|")}
    loose = {name: body.pop(name) for name in RAW_FIELDS & fields.keys() & body.keys()}
    for ours, value in (_collect_fields(agent, event, fields) | loose).items():
        place = _get_first_place(fields.get(ours, "" if ours in elsewhere else ours))
        there = _get(body, fields[ours]) if ours in TEXT_FIELDS & fields.keys() else None
        if place and (there is None or _extract_text(there, agent.text_keys) != value):
            _set_path(body, place, value)
    if isinstance(event, ToolEvent):
        for place, value in zip(agent.server, split_mcp_name(event.tool_name), strict=True):
            if place and value:
                _set_path(body, place, value)
    return json.dumps(body).encode()


def _collect_fields(agent: Agent, event: Event, fields: Mapping[str, str]) -> Body:
    """Return the fields with values, with the agent's tool and its working directory instead of workspace roots."""
    built = json.loads(json.dumps(msgspec.to_builtins(event)))
    fields_set = {
        field.name: built[field.name]
        for field in msgspec.structs.fields(type(event))
        if field.name == "tool_input" or field.required or getattr(event, field.name) not in (field.default, {})
    }
    fields_set.pop("raw", None)
    if isinstance(event, ToolEvent):
        fields_set["tool_name"], fields_set["tool_input"] = restore_tool(
            agent, event.tool_name, fields_set["tool_input"]
        )
    cwd = built.get("cwd", built["workspace_roots"][0] if built["workspace_roots"] else None)
    if cwd and "workspace_roots" not in fields and built["workspace_roots"] == [cwd]:
        del fields_set["workspace_roots"]
        fields_set["cwd"] = cwd
    return fields_set


@functools.cache
def get_fields(agent: Agent, event: str) -> Mapping[str, str]:
    """Return Cursor's fields of an event with their places in the payload."""
    return {**agent.fields.get("*", {}), **agent.fields.get(event, {})}


@functools.cache
def _get_moved_fields(agent: Agent, event: str) -> tuple[tuple[str, str], ...]:
    """Return the fields of an event that have another place or need conversion."""
    known = EVENTS[event].__struct_fields__
    fields = get_fields(agent, event).items()
    return tuple(
        (ours, places)
        for ours, places in fields
        if (places != ours or ours in NORMALISED_FIELDS) and (ours in known or ours in RAW_FIELDS)
    )


def _rename_fields(agent: Agent, rest: Body, event: str) -> Body:
    """Return the payload with Cursor's names. It changes `rest`, which the caller owns."""
    fields = get_fields(agent, event)
    taken: Body = {**agent.constants.get(event, {})}
    for ours, places in _get_moved_fields(agent, event):
        if ours in TEXT_FIELDS and not isinstance(value := _get(rest, places), str | None):
            taken[ours] = _extract_text(value, agent.text_keys)
        elif (value := _pop(rest, places)) is not None:
            taken[ours] = value
    if "tool_name" in taken:
        named = (_pop(rest, agent.server[0]), _pop(rest, agent.server[1]))
        taken["tool_name"], taken["tool_input"] = translate_tool(
            agent, str(taken["tool_name"]), taken.get("tool_input"), named
        )
    if "workspace_roots" not in fields and "workspace_roots" not in rest:
        cwd = taken.get("cwd") or _pop(rest, fields.get("cwd", ""))
        taken["workspace_roots"] = [cwd] if cwd else []
    for key in agent.event_key.split("|"):
        if str(rest.get(key)) in agent.events:
            del rest[key]
    return {**rest, **taken}


def translate_tool(agent: Agent, name: str, tool_input: Any, server: tuple[Any, Any] = (None, None)) -> tuple[str, Any]:
    """Return Cursor's name and input of a tool; `server` holds the MCP server and its tool from the payload."""
    tool_input = _parse_object(tool_input)
    body = tool_input if isinstance(tool_input, dict) else {}
    rows = [tool for tool in agent.tools if tool.theirs in {name, "*"} and _matches_condition(tool, body)]
    tool = max(rows, key=lambda row: score_fields(row.fields.values(), body), default=None)
    if tool is None:
        return _parse_mcp_name(agent.mcp, name, server) or name, tool_input
    back = {theirs: ours for ours, theirs in tool.fields.items()}
    inner = (
        body.get(tool.inside) if tool.inside else {key: body[key] for key in body if key not in (tool.when or ())[:1]}
    )
    if not isinstance(inner, dict):
        return tool.ours.replace("*", name), tool_input
    return tool.ours.replace("*", name), {
        back.get(key, key): _unwrap_single(value, tool) if key in back else value for key, value in inner.items()
    }


def restore_tool(agent: Agent, name: str, tool_input: Any, preferred: str = "") -> tuple[str, Any]:
    """Return the agent's name and input of a tool: the tool `preferred`, or the best match among its tools."""
    body = dict(tool_input) if isinstance(tool_input, dict) else {}
    server, bare = split_mcp_name(name)
    if bare and agent.mcp:
        return agent.mcp.format(server=server, tool=bare), tool_input
    rows = [row for row in agent.tools if name in {row.ours, row.ours.replace("*", bare)} or (bare and row.inside)]
    rows = [row for row in rows if row.theirs == preferred] or rows
    tool = max(rows, key=lambda row: score_fields(row.fields, body), default=None)
    if tool is None:
        return name, tool_input
    theirs = tool.theirs.replace("*", bare)
    if not isinstance(tool_input, dict):
        return theirs, tool_input
    names = tool.fields
    renamed = {names.get(key, key): _wrap_single(value, tool) if key in names else value for key, value in body.items()}
    inner = {tool.inside: renamed} if tool.inside else renamed
    return theirs, {**inner, **({tool.when[0]: tool.when[1]} if tool.when else {})}


def _matches_condition(tool: Tool, body: Body) -> bool:
    return tool.when is None or str(body.get(tool.when[0])) == tool.when[1]


def score_fields(fields: Iterable[str], body: Body) -> int:
    """Return how well an input fits these fields."""
    return sum(1 if body.get(field) is not None else -1 for field in fields)


def _unwrap_single(value: Any, tool: Tool) -> Any:
    """Return the only element of a list, for tools that take lists."""
    if tool.many is None or not isinstance(value, list) or len(value) != 1:
        return value
    only = value[0]
    if isinstance(only, dict) and list(only) == [tool.many]:
        only = only[tool.many]
    return only if isinstance(only, str) else value


def _wrap_single(value: Any, tool: Tool) -> Any:
    if tool.many is None or not isinstance(value, str):
        return value
    return [{tool.many: value} if tool.many else value]


def _parse_mcp_name(pattern: str, name: str, named: tuple[Any, Any]) -> str:
    """Return Cursor's name of an MCP tool, from the agent's naming pattern or the payload; else an empty text."""
    prefix, _, rest = pattern.partition("{server}")
    between = rest.removesuffix("{tool}")
    server, tool = named
    if isinstance(server, str) and server and ":" not in server:
        start = f"{prefix}{server}{between}"
        tool = tool or (name.removeprefix(start) if name.startswith(start) else name)
        return f"MCP:{server}:{tool}"
    if not between or not name.startswith(prefix):
        return ""
    server, _, tool = name.removeprefix(prefix).partition(between)
    return f"MCP:{server}:{tool}" if server and tool else ""


def _get_first_place(places: str) -> str:
    return places.partition("|")[0]


def _get(body: Body, places: str) -> Any:
    """Return the first value at these places."""
    return next((value for path in _parse_places(places) if (value := _get_path(body, path)) is not None), None)


def _pop(body: Body, places: str) -> Any:
    """Remove and return the first value at these places, and objects that become empty."""
    for path in _parse_places(places):
        if (value := _get_path(body, path)) is not None:
            _delete_path(body, path)
            return value
    return None


@functools.cache
def _parse_places(places: str) -> tuple[tuple[str, ...], ...]:
    """Return the key paths of places. The cache is bounded, because places come from the tables of agents."""
    return tuple(tuple(place.split(".")) for place in places.split("|") if place)


def _get_path(body: Body, path: tuple[str, ...]) -> Any:
    value: Any = body
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _delete_path(body: Body, keys: tuple[str, ...]) -> None:
    if len(keys) > 1:
        _delete_path(body[keys[0]], keys[1:])
    if len(keys) == 1 or not body[keys[0]]:
        del body[keys[0]]


def _set_path(body: Body, place: str, value: Any) -> None:
    first, dot, rest = place.partition(".")
    if dot:
        _set_path(body.setdefault(first, {}), rest, value)
    else:
        body[first] = value


def _extract_text(value: Any, keys: tuple[str, ...]) -> str:
    """Return the texts under these keys in a structure, or the whole structure as JSON if there is none."""
    texts = list(_iter_texts(value, keys))
    return "\n".join(text for text in texts if text) if texts else _dump_json(value)


def _iter_texts(value: Any, keys: tuple[str, ...]) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _iter_texts(item, keys)
    elif isinstance(value, dict):
        for key in keys:
            yield from _iter_texts(value.get(key), keys)


def _dump_json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _parse_object(value: Any) -> Any:
    """Return the JSON object or list in a text; return other values unchanged."""
    try:
        body = json.loads(value) if isinstance(value, str) else value
    except (ValueError, RecursionError):
        return value
    return {} if value is None else body if isinstance(body, dict | list) else value
