"""The key of this installation: 32 random bytes, created once, which only the owner may read.

Digests of found values use it, so that they can be compared on this machine but not guessed elsewhere.
"""

import os
from contextlib import suppress
from pathlib import Path

from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.system.files import OTHERS_MODE, check_owner, create_file, ensure_private_directory, open_regular

NAME = "key"
LENGTH = 32


def read_or_create_key(state: Path) -> bytes:
    """Return the key, creating it if missing. Concurrent callers all get the same key."""
    file = state / NAME
    try:
        key = _read_key(file)
        if key is None:
            ensure_private_directory(state)
            _create_key(file)
            key = _read_key(file)
    except OSError as error:
        why = describe_os_error(error)
        hint = "check its owner and permissions"
        raise TrotlineError(f"the key of this installation, `{file}`, cannot be used: {why}", hint=hint) from None
    if key is None:
        raise TrotlineError(f"the key of this installation, `{file}`, was taken away again", hint="try again")
    return key


def _read_key(file: Path) -> bytes | None:
    try:
        descriptor = open_regular(file, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as opened:
        status = os.fstat(descriptor)
        key = opened.read(LENGTH + 1)
    check_owner(status, file)
    if status.st_mode & OTHERS_MODE:
        raise PermissionError(13, "others may read it; remove it, and a new one is made", str(file))
    if len(key) != LENGTH:
        raise OSError(22, f"is not {LENGTH} bytes long; remove it, and a new one is made", str(file))
    return key


def _create_key(file: Path) -> None:
    """Write the key to a temporary file and link it into place, which does nothing if another process was first."""
    temporary = file.with_name(f"{NAME}.{os.getpid()}.{os.urandom(4).hex()}")
    with create_file(temporary) as opened:
        try:
            opened.write(os.urandom(LENGTH))
            opened.flush()
            os.fsync(opened.fileno())
            with suppress(FileExistsError):
                os.link(temporary, file, follow_symlinks=False)
        finally:
            temporary.unlink()
