"""Files that are to be written where nothing is yet. Whatever is there is somebody's work, and stays."""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from trotline.config.installation import HINTS
from trotline.errors import TrotlineError

TEMPLATES = Path(__file__).parent / "templates"
BLANK = re.compile(r"\{\{(\w+)\}\}")
NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW


class Sheet(NamedTuple):
    """A file that is to be: where, what it says, and whether it can be run."""

    path: Path
    text: str
    executable: bool = False
    shared: bool = False  # several hooks use it; where it was changed, it stays as it is

    @property
    def difference(self) -> str:
        """What writing it changes, as a unified diff."""
        return "\n".join(unified_diff([], self.text.splitlines(), "/dev/null", str(self.path), lineterm=""))


def filled(template: str, **words: str) -> str:
    """The text of a template with its blanks filled in; a blank without a word is a mistake of ours."""
    return BLANK.sub(lambda blank: words[blank[1]], (TEMPLATES / template).read_text("utf-8"))


def missing(sheets: Iterable[Sheet], root: Path, *, hint: str) -> list[Sheet]:
    """Those that are not there yet. Refused when one would take the place of something, or leave the root."""
    sheets = list(sheets)
    try:
        for sheet in sheets:
            if not Path(os.path.realpath(sheet.path.parent)).is_relative_to(os.path.realpath(root)):
                message = f"`{sheet.path.parent}` leads out of `{root}`"
                raise TrotlineError(message, hint="put a directory in the place of the link")
        absent = [sheet for sheet in sheets if not os.path.lexists(sheet.path)]
        own = [sheet for sheet in sheets if sheet not in absent and not sheet.shared]
        taken = [sheet.path for sheet in own if not _says(sheet)]
    except OSError as error:
        raise _explained(error, root) from error
    if taken:
        names = ", ".join(f"`{path.relative_to(root)}`" for path in taken)
        message = f"{names} {'is' if len(taken) == 1 else 'are'} there already, and nothing was written"
        raise TrotlineError(message, hint=hint)
    return absent


def kept(sheets: Iterable[Sheet]) -> list[Path]:
    """Those that stay although they say something else than we would write."""
    return [sheet.path for sheet in sheets if sheet.shared and os.path.lexists(sheet.path) and not _says(sheet)]


def write(sheets: Sequence[Sheet]) -> list[Path]:
    """All of them, or none. Gives the directories that had to be made."""
    written: list[Path] = []
    made: list[Path] = []
    try:
        for sheet in sheets:
            above = [one for one in sheet.path.parents if not one.exists()]
            for directory in reversed(above):
                directory.mkdir()
                made.append(directory)
            descriptor = os.open(sheet.path, NEW_FILE, 0o777 if sheet.executable else 0o666)
            written.append(sheet.path)
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as file:
                file.write(sheet.text)
    except OSError as error:
        remove(written, made)
        raise _explained(error, sheet.path) from error
    return made


def remove(files: Iterable[Path], directories: Sequence[Path] = ()) -> None:
    """Take back what was written; a directory goes if nobody has put anything there."""
    for file in files:
        file.unlink(missing_ok=True)
    for directory in reversed(directories):
        with suppress(OSError):
            directory.rmdir()


def _says(sheet: Sheet) -> bool:
    """Whether the file is there and says just this."""
    return sheet.path.is_file() and not sheet.path.is_symlink() and sheet.path.read_bytes() == sheet.text.encode()


def _explained(error: OSError, path: Path) -> TrotlineError:
    where = error.filename if isinstance(error.filename, str) else str(path)
    why = (error.strerror or str(error)).lower()
    return TrotlineError(f"`{where}` cannot be written: {why}", hint=HINTS.get(error.errno or 0, ""))
