"""Checks that run our lines as the agent does."""

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from trotline.agents.agent import Capability
from trotline.audit.query.query import Query
from trotline.audit.store import audit_log
from trotline.config.paths import CONFIG_FILE
from trotline.doctor.canary_call import MAX_SECONDS, find_gate, send_canary
from trotline.doctor.checks import AgentState, CheckResult, fail, note, ok, warn
from trotline.doctor.sample_calls import build_sample, run_line
from trotline.hook.answer import CANARY_WORD
from trotline.service.directory import RunDirectory
from trotline.service.wire import ask_status

LATENCY_CALLS = 5
MAX_START_SECONDS = 2.0
MAX_SHOWN = 3


def check_round_trip(state: AgentState) -> Iterator[CheckResult]:
    """Check that a sample of every event is answered."""
    for layer, samples in state.samples:
        unknown = len(layer.lines) - len(layer.list_runnable(state.roots))
        if unknown:
            detail = f"{unknown} lines in {layer.place} look like ours and are not to the letter: they were not run"
            yield fail(detail, f"look at {layer.place}")
        failed = [sample for sample in samples if sample.wrong]
        for sample in failed[:MAX_SHOWN]:
            yield fail(f"{sample.event}: {sample.wrong}", f"look at {_get_log_file(state)}")
        if len(failed) > MAX_SHOWN:
            yield fail(f"and {len(failed) - MAX_SHOWN} more events", f"look at {_get_log_file(state)}")
        refused_events = [sample.event for sample in samples if sample.objected]
        if refused_events:
            yield note(f"your own policy refuses the samples of {', '.join(refused_events)}")
        if samples and not failed:
            yield ok(f"all {len(samples)} events answered, {layer.name}")


def _get_log_file(state: AgentState) -> Path:
    return RunDirectory(state.roots.state / "run").log_file


def check_refusal(state: AgentState) -> Iterator[CheckResult]:
    """Check that the canary is refused."""
    for layer in state.layers:
        canary = send_canary(layer.targets, state.roots)
        if canary is None or canary.holds:
            yield ok(f"the canary is refused, {layer.name}")
        else:
            why = f"nobody would ask for it: {canary.fatal}" if canary.fatal else f"it was not: {canary.output[:200]}"
            yield fail(f"the canary must be refused; {why}", f"trotline install {state.agent.name}")


def check_records(state: AgentState) -> Iterator[CheckResult]:
    """Check that every sample left a record."""
    sent = sum(len(samples) for _, samples in state.samples)
    if not sent:
        return
    found = audit_log.read_records(
        state.roots.state, Query(include_self_tests=True, conversation=state.conversation)
    ).records
    stored = [record.id for record in found if record.conversation == state.conversation]
    if len(stored) == sent:
        yield ok(f"all {sent} calls are in the audit log")
    else:
        step = f"look at {state.machine.spool.file}: owner, mode, space"
        yield fail(f"{sent} calls left {len(stored)} records", step)


def check_latency(state: AgentState) -> Iterator[CheckResult]:
    """Measure how long the agent waits at its gate while the service runs."""
    for layer in state.layers:
        lines = dict(layer.list_runnable(state.roots))
        gate = find_gate(state.agent, lines)
        if gate is None:
            continue
        warm = _wait_for_service(state.roots.state / "run")
        payload = build_sample(state.agent, gate, state.conversation)
        seconds = statistics.median(run_line(lines[gate], payload).seconds for _ in range(LATENCY_CALLS))
        explanation = "the service answers" if warm else "no service answers: every call starts Python"
        detail = f"{seconds * 1000:.0f} ms at {gate}, {explanation}"
        if seconds > MAX_SECONDS:
            yield warn(f"{detail}; more than {MAX_SECONDS * 1000:.0f} ms is felt", "trotline service status")
        else:
            yield ok(detail)


def _wait_for_service(directory: Path) -> bool:
    """Wait a little for the service that the first call has started."""
    until = time.monotonic() + MAX_START_SECONDS
    run = RunDirectory(directory)
    while run.read_service_facts() is not None and time.monotonic() < until:
        if ask_status(run.socket) is not None:
            return True
        time.sleep(0.02)
    return False


def check_version(state: AgentState) -> Iterator[CheckResult]:
    """Report what this version of the agent does not support."""
    quirks = [
        quirk for quirk in state.agent.version_quirks if not quirk.works and quirk.applies(state.installed.number)
    ]
    weaknesses: dict[str, dict[str, None]] = {}
    for quirk in quirks:
        weaknesses.setdefault(quirk.description, {})[quirk.event] = None
    shown = state.installed.number or "an unknown version"
    believed = state.machine.settings.ask_fallback == "ask" and any(
        quirk.capability is Capability.ASK for quirk in quirks
    )
    if believed:
        detail = f"settings have `ask` sent to {shown}, where it is known not to be heard"
        yield warn(detail, f"look at {state.roots.config / CONFIG_FILE}: ask_fallback")
    for description, events in weaknesses.items():
        yield note(f"{shown}, at {' and '.join(events)}: {description}")
    if not weaknesses:
        yield ok(f"{state.installed.version or 'unknown'}: nothing is known to be weaker in it")


def check_last_call(state: AgentState) -> Iterator[CheckResult]:
    """Report the last call of the agent: only a call shows that it has loaded the file."""
    if not state.layers:
        return
    last = state.machine.find_last_call(state.agent.name)
    if last:
        at = datetime.fromtimestamp(last.at_us / 1_000_000, UTC).isoformat(timespec="seconds")
        yield ok(f"{state.agent.title} called last at {at}, {last.event}")
        return
    step = f"start {state.agent.title} anew, and ask it for `echo {CANARY_WORD}`: it must be refused"
    yield note(f"{state.agent.title} has not called yet: nobody knows whether it has read its file", step)
    if state.agent.wiring and state.agent.wiring.note:
        yield note(state.agent.wiring.note)
