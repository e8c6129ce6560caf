"""Private files, atomic replacement, bounded reads and locks.

Directories and files may have been placed or changed by others. A symbolic link is not followed where Trotline writes,
and every read is limited: a pipe could block forever, and a large file could take all memory.
"""

import errno
import fcntl
import json
import os
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

OWNER_ONLY = 0o600
PRIVATE_FILE = stat.S_IFREG | OWNER_ONLY
"""The mode of a regular file that only its owner may access."""

OTHERS_MODE = 0o077
SAFE_FLAGS = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
APPEND_FLAGS = os.O_WRONLY | os.O_APPEND | os.O_CREAT | SAFE_FLAGS

DEFAULT_READ_LIMIT = 1_000_000
DEFAULT_LOCK_TIMEOUT, LOCK_POLL_INTERVAL = 2.0, 0.005


class TooLargeError(OSError):
    """The file exceeds the limit. Its first part is not returned, because the whole may mean something else."""


class LockedError(BlockingIOError):
    """Another process holds the lock."""


# Private directories and files


def ensure_private_directory(directory: Path) -> None:
    """Create a directory for this user only. Refuse a link, and a directory of another user."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = directory.lstat()
    if stat.S_ISLNK(status.st_mode):
        raise NotADirectoryError(errno.ENOTDIR, "a link is in its place", str(directory))
    check_owner(status, directory)
    if status.st_mode & OTHERS_MODE:
        directory.chmod(0o700)


def check_owner(status: os.stat_result, path: Path | str) -> None:
    """Raise PermissionError if a file belongs to another user."""
    if status.st_uid != os.getuid():
        raise PermissionError(errno.EACCES, f"belongs to another user (uid {status.st_uid})", str(path))


def make_private(descriptor: int, path: Path | str) -> None:
    """Remove the access of other users to an open file. Refuse a special file, and a file of another user."""
    status = os.fstat(descriptor)
    check_regular(status, path)
    check_owner(status, path)
    if status.st_mode & OTHERS_MODE:
        os.fchmod(descriptor, OWNER_ONLY)


def check_regular(status: os.stat_result, path: Path | str) -> None:
    """Raise OSError for a directory, a pipe, a device and a socket."""
    if stat.S_ISDIR(status.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(status.st_mode):
        raise OSError(errno.EINVAL, "not a regular file", str(path))


def create_file(path: Path, mode: int = OWNER_ONLY) -> BinaryIO:
    """Create a file that does not exist yet, and open it for writing."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    return os.fdopen(os.open(path, flags, mode), "wb")


def replace_file(path: Path, data: bytes, *, mode: int | None = OWNER_ONLY, sync: bool = False) -> None:
    """Replace the content of a file atomically: concurrent readers see the old content or the new one.

    With `mode` None the umask decides. With `sync` the data is on the disk before the file is replaced.
    """
    temporary = path.with_name(f".{path.name[:100]}.{os.urandom(6).hex()}")
    file = create_file(temporary, 0o666 if mode is None else OWNER_ONLY)
    try:
        with file:
            if mode is not None and mode != OWNER_ONLY:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            if sync:
                os.fsync(file.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def encode_with_unknown_fields(value: msgspec.Struct, file: Path) -> bytes:
    """Encode a struct as new content of a file; fields that a newer version wrote into the file are preserved."""
    try:
        stored = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        stored = None
    return msgspec.json.encode(_add_unknown_fields(value, stored))


def _add_unknown_fields(value: Any, stored: Any) -> Any:
    stored = stored if isinstance(stored, dict) else {}
    if isinstance(value, msgspec.Struct):
        fields = {
            key: _add_unknown_fields(getattr(value, name), stored.get(key))
            for name, key in zip(value.__struct_fields__, value.__struct_encode_fields__, strict=True)
        }
        return {**fields, **{key: content for key, content in stored.items() if key not in fields}}
    if isinstance(value, dict):  # keys of a dict are data: a missing one was removed
        return {key: _add_unknown_fields(content, stored.get(key)) for key, content in value.items()}
    return value


# Directories that are removed again


def make_directories(directory: Path) -> int:
    """Create a directory with its parents. Return how many were missing."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
    return len(missing)


def remove_directories(target: Path, count: int) -> None:
    """Remove the nearest parent directories of `target`, as long as they are empty."""
    with suppress(OSError):
        for directory in list(target.parents)[:count]:
            directory.rmdir()


# Bounded reads


def open_regular(path: Path | str, flags: int = os.O_RDONLY) -> int:
    """Open a regular file; other files, such as pipes, are refused instead of waited for."""
    descriptor = os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, OWNER_ONLY)
    try:
        check_regular(os.fstat(descriptor), path)
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor


def read_start(path: Path, limit: int) -> tuple[bytes, os.stat_result]:
    """Return the first bytes of a regular file, and its status."""
    with os.fdopen(open_regular(path), "rb") as file:
        return file.read(limit), os.fstat(file.fileno())


def read_file(path: Path, limit: int = DEFAULT_READ_LIMIT) -> bytes:
    """Return the content of a regular file; raise TooLargeError if it exceeds the limit."""
    return read_file_and_mode(path, limit)[0]


def read_file_and_mode(path: Path, limit: int = DEFAULT_READ_LIMIT) -> tuple[bytes, int]:
    """Return the content and the mode of a regular file; raise TooLargeError if it exceeds the limit."""
    data, status = read_start(path, limit + 1)
    if len(data) > limit:
        raise TooLargeError(errno.EFBIG, f"it is larger than {limit:,} bytes", str(path))
    return data, status.st_mode


# Locks


def acquire_lock(path: Path, timeout: float = DEFAULT_LOCK_TIMEOUT) -> int:
    """Return an open lock file that is locked until it is closed, or until this process ends.

    Raise LockedError if another process holds it for longer than the timeout: that process may be suspended.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_ONLY)
    for remaining in range(round(timeout / LOCK_POLL_INTERVAL), -1, -1):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if remaining:
                time.sleep(LOCK_POLL_INTERVAL)
        except BaseException:
            os.close(descriptor)
            raise
        else:
            return descriptor
    os.close(descriptor)
    raise LockedError(errno.EAGAIN, "another process holds its lock", str(path))


@contextmanager
def lock_file(path: Path, timeout: float = DEFAULT_LOCK_TIMEOUT) -> Iterator[int]:
    """Hold a lock. Raise LockedError if another process holds it for longer than the timeout."""
    descriptor = acquire_lock(path, timeout)
    try:
        yield descriptor
    finally:
        os.close(descriptor)
