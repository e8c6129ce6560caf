"""Many processes append records, and whoever drains them is killed again and again: none lost, none doubled, none torn.

    python scripts/soak_audit_log.py [RECORDS [WRITERS]]      10,000 records from each of 64 processes

What was acknowledged is counted outside of the trail: every writer notes an id in a file of its own when it was told
that the record is there. The tests use the same with fewer of them.
"""

import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from trotline.audit.record.record_builder import DETAIL_SCHEMA, RECORD_SCHEMA
from trotline.audit.store import audit_log
from trotline.audit.store.sqlite_store import DATABASE_NAME, SqliteStore
from trotline.audit.verify.chain import find_breaks
from trotline.config.paths import Roots

PAUSES = (0.2, 3.0)
"""Seconds that whoever drains may live, more or less."""


class Soaked(NamedTuple):
    """What came of it."""

    acknowledged: int
    lost: int = 0
    doubled: int = 0
    torn: int = 0
    wordless: int = 0
    breaks: int = 0
    kills: int = 0
    seconds: float = 0.0

    @property
    def is_fine(self) -> bool:
        return not any((self.lost, self.doubled, self.torn, self.wordless, self.breaks)) and self.kills > 0


def write(state: Path, number: int, each: int) -> None:
    """One writer: a record and its words, so often; what was acknowledged is noted."""
    spool = audit_log.get_spool(state)
    with (state / f"acknowledged-{number}").open("w", buffering=1) as noted:
        for turn in range(each):
            id_ = f"{number}-{turn}"
            body = {
                "schema": RECORD_SCHEMA,
                "id": id_,
                "at_us": turn,
                "agent": "soak",
                "event": "stop",
                "decided": "none",
            }
            if not spool.append(body) and not spool.append(
                {"schema": DETAIL_SCHEMA, "id": id_, "payload": {"text": id_ * 9}}
            ):
                noted.write(f"{id_}\n")


def roots_of(directory: Path) -> Roots:
    return Roots(home=directory, system=directory, projects=())


def drain_for_ever(directory: Path) -> None:
    """As the service does when it has time; here it always has."""
    roots = roots_of(directory)
    while True:
        audit_log.drain_if_unlocked(roots, 5)
        time.sleep(0.002)


def soak(directory: Path, *, writers: int, each: int, seed: int, pauses: tuple[float, float] = PAUSES) -> Soaked:
    """Each writer writes so often; meanwhile the one that drains is killed at moments that nobody chose."""
    chance = random.Random(seed)  # noqa: S311 - moments, not secrets
    state = roots_of(directory).state
    state.mkdir(parents=True, mode=0o700)
    argv = [sys.executable, __file__]
    begun = time.monotonic()
    working = [subprocess.Popen([*argv, "--write", str(state), str(one), str(each)]) for one in range(writers)]
    kills = 0
    while not kills or any(one.poll() is None for one in working):
        draining = subprocess.Popen([*argv, "--drain", str(directory)])
        time.sleep(chance.uniform(*pauses))
        draining.send_signal(signal.SIGKILL)
        if draining.wait() != -signal.SIGKILL:
            raise RuntimeError(f"whoever drains ended by itself, with {draining.returncode}")
        kills += 1
    with audit_log.open_audit_log(state) as store:
        return _compared(state, store)._replace(kills=kills, seconds=time.monotonic() - begun)


def _compared(state: Path, store: SqliteStore) -> Soaked:
    told = [line for file in state.glob("acknowledged-*") for line in file.read_text().splitlines()]
    entries = Counter((entry.kind, entry.id) for entry in store.entries())
    return Soaked(
        acknowledged=len(told),
        lost=sum(("record", id_) not in entries for id_ in told),
        doubled=sum(count - 1 for count in entries.values()) + len(told) - len(set(told)),
        torn=len(store.unread()),
        wordless=sum(("detail", id_) not in entries for id_ in told),
        breaks=sum(1 for _ in find_breaks(store.entries(), store.checkpoints())),
    )


def main() -> int:
    each, writers = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(sys.argv[2]) if len(sys.argv) > 2 else 64
    with tempfile.TemporaryDirectory() as scratch:
        soaked = soak(Path(scratch), writers=writers, each=each, seed=random.getrandbits(32))
        size = (roots_of(Path(scratch)).state / DATABASE_NAME).stat().st_size
    print(f"{soaked.acknowledged} records of {writers} processes in {soaked.seconds:.0f} s, {size // 1_000_000} MB:")
    print(f"{soaked.lost} lost, {soaked.doubled} doubled, {soaked.torn} torn, {soaked.wordless} without their words;")
    print(f"{soaked.breaks} breaks in the chain; the one that drains was killed {soaked.kills} times")
    return 0 if soaked.is_fine else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
        sys.exit(0)
    if sys.argv[1:2] == ["--drain"]:
        os.nice(1)
        drain_for_ever(Path(sys.argv[2]))
    sys.exit(main())
