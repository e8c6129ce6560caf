"""Wiring: where a host keeps its hooks and how an entry of ours looks there, as data on each host."""

import re
from typing import Any

import msgspec


class Wiring(msgspec.Struct, frozen=True, kw_only=True):
    """`files` says for each layer where the file is, below the home, the project or the system's root. With `own`, the
    whole file is ours, and `{event}` in its name makes one for each event: a program, or a plugin of the host."""

    files: dict[str, str]
    events: tuple[str, ...]  # the host's names, in the order in which they are written
    since: tuple[tuple[str, frozenset[str]], ...] = ()  # from which version on it knows which events; oldest first
    grouped: bool = False  # whether entries stand in groups that bear the matcher
    version: int | None = None
    matchers: dict[str, str] = {}
    entry: dict[str, Any] = {}  # what every entry has beside its command
    command_key: str = "command"
    timeout_key: str = "timeout"
    seconds: int = 60  # how long the host is told to wait for us, or waits; our own deadline is below it
    timeouts_per_second: int = 1  # 1000 for hosts that count milliseconds
    fail_closed: dict[str, Any] = {}  # what makes the host block when a hook fails; empty if nothing does
    programs: tuple[str, ...] = ()  # its executables
    directories: tuple[str, ...] = ()  # below the home; there only if the product was used
    own: bool = False
    plugin: bool = False
    taken: str = ""  # what to do where somebody else's file has the name of ours
    graphical: bool = False  # whether people start it from a menu, with a short search path
    note: str = ""  # what a person has to do besides

    def calls_for(self, event: str, tool: str) -> bool:
        """Whether our line at this event is called for a tool; both by the host's names."""
        matcher = self.matchers.get(event, "")
        return matcher in EVERYTHING or re.search(matcher, tool) is not None


EVERYTHING = frozenset({"", "*"})
"""Matchers that are no expressions."""
