"""Install and remove Trotline's entries in an agent's file on disk.

At every moment the file has either the old bytes or the new ones. The new bytes are first written to a file next to it.
Then follow the backup, the record of the old and new content, and last the file itself, in one atomic step. A record
that is ahead of its file does no harm: the content of the file is compared with what we wrote, and if it differs,
uninstalling removes our entries and nothing more. Records and backups are kept in our state directory, never beside the
hooks, because some agents load every file they find.
"""

import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from difflib import unified_diff
from enum import StrEnum
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.config.install.edit import (
    EditTerms,
    EntryEdit,
    HooksFileEdit,
    install_entries,
    is_empty_file,
    is_same_content,
    remove_entries,
)
from trotline.config.problems import Problem
from trotline.domain.errors import TrotlineError, TryAgain, describe_os_error
from trotline.formats.jsonc import MAX_FILE_BYTES
from trotline.system.files import (
    LockedError,
    TooLargeError,
    create_file,
    ensure_private_directory,
    lock_file,
    make_directories,
    read_file,
    remove_directories,
    replace_file,
)

SCHEMA = "trotline.installation/1"
LOCK_TIMEOUT = 10.0
"""Seconds to wait for another installer."""

PERMISSION_HINT = "check its owner and permissions"
SPACE_HINT = "make room and try again; nothing was changed"
HINTS = {
    errno.EACCES: PERMISSION_HINT,
    errno.EPERM: PERMISSION_HINT,
    errno.EROFS: "the file system is mounted read-only",
    errno.ENOSPC: SPACE_HINT,
    errno.EDQUOT: SPACE_HINT,
    errno.EFBIG: SPACE_HINT,
    errno.ELOOP: "links lead in a circle; replace them with a file",
    errno.EISDIR: "a directory has its name; move it away",
    errno.ENOTDIR: "one of the directories above it is a file",
    errno.EINVAL: "move away what has its name",
}


class InstallOutcome(StrEnum):
    """The outcome for a file, also of a dry run."""

    NOTHING = "nothing to do"
    REFUSED = "refused"
    WRITTEN = "written"
    RESTORED = "restored"
    DELETED = "deleted"


class FileResult(NamedTuple):
    """The result for a file. `None` for its bytes means that there is no file."""

    path: Path
    outcome: InstallOutcome
    before: bytes | None
    after: bytes | None
    problems: tuple[Problem, ...] = ()
    backup: Path | None = None

    @property
    def difference(self) -> str:
        """A unified diff; empty if nothing changes."""
        old, new = ("/dev/null" if data is None else str(self.path) for data in (self.before, self.after))
        return "\n".join(unified_diff(_split_lines(self.before), _split_lines(self.after), old, new, lineterm=""))


class InstallRecord(msgspec.Struct, frozen=True, kw_only=True):
    """The record of a file's content before our first edit, and of every content that we wrote."""

    schema: str = SCHEMA
    path: str
    original: str  # name of the backup; empty if there was no file
    digest: str  # of the original
    written: tuple[str, ...]  # digests of every content that we wrote
    directories: int = 0  # number of parent directories that we created
    installed_us: int = 0


class FoundFile(NamedTuple):
    """The file found at the target path, if any."""

    data: bytes | None
    status: os.stat_result | None

    @property
    def digest(self) -> str:
        """The digest of the content, or "" if there is no file."""
        return _compute_digest(self.data) if self.data is not None else ""


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """One file of one agent, and the directory for its record and backups."""

    path: Path
    terms: EditTerms
    owner_directory: Path  # symlinks that lead out of it are refused
    state: Path

    def install(self, entries: Sequence[EntryEdit], now_us: int, *, dry_run: bool = False) -> FileResult:
        """Make the file have exactly these entries of ours."""
        with self._convert_errors(), nullcontext() if dry_run else self._hold_lock():
            target = self._find_target()
            found = _read_target(target)
            edit = self._plan_installation(found, entries)
            if not edit.changed:
                outcome = InstallOutcome.REFUSED if edit.refused else InstallOutcome.NOTHING
                return FileResult(target, outcome, found.data, found.data, edit.problems)
            backup = None if dry_run else self._write(target, found, edit.data, now_us)
            return FileResult(target, InstallOutcome.WRITTEN, found.data, edit.data, edit.problems, backup)

    def uninstall(self, now_us: int, *, dry_run: bool = False) -> FileResult:
        """Restore the original file; if it was edited since, only remove our entries."""
        with self._convert_errors(), nullcontext() if dry_run else self._hold_lock():
            target = self._find_target()
            found = _read_target(target)
            record = self._read_record(target)
            planned = self._plan_removal(target, found, record)
            if dry_run or planned.outcome is InstallOutcome.REFUSED:
                return planned
            _get_staging_path(target).unlink(missing_ok=True)
            if planned.outcome is not InstallOutcome.NOTHING:
                planned = planned._replace(backup=self._apply_removal(planned, found, record, now_us))
            self._get_record_file(target).unlink(missing_ok=True)
            return planned

    def is_done(self, entries: Sequence[EntryEdit]) -> bool:
        """Check whether installing would change nothing.

        Read access to the file is enough, so this also works where only the owner may write.
        """
        try:
            data = read_file(self.path)
            found = FoundFile(data, self.path.stat())
        except (FileNotFoundError, TooLargeError):
            return False
        edit = self._plan_installation(found, entries)
        return not edit.changed and not edit.refused

    @property
    def bits(self) -> int:
        """The mode bits that the file must have."""
        return 0

    def _plan_installation(self, found: FoundFile, entries: Sequence[EntryEdit]) -> HooksFileEdit:
        return install_entries(found.data, entries, self._get_terms())

    def _plan_removal(self, target: Path, found: FoundFile, record: InstallRecord | None) -> FileResult:
        """Return the result of removing our entries.

        The original is restored only if it equals the file without our entries: another installer that shares our state
        directory may have edited the file in between.
        """
        original = self._read_original(target, record)
        if found.data is None:
            return FileResult(target, InstallOutcome.NOTHING, None, None)
        edit = remove_entries(found.data, self._get_terms(), original)
        if not edit.changed:
            outcome = InstallOutcome.REFUSED if edit.refused else InstallOutcome.NOTHING
            return FileResult(target, outcome, found.data, found.data, edit.problems)
        absent = record is not None and not record.original
        if absent and is_empty_file(edit.data):
            return FileResult(target, InstallOutcome.DELETED, found.data, None, edit.problems)
        untouched = record is not None and found.digest in record.written
        if untouched and original is not None and is_same_content(edit.data, original) and not absent:
            return FileResult(target, InstallOutcome.RESTORED, found.data, original)
        return FileResult(target, InstallOutcome.WRITTEN, found.data, edit.data, edit.problems)

    def _write(self, target: Path, found: FoundFile, data: bytes, now_us: int) -> Path | None:
        """Write these bytes to the file, with a backup of the old content unless we wrote it ourselves."""
        created_count = make_directories(target.parent)
        try:
            with _stage_file(target, data, found, self.bits) as staged:
                record, backup = self._read_record(target), None
                if record is None or found.digest not in record.written:
                    record, backup = self._create_record(target, found, record, now_us)
                    record = msgspec.structs.replace(record, directories=max(created_count, record.directories))
                written = tuple(dict.fromkeys([*record.written, _compute_digest(data)]))
                self._write_record(target, msgspec.structs.replace(record, written=written))
                _replace_target(staged, target, found)
        except BaseException:
            remove_directories(target, created_count)
            raise
        return backup

    def _create_record(
        self, target: Path, found: FoundFile, old: InstallRecord | None, now_us: int
    ) -> tuple[InstallRecord, Path | None]:
        """Return a new record and a copy of the found file.

        If the file already has entries of ours, the original is the file without them.
        """
        original = self._plan_removal(target, found, old).after
        edited = original != found.data
        copy = self._write_backup(target, found.data, now_us, "edited" if edited else "original")
        base = self._write_backup(target, original, now_us, "original") if edited else copy
        record = InstallRecord(
            path=_format_path(target),
            original=base.name if base else "",
            digest=_compute_digest(original or b""),
            written=(),
            directories=old.directories if old else 0,
            installed_us=now_us,
        )
        return record, copy

    def _apply_removal(
        self, planned: FileResult, found: FoundFile, record: InstallRecord | None, now_us: int
    ) -> Path | None:
        edited = record is None or found.digest not in record.written
        backup = self._write_backup(planned.path, found.data, now_us, "edited") if edited else None
        if planned.after is not None:
            with _stage_file(planned.path, planned.after, found, self.bits) as staged:
                _replace_target(staged, planned.path, found)
        else:
            _check_unchanged(planned.path, found)
            planned.path.unlink()
            remove_directories(planned.path, record.directories if record else 0)
        return backup

    def _get_terms(self) -> EditTerms:
        return self.terms._replace(file=self.terms.file or str(self.path))

    def _find_target(self) -> Path:
        """Return the file behind all symlinks."""
        target = Path(os.path.realpath(self.path))
        if target.is_relative_to(os.path.realpath(self.owner_directory)):
            return target
        message = f"`{self.path}` is outside of `{self.owner_directory}`: it is `{target}`"
        raise TrotlineError(message, hint="put a file in the place of the link, or edit the other file yourself")

    @contextmanager
    def _convert_errors(self) -> Iterator[None]:
        """Raise operating system errors as a TrotlineError with a readable message."""
        try:
            yield
        except OSError as error:
            why = describe_os_error(error)
            where = error.filename if isinstance(error.filename, str) else ""
            place = f" (`{where}`)" if where and where != str(self.path) else ""
            message = f"`{self.path}` cannot be changed: {why}{place}"
            raise TrotlineError(message, hint=HINTS.get(error.errno or 0, "")) from error

    @contextmanager
    def _hold_lock(self) -> Iterator[None]:
        """Hold the lock of the installer. The kernel releases it whenever the process ends."""
        ensure_private_directory(self.state)
        try:
            with lock_file(self.state / "install.lock", LOCK_TIMEOUT):
                yield
        except LockedError:
            raise TryAgain("another installer is at work", hint="try again when it is done") from None

    def _get_backup_directory(self, target: Path) -> Path:
        """Return the directory of a file's backups and record, named by a digest: a path may hold any bytes."""
        return self.state / "backups" / hashlib.sha256(os.fsencode(target)).hexdigest()[:16]

    def _get_record_file(self, target: Path) -> Path:
        return self._get_backup_directory(target) / "record.json"

    def _read_record(self, target: Path) -> InstallRecord | None:
        """Return the record, or None if there is no valid one.

        Uninstalling then recognizes our entries by their commands.
        """
        try:
            record = msgspec.json.decode(self._get_record_file(target).read_bytes(), type=InstallRecord)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return record if record.schema == SCHEMA and record.path == _format_path(target) else None

    def _read_original(self, target: Path, record: InstallRecord | None) -> bytes | None:
        """Return the content before our first edit: empty if there was no file, None if unknown."""
        if record is None or not record.original:
            return b"" if record else None
        try:
            data = (self._get_backup_directory(target) / Path(record.original).name).read_bytes()
        except OSError:
            return None
        return data if _compute_digest(data) == record.digest else None

    def _write_backup(self, target: Path, data: bytes | None, now_us: int, kind: str) -> Path | None:
        """Write a copy of the data and return its path. Never overwrites an older copy."""
        backups = self._get_backup_directory(target)
        for directory in (self.state, backups.parent, backups):
            ensure_private_directory(directory)
        while data is not None:
            backup = backups / f"{now_us}-{kind}"
            with suppress(FileExistsError):
                _write_new(backup, data, 0o600)
                return backup
            now_us += 1
        return None

    def _write_record(self, target: Path, record: InstallRecord) -> None:
        data = msgspec.json.format(msgspec.json.encode(record)) + b"\n"
        replace_file(self._get_record_file(target), data, sync=True)


def _read_target(path: Path) -> FoundFile:
    """Read the file; raise if we should not replace it."""
    try:
        data = read_file(path)
        status = path.stat()
    except FileNotFoundError:
        return FoundFile(None, None)
    except TooLargeError:
        raise TrotlineError(
            f"`{path}` is larger than {MAX_FILE_BYTES:,} bytes",
            hint="hooks files are never this large; check what it is",
        ) from None
    if status.st_uid != os.geteuid() and os.geteuid() != 0:
        raise TrotlineError(f"`{path}` belongs to another user (uid {status.st_uid})", hint="run this as that user")
    if not os.access(path, os.W_OK):
        raise TrotlineError(f"`{path}` is read-only", hint="it may be read-only on purpose; if not, run `chmod u+w`")
    return FoundFile(data, status)


def _get_staging_path(target: Path) -> Path:
    """Return the path for the new bytes, beside the file.

    The name does not end in `.json`, because agents might load it. It is always the same, so that the next installer
    removes the leftover of a killed one.
    """
    return target.with_name(f".{target.name}.trotline-new")


@contextmanager
def _stage_file(target: Path, data: bytes, found: FoundFile, bits: int) -> Iterator[Path]:
    """Write the new bytes beside the file, synced, with the owner and mode of the file."""
    staged = _get_staging_path(target)
    staged.unlink(missing_ok=True)
    try:
        _write_new(staged, data, (0o666 if found.status is None else 0o600) | bits, found.status)
        yield staged
    finally:
        staged.unlink(missing_ok=True)


def _write_new(path: Path, data: bytes, mode: int, like: os.stat_result | None = None) -> None:
    """Create a file and sync it; `like` is the status of the file whose owner and mode it gets."""
    with create_file(path, mode) as file:
        if like is not None:
            now = os.fstat(file.fileno())
            if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
            # after fchown, which clears some mode bits
            os.fchmod(file.fileno(), stat.S_IMODE(like.st_mode) | mode & 0o111)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _replace_target(staged: Path, target: Path, found: FoundFile) -> None:
    _check_unchanged(target, found)
    staged.replace(target)
    with suppress(OSError):  # the file is already replaced; some file systems cannot sync a directory
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _check_unchanged(target: Path, found: FoundFile) -> None:
    """Raise TryAgain if the file changed after it was read: editors and other tools do not take our lock."""
    if _read_target(target).data != found.data:
        raise TryAgain(f"`{target}` was changed by somebody else just now", hint="nothing was written; try again")


def _compute_digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _format_path(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _split_lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[:-1] if lines[-1] == "" else [*lines, "\\ No newline at end of file"]
