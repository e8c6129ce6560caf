"""One file per product that raises events. A product is named in its own file and in this table, nowhere else."""

import functools
from importlib import import_module

from trotline.errors import UsageError
from trotline.hosts.host import Host

HOSTS: dict[str, str] = {
    "cursor": "trotline.hosts.cursor_host",
    "claude-code": "trotline.hosts.claude_code",
    "codex": "trotline.hosts.codex",
    "gemini-cli": "trotline.hosts.gemini_cli",
    "qwen-code": "trotline.hosts.qwen_code",
    "copilot": "trotline.hosts.copilot",
    "windsurf": "trotline.hosts.windsurf",
    "factory-droid": "trotline.hosts.factory_droid",
    "cline": "trotline.hosts.cline",
    "opencode": "trotline.hosts.opencode",
    "openhands": "trotline.hosts.openhands",
    "generic": "trotline.hosts.generic",
}

ANYBODY = "generic"
"""Whoever is not recognised."""


@functools.cache
def host_named(name: str) -> Host:
    """The product of this name; its file is read when it is asked for."""
    if name not in HOSTS:
        raise UsageError(f"there is no host `{name}`", hint=f"known: {', '.join(HOSTS)}")
    host: Host = import_module(HOSTS[name]).HOST
    return host
