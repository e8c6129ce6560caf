"""What is the same for all agents: our own files, the service, the settings. A check is a function; MACHINE_CHECKS
lists them."""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from trotline.alerts.rounds import FILE, Rounds
from trotline.audit.actions import steps_in
from trotline.audit.alarms import UNEXPECTED, alarms_in
from trotline.audit.journal import DIRECTORY, Progress, noted
from trotline.audit.outflow import journal_of
from trotline.audit.precedence import foremost
from trotline.checkup.examined import LOOKED_AT, Machine
from trotline.checkup.finding import Finding, State, fail, note, ok, warn
from trotline.checkup.monitoring import would_have_stopped
from trotline.config.alerts_file import read_alerts
from trotline.config.export_file import read_exports
from trotline.config.install_key import NAME as KEY
from trotline.config.install_key import install_key
from trotline.config.levels import FULL, MINIMAL, STANDARD
from trotline.config.malicious import loaded
from trotline.config.policies import read_policies
from trotline.config.problems import Severity
from trotline.config.rule_packs import read_packs
from trotline.config.trust import TrustStore
from trotline.errors import TrotlineError
from trotline.machine import clock, today
from trotline.service.beginning import CODE
from trotline.service.directory import RunDirectory
from trotline.service.question import asked

LEAST_ROOM = 50_000_000
"""Bytes; below this, records will soon be lost."""

MOST_ALARMS = 3

SECONDS_TO_START = 10.0
"""For which a service need not answer yet, on a slow machine."""
MOST_TRANSCRIPTS = 20
SILENCE_US = 10 * 60_000_000
"""An agent that writes its transcript for so long and calls nobody has lost its hooks; less is what models think."""


def state_directory(one: Machine) -> Iterator[Finding]:
    """Whether our own files are ours alone."""
    state = one.roots.state
    if not state.exists():
        yield note("state", f"{state} is not there yet; the first call makes it")
        return
    private = (state / "spool", state / "run")
    faults = [(path, fault) for path in private for fault in _faults(path, 0o077)]
    faults += [(state, fault) for fault in _faults(state, 0o022)]  # what is in it has modes of its own
    for path, fault in faults:
        yield fail("state", f"{path} {fault}", f"chmod 700 {path}" if OPEN in fault else f"ls -ld {path}")
    if (state / KEY).exists():
        try:
            install_key(state)
        except TrotlineError as error:
            faults.append((state / KEY, error.message))
            yield fail("state", f"{error.message}: no words of calls are kept", f"rm {state / KEY}")
    if not faults:
        yield ok("state", f"{state} is yours alone")


OPEN = "is open to other users"


def _faults(path: Path, closed: int) -> Iterator[str]:
    """Why this directory is not ours alone; `closed` are the bits of its mode that must not be set."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        yield f"cannot be looked at: {(error.strerror or str(error)).lower()}"
        return
    if stat.S_ISLNK(status.st_mode):
        yield "is a link"
    elif not stat.S_ISDIR(status.st_mode):
        yield "is no directory"
    elif status.st_uid != os.geteuid():
        yield f"belongs to another user (uid {status.st_uid})"
    elif stat.S_IMODE(status.st_mode) & closed:
        yield f"{OPEN} (mode {stat.S_IMODE(status.st_mode):o})"
    elif not os.access(path, os.W_OK):
        yield "cannot be written"


def spool(one: Machine) -> Iterator[Finding]:
    """Whether records can be kept, and those that were are whole."""
    file = one.spool.file
    try:
        torn = one.trail.torn
    except OSError as error:
        yield fail("trail", f"{file} cannot be read: {(error.strerror or str(error)).lower()}", f"ls -l {file}")
        return
    except TrotlineError as error:
        yield fail("trail", error.message, error.hint)
        return
    yield from _observed(one)
    above = next(path for path in (file, *file.parents) if path.exists())
    room = shutil.disk_usage(above).free
    if file.exists() and not os.access(file, os.W_OK):
        yield fail("trail", f"{file} cannot be written: no record is kept", f"ls -l {file}")
    if room < LEAST_ROOM:
        yield warn("trail", f"{room // 1_000_000} MB are left where records are kept", f"make room below {above}")
    if torn:
        yield warn("trail", f"{torn} records in {file} cannot be read", "trotline trace")
    elif room >= LEAST_ROOM:
        calls = len(one.trail.records)
        most = f"{LOOKED_AT} and more, of which the newest were looked at" if calls >= LOOKED_AT else str(calls)
        yield ok("trail", f"calls of agents that are remembered: {most}")


def _observed(one: Machine) -> Iterator[Finding]:
    """Whether what hosts told us afterwards fits to what they asked before."""
    alarms = alarms_in(steps_in(one.trail.records))
    for alarm in foremost(alarms, MOST_ALARMS):
        state = fail if alarm.kind in UNEXPECTED else warn
        yield state("observed", alarm.told(alarm.id, alarm.about_id), f"trotline log show {alarm.about_id or alarm.id}")
    if len(alarms) > MOST_ALARMS:
        yield warn("observed", f"and {len(alarms) - MOST_ALARMS} more", "trotline log alarms")


def heard(one: Machine) -> Iterator[Finding]:
    """Whether conversations went on without us: their transcripts grew, and nobody called."""
    last: dict[str, tuple[int, str]] = {}
    for record in one.trail.records:
        payload = record.get("detail", {}).get("payload")
        path = payload.get("transcript_path") if isinstance(payload, dict) else None
        if isinstance(path, str) and path.startswith("/"):
            last[path] = (int(record["at_us"]), str(record["host"]))
    for path, (at_us, host) in list(last.items())[-MOST_TRANSCRIPTS:]:
        try:
            written_us = Path(path).lstat().st_mtime_ns // 1000
        except OSError:
            continue
        if written_us - at_us > SILENCE_US:
            minutes = (written_us - at_us) // 60_000_000
            said = f"a conversation of {host} went on for {minutes} minutes without a call: {path}"
            yield warn("heard", said, f"trotline prove {host}")


def service(one: Machine) -> Iterator[Finding]:
    """Whether there is one, and whether calls went without it although it was there."""
    run = RunDirectory(one.roots.state / "run")
    holder = run.holder()
    if holder is None:
        yield ok("service", "not running; the next call starts it")
    elif asked(run.socket) is None and _is_young(holder):
        yield ok("service", f"starting, process {holder.get('pid', 'unknown')}")
    elif asked(run.socket) is None:
        yield warn("service", f"process {holder.get('pid', 'unknown')} does not answer", "trotline service stop")
    elif holder.get("code") != CODE:
        yield note("service", f"running, of another installation: {holder.get('code', 'unknown')}")
    else:
        yield ok("service", f"running, process {holder.get('pid', 'unknown')}")
    for word, count in run.went_cold().items():
        calls = "one call was" if count == 1 else f"{count} calls were"
        yield note("service", f"{calls} answered without it: {word} (`trotline service logs`)")


def _is_young(holder: dict[str, Any]) -> bool:
    """One that was started a moment ago still reads its code."""
    launched = holder.get("launched_us")
    return isinstance(launched, int) and 0 <= clock() - launched < SECONDS_TO_START * 1_000_000


KEPT = {MINIMAL: "sizes and digests are kept, and no words", FULL: "what edits change is kept as well"}


def settings(one: Machine) -> Iterator[Finding]:
    """What people told us, and whether it can be understood."""
    said = one.settings
    for problem in said.problems:
        state = State.FAIL if problem.severity is not Severity.WARNING else State.WARN
        yield Finding(state, "settings", f"{problem.place}: {problem.message}", "trotline check")
    if said.ask_fallback == "ask":
        yield note("settings", "`ask` is sent as `ask`, also where a host is known not to ask")
    if said.records != STANDARD:
        yield note("settings", f"records are {said.records}: {KEPT[said.records]}")
    if said.monitors:
        yield warn("settings", "monitor mode: nothing is refused but the canary", "trotline init --enforce")
    elif not said.problems:
        yield ok("settings", "what is decided is enforced")


def policy(one: Machine) -> Iterator[Finding]:
    """What is wished of the guards, and whether it can be understood."""
    read = read_policies(one.roots, one.roots.projects, today=today())
    for problem in read.problems:
        yield fail("policy", f"{problem.place}: {problem.message}", "trotline policy check")
    if not read.problems:
        yield ok("policy", ", ".join(read.files) or "nobody has written one; the standard is in force")


def secrets(one: Machine) -> Iterator[Finding]:
    """Rules for secrets beside ours; a rule that cannot be read finds nothing."""
    packs, problems = read_packs(one.roots)
    for problem in problems:
        yield fail("secrets", f"{problem.place}: {problem.message}", problem.hint)
    if packs and not problems:
        yield ok(
            "secrets", f"{len(packs)} files of rules beside ours" if len(packs) > 1 else "a file of rules beside ours"
        )


def packages(one: Machine) -> Iterator[Finding]:
    """Whether installs are judged by a list of malicious packages, and whether it can be used."""
    lists = loaded(one.roots)
    for problem in lists.problems:
        yield fail("packages", f"{problem.place}: {problem.message}", "trotline packages load PATH")
    for file, head in lists.heads:
        newest = f", the newest of {str(head['newest'])[:10]}" if head.get("newest") else ""
        yield ok("packages", f"{file} has {head.get('entries', 0)} reports of malicious packages{newest}")


def export(one: Machine) -> Iterator[Finding]:
    """Whether what is to be sent somewhere gets there; nothing is, unless somebody said so."""
    read = read_exports(one.roots)
    for problem in read.problems:
        yield fail("export", f"{problem.place}: {problem.message}", "trotline check")
    for destination in read.destinations:
        progress = noted(journal_of(one.roots.state, destination), Progress)
        where, trouble = f"{destination.endpoint} ({destination.layer})", progress.trouble
        if progress.failures and trouble:
            yield warn("export", f"{where} takes nothing: {trouble.why}", "trotline log export --status")
        else:
            yield ok("export", f"{where} has taken {progress.sent} records")
        if progress.refused:
            yield note("export", f"{where} refused {progress.refused} records (`trotline log export --status`)")


def alerts(one: Machine) -> Iterator[Finding]:
    """Whether those who want to be told are."""
    read = read_alerts(one.roots)
    for problem in read.problems:
        yield fail("alerts", f"{problem.place}: {problem.message}", "trotline check")
    fired = noted(one.roots.state / DIRECTORY / FILE, Rounds).fired
    for alert in read.alerts:
        trouble = fired[alert.name].trouble if alert.name in fired else None
        if trouble:
            yield warn("alerts", f"`{alert.name}` did not arrive: {trouble.why}", f"trotline alerts test {alert.name}")
        else:
            yield ok("alerts", f"`{alert.name}` on {alert.on}, to {alert.way}")


def monitored(one: Machine) -> Iterator[Finding]:
    """In monitor mode: what enforcing would have stopped."""
    if not one.settings.monitors:
        return
    stopped = would_have_stopped(one.trail.records)
    watched = sum(bool(record.get("monitored")) for record in one.trail.records)
    yield note("monitor", f"enforcing would have stopped {stopped.calls} of {watched} calls that were monitored")
    for (event, author, word), count in stopped.by.items():
        times = "once" if count == 1 else f"{count} times"
        yield note("monitor", f"{word} {times} at {event}, by {author}")
    for line in stopped.last:
        yield note("monitor", f"last: {line}")


def trust(one: Machine) -> Iterator[Finding]:
    """Whether what was trusted is still known."""
    store = TrustStore(one.roots.state / "trust")
    for path in store.damaged():
        yield warn("trust", f"{path} cannot be read: its workspace is not trusted", "trotline trust")


MACHINE_CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (
    state_directory,
    spool,
    heard,
    service,
    settings,
    policy,
    secrets,
    packages,
    export,
    alerts,
    monitored,
    trust,
)
