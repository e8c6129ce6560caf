"""The files of a tree, each in pieces: nothing is followed out of it, nothing is run, what is left out is counted."""

import codecs
import os
import stat
from collections import Counter
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path

PIECE = 256 * 1024
LOOK = 8192
"""Bytes in which a zero makes a file a binary one, as git has it."""

READ = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
NO_LINK = getattr(os, "O_NOFOLLOW", 0)

MADE_BY_TOOLS = frozenset({".git", "node_modules", "__pycache__", ".tox", ".nox", ".mypy_cache", ".ruff_cache"})
VENV_MARK = "pyvenv.cfg"


class Skipped(StrEnum):
    """Why something was not scanned."""

    BINARY = "binary file"
    LINK = "link"
    SPECIAL = "pipe, socket or device"
    UNREADABLE = "unreadable file or directory"
    TOOLS = "directory that tools fill"


class Tree:
    """Walks, and remembers what it left out."""

    def __init__(self, *, everything: bool) -> None:
        self.everything = everything
        self.skipped: Counter[Skipped] = Counter()
        self.unreadable: list[str] = []
        self.named: set[Path] = set()

    def files(self, top: Path) -> Iterator[Path]:
        """Every file, in order. A link that is named is followed; those below are not, wherever they lead."""
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
                self._leave(Skipped.UNREADABLE, directory)
                continue
            below = [Path(entry.path) for entry in entries if self._enters(entry)]
            waiting += reversed(below)
            yield from (Path(entry.path) for entry in entries if self._takes(entry))

    def _enters(self, entry: os.DirEntry[str]) -> bool:
        if not entry.is_dir(follow_symlinks=False):
            return False
        filled = entry.name in MADE_BY_TOOLS or os.path.lexists(Path(entry.path, VENV_MARK))
        if filled and not self.everything:
            self.skipped[Skipped.TOOLS] += 1
            return False
        return True

    def _takes(self, entry: os.DirEntry[str]) -> bool:
        if entry.is_symlink():
            self.skipped[Skipped.LINK] += 1
            return False
        if entry.is_dir(follow_symlinks=False):
            return False
        if not entry.is_file(follow_symlinks=False):
            self.skipped[Skipped.SPECIAL] += 1
            return False
        return True

    def _leave(self, why: Skipped, path: Path) -> None:
        self.skipped[why] += 1
        if why is Skipped.UNREADABLE:
            self.unreadable.append(str(path))

    def pieces(self, file: Path, *, even_binary: bool = False) -> Iterator[bytes] | None:
        """What stands in a file as UTF-8, piece by piece; None if it is not to be scanned."""
        try:
            descriptor = os.open(file, READ if file in self.named else READ | NO_LINK)
        except (OSError, ValueError):  # what no disk can spell, such as half a surrogate pair, is on none
            self._leave(Skipped.UNREADABLE, file)
            return None
        first, left_out = _first(descriptor)
        decoding = _decoding(first)
        if b"\0" in first[:LOOK] and decoding is None and not even_binary:
            left_out = Skipped.BINARY
        if left_out is not None:
            os.close(descriptor)
            self._leave(left_out, file)
            return None
        return _rest(descriptor, first, decoding)


def _first(descriptor: int) -> tuple[bytes, Skipped | None]:
    """What a file begins with; nothing, and why, of one that cannot be read."""
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return b"", Skipped.SPECIAL
        return os.read(descriptor, PIECE), None
    except OSError:
        return b"", Skipped.UNREADABLE


def _rest(descriptor: int, first: bytes, decoding: Callable[[bytes], bytes] | None) -> Iterator[bytes]:
    try:
        piece = first
        while piece:
            yield decoding(piece) if decoding else piece
            piece = os.read(descriptor, PIECE)
    finally:
        os.close(descriptor)


def _decoding(first: bytes) -> Callable[[bytes], bytes] | None:
    """Editors and shells of Windows write UTF-16, with or without saying so; a secret in it is a secret."""
    name = next((name for mark, name in MARKS.items() if first.startswith(mark)), "")
    if not name and len(first) >= 16:
        sample = first[: LOOK & ~1]
        zeros = sample[0::2].count(0), sample[1::2].count(0)
        half = len(sample) // 2
        name = "utf-16-le" if zeros[1] > 0.8 * half and not zeros[0] else ""
        name = "utf-16-be" if zeros[0] > 0.8 * half and not zeros[1] else name
    if not name:
        return None
    decoder = codecs.getincrementaldecoder(name)("replace")
    return lambda piece: decoder.decode(piece).encode("utf-8", "replace")


MARKS = {codecs.BOM_UTF32_LE: "utf-32", codecs.BOM_UTF16_LE: "utf-16", codecs.BOM_UTF16_BE: "utf-16"}
