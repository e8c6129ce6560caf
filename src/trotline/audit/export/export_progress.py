"""Progress of exports and alerts: one small file for each, replaced atomically."""

import json
import os
from pathlib import Path
from typing import TypeVar

import msgspec

from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.system.files import encode_with_unknown_fields, ensure_private_directory, replace_file

EXPORT_DIRECTORY = "outflow"
MIN_PAUSE_US = 5_000_000
MAX_PAUSE_US = 900_000_000
MAX_WAIT_US = 3_600_000_000
"""Pauses after a failure. MAX_WAIT_US limits the wait that a server itself requests."""

Progress = TypeVar("Progress", bound=msgspec.Struct)


class DeliveryError(msgspec.Struct, frozen=True):
    """The last failure and its time."""

    at_us: int
    why: str


class PendingBatch(msgspec.Struct, frozen=True):
    """A batch that was started; the next process sends the same one again, under the same id."""

    id: str
    last_seq: int
    last_id: str
    count: int
    head: tuple[int, str] = (0, "")  # chain head at the start; known remotely, so that truncation shows
    done: tuple[str, ...] = ()  # signals already accepted


class ExportProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Progress of one destination. Everything up to `seq` was accepted, or is counted as refused."""

    schema: str = "trotline.outflow/1"
    seq: int = 0
    id: str = ""  # id of the record at `seq`; another id there means another audit log
    sent: int = 0
    refused: int = 0
    failures: int = 0  # consecutive
    next_us: int = 0  # earliest time of the next attempt
    last_us: int = 0  # when the last batch was accepted
    trouble: DeliveryError | None = None
    pending: PendingBatch | None = None

    def is_due(self, now_us: int) -> bool:
        """Check whether the next attempt is due, ignoring a time beyond the longest pause: a wrong clock set it."""
        return not now_us < self.next_us <= now_us + MAX_WAIT_US


def compute_pause_us(failures: int, requested_us: int = 0) -> int:
    """Return the pause after this many failures, or the longer one that the server requested, within bounds."""
    pause = min(MIN_PAUSE_US << min(failures, 20), MAX_PAUSE_US)
    jitter = pause * os.urandom(1)[0] // 1024  # up to a quarter, so that many machines do not retry at once
    return max(pause + jitter, min(requested_us, MAX_WAIT_US))


def write_progress(file: Path, progress: msgspec.Struct) -> None:
    """Write the file atomically, and return only when it is on disk."""
    try:
        ensure_private_directory(file.parent)
        replace_file(file, encode_with_unknown_fields(progress, file), sync=True)
    except OSError as error:
        why = describe_os_error(error)
        raise TrotlineError(f"`{file}` cannot be written: {why}", hint="look at its owner, and at the disk") from None


def read_progress(file: Path, kind: type[Progress]) -> Progress:
    """Return the stored progress, or an empty one if the file is missing or invalid."""
    try:
        return msgspec.convert(json.loads(file.read_bytes()), kind)
    except (OSError, ValueError, RecursionError):
        return kind()
