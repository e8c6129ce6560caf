"""A canary through the exact line that is installed: whether it ran, and whether it refused."""

import json
from collections.abc import Collection, Sequence
from typing import NamedTuple

from trotline.audit.own import PROVING
from trotline.canary import REASON, WORD
from trotline.checkup.calls import call
from trotline.checkup.lines import compared, may_be_run, ours_in
from trotline.checkup.validity import void_because
from trotline.config.places import Roots
from trotline.config.wires import Wired
from trotline.events import BeforeShell, Event, PreToolUse
from trotline.hosts.host import Host
from trotline.hosts.translation import write_event

SLOW = 0.2
"""Seconds; a gate that takes longer is felt."""

GATES = ("beforeShellExecution", "preToolUse")


class Proof(NamedTuple):
    """What one installed line did with the canary."""

    host: str
    title: str
    file: str
    current: bool
    void: str  # why the agent loads nothing of the file
    executed: bool
    refused: bool
    seconds: float
    said: str

    @property
    def holds(self) -> bool:
        return self.executed and self.refused and not self.void


def proof(wires: Sequence[Wired], roots: Roots) -> Proof | None:
    """The canary through the gate of this host; None when nothing of ours is in its files of this layer."""
    lines = {one.event: one for one in ours_in(wires)}
    if not lines:
        return None
    host = wires[0].host
    gate = gate_of(host, lines)
    at = lines[gate].wire if gate is not None else wires[0]
    void = next((f"{one.code} {one.message}" for one in void_because(at, roots)), "")
    about = (host.name, host.title, str(at.file), compared(wires, roots).current, void)
    if gate is None or not may_be_run(lines[gate], roots):
        why = "no gate of ours is in the file" if gate is None else "the project's line is not ours to the letter"
        return Proof(*about, executed=False, refused=False, seconds=0, said=why)
    called = call(lines[gate].line, write_event(host, _canary(host.events[gate])))
    refused = REASON in called.said and (called.exit_code == 2 or _is_object(called.stdout))
    executed = called.exit_code is not None
    return Proof(*about, executed=executed, refused=refused, seconds=called.seconds, said=called.said)


def gate_of(host: Host, lines: Collection[str]) -> str | None:
    """The host's name of the event at which a shell command can be refused, if a line of ours is there."""
    return next((event for ours in GATES for event in lines if host.events.get(event) == ours), None)


def _canary(event: str) -> Event:
    shell = f"echo {WORD}"
    if event == "preToolUse":
        return PreToolUse(tool_name="Shell", tool_input={"command": shell}, conversation_id=PROVING)
    return BeforeShell(command=shell, conversation_id=PROVING)


def _is_object(output: bytes) -> bool:
    try:
        return isinstance(json.loads(output), dict)
    except ValueError:
        return False
