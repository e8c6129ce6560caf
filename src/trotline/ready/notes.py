"""What a ready hook remembers of a conversation: one small JSON file, changed under a lock and replaced whole."""

import contextlib
import hashlib
import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trotline.config.places import private_directory
from trotline.config.whole_file import lock, put
from trotline.errors import TrotlineError

MOST_BYTES = 4_000_000
MOST_FILES = 500
"""Conversations that are remembered; the ones that were quiet for the longest time are forgotten first."""


def name_of(text: str) -> str:
    """The name of a file about this: a hash, because a payload's text is no name."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:32]


class Notes:
    """The notes of one hook, in a directory that nobody else may enter."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def read(self, conversation: str) -> dict[str, Any]:
        return _parsed(self._path(conversation))

    @contextlib.contextmanager
    def changed(self, conversation: str) -> Iterator[dict[str, Any]]:
        """The notes, to be changed; they are written when the block ends well."""
        path = self._path(conversation)
        with locked(self.directory):
            notes = _parsed(path)
            yield notes
            data = json.dumps(notes).encode()
            if len(data) > MOST_BYTES:
                raise TrotlineError(f"the notes `{path}` would grow over {MOST_BYTES} bytes", hint="remove the file")
            if not path.exists():
                self._forget_the_oldest()
            put(path, data)

    def _path(self, conversation: str) -> Path:
        return self.directory / f"{name_of(conversation)}.json"

    def _forget_the_oldest(self) -> None:
        files = sorted(self.directory.glob("*.json"), key=_age)
        for file in files[: max(0, len(files) - MOST_FILES + 1)]:
            file.unlink(missing_ok=True)


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Alone in this directory, which is made if it has to be."""
    private_directory(directory)
    descriptor = os.open(directory / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    try:
        lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def _age(file: Path) -> float:
    try:
        return file.stat().st_mtime
    except OSError:
        return 0.0  # somebody else has just removed it


def _parsed(path: Path) -> dict[str, Any]:
    try:
        notes = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError):
        notes = None
    if not isinstance(notes, dict):
        raise TrotlineError(f"the notes `{path}` are damaged", hint="remove the file to begin anew")
    return notes
