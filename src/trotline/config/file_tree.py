"""Files of a directory tree, read in chunks. Links are not followed, and skipped entries are counted."""

import codecs
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

CHUNK_SIZE = 256 * 1024
PROBE_SIZE = 8192
"""The number of leading bytes in which a zero byte means a binary file, as in git."""

READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)

TOOL_DIRECTORIES = frozenset({".git", "node_modules", "__pycache__", ".tox", ".nox", ".mypy_cache", ".ruff_cache"})
VENV_MARK = "pyvenv.cfg"


class SkipReason(StrEnum):
    """The reason why an entry was not scanned."""

    BINARY = "binary file"
    LINK = "link"
    SPECIAL = "pipe, socket or device"
    UNREADABLE = "unreadable file or directory"
    TOOLS = "directory that tools fill"


class TreeWalk:
    """A walk over directory trees that counts skipped entries."""

    def __init__(self, *, everything: bool) -> None:
        self.everything = everything
        self.skipped: Counter[SkipReason] = Counter()
        self.unreadable: list[str] = []
        self.named: set[Path] = set()

    def iterate_files(self, top: Path) -> Iterator[Path]:
        """Yield every file, in order. A link given as `top` is followed; links below it are not."""
        if not top.is_dir():
            self.named.add(top)
            yield top
            return
        waiting = [top]
        while waiting:
            directory = waiting.pop()
            try:
                entries = sorted(os.scandir(directory), key=lambda entry: entry.name)
            except OSError:
                self._skip(SkipReason.UNREADABLE, directory)
                continue
            below = [Path(entry.path) for entry in entries if self._should_enter(entry)]
            waiting += reversed(below)
            yield from (Path(entry.path) for entry in entries if self._should_scan(entry))

    def _should_enter(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_dir(follow_symlinks=False):
            return False
        is_tool_directory = entry.name in TOOL_DIRECTORIES or os.path.lexists(Path(entry.path, VENV_MARK))
        if is_tool_directory and not self.everything:
            self.skipped[SkipReason.TOOLS] += 1
            return False
        return True

    def _should_scan(self, entry: os.DirEntry[str]) -> bool:
        if entry.is_symlink():
            self.skipped[SkipReason.LINK] += 1
            return False
        if entry.is_dir(follow_symlinks=False):
            return False
        if not entry.is_file(follow_symlinks=False):
            self.skipped[SkipReason.SPECIAL] += 1
            return False
        return True

    def _skip(self, why: SkipReason, path: Path) -> None:
        self.skipped[why] += 1
        if why is SkipReason.UNREADABLE:
            self.unreadable.append(str(path))

    def read_chunks(self, file: Path, *, even_binary: bool = False) -> Iterator[bytes] | None:
        """Return the content of a file as UTF-8 chunks; None if it is not to be scanned."""
        try:
            descriptor = os.open(file, READ if file in self.named else READ | NO_LINK)
        except (OSError, ValueError):  # ValueError: a name that no disk can hold, such as a lone surrogate
            self._skip(SkipReason.UNREADABLE, file)
            return None
        first, skip_reason = _read_first(descriptor)
        decoding = _choose_decoder(first)
        if b"\0" in first[:PROBE_SIZE] and decoding is None and not even_binary:
            skip_reason = SkipReason.BINARY
        if skip_reason is not None:
            os.close(descriptor)
            self._skip(skip_reason, file)
            return None
        return _read_rest(descriptor, first, decoding)


def _read_first(descriptor: int) -> tuple[bytes, SkipReason | None]:
    """Return the first chunk of a file, and the reason if it cannot be scanned."""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b"", SkipReason.SPECIAL
        return os.read(descriptor, CHUNK_SIZE), None
    except OSError:
        return b"", SkipReason.UNREADABLE


def _read_rest(descriptor: int, first: bytes, decoding: Callable[[bytes], bytes] | None) -> Iterator[bytes]:
    try:
        chunk = first
        while chunk:
            yield decoding(chunk) if decoding else chunk
            chunk = os.read(descriptor, CHUNK_SIZE)
    finally:
        os.close(descriptor)


def _choose_decoder(first: bytes) -> Callable[[bytes], bytes] | None:
    """Return a decoder for UTF-16 and UTF-32, in which secrets must be found too, or None.

    Windows editors and shells write UTF-16 with or without a byte order mark.
    """
    name = next((name for mark, name in MARKS.items() if first.startswith(mark)), "")
    if not name and len(first) >= 16:
        sample = first[: PROBE_SIZE & ~1]
        # ASCII text in UTF-16 has a zero in every second byte; 80 % leaves room for other characters
        zeros = sample[0::2].count(0), sample[1::2].count(0)
        half = len(sample) // 2
        name = "utf-16-le" if zeros[1] > 0.8 * half and not zeros[0] else ""
        name = "utf-16-be" if zeros[0] > 0.8 * half and not zeros[1] else name
    if not name:
        return None
    decoder = codecs.getincrementaldecoder(name)("replace")
    return lambda piece: decoder.decode(piece).encode("utf-8", "replace")


MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
