"""What a trail is to be kept for, and where its heads are noted: as settings say it, done when records come in."""

import os
import re
import socket
from pathlib import Path
from typing import NamedTuple

from trotline.audit.anchors import anchor_in, line_of, lost_from, note_head, remember
from trotline.audit.chain import Head
from trotline.audit.sqlite_store import SqliteStore
from trotline.audit.store import Forgetting
from trotline.config.places import Roots
from trotline.config.settings import OFF, Settings, read_settings
from trotline.errors import TrotlineError

HOURS = {"h": 1, "d": 24, "w": 7 * 24}
BYTES = {"MB": 1_000_000, "GB": 1_000_000_000}
HOUR_US = 3_600_000_000

SLACK_US = 24 * HOUR_US
SLACK = 1.1
"""To forget copies the whole file, so it is done for a day's records, or for a tenth of the size, and not for each."""

SYSLOG = {"darwin": "/var/run/syslog", "linux": "/dev/log", "windows": ""}
AUTH_INFO = 10 * 8 + 6
SECONDS_TO_TELL = 2.0


class Upkeep(NamedTuple):
    """What settings come to; nothing, unless somebody says so."""

    keep_us: int = 0
    keep_bytes: int = 0
    anchor: Path | None = None
    syslog: str = ""

    @property
    def anchors(self) -> bool:
        return self.anchor is not None or bool(self.syslog)


def upkeep_of(roots: Roots) -> Upkeep:
    said = read_settings(roots)
    return Upkeep(
        keep_us=_hours(said.keep_for) * HOUR_US,
        keep_bytes=size_of(said.keep_size),
        anchor=Path(said.anchor_file) if said.anchor_file != OFF else None,
        syslog=_socket(said, roots),
    )


def _hours(text: str) -> int:
    return 0 if text == OFF else int(text[:-1]) * HOURS[text[-1]]


def size_of(text: str) -> int:
    """`500MB` in bytes; 0 for what is none."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})(MB|GB)", text)
    return int(found[1]) * BYTES[found[2]] if found else 0


def _socket(said: Settings, roots: Roots) -> str:
    return {OFF: "", "on": SYSLOG[roots.platform]}.get(said.anchor_syslog, said.anchor_syslog)


def forget_what_is_due(store: SqliteStore, upkeep: Upkeep, now_us: int) -> int:
    """How many records were forgotten because they are old, or because there are too many of them."""
    count = 0
    if upkeep.keep_us and 0 < store.oldest_us() < now_us - upkeep.keep_us - SLACK_US:
        count += store.forget(Forgetting(before_us=now_us - upkeep.keep_us), now_us=now_us)
    if upkeep.keep_bytes and store.size() > upkeep.keep_bytes * SLACK:
        count += store.forget(Forgetting(keep_bytes=upkeep.keep_bytes), now_us=now_us)
        if store.size() > upkeep.keep_bytes * SLACK:
            raise TrotlineError(f"{beyond(store, now_us)}: `keep_size` cannot be kept", hint="a larger one can")
    return count


def beyond(store: SqliteStore, now_us: int) -> str:
    """Why a size was not reached."""
    size, least = (number // 100_000 / 10 for number in (store.size(), store.least(now_us)))
    kept = "records of the newest day and the links of all that was forgotten, about 300 bytes each"
    return f"the trail has {size:g} MB, of which some {least:g} MB are not forgotten by size: {kept}"


def note_elsewhere(head: Head, upkeep: Upkeep, when: str, state: Path, *, anew: bool = False) -> list[str]:
    """Where the head was noted. An anchor that has lost heads is added to when a person says so: else a trail that was
    cut would have its end noted as if nothing had been."""
    noted, lost = [], ""
    if upkeep.anchor is not None and head.seq:
        lost = "" if anew else gone_from(upkeep.anchor, state)
        if not lost:
            _note_in(upkeep.anchor, head, when, state)
            noted.append(str(upkeep.anchor))
    if upkeep.syslog and head.seq:
        tell_syslog(upkeep.syslog, head, when)
        noted.append(upkeep.syslog)
    if lost:
        raise TrotlineError(lost, hint="if that was meant, `trotline log anchor` goes on there")
    return noted


def gone_from(anchor: Path, state: Path) -> str:
    """What an anchor does not say any more, in words."""
    known = anchor_in(anchor)
    lost = lost_from(anchor, known, state)
    if not lost:
        return ""
    what = "has lost heads" if known.heads else "has no head in it any more" if anchor.exists() else "is gone"
    return f"the anchor `{anchor}` {what}: the one of entry {lost} was noted there"


def _note_in(anchor: Path, head: Head, when: str, state: Path) -> None:
    """The same head is not noted twice in a row."""
    newest = max(anchor_in(anchor).heads, default=0)
    if newest != head.seq:
        note_head(anchor, head, when)
    remember(anchor, max(newest, head.seq), state)


def tell_syslog(place: str, head: Head, when: str) -> None:
    """One datagram, as any program tells the machine's log; journald and syslog add who told it and when."""
    said = f"<{AUTH_INFO}>trotline[{os.getpid()}]: {line_of(head, when)} uid={os.getuid()}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as telling:
            telling.settimeout(SECONDS_TO_TELL)
            telling.connect(place)
            telling.send(said.encode())
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = "whether something listens there: `anchor_syslog` may name another socket"
        raise TrotlineError(f"the head could not be told to `{place}`: {why}", hint=hint) from None
