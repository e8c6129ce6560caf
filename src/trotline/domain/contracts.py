"""The contract of an event: the replies that a hook may give to it, and the surfaces that it fires on.

A contract is data on the declaration of its event. Schemas, the checker, the reply readers and the docs are derived
from it, so each fact about an event is written once.
"""

from enum import StrEnum

import msgspec


class Family(StrEnum):
    """The part of an agent that raises an event."""

    AGENT = "agent"
    TAB = "tab"
    APP = "app"


class Surface(StrEnum):
    """A place where an agent runs. Not every event fires on every surface."""

    IDE = "ide"
    CLI = "cli"
    PRINT = "print"
    CLOUD = "cloud"
    TAB = "tab"


class Fires(StrEnum):
    """The status of an event on a surface: it fires, it does not, or neither was observed or documented."""

    YES = "yes"
    NO = "no"
    UNVERIFIED = "unverified"


class Ask(StrEnum):
    """The effect of a hook that answers `ask`."""

    ASKED = "asked"  # the agent asks the person
    UNHEARD = "unheard"  # the agent reads the key and does not act on it
    DENIED = "denied"  # the agent treats it as a deny
    NONE = "none"  # the event needs no permission


class Subject(msgspec.Struct, frozen=True):
    """The string of an event that matchers are applied to: the value of a field, or a fixed word."""

    field: str = ""
    word: str = ""

    @property
    def exists(self) -> bool:
        """False if the event has no string for matchers."""
        return bool(self.field or self.word)

    def __str__(self) -> str:
        if self.word:
            return f"the word `{self.word}`"
        return f"`{self.field}`" if self.field else "nothing"


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """The facts about an event that are not fields of its payload."""

    name: str
    family: Family = Family.AGENT
    when: str
    subject: Subject = Subject()
    answers: tuple[str, ...] = ()
    refusable: bool = False
    gate: bool = False  # a permission event: unreadable output at exit 0 blocks in the newest edition
    ask: Ask = Ask.NONE
    fires_on: tuple[Surface, ...] = (Surface.IDE, Surface.CLI, Surface.PRINT, Surface.CLOUD)
    unverified_on: tuple[Surface, ...] = ()
    unenforced_on: tuple[Surface, ...] = ()  # it fires there, but a refusal has no effect
    generic: bool = False  # fires for every tool, in addition to the event of that tool
    pairs_with: tuple[str, ...] = ()  # the specific events that fire for the same action

    def fires(self, surface: Surface) -> Fires:
        """Return whether the event fires on a surface."""
        if surface in self.unverified_on:
            return Fires.UNVERIFIED
        return Fires.YES if surface in self.fires_on else Fires.NO
