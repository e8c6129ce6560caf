"""Whose tool it was, where a host does not name the server: by its address, or by the program that is the server."""

from typing import Any
from urllib.parse import urlsplit

PLACES = ("mcp_server_url", "url")
LAUNCHERS = frozenset({"npx", "bunx", "uvx", "node", "bun", "deno", "python", "python3"})
WORDS = frozenset({"run", "x"})
"""Programs that start another one, and what they are told before its name."""


def server_at(payload: dict[str, Any]) -> str:
    """The host of its address, else the program of its command; nothing if neither is told, or one that no tool's full
    name could hold."""
    found = next((name for place in PLACES if (name := _host(payload.get(place)))), "")
    found = found or _program(payload.get("command"))
    return "" if ":" in found else found


def _host(url: Any) -> str:
    try:
        return urlsplit(url).hostname or "" if isinstance(url, str) else ""
    except ValueError:
        return ""


def _program(command: Any) -> str:
    words = command.split() if isinstance(command, str) else []
    name = _file(words[0]) if words else ""
    if name.removesuffix(".exe") not in LAUNCHERS:
        return name
    started = (word for word in words[1:] if not word.startswith("-") and word not in WORDS)
    word = next(started, "")
    return (word if word.startswith("@") else _file(word)) or name  # a package has a slash, and is no path


def _file(path: str) -> str:
    return path.replace("\\", "/").rstrip("/").rpartition("/")[2]
