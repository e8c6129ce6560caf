"""Render templates and write them as new files. Existing files are never overwritten."""

import os
import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from difflib import unified_diff
from pathlib import Path
from typing import NamedTuple

from trotline.config.install.installation import HINTS
from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.system.files import create_file

TEMPLATES = Path(__file__).parent / "files"
LAUNCHER = "with-trotline"
DOT_PREFIX = "dot_"
"""Replaces the leading dot in names of template files, because some packagers skip hidden files."""

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")


class NewFile(NamedTuple):
    """A file to write."""

    path: Path
    text: str
    is_executable: bool = False
    is_shared: bool = False  # used by several hooks; a modified one is kept

    @property
    def diff(self) -> str:
        """The change as a unified diff."""
        return "\n".join(unified_diff([], self.text.splitlines(), "/dev/null", str(self.path), lineterm=""))


def render_template(template: str, **values: str) -> str:
    """Return the text of a template with its placeholders replaced."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], (TEMPLATES / template).read_text("utf-8"))


def build_launcher(directory: Path) -> NewFile:
    """Return the script that finds a Python with Trotline on any machine."""
    return NewFile(directory / LAUNCHER, render_template(f"{LAUNCHER}.txt"), is_executable=True, is_shared=True)


def build_project_files(directory: Path) -> list[NewFile]:
    """Return all files of a new project."""
    root = TEMPLATES / "project"
    templates = sorted(path.relative_to(root) for path in root.rglob("*.txt"))
    files = [
        NewFile(directory / _build_target(path), render_template(f"project/{path.as_posix()}")) for path in templates
    ]
    return [*files, build_launcher(directory / ".cursor" / "hooks")]


def _build_target(template: Path) -> Path:
    parts = template.with_suffix("").parts
    return Path(*(f".{part.removeprefix(DOT_PREFIX)}" if part.startswith(DOT_PREFIX) else part for part in parts))


def find_missing(files: Sequence[NewFile], root: Path, *, hint: str) -> list[NewFile]:
    """Return the files that do not exist. Raise if a different file exists or a link leads out of the root."""
    try:
        for file in files:
            if not Path(os.path.realpath(file.path.parent)).is_relative_to(os.path.realpath(root)):
                message = f"`{file.path.parent}` leads out of `{root}`"
                raise TrotlineError(message, hint="put a directory in the place of the link")
        missing = [file for file in files if not os.path.lexists(file.path)]
        existing = [file for file in files if file not in missing and not file.is_shared]
        different = [file.path for file in existing if not _is_written(file)]
    except OSError as error:
        raise _build_error(error, root) from error
    if different:
        names = ", ".join(f"`{path.relative_to(root)}`" for path in different)
        message = f"{names} {'is' if len(different) == 1 else 'are'} there already, and nothing was written"
        raise TrotlineError(message, hint=hint)
    return missing


def find_modified(files: Iterable[NewFile]) -> list[Path]:
    """Return the shared files that exist with another text and are kept."""
    return [file.path for file in files if file.is_shared and os.path.lexists(file.path) and not _is_written(file)]


def write_files(files: Sequence[NewFile]) -> list[Path]:
    """Write all files or none, and return the directories that were created."""
    written: list[Path] = []
    created: list[Path] = []
    try:
        for file in files:
            missing = [parent for parent in file.path.parents if not parent.exists()]
            for directory in reversed(missing):
                directory.mkdir()
                created.append(directory)
            with create_file(file.path, 0o777 if file.is_executable else 0o666) as opened:
                written.append(file.path)
                opened.write(file.text.encode())
    except OSError as error:
        remove_files(written, created)
        raise _build_error(error, file.path) from error
    return created


def remove_files(files: Iterable[Path], directories: Sequence[Path] = ()) -> None:
    """Remove written files, and created directories that are empty."""
    for file in files:
        file.unlink(missing_ok=True)
    for directory in reversed(directories):
        with suppress(OSError):
            directory.rmdir()


def _is_written(file: NewFile) -> bool:
    """Return whether the file exists with exactly this text."""
    return file.path.is_file() and not file.path.is_symlink() and file.path.read_bytes() == file.text.encode()


def _build_error(error: OSError, path: Path) -> TrotlineError:
    name = error.filename if isinstance(error.filename, str) else str(path)
    reason = describe_os_error(error)
    return TrotlineError(f"`{name}` cannot be written: {reason}", hint=HINTS.get(error.errno or 0, ""))
