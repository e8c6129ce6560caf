"""Describe where an agent keeps its hooks and how an entry of Trotline looks there."""

import re
from typing import Any

import msgspec


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """The hook configuration of an agent.

    `files` maps a layer to a path below the home, the project or the system root. With `own`, Trotline owns the whole
    file (a program or a plugin), and `{event}` in its name makes one file per event.
    """

    files: dict[str, str]
    events: tuple[str, ...]  # the agent's names, in the order in which they are written
    since: tuple[tuple[str, frozenset[str]], ...] = ()  # version -> events it supports from then on; oldest first
    grouped: bool = False  # entries are in groups that have the matcher
    version: int | None = None
    matchers: dict[str, str] = {}
    entry: dict[str, Any] = {}  # what every entry has besides its command
    command_key: str = "command"
    timeout_key: str = "timeout"
    seconds: int = 60  # timeout of the hook; Trotline's own deadline is shorter
    timeouts_per_second: int = 1  # 1000 if its timeouts are in milliseconds
    fail_closed: dict[str, Any] = {}  # what makes the agent block when a hook fails; empty if nothing does
    programs: tuple[str, ...] = ()  # its executables
    directories: tuple[str, ...] = ()  # below the home; they exist only if the agent was used
    own: bool = False
    plugin: bool = False
    taken: str = ""  # what to do if another file has the name of ours
    graphical: bool = False  # people start it from a menu, with a short search path
    note: str = ""  # what a person has to do besides

    def is_called_for(self, event: str, tool: str) -> bool:
        """Return whether the hook of an event runs for a tool; both are the agent's names."""
        matcher = self.matchers.get(event, "")
        return matcher in MATCH_ALL or re.search(matcher, tool) is not None


MATCH_ALL = frozenset({"", "*"})
"""Matchers that match everything and are not regular expressions."""
