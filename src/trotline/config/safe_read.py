"""Reading files that may have been placed by others."""

import errno
import os
import stat
from pathlib import Path

from trotline.config.problems import CODES, Problem
from trotline.domain.hooks import Place
from trotline.formats.jsonc import MAX_FILE_BYTES


class TooLargeError(OSError):
    """The file exceeds the limit. Its first part is not returned, because the whole may mean something else."""


def content(path: Path, most: int = MAX_FILE_BYTES) -> tuple[bytes, int]:
    """Return the content of a regular file, and its mode."""
    data, mode = beginning(path, most + 1)
    if len(data) > most:
        raise TooLargeError(errno.EFBIG, f"it is larger than {most:,} bytes", str(path))
    return data, mode


def beginning(path: Path, most: int) -> tuple[bytes, int]:
    """Return up to `most` bytes of a regular file, and its mode. Other files, such as pipes, could block forever."""
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most), status.st_mode
    finally:
        os.close(descriptor)


def unreadable(file: Path | str, error: OSError) -> Problem:
    """Return a Problem for an existing file that cannot be read."""
    large = isinstance(error, TooLargeError)
    code, place = ("TL108", Place(str(file), 1, 1)) if large else ("TL109", Place(str(file)))
    why = f"the file cannot be read: {(error.strerror or str(error)).lower()}"
    return Problem(code=code, severity=CODES[code].severity, place=place, message=why)
