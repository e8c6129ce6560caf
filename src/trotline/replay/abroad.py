"""A call of one host as another would make it."""

import msgspec

from trotline.errors import TrotlineError
from trotline.events import Event
from trotline.hosts import host_named
from trotline.hosts.host import Host
from trotline.hosts.specific import specifics
from trotline.hosts.translation import LOOSE, received, write_event
from trotline.replay.recalled import Recalled


def abroad(one: Recalled, host: Host) -> Recalled:
    """The same action under another host: the first of its forms that this host has an event for."""
    if one.missing:
        raise TrotlineError(f"what record {one.seq} would be answered cannot be said: {one.missing}")
    event = event_of(one)
    known = set(host.events.values())
    found = next((form for form in (event, *specifics(event)) if form.wire_name in known), None)
    if found is None:
        message = f"{host.title} raises nothing like {event.wire_name}"
        raise TrotlineError(message, hint=f"`trotline hosts {host.name}` shows what it raises")
    return one._replace(host=host.name, own=False, event=found.wire_name, payload=write_event(host, _stripped(found)))


def event_of(one: Recalled) -> Event:
    """The event of a call, in our words."""
    host = host_named(one.wire)
    theirs = next((name for name, ours in host.events.items() if ours == one.event), one.event)
    return received(host, one.payload, theirs).event


def _stripped(event: Event) -> Event:
    """Without what only the first host says of itself."""
    loose = {name: event.raw[name] for name in LOOSE & event.raw.keys()}
    return msgspec.structs.replace(event, raw=loose, cursor_version="")
