"""The file of a trail is its owner's alone, and so are the journals beside it."""

import contextlib
import errno
import os
import stat
from pathlib import Path

from trotline.config.places import private_directory


def private_file(file: Path) -> None:
    """A file of ours that nobody else may read, before the database opens it.

    One that is there is not opened here: to close it would let go of the locks that this process has on it.
    """
    private_directory(file.parent)
    try:
        os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
    except FileExistsError:
        status = file.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise OSError(errno.EINVAL, "something that is no file is in its place") from None
        if status.st_uid != os.getuid():
            raise PermissionError(errno.EACCES, f"it belongs to another user (uid {status.st_uid})") from None
        if status.st_mode & 0o077:
            file.chmod(0o600)
        for beside in (file.with_name(f"{file.name}{end}") for end in ("-wal", "-shm")):
            _open_as(beside, status)


def _open_as(beside: Path, status: os.stat_result) -> None:
    """A journal that was made while the file was read-only still is when the file no longer is."""
    with contextlib.suppress(FileNotFoundError):
        found = beside.lstat()
        ours = stat.S_ISREG(found.st_mode) and found.st_uid == status.st_uid
        if ours and status.st_mode & 0o200 and not found.st_mode & 0o200:
            beside.chmod(0o600)
