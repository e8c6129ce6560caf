"""What leaves this machine, if anybody wants that: records to collectors, alerts to people. Nothing does by default.

No call of a host and no drain waits for it: it is done in a process of its own, one for each home, that somebody who
has time sets off. That process drains first, so that what it tells of is in the trail.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from trotline.audit.journal import DIRECTORY, LONGEST_WAIT_US, Progress, note, noted
from trotline.audit.spool import Spool
from trotline.background import Background
from trotline.config.places import Roots, private_directory
from trotline.config.toml_page import OUTWARD, are_there

if TYPE_CHECKING:
    from trotline.alerts.message import Message
    from trotline.audit.outflow import World
    from trotline.audit.sqlite_store import SqliteStore

LOCK = "lock"
TURN = "turn.json"
SECONDS_TO_DELIVER = 20.0
PAUSE_US = 5_000_000
"""Between two processes, however many calls there are."""

PROGRAM = "sys.argv[0] = 'trotline'; from trotline.__main__ import main; main()"


class Turn(msgspec.Struct, frozen=True):
    """When there is something to do next although no record has come; 0 for never."""

    next_us: int = 0


class Sender:
    """Sets the process off. Whether anything is configured is looked at once: a service lives no longer than that is
    true, and a command not long."""

    def __init__(self, roots: Roots) -> None:
        self._roots = roots
        self.is_wanted = any(are_there(roots, name) for name in OUTWARD)
        self._last_us = 0
        self._background = Background()

    def set_off(self, now_us: int) -> bool:
        """Whether a process was started. It is not when nothing is new, or when one is at it."""
        if not self.is_wanted or 0 <= now_us - self._last_us < PAUSE_US or self._background.is_at_it:
            return False
        if not Spool(self._roots.state / "spool").waits and not self._is_due(now_us):
            return False
        self._last_us = now_us
        roots = ("--home", str(self._roots.home), "--system", str(self._roots.system))
        return self._background.begin(PROGRAM, "log", "send", "--background", *roots)

    def _is_due(self, now_us: int) -> bool:
        file = self._roots.state / DIRECTORY / TURN
        if not file.exists():
            return True  # it was never done: what the trail has already may be wanted
        turn = noted(file, Turn)
        return turn.next_us > 0 and Progress(next_us=turn.next_us).is_due(now_us)


@contextmanager
def alone(state: Path) -> Iterator[bool]:
    """Whether nobody else is sending for this home; as long as this lasts nobody will."""
    private_directory(state / DIRECTORY)
    descriptor = os.open(state / DIRECTORY / LOCK, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        yield False
    else:
        yield True
    finally:
        os.close(descriptor)


class Flow(NamedTuple):
    """What one process did: how far each destination has come, by its layer, and how many alerts were sent."""

    progress: dict[str, Progress]
    told: int = 0


def flow(roots: Roots, world: "World", *, at_once: bool = False) -> Flow | None:
    """Drain, then send what is due, or at once also what is not; None if another process is at it."""
    from trotline.audit import trail  # noqa: PLC0415 - a database, for one that sends
    from trotline.audit.arrivals import PATIENCE_US  # noqa: PLC0415 - the same
    from trotline.audit.outflow import Outflow, behind  # noqa: PLC0415 - the same
    from trotline.config.export_file import read_exports  # noqa: PLC0415 - the same

    if not any(are_there(roots, name) for name in OUTWARD):
        return Flow({})
    due: list[int] = []
    with alone(roots.state) as is_alone:
        if not is_alone:
            return None
        with trail.opened(roots.state) as store:
            told = _told(roots, world, store, due)
            flows = [Outflow(roots.state, one, world) for one in read_exports(roots).destinations]
            progress = {one.destination.layer: one.run(store, at_once=at_once) for one in flows}
            now = world.clock()
            waiting = [one for one in progress.values() if behind(store, one)]
            due += [one.next_us if one.failures else now + PATIENCE_US for one in waiting]
            note(roots.state / DIRECTORY / TURN, Turn(min([*due, now + LONGEST_WAIT_US]) if due else 0))
    return Flow(progress, told)


def _told(roots: Roots, world: "World", store: "SqliteStore", due: list[int]) -> int:
    """How many alerts were sent; when there will be another although nothing has come is added to `due`."""
    from trotline.alerts.delivery import Machine, delivered  # noqa: PLC0415 - few people want to be told
    from trotline.alerts.rounds import Round  # noqa: PLC0415 - the same
    from trotline.config.alerts_file import NAME, read_alerts  # noqa: PLC0415 - the same

    alerts = read_alerts(roots).alerts
    if not alerts:
        return 0
    machine = Machine(world.environ, world.clock)

    def deliver(message: "Message") -> str:
        world.breathe(SECONDS_TO_DELIVER)
        return delivered(message, machine)

    files = [directory / NAME for directory in (roots.config, roots.managed_config)]
    since = max(file.stat().st_mtime_ns // 1000 for file in files if file.exists())
    one = Round(roots.state, alerts, world.clock, deliver)
    before = sum(fired.count for fired in one.rounds.fired.values())
    rounds = one.run(store, since)
    due += one.due
    return sum(fired.count for fired in rounds.fired.values()) - before
