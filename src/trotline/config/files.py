"""Reading files that anybody may have put there."""

import errno
import os
import stat
from pathlib import Path

from trotline.config.jsonc_reader import MOST_BYTES


def content(path: Path, most: int = MOST_BYTES) -> tuple[bytes, int]:
    """What stands in a regular file, up to a byte more than the most, and its mode; whatever else has the name could
    keep us waiting forever.
    """
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    try:
        status = os.fstat(descriptor)
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "not a regular file", str(path))
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most + 1), status.st_mode
    finally:
        os.close(descriptor)
