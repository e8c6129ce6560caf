"""The spool: a file to which processes append records until the store drains it.

A line is a newline, a checksum, the JSON and a newline, so that a torn write cannot merge with the next one, and torn
lines are detected and counted. Each record is a single write to a file opened for appending, so that many processes can
write at once.

The draining process renames the file before it reads it. After a write, the writer checks that the file still has its
name. If not, the line may have been missed and is written again, which is harmless: two lines with the same id are one
record.
"""

import json
import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from trotline.audit.record.record_builder import DETAIL_SCHEMA
from trotline.domain.errors import describe_os_error
from trotline.system.files import APPEND_FLAGS, OWNER_ONLY, PRIVATE_FILE, ensure_private_directory, make_private

SPOOL_NAME = "spool.log"
ASIDE_PREFIX = "aside-"
"""Prefix of spool files that were renamed for draining. A number follows; the file is deleted once it is drained."""

MAX_WRITE_ATTEMPTS = 100
"""Number of times the file may be renamed during a write before the writer gives up."""


class SpoolContents(NamedTuple):
    """Complete records, oldest first, and the number of torn lines."""

    records: list[dict[str, Any]]
    torn: int


class Spool:
    """The spool in a directory."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.file = directory / SPOOL_NAME
        self._path = str(self.file)  # used for every call, where a Path costs as much as opening the file
        self._is_private = False

    def append(self, record: dict[str, Any]) -> str:
        """Append a record. Return an empty string, or a sentence that says why it could not be written."""
        data = _encode_record(record)
        line = b"\n%08x %s\n" % (zlib.crc32(data), data)
        try:
            for _ in range(MAX_WRITE_ATTEMPTS):
                written, is_there = self._write_line(line)
                if is_there:
                    break
            else:
                return "the record of this call may be lost: its file was taken away again and again"
        except OSError as error:
            return f"the record of this call could not be written: {describe_os_error(error)}"
        return "" if written == len(line) else "the record of this call was written only in part: no space left?"

    def _write_line(self, line: bytes) -> tuple[int, bool]:
        """Return the number of bytes written, and whether the file was still in its place afterwards."""
        descriptor = self._open_file()
        try:
            status = os.fstat(descriptor)
            if status.st_mode != PRIVATE_FILE or status.st_uid != os.getuid():  # the directory was tampered with
                make_private(descriptor, self._path)
            written = os.write(descriptor, line)
            return written, self._is_in_its_place(status)
        finally:
            os.close(descriptor)

    def _is_in_its_place(self, status: os.stat_result) -> bool:
        try:
            found = os.stat(self._path)  # noqa: PTH116 - used for every call, where a Path is slow
        except FileNotFoundError:
            return False
        return (found.st_ino, found.st_dev) == (status.st_ino, status.st_dev)

    def _open_file(self) -> int:
        """Open the file; the directory is checked once, and again if it is gone: checking costs more than the write."""
        if self._is_private:
            try:
                return os.open(self._path, APPEND_FLAGS, OWNER_ONLY)
            except FileNotFoundError:
                self._is_private = False
        ensure_private_directory(self.directory)
        self._is_private = True
        return os.open(self._path, APPEND_FLAGS, OWNER_ONLY)

    @property
    def waits(self) -> bool:
        """True if there is anything to drain."""
        return self.file.exists() or bool(list_asides(self.directory))

    def read(self) -> SpoolContents:
        """Return every record once, with its detail, including those being drained."""
        lines = self.lines()
        return SpoolContents(join_details(filter(None, lines)), lines.count(None))

    def lines(self) -> list[dict[str, Any] | None]:
        """Return all lines, oldest first, with None for a torn line."""
        return [line for file in (*list_asides(self.directory), self.file) for line in _read_lines(file)]


def _encode_record(record: dict[str, Any]) -> bytes:
    try:
        return msgspec.json.encode(record)
    except (UnicodeEncodeError, OverflowError):
        return json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode()  # lone surrogate, or huge number


def get_aside_path(directory: Path, number: int) -> Path:
    """Return the path of the aside file with a number."""
    return directory / f"{ASIDE_PREFIX}{number:012}.log"


def list_asides(directory: Path) -> list[Path]:
    """Return the aside files, oldest first."""
    return sorted(file for file in directory.glob(f"{ASIDE_PREFIX}*.log") if get_aside_number(file))


def get_aside_number(file: Path) -> int:
    """Return the number of an aside file, or 0 if its name has none."""
    number = file.stem.removeprefix(ASIDE_PREFIX)
    return int(number) if number.isdecimal() and number.isascii() else 0


def join_details(lines: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the records, each with its detail, in whichever order the two came."""
    records: dict[str, dict[str, Any]] = {}
    details: dict[str, dict[str, Any]] = {}
    for line in lines:
        bodies = details if line.get("schema") == DETAIL_SCHEMA else records
        bodies[line["id"]] = {**bodies.get(line["id"], {}), **line}
    return [{**record, "detail": details[id_]} if id_ in details else record for id_, record in records.items()]


def _read_lines(file: Path) -> list[dict[str, Any] | None]:
    try:
        data = file.read_bytes()
    except FileNotFoundError:
        return []
    return [parse_line(line) for line in data.split(b"\n") if line]


def parse_line(line: bytes) -> dict[str, Any] | None:
    """Parse a line; return None if it is torn or not a record."""
    checksum, _, body = line.partition(b" ")
    try:
        whole = int(checksum, 16) == zlib.crc32(body)
        record = json.loads(body) if whole else None
    except (ValueError, RecursionError):
        return None
    return record if isinstance(record, dict) and isinstance(record.get("id"), str) else None
