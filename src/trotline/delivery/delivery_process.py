"""Delivery of records to collectors and of alerts to people, in a child process. By default nothing is delivered.

Delivery may take long or hang, so no call of an agent and no drain waits for it. There is one process per home. It
drains the spool first, so that everything it sends is in the audit log.
"""

import os
import sys
from contextlib import AbstractContextManager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

import trotline
from trotline.audit.export.export_progress import (
    EXPORT_DIRECTORY,
    MAX_WAIT_US,
    ExportProgress,
    read_progress,
    write_progress,
)
from trotline.audit.store.spool import Spool
from trotline.config.config_keys import has_delivery
from trotline.config.paths import CONFIG_FILE, Roots
from trotline.system.files import LockedError, ensure_private_directory, lock_file

if TYPE_CHECKING:
    from trotline.audit.store.sqlite_store import SqliteStore
    from trotline.delivery.alerts import AlertMessage
    from trotline.delivery.record_sender import SenderContext


PATH_SETUP = "import sys; sys.path += sys.argv[1:3]; del sys.argv[1:3]; "
"""Code that makes a child import this package and its libraries from their current directories."""


class ChildProcess:
    """A child process that runs at most once at a time."""

    def __init__(self) -> None:
        self._child = 0
        self.ended_by = 0
        """The signal that ended the last process, or 0."""

    @property
    def is_running(self) -> bool:
        """True while the child runs. Collects a child that has ended and sets `ended_by`."""
        if not self._child:
            return False
        with suppress(ChildProcessError):
            child, status = os.waitpid(self._child, os.WNOHANG)
            if not child:
                return True
            self.ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self._child = 0
        return False

    def start(self, program: str, *arguments: str) -> bool:
        """Start a process with Python code and arguments of ours, and return whether it was started."""
        if self.is_running:
            return False
        try:
            self._child = _spawn([sys.executable, "-I", "-c", PATH_SETUP + program, *_list_code_paths(), *arguments])
        except OSError:
            return False  # no process can be started now; the caller tries again later
        return True


def _list_code_paths() -> tuple[str, str]:
    return str(Path(trotline.__file__).parent.parent), str(Path(msgspec.__file__).parent.parent)


def _spawn(command: list[str]) -> int:
    """Start a process that inherits only the environment variables."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        return os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setsid=True)
    except NotImplementedError:  # an older system: the process stays in our session
        return os.posix_spawn(sys.executable, command, os.environ, file_actions=actions)


DELIVERY_LOCK = "lock"
NEXT_DELIVERY_FILE = "turn.json"
DELIVERY_TIMEOUT = 20.0
MIN_START_INTERVAL_US = 5_000_000
"""Minimum time between two processes, however many calls there are."""

CHILD_PROGRAM = "sys.argv[0] = 'trotline'; from trotline.__main__ import main; main()"


class NextDelivery(msgspec.Struct, frozen=True):
    """The time of the next delivery if no record arrives; 0 for never."""

    next_us: int = 0


class DeliveryStarter:
    """Starts the delivery process.

    The configuration is read once: a service restarts when it changes, and a command does not run long.
    """

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self.is_wanted = has_delivery(roots)
        self._last_us = 0
        self._child = ChildProcess()

    def start(self, now_us: int) -> bool:
        """Start a process unless nothing is due or one is running; return whether it was started."""
        if not self.is_wanted or 0 <= now_us - self._last_us < MIN_START_INTERVAL_US or self._child.is_running:
            return False
        if not Spool(self._roots.state / "spool").waits and not self._is_due(now_us):
            return False
        self._last_us = now_us
        roots = ("--home", str(self._roots.home), "--system", str(self._roots.system))
        return self._child.start(CHILD_PROGRAM, "log", "send", "--background", *roots)

    def _is_due(self, now_us: int) -> bool:
        file = self._roots.state / EXPORT_DIRECTORY / NEXT_DELIVERY_FILE
        if not file.exists():
            return True  # nothing was ever delivered: records that the log has already may be due
        due = read_progress(file, NextDelivery)
        return due.next_us > 0 and ExportProgress(next_us=due.next_us).is_due(now_us)


def lock_delivery(state: Path) -> AbstractContextManager[int]:
    """Hold the lock of the sending process of a home; raise LockedError if another process sends now."""
    ensure_private_directory(state / EXPORT_DIRECTORY)
    return lock_file(state / EXPORT_DIRECTORY / DELIVERY_LOCK, timeout=0)


class DeliveryResult(NamedTuple):
    """The progress of each destination by its layer, and the number of alerts sent."""

    progress: dict[str, ExportProgress]
    alerts: int = 0


def run_delivery(roots: Roots, context: "SenderContext", *, at_once: bool = False) -> DeliveryResult | None:
    """Drain the spool, then send everything that is due, or everything with `at_once`.

    Return None if another process is sending.
    """
    from trotline.audit.store import audit_log  # noqa: PLC0415 - only needed for sending
    from trotline.audit.store.audit_log import DETAIL_WAIT_US  # noqa: PLC0415 - the same
    from trotline.config.export_file import read_exports  # noqa: PLC0415 - the same
    from trotline.delivery.record_sender import RecordSender, count_unsent  # noqa: PLC0415 - the same

    if not has_delivery(roots):
        return DeliveryResult({})
    due: list[int] = []
    try:
        with lock_delivery(roots.state), audit_log.open_audit_log(roots.state) as store:
            alerts = _send_alerts(roots, context, store, due)
            senders = [RecordSender(roots.state, item, context) for item in read_exports(roots).destinations]
            progress = {sender.destination.layer: sender.run(store, at_once=at_once) for sender in senders}
            now = context.clock()
            waiting = [item for item in progress.values() if count_unsent(store, item)]
            due += [item.next_us if item.failures else now + DETAIL_WAIT_US for item in waiting]
            next_us = min([*due, now + MAX_WAIT_US]) if due else 0
            write_progress(roots.state / EXPORT_DIRECTORY / NEXT_DELIVERY_FILE, NextDelivery(next_us))
    except LockedError:
        return None
    return DeliveryResult(progress, alerts)


def _send_alerts(roots: Roots, context: "SenderContext", store: "SqliteStore", due: list[int]) -> int:
    """Send alerts and return their number; add the times of alerts that are due without a new record to `due`."""
    from trotline.config.alerts_file import read_alerts  # noqa: PLC0415 - the same
    from trotline.delivery.alerts import (  # noqa: PLC0415 - few users have alerts
        AlertRound,
        ChannelContext,
        deliver_message,
    )

    alerts = read_alerts(roots).alerts
    if not alerts:
        return 0
    channel_context = ChannelContext(context.environ, context.clock)

    def deliver(message: "AlertMessage") -> str:
        context.extend_time(DELIVERY_TIMEOUT)
        return deliver_message(message, channel_context)

    # An alert that was just configured is not for older records: the first round begins at the last edit.
    config_files = [directory / CONFIG_FILE for directory in (roots.config, roots.managed_config)]
    since_us = _get_last_edit_us(config_files) or context.clock()
    alert_round = AlertRound(roots.state, alerts, context.clock, deliver)
    alert_round.run(store, since_us)
    due += alert_round.due
    return alert_round.sent


def _get_last_edit_us(files: list[Path]) -> int:
    """Return the time of the last edit of these files; 0 if none exists."""
    last_us = 0
    for file in files:
        with suppress(FileNotFoundError, NotADirectoryError):
            last_us = max(last_us, file.stat().st_mtime_ns // 1000)
    return last_us
