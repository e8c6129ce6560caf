"""The audit log as a whole: records in the store together with those still in the spool.

Also reads records in order of arrival, for exports that continue where they stopped, and runs the maintenance that
the settings ask for (retention and anchors) when records come in.
"""

import os
import re
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from trotline.audit.export.export_formats import format_time
from trotline.audit.query.query import Query
from trotline.audit.record.record import Record
from trotline.audit.record.record_reader import convert_record, explain_unreadable
from trotline.audit.store.drain import DrainResult, drain
from trotline.audit.store.spool import Spool, join_details
from trotline.audit.store.sqlite_store import DATABASE_NAME, SqliteStore
from trotline.audit.store.store import ForgetRequest
from trotline.audit.verify.anchors import append_head, find_lost_head, format_head, read_anchor, save_known_head
from trotline.audit.verify.chain import ChainHead
from trotline.config.paths import Roots
from trotline.config.settings import OFF, Settings, read_settings
from trotline.domain.errors import TrotlineError, describe_os_error

ALL_RECORDS = Query(include_self_tests=True)


def get_spool(state: Path) -> Spool:
    """Return the spool below the state directory."""
    return Spool(state / "spool")


def open_audit_log(state: Path) -> SqliteStore:
    """Open the store and drain the spool into it."""
    store = SqliteStore(state / DATABASE_NAME)
    try:
        drain(get_spool(state), store)
    except BaseException:
        store.close()
        raise
    return store


def drain_if_unlocked(roots: Roots, now_us: int) -> DrainResult | None:
    """Drain the spool and run maintenance, without waiting for another process that drains.

    Return None if the spool is empty or another process is draining it.
    """
    spool = get_spool(roots.state)
    if not spool.waits:
        return None
    with SqliteStore(roots.state / DATABASE_NAME) as store:
        drained = drain(spool, store, wait=False)
        if drained and drained.lines:
            maintain(store, roots, now_us)
        return drained


def maintain(store: SqliteStore, roots: Roots, now_us: int) -> None:
    """Apply retention and write the anchors, as far as the settings ask for it.

    Anchors are written even if retention fails.
    """
    settings = read_maintenance_settings(roots)
    try:
        apply_retention(store, settings, now_us)
    finally:
        if settings.anchors:
            write_anchors(store.head(), settings, format_time(now_us), roots.state)


class LogContents(NamedTuple):
    """Records, oldest first, and the number of lines that are torn or cannot be read."""

    records: list[Record]
    unread: int


def read_records(state: Path, query: Query = ALL_RECORDS) -> LogContents:
    """Return the records of the store that match the query and all records of the spool, oldest first.

    Nothing is drained. The spool is read first: a record drained in the meantime is then found in the store, and a
    record found in both is returned once.
    """
    lines = get_spool(state).lines()
    readable = [line for line in lines if line is not None and not explain_unreadable(line)]
    stored, unread = _read_store(state, query)
    records = join_details([*(record.to_dict() for record in stored), *readable])
    return LogContents([convert_record(record) for record in records], unread + len(lines) - len(readable))


def _read_store(state: Path, query: Query) -> tuple[list[Record], int]:
    if not (state / DATABASE_NAME).exists():
        return [], 0
    with SqliteStore(state / DATABASE_NAME) as store:
        return list(store.search(query))[::-1], len(store.unread())


DETAIL_WAIT_US = 10_000_000
"""Time to wait for the detail of a record."""

ARRIVAL_BATCH = 500
"""Number of entries read per query."""


class ReadableLog(Protocol):
    """The part of a store that `read_arrived` needs."""

    def search(self, query: Query) -> Iterable[Record]:
        """Return the matching records, newest first."""
        ...

    def aggregate(self, query: Query) -> Iterable[dict[str, Any]]:
        """Return the groups of matching records that `query.by` names."""
        ...

    def head(self) -> ChainHead:
        """Return the head of the chain."""
        ...


def read_arrived(
    store: ReadableLog,
    after_seq: int,
    now_us: int,
    *,
    patience_us: int = DETAIL_WAIT_US,
    include_self_tests: bool = False,
) -> Iterator[Record]:
    """Yield the records after an entry, oldest first.

    Stop at the first record that still waits for its detail, unless it is older than `patience_us`.
    """
    head = store.head().seq
    for at in range(after_seq, head, ARRIVAL_BATCH):
        query = Query(after_seq=at, until_seq=min(at + ARRIVAL_BATCH, head) + 1, include_self_tests=include_self_tests)
        for record in list(store.search(query))[::-1]:
            if not record.has_detail and 0 <= now_us - record.at_us < patience_us:
                return
            yield record


HOURS = {"h": 1, "d": 24, "w": 7 * 24}
BYTES = {"MB": 1_000_000, "GB": 1_000_000_000}
HOUR_US = 3_600_000_000

RETENTION_SLACK_US = 24 * HOUR_US
SIZE_SLACK = 1.1
"""Factor by which the log may exceed `keep_size` before records are forgotten.

Forgetting copies the whole file, so it is done once a day's records or a tenth of the size are due, not per record.
"""

SYSLOG_SOCKETS = {"darwin": "/var/run/syslog", "linux": "/dev/log", "windows": ""}
AUTH_INFO = 10 * 8 + 6
SYSLOG_TIMEOUT = 2.0


class MaintenanceSettings(NamedTuple):
    """The settings for retention and anchors, parsed; everything is off by default."""

    keep_us: int = 0
    keep_bytes: int = 0
    anchor: Path | None = None
    syslog: str = ""

    @property
    def anchors(self) -> bool:
        """True if the head is to be written anywhere."""
        return self.anchor is not None or bool(self.syslog)


def read_maintenance_settings(roots: Roots) -> MaintenanceSettings:
    """Read the settings for retention and anchors."""
    settings = read_settings(roots)
    return MaintenanceSettings(
        keep_us=_parse_hours(settings.keep_for) * HOUR_US,
        keep_bytes=parse_size(settings.keep_size),
        anchor=Path(settings.anchor_file) if settings.anchor_file != OFF else None,
        syslog=_get_syslog_socket(settings, roots),
    )


def _parse_hours(text: str) -> int:
    return 0 if text == OFF else int(text[:-1]) * HOURS[text[-1]]


def parse_size(text: str) -> int:
    """Return a size such as `500MB` in bytes, or 0 if the text is not a size."""
    found = re.fullmatch(r"([1-9][0-9]{0,6})(MB|GB)", text)
    return int(found[1]) * BYTES[found[2]] if found else 0


def _get_syslog_socket(settings: Settings, roots: Roots) -> str:
    return {OFF: "", "on": SYSLOG_SOCKETS[roots.platform]}.get(settings.anchor_syslog, settings.anchor_syslog)


def apply_retention(store: SqliteStore, settings: MaintenanceSettings, now_us: int) -> int:
    """Forget records that exceed the age or size limit, and return how many were forgotten.

    Raises TrotlineError if the size limit cannot be reached.
    """
    count = 0
    if settings.keep_us and 0 < store.oldest_us() < now_us - settings.keep_us - RETENTION_SLACK_US:
        count += store.forget(ForgetRequest(before_us=now_us - settings.keep_us), now_us=now_us)
    if settings.keep_bytes and store.size() > settings.keep_bytes * SIZE_SLACK:
        count += store.forget(ForgetRequest(keep_bytes=settings.keep_bytes), now_us=now_us)
        if store.size() > settings.keep_bytes * SIZE_SLACK:
            raise TrotlineError(f"{explain_size(store, now_us)}: `keep_size` cannot be kept", hint="a larger one can")
    return count


def explain_size(store: SqliteStore, now_us: int) -> str:
    """Return a sentence that says why a size limit cannot be reached."""
    size, least = (number // 100_000 / 10 for number in (store.size(), store.estimate_minimum_size(now_us)))
    unforgettable = "records of the newest day and the links of all that was forgotten, about 300 bytes each"
    return f"the audit log has {size:g} MB, of which some {least:g} MB are not forgotten by size: {unforgettable}"


def write_anchors(
    head: ChainHead, settings: MaintenanceSettings, when: str, state: Path, *, restart: bool = False
) -> list[str]:
    """Write the head to the anchor file and to syslog, and return where it was written.

    An anchor file that has lost heads is only continued with `restart`, which means that a user asked for it. Otherwise
    the new end of a truncated log would be anchored as if nothing had happened.
    """
    written, lost = [], ""
    if settings.anchor is not None and head.seq:
        lost = "" if restart else explain_lost_heads(settings.anchor, state)
        if not lost:
            _write_anchor(settings.anchor, head, when, state)
            written.append(str(settings.anchor))
    if settings.syslog and head.seq:
        send_to_syslog(settings.syslog, head, when)
        written.append(settings.syslog)
    if lost:
        raise TrotlineError(lost, hint="if that was meant, `trotline log anchor` goes on there")
    return written


def explain_lost_heads(anchor: Path, state: Path) -> str:
    """Return a sentence about heads that are missing from an anchor file, or an empty string."""
    known = read_anchor(anchor)
    lost = find_lost_head(anchor, known, state)
    if not lost:
        return ""
    what = "has lost heads" if known.heads else "has no head in it any more" if anchor.exists() else "is gone"
    return f"the anchor `{anchor}` {what}: the one of entry {lost} was noted there"


def _write_anchor(anchor: Path, head: ChainHead, when: str, state: Path) -> None:
    """Append the head, unless it is already the newest one in the file."""
    newest = max(read_anchor(anchor).heads, default=0)
    if newest != head.seq:
        append_head(anchor, head, when)
    save_known_head(anchor, max(newest, head.seq), state)


def send_to_syslog(place: str, head: ChainHead, when: str) -> None:
    """Send the head to a syslog socket as one datagram; journald and syslog add the sender and the time."""
    message = f"<{AUTH_INFO}>trotline[{os.getpid()}]: {format_head(head, when)} uid={os.getuid()}"
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as connection:
            connection.settimeout(SYSLOG_TIMEOUT)
            connection.connect(place)
            connection.send(message.encode())
    except OSError as error:
        why = describe_os_error(error)
        hint = "whether something listens there: `anchor_syslog` may name another socket"
        raise TrotlineError(f"the head could not be told to `{place}`: {why}", hint=hint) from None
