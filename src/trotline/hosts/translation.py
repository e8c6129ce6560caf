"""Payloads between a host's words and ours, by the tables of the host. Ours are Cursor's newest.

What the tables do not name is kept: unknown keys of a payload go to `raw`, unknown keys of a tool's input stay.
"""

import functools
import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec

from trotline.errors import UnreadablePayload
from trotline.events import EVENTS, Event, OtherEvent, ToolEvent
from trotline.hooks import mcp_parts
from trotline.hosts.cursor import event_of, object_of
from trotline.hosts.host import Body, Host, Tool
from trotline.hosts.specific import LAST_WORDS

TEXT = frozenset({"tool_output", "result_json", "output", "prompt"})
"""Fields that are text here, and on some hosts a structure with text in it; the structure is kept in `raw`."""

MADE = TEXT | {"tool_name", "tool_input", "cwd"}
"""Fields that are looked at on the way, whatever the host calls them."""

LOOSE = frozenset({LAST_WORDS})
"""What is no field of an event and has one name in `raw` all the same, whatever the host calls it."""


class Received(NamedTuple):
    """The event in a payload, and what the host calls it and its tool: an answer must use the same names."""

    event: Event
    theirs: str
    tool: str = ""


def read_event(host: Host, payload: bytes | str, name: str = "") -> Event:
    """The event in this host's payload; `name` is its event where the payload does not say it."""
    return received(host, payload, name).event


def received(host: Host, payload: bytes | str, name: str = "") -> Received:
    """The same with the host's names. The payload's own name of the event counts, if the host is known to have it: a
    line that was copied to another event must not turn a guard off."""
    body = object_of(payload)
    own = str(_look(body, host.event_key) or "")
    theirs = own if own in host.events else name or own
    ours = host.events.get(theirs)
    if ours is None:
        return Received(OtherEvent(hook_event_name=theirs or "unknown", raw=body), theirs)
    tool = _look(body, fields_of(host, ours).get("tool_name", ""))
    return Received(event_of(_ours(host, body, ours), ours), theirs, str(tool or ""))


def named_event(host: Host, payload: bytes | str) -> str:
    """Which event of this host a payload says that it is, if it says that much."""
    try:
        own = str(_look(object_of(payload), host.event_key) or "")
    except UnreadablePayload:
        return ""
    return own if own in host.events else ""


def write_event(host: Host, event: Event) -> bytes:
    """The event as this host would send it, under the first of its names; what it has no place for goes by our name."""
    body: Body = json.loads(json.dumps(event.raw))
    if key := _first(host.event_key):
        body[key] = next(their for their, ours in host.events.items() if ours == event.wire_name)
    fields = fields_of(host, event.wire_name)
    elsewhere = {place.partition(".")[0] for places in fields.values() for place in places.split("|")}
    loose = {name: body.pop(name) for name in LOOSE & fields.keys() & body.keys()}
    for ours, value in (_said(host, event, fields) | loose).items():
        place = _first(fields.get(ours, "" if ours in elsewhere else ours))
        there = _look(body, fields[ours]) if ours in TEXT & fields.keys() else None
        if place and (there is None or _plain(there, host.texts) != value):
            _put(body, place, value)
    if isinstance(event, ToolEvent):
        for place, value in zip(host.server, mcp_parts(event.tool_name), strict=True):
            if place and value:
                _put(body, place, value)
    return json.dumps(body).encode()


def _said(host: Host, event: Event, fields: Mapping[str, str]) -> Body:
    """The fields that hold something, the tool as the host calls it, and its directory for our workspace."""
    built = json.loads(json.dumps(msgspec.to_builtins(event)))
    said = {
        field.name: built[field.name]
        for field in msgspec.structs.fields(type(event))
        if field.name == "tool_input" or field.required or getattr(event, field.name) not in (field.default, {})
    }
    said.pop("raw", None)
    if isinstance(event, ToolEvent):
        said["tool_name"], said["tool_input"] = their_tool(host, event.tool_name, said["tool_input"])
    cwd = built.get("cwd", built["workspace_roots"][0] if built["workspace_roots"] else None)
    if cwd and "workspace_roots" not in fields and built["workspace_roots"] == [cwd]:
        del said["workspace_roots"]
        said["cwd"] = cwd
    return said


@functools.cache
def fields_of(host: Host, event: str) -> Mapping[str, str]:
    """Our field -> where it stands in the payload of this event."""
    return {**host.fields.get("*", {}), **host.fields.get(event, {})}


@functools.cache
def _moved(host: Host, event: str) -> tuple[tuple[str, str], ...]:
    """Those of them that are looked at; others stand where they belong, or do not belong to this event."""
    known = EVENTS[event].__struct_fields__
    fields = fields_of(host, event).items()
    return tuple(
        (ours, places)
        for ours, places in fields
        if (places != ours or ours in MADE) and (ours in known or ours in LOOSE)
    )


def _ours(host: Host, rest: Body, event: str) -> Body:
    """The body under our names; what has one is taken out of the rest, which is nobody else's."""
    fields = fields_of(host, event)
    taken: Body = {**host.constants.get(event, {})}
    for ours, places in _moved(host, event):
        if ours in TEXT and not isinstance(value := _look(rest, places), str | None):
            taken[ours] = _plain(value, host.texts)
        elif (value := _take(rest, places)) is not None:
            taken[ours] = value
    if "tool_name" in taken:
        named = (_take(rest, host.server[0]), _take(rest, host.server[1]))
        taken["tool_name"], taken["tool_input"] = our_tool(
            host, str(taken["tool_name"]), taken.get("tool_input"), named
        )
    if "workspace_roots" not in fields and "workspace_roots" not in rest:
        cwd = taken.get("cwd") or _take(rest, fields.get("cwd", ""))
        taken["workspace_roots"] = [cwd] if cwd else []
    for key in host.event_key.split("|"):
        if str(rest.get(key)) in host.events:
            del rest[key]
    return {**rest, **taken}


def our_tool(host: Host, name: str, given: Any, server: tuple[Any, Any] = (None, None)) -> tuple[str, Any]:
    """The tool and its input under our names; `server` is what the payload says of the MCP server and its tool."""
    given = _object(given)
    body = given if isinstance(given, dict) else {}
    rows = [tool for tool in host.tools if tool.theirs in {name, "*"} and _does(tool, body)]
    tool = max(rows, key=lambda row: fit(row.fields.values(), body), default=None)
    if tool is None:
        return _mcp(host.mcp, name, server) or name, given
    back = {theirs: ours for ours, theirs in tool.fields.items()}
    inner = (
        body.get(tool.inside) if tool.inside else {key: body[key] for key in body if key not in (tool.when or ())[:1]}
    )
    if not isinstance(inner, dict):
        return tool.ours.replace("*", name), given
    return tool.ours.replace("*", name), {
        back.get(key, key): _single(value, tool) if key in back else value for key, value in inner.items()
    }


def their_tool(host: Host, name: str, given: Any, own: str = "") -> tuple[str, Any]:
    """The tool and its input as the host calls them: `own`, or the first of its tools that means ours and fits."""
    body = dict(given) if isinstance(given, dict) else {}
    server, bare = mcp_parts(name)
    if bare and host.mcp:
        return host.mcp.format(server=server, tool=bare), given
    rows = [row for row in host.tools if name in {row.ours, row.ours.replace("*", bare)} or (bare and row.inside)]
    rows = [row for row in rows if row.theirs == own] or rows
    tool = max(rows, key=lambda row: fit(row.fields, body), default=None)
    if tool is None:
        return name, given
    theirs = tool.theirs.replace("*", bare)
    if not isinstance(given, dict):
        return theirs, given
    names = tool.fields
    renamed = {names.get(key, key): _several(value, tool) if key in names else value for key, value in body.items()}
    inner = {tool.inside: renamed} if tool.inside else renamed
    return theirs, {**inner, **({tool.when[0]: tool.when[1]} if tool.when else {})}


def _does(tool: Tool, body: Body) -> bool:
    return tool.when is None or str(body.get(tool.when[0])) == tool.when[1]


def fit(fields: Iterable[str], body: Body) -> int:
    """How well an input has these fields."""
    return sum(1 if body.get(field) is not None else -1 for field in fields)


def _single(value: Any, tool: Tool) -> Any:
    """The one thing in a list of one."""
    if tool.many is None or not isinstance(value, list) or len(value) != 1:
        return value
    only = value[0]
    if isinstance(only, dict) and list(only) == [tool.many]:
        only = only[tool.many]
    return only if isinstance(only, str) else value


def _several(value: Any, tool: Tool) -> Any:
    if tool.many is None or not isinstance(value, str):
        return value
    return [{tool.many: value} if tool.many else value]


def _mcp(pattern: str, name: str, named: tuple[Any, Any]) -> str:
    """Our name for a tool of an MCP server, if the host's name is one by this pattern or the payload says so."""
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


def _first(places: str) -> str:
    return places.partition("|")[0]


def _look(body: Body, places: str) -> Any:
    """The value at the first of these places that has one."""
    return next((value for path in _paths(places) if (value := _at(body, path)) is not None), None)


def _take(body: Body, places: str) -> Any:
    """The same, taken out of the body, and with it what is empty then."""
    for path in _paths(places):
        if (value := _at(body, path)) is not None:
            _drop(body, path)
            return value
    return None


@functools.cache
def _paths(places: str) -> tuple[tuple[str, ...], ...]:
    """The keys on the way to each place. Places stand in the tables of hosts, and there are not many."""
    return tuple(tuple(place.split(".")) for place in places.split("|") if place)


def _at(body: Body, path: tuple[str, ...]) -> Any:
    value: Any = body
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def _drop(body: Body, keys: tuple[str, ...]) -> None:
    if len(keys) > 1:
        _drop(body[keys[0]], keys[1:])
    if len(keys) == 1 or not body[keys[0]]:
        del body[keys[0]]


def _put(body: Body, place: str, value: Any) -> None:
    first, dot, rest = place.partition(".")
    if dot:
        _put(body.setdefault(first, {}), rest, value)
    else:
        body[first] = value


def _plain(value: Any, keys: tuple[str, ...]) -> str:
    """The text in a structure: what stands under these keys, in lists too; all of it as JSON where none does."""
    found = list(_texts(value, keys))
    return "\n".join(text for text in found if text) if found else _json(value)


def _texts(value: Any, keys: tuple[str, ...]) -> Iterable[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one, keys)
    elif isinstance(value, dict):
        for key in keys:
            yield from _texts(value.get(key), keys)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _object(given: Any) -> Any:
    """The object in a text, where there is one; anything else is kept as it came."""
    try:
        body = json.loads(given) if isinstance(given, str) else given
    except (ValueError, RecursionError):
        return given
    return {} if given is None else body if isinstance(body, dict | list) else given
