"""Our entries in a host's file on disk. Whatever happens on the way, the file holds the old bytes or the new ones.

The new bytes are complete beside the file before anything else is touched; then come the backup, the record of what was
there and what we write, and last the file itself, in one step. A record that is ahead of its file does no harm: what
the file holds is compared with what we wrote, and where it is something else, uninstalling takes out our entries and
nothing more. Records and backups are kept among our own files, never beside the hooks: some hosts load all they find.
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

from trotline.config.edit import Edit, Entry, Terms, holds_nothing, installed, removed, says_the_same
from trotline.config.files import TooLargeError, content
from trotline.config.jsonc_reader import MOST_BYTES
from trotline.config.places import make_directories, private_directory, remove_directories
from trotline.config.problems import Problem
from trotline.config.whole_file import lock, put
from trotline.errors import TrotlineError, TryAgain

SCHEMA = "trotline.installation/1"
WAIT = 10.0
"""Seconds: how long an installer waits for another one, and between two looks."""

NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC | os.O_NOFOLLOW
PERMISSIONS = "look at who owns it and who may write there"
ROOM = "make room and try again; nothing was changed"
HINTS = {
    errno.EACCES: PERMISSIONS,
    errno.EPERM: PERMISSIONS,
    errno.EROFS: "the file system is mounted read-only",
    errno.ENOSPC: ROOM,
    errno.EDQUOT: ROOM,
    errno.EFBIG: ROOM,
    errno.ELOOP: "links lead in a circle; replace them with a file",
    errno.EISDIR: "a directory has its name; move it away",
    errno.ENOTDIR: "one of the directories above it is a file",
    errno.EINVAL: "move away what has its name",
}


class Done(StrEnum):
    """What became of the file, or would become of it."""

    NOTHING = "nothing to do"
    REFUSED = "refused"
    WRITTEN = "written"
    RESTORED = "restored"
    DELETED = "deleted"


class Installed(NamedTuple):
    """What was done to which file. `None` for its bytes means that there is no file."""

    path: Path
    done: Done
    before: bytes | None
    after: bytes | None
    problems: tuple[Problem, ...] = ()
    backup: Path | None = None

    @property
    def difference(self) -> str:
        """A unified diff; nothing if nothing changes."""
        old, new = ("/dev/null" if data is None else str(self.path) for data in (self.before, self.after))
        return "\n".join(unified_diff(_lines(self.before), _lines(self.after), old, new, lineterm=""))


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """What stood in a file before us, and every content that we made of it."""

    schema: str = SCHEMA
    path: str
    original: str  # the name of its backup; empty if there was no file
    digest: str  # of the original
    written: tuple[str, ...]  # digests
    directories: int = 0  # how many above the file are our making
    installed_us: int = 0


class Found(NamedTuple):
    """What stands in the file's place."""

    data: bytes | None
    status: os.stat_result | None

    @property
    def digest(self) -> str:
        return _digest(self.data) if self.data is not None else ""


class Installation(msgspec.Struct, frozen=True, kw_only=True):
    """One file of one host, and where we keep what we know about it."""

    path: Path
    terms: Terms
    owner_directory: Path  # links are followed inside of it, and no farther
    state: Path

    def install(self, entries: Sequence[Entry], now_us: int, *, dry_run: bool = False) -> Installed:
        """Exactly these entries of ours are in the file from now on."""
        with self._explained(), nullcontext() if dry_run else self._alone():
            target = self._target()
            found = _found(target)
            edit = self._with(found, entries)
            if not edit.changed:
                done = Done.REFUSED if edit.refused else Done.NOTHING
                return Installed(target, done, found.data, found.data, edit.problems)
            backup = None if dry_run else self._write(target, found, edit.data, now_us)
            return Installed(target, Done.WRITTEN, found.data, edit.data, edit.problems, backup)

    def uninstall(self, now_us: int, *, dry_run: bool = False) -> Installed:
        """The file is as it was before us; if it was edited since, it is without our entries."""
        with self._explained(), nullcontext() if dry_run else self._alone():
            target = self._target()
            found = _found(target)
            record = self._record(target)
            planned = self._without(target, found, record)
            if dry_run or planned.done is Done.REFUSED:
                return planned
            _staging(target).unlink(missing_ok=True)
            if planned.done is not Done.NOTHING:
                planned = planned._replace(backup=self._take_back(planned, found, record, now_us))
            self._record_file(target).unlink(missing_ok=True)
            return planned

    def is_done(self, entries: Sequence[Entry]) -> bool:
        """Whether installing would change nothing. Whoever may read the file may ask, also where only its owner may
        write."""
        try:
            data, _ = content(self.path)
            found = Found(data, self.path.stat())
        except (FileNotFoundError, TooLargeError):
            return False
        edit = self._with(found, entries)
        return not edit.changed and not edit.refused

    @property
    def bits(self) -> int:
        """What the file's mode must have."""
        return 0

    def _with(self, found: Found, entries: Sequence[Entry]) -> Edit:
        return installed(found.data, entries, self._terms())

    def _without(self, target: Path, found: Found, record: Record | None) -> Installed:
        """What the file would be without us. The original comes back only if it is what is left without our entries:
        another installer that shares our state, and is not us, may have been here in between."""
        original = self._original(target, record)
        if found.data is None:
            return Installed(target, Done.NOTHING, None, None)
        edit = removed(found.data, self._terms(), original)
        if not edit.changed:
            done = Done.REFUSED if edit.refused else Done.NOTHING
            return Installed(target, done, found.data, found.data, edit.problems)
        absent = record is not None and not record.original
        if absent and holds_nothing(edit.data):
            return Installed(target, Done.DELETED, found.data, None, edit.problems)
        untouched = record is not None and found.digest in record.written
        if untouched and original is not None and says_the_same(edit.data, original) and not absent:
            return Installed(target, Done.RESTORED, found.data, original)
        return Installed(target, Done.WRITTEN, found.data, edit.data, edit.problems)

    def _write(self, target: Path, found: Found, data: bytes, now_us: int) -> Path | None:
        """The file gets these bytes; what it held is kept unless we wrote it ourselves."""
        made = make_directories(target.parent)
        try:
            with _staged(target, data, found, self.bits) as staged:
                record, backup = self._record(target), None
                if record is None or found.digest not in record.written:
                    record, backup = self._begun(target, found, record, now_us)
                    record = msgspec.structs.replace(record, directories=max(made, record.directories))
                written = tuple(dict.fromkeys([*record.written, _digest(data)]))
                self._remember(target, msgspec.structs.replace(record, written=written))
                _move(staged, target, found)
        except BaseException:
            remove_directories(target, made)
            raise
        return backup

    def _begun(self, target: Path, found: Found, old: Record | None, now_us: int) -> tuple[Record, Path | None]:
        """A new record, and the copy of what was found. If that holds entries of ours, the original is it without."""
        original = self._without(target, found, old).after
        edited = original != found.data
        copy = self._keep(target, found.data, now_us, "edited" if edited else "original")
        base = self._keep(target, original, now_us, "original") if edited else copy
        record = Record(
            path=_shown(target),
            original=base.name if base else "",
            digest=_digest(original or b""),
            written=(),
            directories=old.directories if old else 0,
            installed_us=now_us,
        )
        return record, copy

    def _take_back(self, planned: Installed, found: Found, record: Record | None, now_us: int) -> Path | None:
        edited = record is None or found.digest not in record.written
        backup = self._keep(planned.path, found.data, now_us, "edited") if edited else None
        if planned.after is not None:
            with _staged(planned.path, planned.after, found, self.bits) as staged:
                _move(staged, planned.path, found)
        else:
            _unchanged(planned.path, found)
            planned.path.unlink()
            remove_directories(planned.path, record.directories if record else 0)
        return backup

    def _terms(self) -> Terms:
        return self.terms._replace(file=self.terms.file or str(self.path))

    def _target(self) -> Path:
        """The file itself, behind all links."""
        target = Path(os.path.realpath(self.path))
        if target.is_relative_to(os.path.realpath(self.owner_directory)):
            return target
        message = f"`{self.path}` is outside of `{self.owner_directory}`: it is `{target}`"
        raise TrotlineError(message, hint="put a file in the place of the link, or edit the other file yourself")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """What the world refuses, as a sentence for people."""
        try:
            yield
        except OSError as error:
            why = (error.strerror or str(error)).lower()
            where = error.filename if isinstance(error.filename, str) else ""
            place = f" (`{where}`)" if where and where != str(self.path) else ""
            message = f"`{self.path}` cannot be changed: {why}{place}"
            raise TrotlineError(message, hint=HINTS.get(error.errno or 0, "")) from error

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One installer at a time; the lock goes with the process, however that ends."""
        private_directory(self.state)
        descriptor = os.open(self.state / "install.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
        try:
            try:
                lock(descriptor, WAIT)
            except BlockingIOError:
                raise TryAgain("another installer is at work", hint="try again when it is done") from None
            yield
        finally:
            os.close(descriptor)

    def _drawer(self, target: Path) -> Path:
        """Where backups and the record of a file are; named after its path, which may hold any bytes."""
        return self.state / "backups" / hashlib.sha256(os.fsencode(target)).hexdigest()[:16]

    def _record_file(self, target: Path) -> Path:
        return self._drawer(target) / "record.json"

    def _record(self, target: Path) -> Record | None:
        """A record that cannot be read is no record: uninstalling then goes by the entries."""
        try:
            record = msgspec.json.decode(self._record_file(target).read_bytes(), type=Record)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return record if record.schema == SCHEMA and record.path == _shown(target) else None

    def _original(self, target: Path, record: Record | None) -> bytes | None:
        """What stood there before us: nothing if there was no file, None if nobody knows."""
        if record is None or not record.original:
            return b"" if record else None
        try:
            data = (self._drawer(target) / Path(record.original).name).read_bytes()
        except OSError:
            return None
        return data if _digest(data) == record.digest else None

    def _keep(self, target: Path, data: bytes | None, now_us: int, why: str) -> Path | None:
        """A raw copy; an older one is never overwritten."""
        drawer = self._drawer(target)
        for directory in (self.state, drawer.parent, drawer):
            private_directory(directory)
        while data is not None:
            backup = drawer / f"{now_us}-{why}"
            with suppress(FileExistsError):
                _write_new(backup, data, 0o600)
                return backup
            now_us += 1
        return None

    def _remember(self, target: Path, record: Record) -> None:
        data = msgspec.json.format(msgspec.json.encode(record)) + b"\n"
        put(self._record_file(target), data, lasting=True)


def _found(path: Path) -> Found:
    """What is there; refused if it is not ours to replace."""
    try:
        data, _ = content(path)
        status = path.stat()
    except FileNotFoundError:
        return Found(None, None)
    except TooLargeError:
        raise TrotlineError(
            f"`{path}` is larger than {MOST_BYTES:,} bytes", hint="no file of hooks is; look what it is"
        ) from None
    if status.st_uid != os.geteuid() and os.geteuid() != 0:
        raise TrotlineError(f"`{path}` belongs to another user (uid {status.st_uid})", hint="run this as that user")
    if not os.access(path, os.W_OK):
        raise TrotlineError(f"`{path}` is read-only", hint="somebody meant it to stay; `chmod u+w` if it was you")
    return Found(data, status)


def _staging(target: Path) -> Path:
    """Beside the file. It is no `*.json`, which hosts might load, and always the same: what a killed installer left is
    cleared away by the next."""
    return target.with_name(f".{target.name}.trotline-new")


@contextmanager
def _staged(target: Path, data: bytes, found: Found, bits: int) -> Iterator[Path]:
    """The new bytes beside the old ones, on the disk, with their owner and mode."""
    staged = _staging(target)
    staged.unlink(missing_ok=True)
    try:
        _write_new(staged, data, (0o666 if found.status is None else 0o600) | bits, found.status)
        yield staged
    finally:
        staged.unlink(missing_ok=True)


def _write_new(path: Path, data: bytes, mode: int, like: os.stat_result | None = None) -> None:
    with os.fdopen(os.open(path, NEW_FILE, mode), "wb") as file:
        if like is not None:
            now = os.fstat(file.fileno())
            if (now.st_uid, now.st_gid) != (like.st_uid, like.st_gid):
                os.fchown(file.fileno(), like.st_uid, like.st_gid)
            os.fchmod(
                file.fileno(), stat.S_IMODE(like.st_mode) | mode & 0o111
            )  # after the owner, whose change takes some
        file.write(data)
        file.flush()
        os.fsync(file.fileno())


def _move(staged: Path, target: Path, found: Found) -> None:
    _unchanged(target, found)
    staged.replace(target)
    with suppress(OSError):  # the file is in its place; not every file system can be asked to remember a directory
        descriptor = os.open(target.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _unchanged(target: Path, found: Found) -> None:
    """Editors and other installers know nothing of our lock."""
    if _found(target).data != found.data:
        raise TryAgain(f"`{target}` was changed by somebody else just now", hint="nothing was written; try again")


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _shown(path: Path) -> str:
    return os.fsencode(path).decode("utf-8", "backslashreplace")


def _lines(data: bytes | None) -> list[str]:
    text = (data or b"").decode("utf-8", "replace")
    lines = re.split(r"\r\n|\r|\n", text)
    return lines[:-1] if lines[-1] == "" else [*lines, "\\ No newline at end of file"]
