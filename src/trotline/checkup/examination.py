"""The whole examination: every check, one after the other, for every agent and for the machine."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from trotline.checkup.agents import Agent
from trotline.checkup.call_checks import CALL_CHECKS
from trotline.checkup.examined import Examined, Machine
from trotline.checkup.file_checks import FILE_CHECKS
from trotline.checkup.finding import Finding, fail, note
from trotline.checkup.machine_checks import MACHINE_CHECKS
from trotline.checkup.upkeep_checks import UPKEEP_CHECKS
from trotline.errors import TrotlineError
from trotline.hosts.host import Host

Subject = TypeVar("Subject")


def examine(agent: Agent, machine: Machine) -> list[Finding]:
    if agent.host.wiring is None:
        return [note("entries", by_hand_text(agent.host))]
    return _all((*FILE_CHECKS, *CALL_CHECKS), Examined(agent, machine))


def examine_machine(machine: Machine) -> list[Finding]:
    return _all((*MACHINE_CHECKS, *UPKEEP_CHECKS), machine)


def by_hand_text(host: Host) -> str:
    return f"{host.title} has no hooks file that we could write: have it run `trotline hook {host.name}` (docs/sdk.md)"


def _all(checks: Iterable[Callable[[Subject], Iterator[Finding]]], subject: Subject) -> list[Finding]:
    return [finding for check in checks for finding in _one(check, subject)]


def _one(check: Callable[[Subject], Iterator[Finding]], subject: Subject) -> list[Finding]:
    """A check that cannot be made is a finding too, and keeps no other from being made."""
    found = []
    try:
        for finding in check(subject):
            found.append(finding)  # noqa: PERF402 - what was found before it broke counts
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        why = f"{(error.strerror or str(error)).lower()}{place}"
        found.append(fail(_name(check), f"cannot be looked at: {why}", "look at who owns it, and who may read it"))
    except TrotlineError as error:
        found.append(fail(_name(check), f"cannot be looked at: {error.message}", error.hint))
    return found


def _name(check: Callable[..., object]) -> str:
    return getattr(check, "__name__", "check").removeprefix("the_").replace("_", " ")
