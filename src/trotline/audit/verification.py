"""Whether a trail is what was written: its chain, what it is searched by, and heads that were noted elsewhere.

An anchor is a file with a line `trotline-anchor <seq> <digest>` for every head that was noted, or any log that has such
lines among others. It is worth what its place is worth: one that the agent's user may write to is no better than the
trail itself.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

from trotline.audit.chain import Break, Head, breaks_in
from trotline.audit.sqlite_store import SqliteStore
from trotline.errors import TrotlineError

MARK = "trotline-anchor"
NOTED = re.compile(rf"(?:.*\b{MARK} )?([0-9]{{1,18}}) ([0-9a-f]{{64}})(?: .*)?")

MISLED = "what it is found by is not what is in it"


class Verified(NamedTuple):
    head: Head
    breaks: list[Break]
    anchored: int  # up to which entry a head is known from elsewhere; 0 if nowhere


def verified(store: SqliteStore, anchors: dict[int, str]) -> Verified:
    heads = {**store.checkpoints(), **anchors}
    breaks = list(breaks_in(store.entries(), heads))
    told = {one.seq for one in breaks}
    breaks += [Break(seq, id_, MISLED) for seq, id_ in store.misindexed() if seq not in told]
    damage = store.damage()
    breaks += [Break(0, "", f"the file is damaged: {damage}")] if damage else []
    return Verified(store.head(), sorted(breaks), max(anchors, default=0))


def anchors_in(file: Path) -> dict[int, str]:
    """The heads that were noted there; none if there is no such file."""
    try:
        lines = [line for line in file.read_text("utf-8", "replace").splitlines() if line.strip()]
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise TrotlineError(f"the anchor `{file}` cannot be read: {(error.strerror or str(error)).lower()}") from None
    heads = [NOTED.fullmatch(line) for line in lines if MARK in line] or [NOTED.fullmatch(line) for line in lines]
    if None in heads:
        hint = f"every line of an anchor is `{MARK}`, a number, a digest, and perhaps a time"
        raise TrotlineError(f"`{file}` is no anchor", hint=hint)
    return {int(head[1]): head[2] for head in reversed(heads) if head}  # of two for one entry, the one noted first


def line_of(head: Head, when: str) -> str:
    return f"{MARK} {head.seq} {head.digest} {when}"


def note_head(file: Path, head: Head, when: str) -> None:
    """Add it to the anchor; to what is there nothing is changed."""
    try:
        descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            os.write(descriptor, f"{line_of(head, when)}\n".encode())
        finally:
            os.close(descriptor)
    except OSError as error:
        raise TrotlineError(
            f"the anchor `{file}` cannot be written: {(error.strerror or str(error)).lower()}"
        ) from None
