"""The key of this installation: 32 random bytes, created once, which only the owner may read.

Digests of found values use it, so that they can be compared on this machine but not guessed elsewhere.
"""

import os
import stat
from pathlib import Path

from trotline.config.paths import private_directory
from trotline.domain.errors import TrotlineError

NAME = "key"
LENGTH = 32
OWNER_ONLY = 0o600


def install_key(state: Path) -> bytes:
    """Return the key, creating it if missing. Concurrent callers all get the same key."""
    file = state / NAME
    try:
        found = _read(file)
        if found is None:
            private_directory(state)
            _make(file)
            found = _read(file)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        hint = "look at who owns it and who may write there"
        raise TrotlineError(f"the key of this installation, `{file}`, cannot be used: {why}", hint=hint) from None
    if found is None:
        raise TrotlineError(f"the key of this installation, `{file}`, was taken away again", hint="try again")
    return found


def _read(file: Path) -> bytes | None:
    try:
        descriptor = os.open(file, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    try:
        status = os.fstat(descriptor)
        key = os.read(descriptor, LENGTH + 1) if stat.S_ISREG(status.st_mode) else b""
    finally:
        os.close(descriptor)
    if status.st_uid != os.getuid():
        raise PermissionError(13, f"belongs to another user (uid {status.st_uid})", str(file))
    if status.st_mode & 0o077:
        raise PermissionError(13, "others may read it; remove it, and a new one is made", str(file))
    if len(key) != LENGTH:
        raise OSError(22, f"is not {LENGTH} bytes long; remove it, and a new one is made", str(file))
    return key


def _make(file: Path) -> None:
    """Write the key to a temporary file and link it into place, which does nothing if another process was first."""
    beside = file.with_name(f"{NAME}.{os.getpid()}.{os.urandom(4).hex()}")
    descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_ONLY)
    try:
        os.write(descriptor, os.urandom(LENGTH))
        os.fsync(descriptor)
        os.link(beside, file, follow_symlinks=False)
    except FileExistsError:
        pass
    finally:
        os.close(descriptor)
        beside.unlink()
