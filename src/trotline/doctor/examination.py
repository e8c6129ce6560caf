"""Run all checks of an agent, and all checks of the machine."""

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from trotline.agents.agent import Agent
from trotline.doctor.call_checks import CALL_CHECKS
from trotline.doctor.checks import AgentState, CheckResult, MachineState, fail, note
from trotline.doctor.file_checks import FILE_CHECKS
from trotline.doctor.installed_agents import InstalledAgent
from trotline.doctor.machine_checks import MACHINE_CHECKS
from trotline.domain.errors import TrotlineError, describe_os_error

Subject = TypeVar("Subject")


def check_agent(installed: InstalledAgent, machine: MachineState) -> list[CheckResult]:
    """Run the checks of files and calls of an agent."""
    if installed.agent.wiring is None:
        return [note("entries", describe_manual_setup(installed.agent))]
    return _run_checks((*FILE_CHECKS, *CALL_CHECKS), AgentState(installed, machine))


def check_machine(machine: MachineState) -> list[CheckResult]:
    """Run the checks that are the same for all agents."""
    return _run_checks(MACHINE_CHECKS, machine)


def describe_manual_setup(agent: Agent) -> str:
    """Return how to set up an agent without a hooks file."""
    return f"{agent.title} has no hooks file that we could write: have it run `trotline hook {agent.name}` (docs/python.md)"


def _run_checks(checks: Iterable[Callable[[Subject], Iterator[CheckResult]]], subject: Subject) -> list[CheckResult]:
    return [result for check in checks for result in _run_check(check, subject)]


def _run_check(check: Callable[[Subject], Iterator[CheckResult]], subject: Subject) -> list[CheckResult]:
    """Run one check. If it fails to run, that is a result, and the other checks still run."""
    found = []
    try:
        for result in check(subject):
            found.append(result)  # noqa: PERF402 - results before an error count
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        why = f"{describe_os_error(error)}{place}"
        found.append(fail(_get_name(check), f"cannot be looked at: {why}", "look at who owns it, and who may read it"))
    except TrotlineError as error:
        found.append(fail(_get_name(check), f"cannot be looked at: {error.message}", error.hint))
    return found


def _get_name(check: Callable[..., object]) -> str:
    return getattr(check, "__name__", "check").removeprefix("the_").replace("_", " ")
