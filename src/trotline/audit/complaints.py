"""What a database says becomes a sentence, with what to do about it."""

import sqlite3
from pathlib import Path
from types import TracebackType

from trotline.errors import TrotlineError, TryAgain


class Complaints:
    """`with` it a trail is used; one serves all uses of a store."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __enter__(self) -> None:
        pass

    def __exit__(self, _: object, error: BaseException | None, __: TracebackType | None) -> None:
        if isinstance(error, sqlite3.Error):
            raise self._of_the_database(error) from None
        if isinstance(error, OSError):
            why = (error.strerror or str(error)).lower()
            raise TrotlineError(f"the trail `{self.file}` cannot be used: {why}", hint="look at its owner") from None

    def _of_the_database(self, error: sqlite3.Error) -> TrotlineError:
        what = getattr(error, "sqlite_errorname", "")
        if what.startswith(("SQLITE_BUSY", "SQLITE_LOCKED")):
            return TryAgain(f"another process is writing to `{self.file}`", hint="try again in a moment")
        step = "look at its owner, its mode, the space on the disk"
        if what.startswith(("SQLITE_NOTADB", "SQLITE_CORRUPT")):
            step = f"`trotline service stop`, then `{_aside(self.file)}` sets it aside, and a new one is begun"
        hint = f"{step}; records wait in the spool until it can be used"
        return TrotlineError(f"the trail `{self.file}` cannot be used: {error}", hint=hint)


def _aside(file: Path) -> str:
    """A trail is three files: what was taken last may be in its journal alone."""
    return f'for end in "" -wal -shm; do mv "{file}$end" "{file}.broken$end"; done'


def is_of_a_line(error: Exception) -> bool:
    """Whether what was to be kept is the reason, and not the file, the disk or another process."""
    if isinstance(error, sqlite3.Error):
        return isinstance(error, (sqlite3.DataError, sqlite3.InterfaceError, sqlite3.ProgrammingError))
    return not isinstance(error, (TrotlineError, OSError, MemoryError))
