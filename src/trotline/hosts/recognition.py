"""Who is calling, when the installed line does not say it. Payloads before variables: nested agents inherit those."""

from collections.abc import Mapping
from typing import Any

import msgspec

from trotline.errors import UnreadablePayload
from trotline.events import EVENTS, Event, OtherEvent, ToolEvent
from trotline.hosts import ANYBODY, HOSTS, cursor, host_named, translation
from trotline.hosts.host import Host

TELLING = (
    "CURSOR_VERSION",
    "CLAUDECODE",
    "CLAUDE_CODE_SESSION_ID",
    "GEMINI_SESSION_ID",
    "QWEN_PROJECT_DIR",
    "COPILOT_CLI",
    "FACTORY_PROJECT_DIR",
    "DROID_PROJECT_DIR",
    "OPENHANDS_EVENT_TYPE",
)
"""Variables by which a host can be told; a call carries these and no others."""


OURS = frozenset("Delete Grep LS Read Shell Task Write".split())
"""What Cursor calls its tools."""


def recognised(body: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """The name of the host whose payload this is, most specific first; nobody in particular when none is."""
    hosts = [host_named(name) for name in HOSTS]
    by_place = next((host.name for host in hosts if _marked(host, body, by_place=True)), None)
    by_keys = next((host.name for host in hosts if _marked(host, body, by_place=False)), None)
    by_variable = next((host.name for host in hosts if any(name in environ for name in host.tells)), None)
    return by_place or by_keys or by_variable or ANYBODY


def _marked(host: Host, body: Mapping[str, Any], *, by_place: bool) -> bool:
    """Where a transcript lies says more than which keys stand together: many took their keys from one product."""
    return any(_bears(body, mark) for mark in host.marks if ("=" in mark) is by_place)


def _bears(body: Mapping[str, Any], mark: str) -> bool:
    """Whether the payload has all that the mark says of its keys."""
    return all(_has(body, word) for word in mark.split())


def _has(body: Mapping[str, Any], word: str) -> bool:
    if word.startswith("!"):
        return word[1:] not in body
    key, _, part = word.partition("=")
    return key in body and part in str(body[key]).replace("\\", "/")


def anyones_event(payload: bytes | str) -> Event:
    """The event in the payload of whichever host; our own names count first, and tools may have any host's."""
    body = cursor.object_of(payload)
    if str(body.get("hook_event_name")) in EVENTS:
        event = cursor.read_event(payload)
        if not isinstance(event, ToolEvent):
            return event
        name, given = anyones_tool(event.tool_name, event.tool_input)
        return msgspec.structs.replace(event, tool_name=name, tool_input=given)
    for name in dict.fromkeys((recognised(body, {}), *HOSTS)):
        event = translation.read_event(host_named(name), payload)
        if not isinstance(event, OtherEvent):
            return event
    raise UnreadablePayload("no host that Trotline knows raises this event", hint="`trotline events` lists ours")


def anyones_tool(name: str, given: Any) -> tuple[str, Any]:
    """A tool and its input under our names, whichever host's they are; what nobody has stays as it is."""
    if name in OURS:
        return name, given
    body = given if isinstance(given, dict) else {}
    hosts = [host_named(one) for one in HOSTS]
    rows = [(host, row) for host in hosts for row in host.tools if row.theirs == name]
    if rows:
        best = max(rows, key=lambda pair: translation.fit(pair[1].fields.values(), body))
        return translation.our_tool(best[0], name, given)
    servers = [translation.our_tool(host, name, given) for host in hosts if host.mcp.startswith("mcp")]
    return next((ours for ours in servers if ours[0] != name), (name, given))
