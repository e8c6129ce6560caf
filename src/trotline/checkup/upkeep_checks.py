"""What settings want done with the trail, and whether that can be done: heads noted elsewhere, and a size that is kept.

A check is a function; UPKEEP_CHECKS lists them.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

from trotline.audit.anchors import anchor_in
from trotline.audit.sqlite_store import NAME, SqliteStore
from trotline.audit.upkeep import SLACK, Upkeep, beyond, gone_from, upkeep_of
from trotline.checkup.examined import Machine
from trotline.checkup.finding import Finding, fail, note, ok, warn
from trotline.machine import clock

BEGIN = "trotline log anchor"


def anchor(one: Machine) -> Iterator[Finding]:
    """Whether heads can be noted where settings say, and whether those that were are there."""
    upkeep = upkeep_of(one.roots)
    if upkeep.anchor is None:
        return
    heads = anchor_in(upkeep.anchor).heads
    gone = gone_from(upkeep.anchor, one.roots.state)
    if gone:
        yield fail("anchor", gone, "trotline log verify")
    if why := _unwritable(upkeep.anchor):
        yield fail("anchor", f"the anchor `{upkeep.anchor}` cannot be written: {why}", f"ls -ld {upkeep.anchor.parent}")
    elif heads and not gone:
        yield ok("anchor", f"heads are noted in {upkeep.anchor}, the last of entry {max(heads)}")
    elif not gone and (one.roots.state / NAME).exists():
        yield warn("anchor", f"no head is noted in {upkeep.anchor} yet: a cut end would not be seen", BEGIN)
    elif not gone:
        yield note("anchor", f"{upkeep.anchor} is begun with the first records")


def _unwritable(file: Path) -> str:
    if file.exists():
        return "" if os.access(file, os.W_OK) else "it is not yours to write"
    if not file.parent.is_dir():
        return "its directory is not there"
    return "" if os.access(file.parent, os.W_OK | os.X_OK) else "its directory is not yours to write"


def size(one: Machine) -> Iterator[Finding]:
    """Whether forgetting could reach the size that settings want."""
    upkeep = upkeep_of(one.roots)
    file = one.roots.state / NAME
    if not upkeep.keep_bytes or not file.exists():
        return
    with SqliteStore(file) as store:
        said = _too_large(store, upkeep)
    if said:
        yield warn("keep_size", f"{said}: `keep_size` cannot be kept", "set a larger `keep_size` in settings.json")


def _too_large(store: SqliteStore, upkeep: Upkeep) -> str:
    now_us = clock()
    most = upkeep.keep_bytes * SLACK
    return beyond(store, now_us) if store.size() > most and store.least(now_us) > upkeep.keep_bytes else ""


UPKEEP_CHECKS: tuple[Callable[[Machine], Iterator[Finding]], ...] = (anchor, size)
