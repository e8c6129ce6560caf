"""Results of checks, and the state of the machine and of one agent that checks share. Each part is read once, and only
when a check needs it."""

from collections.abc import Iterable
from enum import StrEnum
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

from trotline.agents.agent import Wiring
from trotline.audit.query.query import Query
from trotline.audit.record.record import Record, new_test_conversation
from trotline.audit.store import audit_log
from trotline.audit.store.audit_log import LogContents
from trotline.audit.store.spool import Spool
from trotline.config.install.hook_entries import HookFileTarget, get_location
from trotline.config.paths import Roots
from trotline.config.settings import Settings, read_settings
from trotline.doctor.hook_lines import HookLineState, InstalledLine, compare_lines, find_our_lines, may_run
from trotline.doctor.installed_agents import InstalledAgent, list_layers
from trotline.doctor.sample_calls import SampleCall, send_samples

MAX_RECORDS = 10_000
"""Records that are read, the newest: an audit log of years does not fit into memory."""


class CheckState(StrEnum):
    """The severity of a result; a note needs no action."""

    OK = "ok"
    NOTE = "note"
    WARN = "warn"
    FAIL = "fail"


class CheckResult(NamedTuple):
    """A result of a check."""

    state: CheckState
    detail: str
    next: str = ""  # the command, or step, that fixes it
    check: str = ""  # the name of the check, from the table of checks


ok = partial(CheckResult, CheckState.OK)
note = partial(CheckResult, CheckState.NOTE)
warn = partial(CheckResult, CheckState.WARN)
fail = partial(CheckResult, CheckState.FAIL)


def find_next_step(results: Iterable[CheckResult]) -> str:
    """Return the step of the most serious result."""
    listed = list(results)
    ranks = (CheckState.FAIL, CheckState.WARN, CheckState.NOTE)
    steps = (result.next for state in ranks for result in listed if result.state is state and result.next)
    return next(steps, "")


class MachineState:
    """The state of the machine, which is the same for all agents."""

    def __init__(self, roots: Roots) -> None:
        self.roots = roots

    @cached_property
    def settings(self) -> Settings:
        """The settings of this machine and user."""
        return read_settings(self.roots)

    @cached_property
    def spool(self) -> Spool:
        """The spool of records."""
        return Spool(self.roots.state / "spool")

    @cached_property
    def records(self) -> LogContents:
        """The newest records that were written before this examination; self-tests are left out."""
        return self._read(Query(limit=MAX_RECORDS))

    def find_last_call(self, agent: str) -> Record | None:
        """Return the last record of an agent."""
        calls = [record for record in self._read(Query(agent=agent, limit=1)).records if record.agent == agent]
        return calls[-1] if calls else None

    def _read(self, query: Query) -> LogContents:
        contents = audit_log.read_records(self.roots.state, query)
        return contents._replace(records=[record for record in contents.records if not record.is_self_test])


class InstalledLayer(NamedTuple):
    """The files of one layer of an agent that contain our lines."""

    targets: list[HookFileTarget]
    lines: list[InstalledLine]
    state: HookLineState

    @property
    def name(self) -> str:
        """The name of the layer."""
        return self.targets[0].layer

    @property
    def wiring(self) -> Wiring:
        """The wiring of the agent."""
        return self.targets[0].wiring

    @property
    def place(self) -> Path:
        """The file or directory of the hooks."""
        return get_location(self.targets)

    def list_runnable(self, roots: Roots) -> list[tuple[str, str]]:
        """Return event and command of each line that may be run."""
        return [(line.event, line.command) for line in self.lines if may_run(line, roots)]


class AgentState:
    """One agent under examination."""

    def __init__(self, installed: InstalledAgent, machine: MachineState) -> None:
        self.installed = installed
        self.agent = installed.agent
        self.machine = machine
        self.roots = machine.roots
        self.conversation = new_test_conversation()

    @cached_property
    def files(self) -> list[HookFileTarget]:
        """The files of the agent that exist."""
        targets = [target for layer in list_layers(self.agent, self.roots, self.installed.version) for target in layer]
        return [target for target in targets if target.file.exists() or target.file.is_symlink()]

    @cached_property
    def layers(self) -> list[InstalledLayer]:
        """The layers that have a line of ours."""
        layers = list_layers(self.agent, self.roots, self.installed.version)
        lines_by_layer = [(targets, find_our_lines(targets)) for targets in layers]
        return [
            InstalledLayer(targets, lines, compare_lines(targets, self.roots))
            for targets, lines in lines_by_layer
            if lines
        ]

    @cached_property
    def samples(self) -> list[tuple[InstalledLayer, list[SampleCall]]]:
        """The layers with a sample call of each line."""
        return [
            (layer, send_samples(self.agent, layer.list_runnable(self.roots), self.conversation, self.roots.home))
            for layer in self.layers
        ]
