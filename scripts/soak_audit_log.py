"""Soak test of the audit log: many processes append records while the draining process is killed repeatedly.

No record may be lost, doubled or torn.

    python scripts/soak_audit_log.py [RECORDS [WRITERS]]      10,000 records from each of 64 processes

Acknowledged records are counted outside of the audit log: each writer notes their ids in its own file. The tests use
the same code with fewer records.
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
"""The minimum and maximum seconds until the draining process is killed."""


class SoakResult(NamedTuple):
    """The counts of a soak test."""

    acknowledged: int
    lost: int = 0
    doubled: int = 0
    torn: int = 0
    without_detail: int = 0
    breaks: int = 0
    kills: int = 0
    seconds: float = 0.0

    @property
    def is_fine(self) -> bool:
        return not any((self.lost, self.doubled, self.torn, self.without_detail, self.breaks)) and self.kills > 0


def write(state: Path, number: int, each: int) -> None:
    """Append records with details, and note the ids of those that were acknowledged."""
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


def build_roots(directory: Path) -> Roots:
    return Roots(home=directory, system=directory, projects=())


def drain_forever(directory: Path) -> None:
    """Drain as the idle service does, without end."""
    roots = build_roots(directory)
    while True:
        audit_log.drain_if_unlocked(roots, 5)
        time.sleep(0.002)


def soak(directory: Path, *, writers: int, each: int, seed: int, pauses: tuple[float, float] = PAUSES) -> SoakResult:
    """Run the writers while the draining process is killed at random moments, and return the counts."""
    chance = random.Random(seed)  # noqa: S311 - random moments, not secrets
    state = build_roots(directory).state
    state.mkdir(parents=True, mode=0o700)
    argv = [sys.executable, __file__]
    start = time.monotonic()
    workers = [subprocess.Popen([*argv, "--write", str(state), str(number), str(each)]) for number in range(writers)]
    kills = 0
    while not kills or any(worker.poll() is None for worker in workers):
        draining = subprocess.Popen([*argv, "--drain", str(directory)])
        time.sleep(chance.uniform(*pauses))
        draining.send_signal(signal.SIGKILL)
        if draining.wait() != -signal.SIGKILL:
            raise RuntimeError(f"the draining process ended by itself with {draining.returncode}")
        kills += 1
    with audit_log.open_audit_log(state) as store:
        return _compare(state, store)._replace(kills=kills, seconds=time.monotonic() - start)


def _compare(state: Path, store: SqliteStore) -> SoakResult:
    acknowledged = [line for file in state.glob("acknowledged-*") for line in file.read_text().splitlines()]
    entries = Counter((entry.kind, entry.id) for entry in store.entries())
    return SoakResult(
        acknowledged=len(acknowledged),
        lost=sum(("record", id_) not in entries for id_ in acknowledged),
        doubled=sum(count - 1 for count in entries.values()) + len(acknowledged) - len(set(acknowledged)),
        torn=len(store.unread()),
        without_detail=sum(("detail", id_) not in entries for id_ in acknowledged),
        breaks=sum(1 for _ in find_breaks(store.entries(), store.checkpoints())),
    )


def main() -> int:
    each, writers = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000, int(sys.argv[2]) if len(sys.argv) > 2 else 64
    with tempfile.TemporaryDirectory() as scratch:
        result = soak(Path(scratch), writers=writers, each=each, seed=random.getrandbits(32))
        size = (build_roots(Path(scratch)).state / DATABASE_NAME).stat().st_size
    print(f"{result.acknowledged} records of {writers} processes in {result.seconds:.0f} s, {size // 1_000_000} MB:")
    print(f"{result.lost} lost, {result.doubled} doubled, {result.torn} torn, {result.without_detail} without detail;")
    print(f"{result.breaks} breaks in the chain; the draining process was killed {result.kills} times")
    return 0 if result.is_fine else 1


if __name__ == "__main__":
    if sys.argv[1:2] == ["--write"]:
        write(Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
        sys.exit(0)
    if sys.argv[1:2] == ["--drain"]:
        os.nice(1)
        drain_forever(Path(sys.argv[2]))
    sys.exit(main())
