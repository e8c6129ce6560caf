"""The tables of checks, and the functions that run them. A check is a function that yields its results."""

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from trotline.agents.agent import Agent
from trotline.doctor import call_checks, file_checks, machine_checks
from trotline.doctor.checks import AgentState, CheckResult, MachineState, fail, note
from trotline.doctor.installed_agents import InstalledAgent
from trotline.domain.errors import TrotlineError, describe_os_error

Subject = TypeVar("Subject")

AGENT_CHECKS: dict[str, Callable[[AgentState], Iterator[CheckResult]]] = {
    "file": file_checks.check_file,
    "entries": file_checks.check_entries,
    "lines": file_checks.check_lines,
    "programs": file_checks.check_programs,
    "once": file_checks.check_loaded_once,
    "fails": file_checks.check_fail_mode,
    "PATH": file_checks.check_graphical_path,
    "round trip": call_checks.check_round_trip,
    "refusal": call_checks.check_refusal,
    "records": call_checks.check_records,
    "latency": call_checks.check_latency,
    "version": call_checks.check_version,
    "loaded": call_checks.check_last_call,
}
"""The checks of an agent, in order: calls come after files."""

MACHINE_CHECKS: dict[str, Callable[[MachineState], Iterator[CheckResult]]] = {
    "state": machine_checks.check_state_directory,
    "audit_log": machine_checks.check_spool,
    "observed": machine_checks.check_alarms,
    "heard": machine_checks.check_silent_conversations,
    "service": machine_checks.check_service,
    "settings": machine_checks.check_settings,
    "policy": machine_checks.check_policy,
    "secrets": machine_checks.check_secret_rules,
    "packages": machine_checks.check_package_lists,
    "export": machine_checks.check_export,
    "alerts": machine_checks.check_alerts,
    "monitor": machine_checks.check_monitoring,
    "trust": machine_checks.check_trust,
    "anchor": machine_checks.check_anchor,
    "keep_size": machine_checks.check_size,
}


def check_agent(installed: InstalledAgent, machine: MachineState) -> list[CheckResult]:
    """Run the checks of an agent."""
    if installed.agent.wiring is None:
        return [note(describe_manual_setup(installed.agent), check="entries")]
    return _run_checks(AGENT_CHECKS, AgentState(installed, machine))


def check_machine(machine: MachineState) -> list[CheckResult]:
    """Run the checks that are the same for all agents."""
    return _run_checks(MACHINE_CHECKS, machine)


def describe_manual_setup(agent: Agent) -> str:
    """Return how to set up an agent without a hooks file."""
    command = f"trotline hook {agent.name}"
    return f"{agent.title} has no hooks file that we could write: have it run `{command}` (docs/python.md)"


def _run_checks(
    checks: Mapping[str, Callable[[Subject], Iterator[CheckResult]]], subject: Subject
) -> list[CheckResult]:
    return [result._replace(check=name) for name, check in checks.items() for result in _run_check(check, subject)]


def _run_check(check: Callable[[Subject], Iterator[CheckResult]], subject: Subject) -> Iterator[CheckResult]:
    """Yield the results of a check. If it fails to run, that is a result too, and the other checks still run."""
    try:
        yield from check(subject)
    except OSError as error:
        place = f" ({error.filename})" if error.filename else ""
        why = f"{describe_os_error(error)}{place}"
        yield fail(f"cannot be looked at: {why}", "check its owner and permissions")
    except TrotlineError as error:
        yield fail(f"cannot be looked at: {error.message}", error.hint)
