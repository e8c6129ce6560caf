"""A process of ours that nobody waits for, one at a time: for what may take long, or hang.

What leaves this machine, if anybody wants that: records to collectors, alerts to people. Nothing does by default.

No call of an agent and no drain waits for it: it is done in a process of its own, one for each home, that somebody who
has time sets off. That process drains first, so that what it tells of is in the trail.
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
"""Our code and its libraries are found where they are now, whatever the interpreter finds by itself."""


class ChildProcess:
    """Begins one when asked to, unless the last is still at it."""

    def __init__(self) -> None:
        self._child = 0
        self.ended_by = 0
        """The signal that ended the last one, if one did."""

    @property
    def is_running(self) -> bool:
        if not self._child:
            return False
        with suppress(ChildProcessError):
            child, status = os.waitpid(self._child, os.WNOHANG)
            if not child:
                return True
            self.ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self._child = 0
        return False

    def begin(self, program: str, *words: str) -> bool:
        """Whether a process was started: of this text, with our own words and none that anybody else wrote."""
        if self.is_running:
            return False
        try:
            self._child = _spawn([sys.executable, "-I", "-c", PATH_SETUP + program, *_code(), *words])
        except OSError:
            return False  # no process can be made now; the next one who has time tries again
        return True


def _code() -> tuple[str, str]:
    return str(Path(trotline.__file__).parent.parent), str(Path(msgspec.__file__).parent.parent)


def _spawn(words: list[str]) -> int:
    """It keeps nothing of ours but the variables."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        return os.posix_spawn(sys.executable, words, os.environ, file_actions=actions, setsid=True)
    except NotImplementedError:  # an older system: the process stays in our session
        return os.posix_spawn(sys.executable, words, os.environ, file_actions=actions)


DELIVERY_LOCK = "lock"
NEXT_DELIVERY_FILE = "turn.json"
DELIVERY_TIMEOUT = 20.0
MIN_START_INTERVAL_US = 5_000_000
"""Between two processes, however many calls there are."""

CHILD_PROGRAM = "sys.argv[0] = 'trotline'; from trotline.__main__ import main; main()"


class NextDelivery(msgspec.Struct, frozen=True):
    """When there is something to do next although no record has come; 0 for never."""

    next_us: int = 0


class DeliveryStarter:
    """Sets the process off. Whether anything is configured is looked at once: a service lives no longer than that is
    true, and a command not long."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self.is_wanted = has_delivery(roots)
        self._last_us = 0
        self._background = ChildProcess()

    def start(self, now_us: int) -> bool:
        """Whether a process was started. It is not when nothing is new, or when one is at it."""
        if not self.is_wanted or 0 <= now_us - self._last_us < MIN_START_INTERVAL_US or self._background.is_running:
            return False
        if not Spool(self._roots.state / "spool").waits and not self._is_due(now_us):
            return False
        self._last_us = now_us
        roots = ("--home", str(self._roots.home), "--system", str(self._roots.system))
        return self._background.begin(CHILD_PROGRAM, "log", "send", "--background", *roots)

    def _is_due(self, now_us: int) -> bool:
        file = self._roots.state / EXPORT_DIRECTORY / NEXT_DELIVERY_FILE
        if not file.exists():
            return True  # it was never done: what the trail has already may be wanted
        turn = read_progress(file, NextDelivery)
        return turn.next_us > 0 and ExportProgress(next_us=turn.next_us).is_due(now_us)


def lock_delivery(state: Path) -> AbstractContextManager[int]:
    """Hold the lock of the sending process of a home; raise LockedError if another process sends now."""
    ensure_private_directory(state / EXPORT_DIRECTORY)
    return lock_file(state / EXPORT_DIRECTORY / DELIVERY_LOCK, timeout=0)


class DeliveryResult(NamedTuple):
    """What one process did: how far each destination has come, by its layer, and how many alerts were sent."""

    progress: dict[str, ExportProgress]
    told: int = 0


def run_delivery(roots: Roots, world: "SenderContext", *, at_once: bool = False) -> DeliveryResult | None:
    """Drain, then send what is due, or at once also what is not; None if another process is at it."""
    from trotline.audit.store import audit_log  # noqa: PLC0415 - a database, for one that sends
    from trotline.audit.store.audit_log import DETAIL_WAIT_US  # noqa: PLC0415 - the same
    from trotline.config.export_file import read_exports  # noqa: PLC0415 - the same
    from trotline.delivery.record_sender import RecordSender, count_unsent  # noqa: PLC0415 - the same

    if not has_delivery(roots):
        return DeliveryResult({})
    due: list[int] = []
    try:
        with lock_delivery(roots.state), audit_log.open_audit_log(roots.state) as store:
            told = _send_alerts(roots, world, store, due)
            flows = [RecordSender(roots.state, one, world) for one in read_exports(roots).destinations]
            progress = {one.destination.layer: one.run(store, at_once=at_once) for one in flows}
            now = world.clock()
            waiting = [one for one in progress.values() if count_unsent(store, one)]
            due += [one.next_us if one.failures else now + DETAIL_WAIT_US for one in waiting]
            next_us = min([*due, now + MAX_WAIT_US]) if due else 0
            write_progress(roots.state / EXPORT_DIRECTORY / NEXT_DELIVERY_FILE, NextDelivery(next_us))
    except LockedError:
        return None
    return DeliveryResult(progress, told)


def _send_alerts(roots: Roots, world: "SenderContext", store: "SqliteStore", due: list[int]) -> int:
    """How many alerts were sent; when there will be another although nothing has come is added to `due`."""
    from trotline.config.alerts_file import read_alerts  # noqa: PLC0415 - the same
    from trotline.delivery.alerts import (  # noqa: PLC0415 - few people want to be told
        AlertRound,
        ChannelContext,
        deliver_message,
    )

    alerts = read_alerts(roots).alerts
    if not alerts:
        return 0
    machine = ChannelContext(world.environ, world.clock)

    def deliver(message: "AlertMessage") -> str:
        world.breathe(DELIVERY_TIMEOUT)
        return deliver_message(message, machine)

    files = [directory / CONFIG_FILE for directory in (roots.config, roots.managed_config)]
    since = max(file.stat().st_mtime_ns // 1000 for file in files if file.exists())
    one = AlertRound(roots.state, alerts, world.clock, deliver)
    before = sum(fired.count for fired in one.rounds.fired.values())
    rounds = one.run(store, since)
    due += one.due
    return sum(fired.count for fired in rounds.fired.values()) - before
