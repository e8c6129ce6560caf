"""Payloads between a host's words and ours, by the tables of the host. Ours are Cursor's newest.

What the tables do not name is kept: unknown keys of a payload go to `raw`, unknown keys of a tool's input stay.
"""

import json
from typing import Any

from trotline.events import EVENTS, Event, OtherEvent, PostToolUse, PreToolUse
from trotline.hooks import mcp_parts
from trotline.hosts.cursor import event_of, object_of
from trotline.hosts.host import Body, Host, Tool

TEXT = frozenset({"tool_output", "result_json", "output"})


def read_event(host: Host, payload: bytes | str, name: str = "") -> Event:
    """The event in this host's payload; `name` is its event where the payload does not say it."""
    body = object_of(payload)
    theirs = name or str(body.get(host.event_key, ""))
    ours = host.events.get(theirs)
    if ours is None:
        return OtherEvent(hook_event_name=theirs or "unknown", raw=body)
    return event_of(_ours(host, body, ours), ours)


def write_event(host: Host, event: Event) -> bytes:
    """The event as this host would send it; the first of its names that means our event."""
    theirs = next(their for their, ours in host.events.items() if ours == event.wire_name)
    body: Body = {**event.raw}
    if host.event_key:
        body[host.event_key] = theirs
    for ours, path in fields_of(host, event.wire_name).items():
        value = getattr(event, ours, None)
        if value not in (None, "", ()):
            _put(body, path, value)
    if isinstance(event, PreToolUse | PostToolUse):
        name, given = their_tool(host, event.tool_name, event.tool_input)
        paths = fields_of(host, event.wire_name)
        _put(body, paths["tool_name"], name)
        _put(body, paths["tool_input"], given)
    return json.dumps(body).encode()


def fields_of(host: Host, event: str) -> dict[str, str]:
    """Our field -> where it stands in the payload of this event."""
    return {**host.fields.get("*", {}), **host.fields.get(event, {})}


def _ours(host: Host, body: Body, event: str) -> Body:
    rest = json.loads(json.dumps(body))
    taken: Body = {**host.constants.get(event, {})}
    for ours, path in fields_of(host, event).items():
        value = _take(rest, path)
        if value is not None and ours in EVENTS[event].__struct_fields__:
            taken[ours] = _text(value) if ours in TEXT and not isinstance(value, str) else value
    if "tool_name" in taken:
        taken["tool_name"], taken["tool_input"] = our_tool(host, str(taken["tool_name"]), taken.get("tool_input"))
    if "workspace_roots" not in taken and taken.get("cwd"):
        taken["workspace_roots"] = [taken["cwd"]]
    rest.pop(host.event_key, None)
    return {**{key: value for key, value in rest.items() if value is not None}, **taken}


def our_tool(host: Host, name: str, given: Any) -> tuple[str, Any]:
    """The tool and its input under our names."""
    body = given if isinstance(given, dict) else _object(given)
    for tool in host.tools:
        if tool.theirs == name and (tool.when is None or str(body.get(tool.when[0])) == tool.when[1]):
            back = {theirs: ours for ours, theirs in tool.fields.items()}
            return tool.ours, {back.get(key, key): value for key, value in body.items()}
    return (_mcp(host.mcp, name) if host.mcp else "") or name, body


def their_tool(host: Host, name: str, given: Any) -> tuple[str, Any]:
    """The tool and its input as the host calls them; the first of its tools that means ours, by what the input has."""
    body = dict(given) if isinstance(given, dict) else {}
    server, tool = mcp_parts(name)
    if tool and host.mcp:
        return host.mcp.format(server=server, tool=tool), body
    known = [one for one in host.tools if one.ours == name]
    best = max(known, key=lambda one: _fit(one, body), default=None)
    if best is None:
        return name, body
    renamed = {best.fields.get(key, key): value for key, value in body.items()}
    return best.theirs, {**renamed, **({best.when[0]: best.when[1]} if best.when else {})}


def _fit(tool: Tool, body: Body) -> int:
    return sum(field in body for field in tool.fields) - sum(field not in body for field in tool.fields)


def _mcp(pattern: str, name: str) -> str:
    """Our name for a tool of an MCP server, if the host's name is one by this pattern."""
    prefix, _, rest = pattern.partition("{server}")
    between = rest.removesuffix("{tool}")
    server, found, tool = name.removeprefix(prefix).partition(between)
    return f"MCP:{server}:{tool}" if name.startswith(prefix) and found and server and tool else ""


def _take(body: Body, path: str) -> Any:
    """The value at a dotted path, taken out of the body."""
    first, dot, rest = path.partition(".")
    if not dot:
        return body.pop(first, None)
    inner = body.get(first)
    return _take(inner, rest) if isinstance(inner, dict) else None


def _put(body: Body, path: str, value: Any) -> None:
    first, dot, rest = path.partition(".")
    if dot:
        _put(body.setdefault(first, {}), rest, value)
    else:
        body[first] = value


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _object(given: Any) -> Body:
    try:
        body = json.loads(given) if isinstance(given, str) else {}
    except ValueError:
        return {}
    return body if isinstance(body, dict) else {}
