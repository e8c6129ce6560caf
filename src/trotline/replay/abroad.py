"""A call of one host as another would make it."""

from collections.abc import Iterator

import msgspec

from trotline.errors import TrotlineError, UnreadablePayload
from trotline.events import Event, PreToolUse
from trotline.hooks import mcp_parts
from trotline.hosts import host_named
from trotline.hosts.host import Host, Power
from trotline.hosts.specific import specifics
from trotline.hosts.translation import LOOSE, fields_of, received, write_event
from trotline.replay.recalled import Recalled

ENVELOPE = ("generation_id", "model", "model_id", "model_params", "session_id", "user_email", "transcript_path")
"""What hosts say of themselves and of the person; where something is done, and in which conversation, stays."""


def abroad(one: Recalled, host: Host) -> Recalled:
    """The same action under another host: the first of its forms that this host has an event for."""
    if one.missing:
        raise _unsaid(one, one.missing)
    event = event_of(one)
    forms = list(_forms(event, host))
    found = next(((form, sent) for form, sent in forms if _is_the_same(host, form, sent)), None)
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
            yield form, write_event(host, _stripped(form, host))


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
    known = fields_of(host, event.wire_name)
    defaults = {field.name: field.default for field in msgspec.structs.fields(type(event))}
    unsaid = {name: defaults[name] for name in ENVELOPE if name not in known}
    return msgspec.structs.replace(event, raw=loose, cursor_version="", **unsaid)
