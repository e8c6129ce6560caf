"""How far something has come that leaves this machine: one small file for each, replaced as a whole."""

import json
import os
from pathlib import Path
from typing import TypeVar

import msgspec

from trotline.config.places import private_directory
from trotline.config.stored import encoded
from trotline.config.whole_file import put
from trotline.errors import TrotlineError

DIRECTORY = "outflow"
FIRST_PAUSE_US = 5_000_000
LONGEST_PAUSE_US = 900_000_000
LONGEST_WAIT_US = 3_600_000_000
"""After a failure; the last is for a server that says itself how long it wants to be left alone."""

Noted = TypeVar("Noted", bound=msgspec.Struct)


class Trouble(msgspec.Struct, frozen=True):
    """What went wrong last, and when."""

    at_us: int
    why: str


class Pending(msgspec.Struct, frozen=True):
    """A batch that was begun: whoever comes next sends the same one, under the same id."""

    id: str
    last_seq: int
    last_id: str
    count: int
    head: tuple[int, str] = (0, "")  # of the chain when it was begun: what is known elsewhere cannot be cut here unseen
    done: tuple[str, ...] = ()  # signals that were taken already


class Progress(msgspec.Struct, frozen=True, kw_only=True):
    """How far one destination has come. Everything up to `seq` was taken, or is counted as refused."""

    schema: str = "trotline.outflow/1"
    seq: int = 0
    id: str = ""  # of the record there: a trail that has another one is another trail
    sent: int = 0
    refused: int = 0
    failures: int = 0  # one after the other
    next_us: int = 0  # not before
    last_us: int = 0  # when something was taken
    trouble: Trouble | None = None
    pending: Pending | None = None

    def is_due(self, now_us: int) -> bool:
        """A time that is further away than any pause was noted by a clock that went wrong."""
        return not now_us < self.next_us <= now_us + LONGEST_WAIT_US


def pause_us(failures: int, wanted_us: int = 0) -> int:
    """How long to leave a server alone that did not take something so often; what it asks for counts, within bounds."""
    own = min(FIRST_PAUSE_US << min(failures, 20), LONGEST_PAUSE_US)
    spread = own * os.urandom(1)[0] // 1024  # so that many machines do not come back as one
    return max(own + spread, min(wanted_us, LONGEST_WAIT_US))


def note(file: Path, what: msgspec.Struct) -> None:
    """All of it or nothing, and on the disk before anybody goes on."""
    try:
        private_directory(file.parent)
        put(file, encoded(what, file), lasting=True)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise TrotlineError(f"`{file}` cannot be written: {why}", hint="look at its owner, and at the disk") from None


def noted(file: Path, kind: type[Noted]) -> Noted:
    """What was noted; nothing yet, if the file is not there or was not written by us."""
    try:
        return msgspec.convert(json.loads(file.read_bytes()), kind)
    except (OSError, ValueError, RecursionError):
        return kind()
