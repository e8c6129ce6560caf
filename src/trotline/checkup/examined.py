"""An agent under examination: what the checks share, each part looked at once and only when a check wants it."""

from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from trotline.audit import trail
from trotline.audit.own import is_our_own, new_conversation
from trotline.audit.query import Query
from trotline.audit.spool import Read, Spool
from trotline.checkup.agents import Agent, wires_of
from trotline.checkup.lines import Compared, Ours, compared, may_be_run, ours_in
from trotline.checkup.trips import Trip, trips
from trotline.config.places import Roots
from trotline.config.settings import Settings, read_settings
from trotline.config.wires import Wired, place_of
from trotline.hosts.wiring import Wiring

LOOKED_AT = 10_000
"""Calls that are looked at, the newest: a trail of years does not fit into memory."""


class Machine:
    """What is the same for all agents."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots

    @cached_property
    def settings(self) -> Settings:
        return read_settings(self.roots)

    @cached_property
    def spool(self) -> Spool:
        return Spool(self.roots.state / "spool")

    @cached_property
    def trail(self) -> Read:
        """What was remembered last before we called anybody; what only we said is left out."""
        return self._calls(Query(limit=LOOKED_AT))

    def last_call(self, host: str) -> dict[str, Any] | None:
        calls = [one for one in self._calls(Query(host=host, limit=1)).records if one.get("host") == host]
        return calls[-1] if calls else None

    def _calls(self, query: Query) -> Read:
        read = trail.read(self.roots.state, query)
        return Read([one for one in read.records if not is_our_own(one)], read.torn)


class Layered(NamedTuple):
    """The files of one layer of the agent with our lines in them, beside what we would write there."""

    wires: list[Wired]
    lines: list[Ours]
    compared: Compared

    @property
    def name(self) -> str:
        return self.wires[0].layer

    @property
    def wiring(self) -> Wiring:
        return self.wires[0].wiring

    @property
    def place(self) -> Path:
        return place_of(self.wires)

    def runnable(self, roots: Roots) -> list[tuple[str, str]]:
        return [(one.event, one.line) for one in self.lines if may_be_run(one, roots)]


class Examined:
    def __init__(self, agent: Agent, machine: Machine) -> None:
        self.agent = agent
        self.host = agent.host
        self.machine = machine
        self.roots = machine.roots
        self.conversation = new_conversation()

    @cached_property
    def files(self) -> list[Wired]:
        """Those of its files that are there."""
        wires = [wire for layer in wires_of(self.host, self.roots, self.agent.version) for wire in layer]
        return [wire for wire in wires if wire.file.exists() or wire.file.is_symlink()]

    @cached_property
    def layers(self) -> list[Layered]:
        """Those layers that have a line of ours."""
        found = [(wires, ours_in(wires)) for wires in wires_of(self.host, self.roots, self.agent.version)]
        return [Layered(wires, lines, compared(wires, self.roots)) for wires, lines in found if lines]

    @cached_property
    def trips(self) -> list[tuple[Layered, list[Trip]]]:
        return [
            (layer, trips(self.host, layer.runnable(self.roots), self.conversation, self.roots.home))
            for layer in self.layers
        ]
