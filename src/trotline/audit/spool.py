"""The spool: a file that anybody of ours appends records to, and that the store will drain.

A line is a newline, a checksum, the JSON and a newline: a write that was torn cannot weld itself to the next, and what
is torn is seen and counted. One write for each record, to a file opened for appending, so that many processes may.
"""

import json
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from trotline.config.places import private_directory

NAME = "spool.log"


class Read(NamedTuple):
    """What is in the spool: whole records, oldest first, and how many lines are torn."""

    records: list[dict[str, Any]]
    torn: int


class Spool:
    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @property
    def file(self) -> Path:
        return self.directory / NAME

    def append(self, record: dict[str, Any]) -> str:
        """Write it; the sentence that comes back says why it could not be, and is empty when it is there."""
        data = json.dumps(record, ensure_ascii=True, separators=(",", ":")).encode()
        line = b"\n%08x %s\n" % (zlib.crc32(data), data)
        try:
            private_directory(self.directory)
            descriptor = os.open(self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)
            try:
                written = os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            return f"the record of this call could not be written: {(error.strerror or str(error)).lower()}"
        return "" if written == len(line) else "the record of this call was written only in part: no space left?"

    def read(self) -> Read:
        """Every record once; the same id twice is one record."""
        try:
            data = self.file.read_bytes()
        except FileNotFoundError:
            return Read([], 0)
        lines = list(_lines(data))
        records = {record["id"]: record for record in lines if record is not None}
        return Read(list(records.values()), sum(record is None for record in lines))


def _lines(data: bytes) -> Iterator[dict[str, Any] | None]:
    for line in data.split(b"\n"):
        checksum, _, body = line.partition(b" ")
        if not line:
            continue
        try:
            whole = int(checksum, 16) == zlib.crc32(body)
            record = json.loads(body) if whole else None
        except ValueError:
            record = None
        yield record if isinstance(record, dict) and "id" in record else None
