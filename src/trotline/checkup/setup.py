"""Setting Trotline up for the agents on this machine: what would be done, and doing it."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from trotline.checkup.agents import Agent
from trotline.checkup.lines import install
from trotline.checkup.proof import Proof, proof
from trotline.config.installation import Done, Installed
from trotline.config.places import Roots
from trotline.config.settings import MONITOR, said_by_the_machine
from trotline.config.settings_edit import put_setting
from trotline.config.wires import Wired, place_of, wired
from trotline.errors import TrotlineError, UsageError

LAYER = "user"


class Plan(NamedTuple):
    """One agent, and what installing would change in its files."""

    agent: Agent
    wires: list[Wired]
    planned: list[Installed]
    why: str = ""  # why nothing can be done about it

    @property
    def done(self) -> Done:
        return overall(self.planned)


class Terms(NamedTuple):
    """How it is to be set up: what is done with refusals, and what an agent does when our line breaks."""

    mode: str
    fail_closed: bool


class Result(NamedTuple):
    """What was done, agent by agent and file by file, and to our own settings."""

    plans: list[Plan]
    done: list[list[Installed]]
    proofs: list[Proof | None]
    settings: Installed

    @property
    def holds(self) -> bool:
        """Whether all of it is in place; nothing is, if nobody wanted anything."""
        kept = all(overall(files) is not Done.REFUSED for files in self.done)
        return bool(self.done) and kept and all(proven is not None and proven.holds for proven in self.proofs)


def overall(files: Sequence[Installed]) -> Done:
    """What became of all of them, as one word: the worst."""
    done = {one.done for one in files}
    return next((word for word in (Done.REFUSED, Done.WRITTEN) if word in done), Done.NOTHING)


def fails_closed(wish: bool | None, *, mode: str, in_ci: bool) -> bool | None:
    """Whether actions are to be blocked when our line breaks; None when a person should be asked.

    Where nobody watches, a guard that is broken must not be taken for one that has no objection. Who only monitors
    wants nothing blocked, and the two cannot both be had.
    """
    if wish is not None:
        return wish
    if in_ci and mode == MONITOR:
        hint = "in CI a line that breaks blocks the action; --fail-open says that you want it otherwise"
        raise UsageError("--monitor wants nothing blocked, and CI=true insists on failing closed", hint=hint)
    return True if in_ci else False if mode == MONITOR else None


def allowed_mode(mode: str, roots: Roots) -> str:
    """The same, unless the owner of the machine has said otherwise."""
    managed = said_by_the_machine(roots).get("mode", mode)
    if managed != mode:
        file = roots.managed_config / "settings.json"
        raise TrotlineError(f"this machine is set to `{managed}`", hint=f"its owner says so in {file}")
    return mode


def plan(agent: Agent, roots: Roots, terms: Terms) -> Plan:
    wires = wired(agent.host, LAYER, roots, agent.version)
    try:
        return Plan(agent, wires, _installed(wires, roots, terms, dry_run=True))
    except TrotlineError as error:  # one agent whose file is not ours to write keeps no other from being set up
        return Plan(agent, wires, [], error.message)


def user_place(agent: Agent, roots: Roots) -> Path:
    return place_of(wired(agent.host, LAYER, roots))


def carry_out(plans: Sequence[Plan], roots: Roots, terms: Terms, *, dry_run: bool) -> Result:
    """Settings come first: between the two steps nothing is refused that was only to be written down."""
    settings = put_setting(roots, "mode", terms.mode, dry_run=dry_run)
    done = [_installed(one.wires, roots, terms, dry_run=dry_run) for one in plans]
    proofs = [] if dry_run else [proof(one.wires, roots) for one in plans]
    return Result([*plans], done, proofs, settings)


def _installed(wires: Sequence[Wired], roots: Roots, terms: Terms, *, dry_run: bool) -> list[Installed]:
    return install(wires, roots, fail_closed=terms.fail_closed, dry_run=dry_run)
