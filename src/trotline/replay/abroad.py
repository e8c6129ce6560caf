"""A call of one host as another would make it."""

import functools
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from trotline.errors import TrotlineError, UnreadablePayload
from trotline.events import Event, PreToolUse, ToolEvent
from trotline.hooks import mcp_parts
from trotline.hosts import HOSTS, host_named
from trotline.hosts.host import Host, Power, Tool
from trotline.hosts.patches import as_patch
from trotline.hosts.specific import specifics
from trotline.hosts.translation import LOOSE, fields_of, received, their_tool, write_event
from trotline.replay.recalled import Recalled

PLACES = frozenset({"conversation_id", "workspace_roots", "cwd"})
"""Where something is done, and in which conversation, stays, whatever the host calls it."""


def abroad(one: Recalled, host: Host) -> Recalled:
    """The same action under another host: the first of its forms that this host has an event for."""
    if one.missing:
        raise _unsaid(one, one.missing)
    event = event_of(one)
    forms = list(_forms(event, host))
    found = next(((form, sent) for form, sent in forms if _is_the_same(host, form, sent)), None)
    if found and not _is_whole(found[0], host):
        strange = ", ".join(f"`{name}`" for name in sorted(_strange(found[0], host)))
        raise _unsaid(one, f"{host.title} has no tool that takes {strange}")
    if found is None:
        raise _nothing_like(one, event, host, known=bool(forms))
    alike = sum(form.wire_name == found[0].wire_name for form, _ in forms)
    if alike > 1:
        raise _unsaid(one, f"{host.title} would raise {found[0].wire_name} {alike} times, and one call is shown")
    return one._replace(host=host.name, own=False, event=found[0].wire_name, payload=found[1])


def event_of(one: Recalled) -> Event:
    """The event of a call, in our words."""
    host = host_named(one.wire)
    theirs = next((name for name, ours in host.events.items() if ours == one.event), one.event)
    return received(host, one.payload, theirs).event


def _forms(event: Event, host: Host) -> Iterator[tuple[Event, bytes]]:
    """What the action may be there, and how it would be sent. Where a specific event can be refused, our line waits for
    that one: the generic event may stand for other tools only, or come without it."""
    special = specifics(event)
    first = [form for form in special if isinstance(event, PreToolUse) and host.hears(form.wire_name, Power.DENY)]
    rest = [form for form in special if form not in first]
    for form in (*first, event, *rest):
        if form.wire_name in host.events.values():
            yield form, _sent(form, host)


def _is_the_same(host: Host, form: Event, sent: bytes) -> bool:
    """Whether this host's call would be read as what it was made from: some say by the event which tool it is."""
    theirs = next(name for name, ours in host.events.items() if ours == form.wire_name)
    try:
        again = received(host, sent, theirs).event
    except UnreadablePayload:
        return False
    names = [str(getattr(one, "tool_name", "")) for one in (form, again)]
    servers = [bool(mcp_parts(name)[1]) for name in names]  # not every host names them, or where their names end
    return type(form) is type(again) and (all(servers) or names[0] == names[1])


def _nothing_like(one: Recalled, event: Event, host: Host, *, known: bool) -> TrotlineError:
    server, tool = mcp_parts(str(getattr(event, "tool_name", "")))
    nameless = not server if tool else not getattr(event, "mcp_server_name", "a name")
    if known and nameless:
        return _unsaid(one, f"{host.title} calls a tool by its server, and the server has no name")
    about = f" about {tool or event.tool_name}" if known and isinstance(event, PreToolUse) else ""
    message = f"{host.title} raises nothing like {event.wire_name}{about}"
    return TrotlineError(message, hint=f"`trotline hosts {host.name}` shows what it raises")


def _unsaid(one: Recalled, why: str) -> TrotlineError:
    return TrotlineError(f"what record {one.seq} would be answered cannot be said: {why}")


def _stripped(event: Event, host: Host) -> Event:
    """Without what only the first host says of itself, and without what the other does not say."""
    loose = {name: event.raw[name] for name in LOOSE & event.raw.keys()}
    unsaid = {
        field.name: field.default
        for field in msgspec.structs.fields(type(event))
        if not field.required and _is_unsaid(field.name, event, host)
    }
    given = {"tool_input": _input_of(event, host)} if isinstance(event, ToolEvent) else {}
    return msgspec.structs.replace(event, **{**unsaid, "raw": loose, "cursor_version": "", **given})


def _is_unsaid(field: str, event: Event, host: Host) -> bool:
    return field in host.unsent or field not in {*fields_of(host, event.wire_name), *PLACES}


def _sent(event: Event, host: Host) -> bytes:
    """As it goes out. What an event must have, and this host says by the event itself, is not in its payload."""
    body = json.loads(write_event(host, _stripped(event, host)))
    places = {place.partition(".")[0] for of in fields_of(host, event.wire_name).values() for place in of.split("|")}
    for name in host.constants.get(event.wire_name, {}).keys() - places:
        body.pop(name, None)
    return json.dumps(body).encode()


def _input_of(event: ToolEvent, host: Host) -> Any:
    """The input of a tool without what only tools of others take."""
    given = event.tool_input
    if not isinstance(given, dict):
        return given
    if strange := _strange(event, host):
        takes_patches = any(tool.fields.keys() == {"patch"} for tool in host.tools if tool.ours == event.tool_name)
        if takes_patches and "patch" not in given:
            given = as_patch(given)
    return {name: value for name, value in given.items() if name not in strange}


def _strange(event: Event, host: Host) -> frozenset[str]:
    """What other hosts call a part of such an input, and the tool of this one does not take."""
    if not isinstance(event, ToolEvent) or not isinstance(event.tool_input, dict):
        return frozenset()
    theirs, _ = their_tool(host, event.tool_name, event.tool_input)
    own = {name for tool in host.tools if tool.theirs == theirs for name in tool.fields}
    known = {name for tool in _tools() if tool.ours == event.tool_name for name in tool.fields}
    return frozenset(known & event.tool_input.keys() - own) if own else frozenset()


def _is_whole(event: Event, host: Host) -> bool:
    """Whether enough is left of an input that had strange parts for it to be this tool's."""
    if not _strange(event, host) or not isinstance(event, ToolEvent):
        return True
    left = _input_of(event, host)
    theirs, _ = their_tool(host, event.tool_name, left)
    return any(tool.fields.keys() <= left.keys() for tool in host.tools if tool.theirs == theirs)


@functools.cache
def _tools() -> tuple[Tool, ...]:
    return tuple(tool for name in HOSTS for tool in host_named(name).tools)
