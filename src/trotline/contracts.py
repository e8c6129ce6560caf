"""The contract of an event: what a hook may answer to it, and where it fires at all.

A contract is data on the event's declaration. Schemas, the checker, the reply readers and the docs are all derived
from it, so a fact about an event is written once and nowhere else.
"""

from enum import StrEnum

import msgspec


class Family(StrEnum):
    """Who raises the event."""

    AGENT = "agent"
    TAB = "tab"
    APP = "app"


class Surface(StrEnum):
    """Where an agent runs; not every event fires everywhere."""

    IDE = "ide"
    CLI = "cli"
    PRINT = "print"
    CLOUD = "cloud"
    TAB = "tab"


class Fires(StrEnum):
    """Whether an event fires on a surface, as far as anyone has seen or documented."""

    YES = "yes"
    NO = "no"
    UNVERIFIED = "unverified"


class Ask(StrEnum):
    """What becomes of a hook that answers `ask`."""

    ASKED = "asked"  # the person is asked
    UNHEARD = "unheard"  # the key is read, and the product does not act on it
    DENIED = "denied"  # taken as a deny
    NONE = "none"  # the event asks for no permission


class Subject(msgspec.Struct, frozen=True):
    """The one string of an event that matchers look at: a field's value, or a fixed word."""

    field: str = ""
    word: str = ""

    @property
    def exists(self) -> bool:
        return bool(self.field or self.word)

    def __str__(self) -> str:
        if self.word:
            return f"the word `{self.word}`"
        return f"`{self.field}`" if self.field else "nothing"


class Contract(msgspec.Struct, frozen=True, kw_only=True):
    """Everything about an event that is not a field of it."""

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
    unenforced_on: tuple[Surface, ...] = ()  # raised there, and a refusal is read and not acted on
    generic: bool = False  # fires for every tool, beside the tool's own event
    pairs_with: tuple[str, ...] = ()  # the specific events that fire for the same action

    def fires(self, surface: Surface) -> Fires:
        if surface in self.unverified_on:
            return Fires.UNVERIFIED
        return Fires.YES if surface in self.fires_on else Fires.NO
