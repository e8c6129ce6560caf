"""The spool: a file that anybody of ours appends records to, and that the store will drain.

A line is a newline, a checksum, the JSON and a newline: a write that was torn cannot weld itself to the next, and what
is torn is seen and counted. One write for each record, to a file opened for appending, so that many processes may.

Whoever drains it renames the file first and reads it then. A writer looks after its write whether the file still has
its name: if so, it will be read with the line in it; if not, perhaps without, and the line is written once more, which
is no harm, because the same id twice is one record.
"""

import errno
import json
import os
import stat
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trotline.audit.records import DETAIL
from trotline.config.places import private_directory

NAME = "spool.log"
ASIDE = "aside-"
"""Files that were renamed to be drained, with a number; they are gone when that is done."""

TO_APPEND = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
"""Nothing is followed, and nothing is waited for: a pipe in the place of the file has perhaps nobody at its end."""

MOST_TRIES = 100
"""How often a file may be taken away under a writer before it says so."""

OTHERS = 0o077


class Read(NamedTuple):
    """What is in the spool: whole records, oldest first, and how many lines are torn."""

    records: list[dict[str, Any]]
    torn: int


class Spool:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.file = directory / NAME
        self._path = str(self.file)  # for every call, and a Path costs as much as to open it
        self._is_private = False

    def append(self, record: dict[str, Any]) -> str:
        """Write it; the sentence that comes back says why it could not be, and is empty when it is there."""
        data = _encoded(record)
        line = b"\n%08x %s\n" % (zlib.crc32(data), data)
        try:
            for _ in range(MOST_TRIES):
                written, is_there = self._written(line)
                if is_there:
                    break
            else:
                return "the record of this call may be lost: its file was taken away again and again"
        except OSError as error:
            return f"the record of this call could not be written: {(error.strerror or str(error)).lower()}"
        return "" if written == len(line) else "the record of this call was written only in part: no space left?"

    def _written(self, line: bytes) -> tuple[int, bool]:
        """How many bytes, and whether they are in a file that nobody has begun to drain."""
        descriptor = self._opened()
        try:
            status = self._checked(descriptor)
            written = os.write(descriptor, line)
            return written, self._is_in_its_place(status)
        finally:
            os.close(descriptor)

    def _is_in_its_place(self, status: os.stat_result) -> bool:
        try:
            found = os.stat(self._path)  # noqa: PTH116 - for every call
        except FileNotFoundError:
            return False
        return (found.st_ino, found.st_dev) == (status.st_ino, status.st_dev)

    def _opened(self) -> int:
        """The directory is looked at once, and again when it is gone: a look costs more than the write."""
        if self._is_private:
            try:
                return os.open(self._path, TO_APPEND, 0o600)
            except FileNotFoundError:
                self._is_private = False
        private_directory(self.directory)
        self._is_private = True
        return os.open(self._path, TO_APPEND, 0o600)

    def _checked(self, descriptor: int) -> os.stat_result:
        """What was opened must be a file of ours, whatever has become of the directory; others may not read it."""
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "something that is no file is in its place", self._path)
        if status.st_uid != os.getuid():
            raise PermissionError(errno.EACCES, f"its file belongs to another user (uid {status.st_uid})", self._path)
        if status.st_mode & OTHERS:
            os.fchmod(descriptor, 0o600)
        return status

    @property
    def waits(self) -> bool:
        """Whether there is anything to drain."""
        return self.file.exists() or bool(asides(self.directory))

    def read(self) -> Read:
        """Every record once; the same id twice is one record. What is being drained is in it."""
        lines = self.lines()
        return Read(with_details(filter(None, lines)), lines.count(None))

    def lines(self) -> list[dict[str, Any] | None]:
        """Everything in it, oldest first; None for what is torn."""
        return [line for file in (*asides(self.directory), self.file) for line in _lines_of(file)]


def _encoded(record: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(record)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode()  # half a pair, or a huge number


def aside(directory: Path, number: int) -> Path:
    return directory / f"{ASIDE}{number:012}.log"


def asides(directory: Path) -> list[Path]:
    """Oldest first."""
    return sorted(file for file in directory.glob(f"{ASIDE}*.log") if number_of(file))


def number_of(file: Path) -> int:
    number = file.stem.removeprefix(ASIDE)
    return int(number) if number.isdecimal() and number.isascii() else 0


def with_details(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Records, each with its detail, whichever came first."""
    records: dict[str, dict[str, Any]] = {}
    details: dict[str, dict[str, Any]] = {}
    for line in lines:
        one = details if line.get("schema") == DETAIL else records
        one[line["id"]] = {**one.get(line["id"], {}), **line}
    return [{**record, "detail": details[id_]} if id_ in details else record for id_, record in records.items()]


def _lines_of(file: Path) -> list[dict[str, Any] | None]:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return []
    return [line_of(line) for line in data.split(b"\n") if line]


def line_of(line: bytes) -> dict[str, Any] | None:
    """What a line says, if it is whole."""
    checksum, _, body = line.partition(b" ")
    try:
        whole = int(checksum, 16) == zlib.crc32(body)
        record = json.loads(body) if whole else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("id"), str) else None
