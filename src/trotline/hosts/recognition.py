"""Who is calling, when the installed line does not say it. Payloads before variables: nested agents inherit those."""

from collections.abc import Mapping
from typing import Any

from trotline.hosts import ANYBODY, HOSTS, host_named

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
    by_payload = next((host.name for host in hosts if any(mark in body for mark in host.marks)), None)
    return by_payload or next((host.name for host in hosts if any(name in environ for name in host.tells)), ANYBODY)
