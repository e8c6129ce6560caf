"""Who is calling, when the installed line does not say it. Payloads before variables: nested agents inherit those."""

from collections.abc import Mapping
from typing import Any

from trotline.hosts import ANYBODY, HOSTS, host_named
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
