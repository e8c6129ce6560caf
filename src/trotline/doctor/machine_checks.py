"""Checks that are the same for all agents: our own files, the service, settings, retention."""

import os
import shutil
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from trotline.audit.export.export_progress import EXPORT_DIRECTORY, ExportProgress, read_progress
from trotline.audit.query.alarms import UNEXPECTED_KINDS, find_alarms, select_alarms
from trotline.audit.record.actions import collect_steps
from trotline.audit.store.audit_log import (
    SIZE_SLACK,
    MaintenanceSettings,
    explain_lost_heads,
    explain_size,
    read_maintenance_settings,
)
from trotline.audit.store.sqlite_store import DATABASE_NAME, SqliteStore
from trotline.audit.verify.anchors import read_anchor
from trotline.config.alerts_file import read_alerts
from trotline.config.detail_levels import FULL, MINIMAL, STANDARD
from trotline.config.export_file import read_exports
from trotline.config.install.install_key import NAME as KEY
from trotline.config.install.install_key import read_or_create_key
from trotline.config.malicious import read_list_heads
from trotline.config.policies import read_policies
from trotline.config.problems import Problem, Severity
from trotline.config.rule_packs import read_packs
from trotline.config.trust import TrustStore
from trotline.delivery.alerts import ALERTS_STATE_FILE, AlertState
from trotline.delivery.record_sender import get_progress_file
from trotline.doctor.checks import MAX_RECORDS, CheckResult, CheckState, MachineState, fail, note, ok, warn
from trotline.doctor.monitoring import summarize_monitoring
from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.machine import get_today, read_clock
from trotline.service.directory import RunDirectory
from trotline.service.start import CODE
from trotline.service.wire import ask_status

MIN_FREE_BYTES = 50_000_000
MAX_ALARMS = 3
MAX_START_SECONDS = 10.0
"""A service may take this long to start on a slow machine."""

MAX_TRANSCRIPTS = 20
MAX_SILENCE_US = 10 * 60_000_000
"""An agent whose transcript grows this long without a call has lost its hooks; a model may think for less."""

SHARED = "is open to other users"
RECORD_LEVELS = {MINIMAL: "sizes and digests are kept, and no words", FULL: "what edits change is kept as well"}


def check_state_directory(machine: MachineState) -> Iterator[CheckResult]:
    """Check that only this user can write our files."""
    state = machine.roots.state
    if not state.exists():
        yield note(f"{state} is not there yet; the first call makes it")
        return
    private = (state / "spool", state / "run")
    faults = [(path, fault) for path in private for fault in _find_directory_faults(path, 0o077)]
    faults += [(state, fault) for fault in _find_directory_faults(state, 0o022)]  # files in it have their own modes
    for path, fault in faults:
        yield fail(f"{path} {fault}", f"chmod 700 {path}" if SHARED in fault else f"ls -ld {path}")
    if (state / KEY).exists():
        try:
            read_or_create_key(state)
        except TrotlineError as error:
            faults.append((state / KEY, error.message))
            yield fail(f"{error.message}: no words of calls are kept", f"rm {state / KEY}")
    if not faults:
        yield ok(f"{state} is yours alone")


def _find_directory_faults(path: Path, forbidden: int) -> Iterator[str]:
    """Yield why a directory is not private; `forbidden` are mode bits that must not be set."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    except OSError as error:
        yield f"cannot be looked at: {describe_os_error(error)}"
        return
    if stat.S_ISLNK(status.st_mode):
        yield "is a link"
    elif not stat.S_ISDIR(status.st_mode):
        yield "is no directory"
    elif status.st_uid != os.geteuid():
        yield f"belongs to another user (uid {status.st_uid})"
    elif stat.S_IMODE(status.st_mode) & forbidden:
        yield f"{SHARED} (mode {stat.S_IMODE(status.st_mode):o})"
    elif not os.access(path, os.W_OK):
        yield "cannot be written"


def check_spool(machine: MachineState) -> Iterator[CheckResult]:
    """Check that records can be written and read."""
    file = machine.spool.file
    try:
        unread = machine.records.unread
    except OSError as error:
        yield fail(f"{file} cannot be read: {describe_os_error(error)}", f"ls -l {file}")
        return
    except TrotlineError as error:
        yield fail(error.message, error.hint)
        return
    above = next(path for path in (file, *file.parents) if path.exists())
    room = shutil.disk_usage(above).free
    if file.exists() and not os.access(file, os.W_OK):
        yield fail(f"{file} cannot be written: no record is kept", f"ls -l {file}")
    if room < MIN_FREE_BYTES:
        yield warn(f"{room // 1_000_000} MB are left where records are kept", f"make room below {above}")
    if unread:
        yield warn(f"{unread} records in {file} cannot be read", "trotline log")
    elif room >= MIN_FREE_BYTES:
        calls = len(machine.records.records)
        count = f"{MAX_RECORDS} and more, of which the newest were looked at" if calls >= MAX_RECORDS else str(calls)
        yield ok(f"calls of agents that are remembered: {count}")


def check_alarms(machine: MachineState) -> Iterator[CheckResult]:
    """Report the alarms of the newest records."""
    alarms = find_alarms(collect_steps(machine.records.records))
    for alarm in select_alarms(alarms, MAX_ALARMS):
        report = fail if alarm.kind in UNEXPECTED_KINDS else warn
        yield report(alarm.describe(alarm.id, alarm.decision_id), f"trotline log show {alarm.decision_id or alarm.id}")
    if len(alarms) > MAX_ALARMS:
        yield warn(f"and {len(alarms) - MAX_ALARMS} more", "trotline log alarms")


def check_silent_conversations(machine: MachineState) -> Iterator[CheckResult]:
    """Find conversations whose transcripts grew without calls."""
    last: dict[str, tuple[int, str]] = {}
    for record in machine.records.records:
        path = record.payload.get("transcript_path")
        if isinstance(path, str) and path.startswith("/"):
            last[path] = (record.at_us, record.agent)
    for path, (at_us, agent) in list(last.items())[-MAX_TRANSCRIPTS:]:
        try:
            written_us = Path(path).lstat().st_mtime_ns // 1000
        except OSError:
            continue
        if written_us - at_us > MAX_SILENCE_US:
            minutes = (written_us - at_us) // 60_000_000
            detail = f"a conversation of {agent} went on for {minutes} minutes without a call: {path}"
            yield warn(detail, f"trotline install {agent}")


def check_service(machine: MachineState) -> Iterator[CheckResult]:
    """Check that the service answers, and report calls that it did not answer."""
    run = RunDirectory(machine.roots.state / "run")
    holder = run.read_service_facts()
    if holder is None:
        yield ok("not running; the next call starts it")
    elif ask_status(run.socket) is None and _is_young(holder):
        yield ok(f"starting, process {holder.get('pid', 'unknown')}")
    elif ask_status(run.socket) is None:
        yield warn(f"process {holder.get('pid', 'unknown')} does not answer", "trotline service stop")
    elif holder.get("code") != CODE:
        yield note(f"running, of another installation: {holder.get('code', 'unknown')}")
    else:
        yield ok(f"running, process {holder.get('pid', 'unknown')}")
    for word, count in run.count_cold_calls().items():
        calls = "one call was" if count == 1 else f"{count} calls were"
        yield note(f"{calls} answered without it: {word} ({run.log_file})")


def _is_young(holder: dict[str, Any]) -> bool:
    """Return whether the service was started a moment ago."""
    launched = holder.get("launched_us")
    return isinstance(launched, int) and 0 <= read_clock() - launched < MAX_START_SECONDS * 1_000_000


def check_settings(machine: MachineState) -> Iterator[CheckResult]:
    """Check the settings, and report those that weaken protection."""
    settings = machine.settings
    for problem in settings.problems:
        state = CheckState.FAIL if problem.severity is not Severity.WARNING else CheckState.WARN
        yield CheckResult(state, f"{problem.place}: {problem.message}", "trotline check")
    if settings.ask_fallback == "ask":
        yield note("`ask` is sent as `ask`, also where an agent is known not to ask")
    if settings.records != STANDARD:
        yield note(f"records are {settings.records}: {RECORD_LEVELS[settings.records]}")
    if settings.monitors:
        yield warn("monitor mode: nothing is refused but the canary", "trotline install --enforce")
    elif not settings.problems:
        yield ok("what is decided is enforced")


def check_policy(machine: MachineState) -> Iterator[CheckResult]:
    """Check the policies."""
    read = read_policies(machine.roots, machine.roots.projects, today=get_today())
    for problem in _leave_out_settings(read.problems, machine):
        yield fail(f"{problem.place}: {problem.message}", "trotline check")
    if not read.problems:
        yield ok(", ".join(read.files) or "nobody has written one; the standard is in force")


def _leave_out_settings(problems: Iterable[Problem], machine: MachineState) -> list[Problem]:
    """Return the problems of a section; those of the whole file are among those of the settings."""
    return [problem for problem in problems if problem not in machine.settings.problems]


def check_secret_rules(machine: MachineState) -> Iterator[CheckResult]:
    """Check additional rules for secrets; a rule that cannot be read finds nothing."""
    packs, problems = read_packs(machine.roots)
    for problem in problems:
        yield fail(f"{problem.place}: {problem.message}", problem.hint)
    if packs and not problems:
        yield ok(f"{len(packs)} files of rules beside ours" if len(packs) > 1 else "a file of rules beside ours")


def check_package_lists(machine: MachineState) -> Iterator[CheckResult]:
    """Check the lists of malicious packages."""
    lists = read_list_heads(machine.roots)
    for problem in lists.problems:
        yield fail(f"{problem.place}: {problem.message}", "trotline guards packages load PATH")
    for file, head in lists.heads:
        newest = f", the newest of {str(head['newest'])[:10]}" if head.get("newest") else ""
        yield ok(f"{file} has {head.get('entries', 0)} reports of malicious packages{newest}")


def check_export(machine: MachineState) -> Iterator[CheckResult]:
    """Check that configured destinations receive records."""
    read = read_exports(machine.roots)
    for problem in _leave_out_settings(read.problems, machine):
        yield fail(f"{problem.place}: {problem.message}", "trotline check")
    for destination in read.destinations:
        progress = read_progress(get_progress_file(machine.roots.state, destination), ExportProgress)
        where, trouble = f"{destination.endpoint} ({destination.layer})", progress.trouble
        if progress.failures and trouble:
            yield warn(f"{where} takes nothing: {trouble.why}", "trotline log export --status")
        else:
            yield ok(f"{where} has taken {progress.sent} records")
        if progress.refused:
            yield note(f"{where} refused {progress.refused} records (`trotline log export --status`)")


def check_alerts(machine: MachineState) -> Iterator[CheckResult]:
    """Check that alerts are delivered."""
    read = read_alerts(machine.roots)
    for problem in _leave_out_settings(read.problems, machine):
        yield fail(f"{problem.place}: {problem.message}", "trotline check")
    fired = read_progress(machine.roots.state / EXPORT_DIRECTORY / ALERTS_STATE_FILE, AlertState).fired
    for alert in read.alerts:
        trouble = fired[alert.name].trouble if alert.name in fired else None
        if trouble:
            yield warn(f"`{alert.name}` did not arrive: {trouble.why}", f"trotline log alerts test {alert.name}")
        else:
            yield ok(f"`{alert.name}` on {alert.on}, to {alert.channel}")


def check_monitoring(machine: MachineState) -> Iterator[CheckResult]:
    """Report what enforcing would have stopped, in monitor mode."""
    if not machine.settings.monitors:
        return
    stopped = summarize_monitoring(machine.records.records)
    watched = sum(record.monitored for record in machine.records.records)
    yield note(f"enforcing would have stopped {stopped.calls} of {watched} calls that were monitored")
    for (event, author, word), count in stopped.counts.items():
        times = "once" if count == 1 else f"{count} times"
        yield note(f"{word} {times} at {event}, by {author}")
    for line in stopped.examples:
        yield note(f"last: {line}")


def check_trust(machine: MachineState) -> Iterator[CheckResult]:
    """Check that stored trust can be read."""
    store = TrustStore(machine.roots.state / "trust")
    for path in store.list_damaged():
        yield warn(f"{path} cannot be read: its workspace is not trusted", "trotline trust")


def check_anchor(machine: MachineState) -> Iterator[CheckResult]:
    """Check that heads can be noted in the configured anchor, and that it still has the noted ones."""
    maintenance = read_maintenance_settings(machine.roots)
    if maintenance.anchor is None:
        return
    heads = read_anchor(maintenance.anchor).heads
    loss = explain_lost_heads(maintenance.anchor, machine.roots.state)
    if loss:
        yield fail(loss, "trotline log verify")
    if why := _explain_unwritable(maintenance.anchor):
        yield fail(f"the anchor `{maintenance.anchor}` cannot be written: {why}", f"ls -ld {maintenance.anchor.parent}")
    elif heads and not loss:
        yield ok(f"heads are noted in {maintenance.anchor}, the last of entry {max(heads)}")
    elif not loss and (machine.roots.state / DATABASE_NAME).exists():
        yield warn(
            f"no head is noted in {maintenance.anchor} yet: a cut end would not be seen",
            "trotline log anchor",
        )
    elif not loss:
        yield note(f"{maintenance.anchor} is begun with the first records")


def _explain_unwritable(file: Path) -> str:
    if file.exists():
        return "" if os.access(file, os.W_OK) else "it is not yours to write"
    if not file.parent.is_dir():
        return "its directory is not there"
    return "" if os.access(file.parent, os.W_OK | os.X_OK) else "its directory is not yours to write"


def check_size(machine: MachineState) -> Iterator[CheckResult]:
    """Check that pruning can reach the configured size."""
    maintenance = read_maintenance_settings(machine.roots)
    file = machine.roots.state / DATABASE_NAME
    if not maintenance.keep_bytes or not file.exists():
        return
    with SqliteStore(file) as store:
        excess = _describe_excess(store, maintenance)
    if excess:
        yield warn(f"{excess}: `keep_size` cannot be kept", "set a larger `keep_size` in trotline.toml")


def _describe_excess(store: SqliteStore, maintenance: MaintenanceSettings) -> str:
    now_us = read_clock()
    limit = maintenance.keep_bytes * SIZE_SLACK
    return (
        explain_size(store, now_us)
        if store.size() > limit and store.estimate_minimum_size(now_us) > maintenance.keep_bytes
        else ""
    )
