"""What can be seen only by calling: our lines are run as the agent runs them. A check is a function; CALL_CHECKS lists
them, and they come after those that only look."""

import statistics
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from trotline.audit import trail
from trotline.audit.query import Query
from trotline.canary import WORD
from trotline.checkup.calls import call
from trotline.checkup.examined import Examined
from trotline.checkup.file_checks import Check
from trotline.checkup.finding import Finding, fail, note, ok, warn
from trotline.checkup.proof import SLOW, gate_of, proof
from trotline.checkup.trips import sample
from trotline.hosts.host import Power
from trotline.service.directory import RunDirectory
from trotline.service.question import asked

CALLS = 5
SECONDS_TO_START = 2.0
MOST_SHOWN = 3


def round_trip(one: Examined) -> Iterator[Finding]:
    """Whether a sample of every event comes back answered."""
    for layer, trips in one.trips:
        unknown = len(layer.lines) - len(layer.runnable(one.roots))
        if unknown:
            detail = f"{unknown} lines in {layer.place} look like ours and are not to the letter: they were not run"
            yield fail("round trip", detail, f"look at {layer.place}")
        wrong = [trip for trip in trips if trip.wrong]
        for trip in wrong[:MOST_SHOWN]:
            yield fail("round trip", f"{trip.event}: {trip.wrong}", "trotline service logs")
        if len(wrong) > MOST_SHOWN:
            yield fail("round trip", f"and {len(wrong) - MOST_SHOWN} more events", "trotline service logs")
        objected = [trip.event for trip in trips if trip.objected]
        if objected:
            yield note("round trip", f"your own policy refuses the samples of {', '.join(objected)}")
        if trips and not wrong:
            yield ok("round trip", f"all {len(trips)} events answered, {layer.name}")


def refusal(one: Examined) -> Iterator[Finding]:
    """Whether what must be refused is refused: the canary of `trotline prove`."""
    for layer in one.layers:
        proven = proof(layer.wires, one.roots)
        if proven is None or proven.holds:
            yield ok("refusal", f"the canary is refused, {layer.name}")
        else:
            why = f"nobody would ask for it: {proven.void}" if proven.void else f"it was not: {proven.said[:200]}"
            yield fail("refusal", f"the canary must be refused; {why}", f"trotline prove {one.host.name}")


def records(one: Examined) -> Iterator[Finding]:
    """Whether every call of the round trip left its record."""
    made = sum(len(trips) for _, trips in one.trips)
    if not made:
        return
    all_ = trail.read(one.roots.state, Query(own=True, conversation=one.conversation)).records
    kept = [record["id"] for record in all_ if record.get("conversation") == one.conversation]
    if len(kept) == made:
        yield ok("records", f"all {made} calls are in the trail")
    else:
        step = f"look at {one.machine.spool.file}: owner, mode, space"
        yield fail("records", f"{made} calls left {len(kept)} records", step)


def latency(one: Examined) -> Iterator[Finding]:
    """How long the agent waits at its gate, once a service is there."""
    for layer in one.layers:
        lines = dict(layer.runnable(one.roots))
        gate = gate_of(one.host, lines)
        if gate is None:
            continue
        warm = _is_warm(one.roots.state / "run")
        payload = sample(one.host, gate, one.conversation)
        took = statistics.median(call(lines[gate], payload).seconds for _ in range(CALLS))
        how = "the service answers" if warm else "no service answers: every call starts Python"
        detail = f"{took * 1000:.0f} ms at {gate}, {how}"
        if took > SLOW:
            yield warn("latency", f"{detail}; more than {SLOW * 1000:.0f} ms is felt", "trotline service status")
        else:
            yield ok("latency", detail)


def _is_warm(directory: Path) -> bool:
    """The first call starts a service and does not wait for it; we do, a little."""
    until = time.monotonic() + SECONDS_TO_START
    run = RunDirectory(directory)
    while run.holder() is not None and time.monotonic() < until:
        if asked(run.socket) is not None:
            return True
        time.sleep(0.02)
    return False


def version(one: Examined) -> Iterator[Finding]:
    """What this version of the agent does not hear, and what we do instead."""
    quirks = [quirk for quirk in one.host.quirks if not quirk.works and quirk.applies(one.agent.number)]
    said: dict[str, dict[str, None]] = {}
    for quirk in quirks:
        said.setdefault(quirk.what, {})[quirk.event] = None
    shown = one.agent.number or "an unknown version"
    believed = one.machine.settings.ask_fallback == "ask" and any(quirk.power is Power.ASK for quirk in quirks)
    if believed:
        detail = f"settings have `ask` sent to {shown}, where it is known not to be heard"
        yield warn("version", detail, f"look at {one.roots.config / 'settings.json'}: ask_fallback")
    for what, events in said.items():
        yield note("version", f"{shown}, at {' and '.join(events)}: {what}")
    if not said:
        yield ok("version", f"{one.agent.version or 'unknown'}: nothing is known to be weaker in it")


def loaded(one: Examined) -> Iterator[Finding]:
    """Whether the agent itself has ever called. Nothing else shows that it has loaded the file."""
    if not one.layers:
        return
    last = one.machine.last_call(one.host.name)
    if last:
        at = datetime.fromtimestamp(last["at_us"] / 1_000_000, UTC).isoformat(timespec="seconds")
        yield ok("loaded", f"{one.host.title} called last at {at}, {last['event']}")
        return
    step = f"start {one.host.title} anew, and ask it for `echo {WORD}`: it must be refused"
    yield note("loaded", f"{one.host.title} has not called yet: nobody knows whether it has read its file", step)
    if one.host.wiring and one.host.wiring.note:
        yield note("loaded", one.host.wiring.note)


CALL_CHECKS: tuple[Check, ...] = (round_trip, refusal, records, latency, version, loaded)
