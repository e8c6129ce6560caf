"""Anchors: files elsewhere in which heads of the trail are noted.

An anchor has a line `trotline-anchor <seq> <digest>` for every head that was noted, or is any log that has such lines
among others. It is worth what its place is worth: one that the agent's user may write to is no better than the trail
itself.
"""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.audit import journal
from trotline.audit.chain import Head
from trotline.errors import TrotlineError

MARK = "trotline-anchor"
NOTED = re.compile(rf"(?:.*\b{MARK} )?([0-9]{{1,18}}) ([0-9a-f]{{64}})(?: .*)?")
AMONG_OTHERS = re.compile(rf"(?!{MARK}).*\s{MARK} ")
"""As a log has it, with a time and a name before it."""

FILE = "anchors.json"


class Anchor(NamedTuple):
    heads: dict[int, str] = {}  # noqa: RUF012 - nobody changes it
    unread: int = 0  # lines that should be heads and are none
    ours: bool = True  # nothing but heads is in it, so that one may be added


class Begun(msgspec.Struct, frozen=True, kw_only=True):
    """Up to which entry heads were noted, by the path of the anchor: so that one that is gone is not begun anew."""

    schema: str = "trotline.anchors/1"
    heads: dict[str, int] = {}


def anchor_in(file: Path) -> Anchor:
    """The heads that were noted there; none if there is no such file."""
    try:
        with _opened(file, os.O_RDONLY) as descriptor, open(descriptor, "rb", closefd=False) as opened:
            text = opened.read().decode("utf-8", "replace")
    except FileNotFoundError:
        return Anchor()
    except OSError as error:
        raise TrotlineError(f"the anchor `{file}` cannot be read: {(error.strerror or str(error)).lower()}") from None
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    noted = [head for line in lines if (head := NOTED.fullmatch(line))]
    unread = [line for line in lines if not NOTED.fullmatch(line)]
    if not noted and not all(map(_is_torn, unread)):
        hint = f"every line of an anchor is `{MARK}`, a number, a digest, and perhaps a time"
        raise TrotlineError(f"`{file}` is no anchor", hint=hint)
    ours = not any(AMONG_OTHERS.match(line) for line in lines)
    heads = {int(head[1]): head[2] for head in reversed(noted)}  # of two for one entry, the one noted first
    heads.pop(0, None)  # before the first entry there is nothing to know
    return Anchor(heads, len(unread) if ours else sum(MARK in line for line in unread), ours)


def _is_torn(line: str) -> bool:
    """Whether it begins as ours do: who wrote it was not able to write it whole."""
    return line.startswith(MARK) or MARK.startswith(line)


def line_of(head: Head, when: str) -> str:
    return f"{MARK} {head.seq} {head.digest} {when}"


def note_head(file: Path, head: Head, when: str) -> None:
    """Add it to the anchor; to what is there nothing is changed."""
    try:
        with _opened(file, os.O_RDWR | os.O_APPEND | os.O_CREAT) as descriptor:
            size = os.fstat(descriptor).st_size
            torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
            _write_whole(descriptor, f"{line_of(head, when)}\n", begin="\n" if torn else "")
    except OSError as error:
        raise TrotlineError(
            f"the anchor `{file}` cannot be written: {(error.strerror or str(error)).lower()}"
        ) from None


def remember(file: Path, seq: int, state: Path) -> None:
    """Beside the trail, that heads up to this one are in the anchor."""
    begun = _begun(state)
    if begun.heads.get(str(file)) != seq:
        journal.note(_memory(state), msgspec.structs.replace(begun, heads={**begun.heads, str(file): seq}))


def lost_from(file: Path, known: Anchor, state: Path) -> int:
    """Up to which entry heads were noted that are not there any more; 0 if nothing is missing."""
    once = _begun(state).heads.get(str(file), 0)
    return once if once > max(known.heads, default=0) else 0


def _begun(state: Path) -> Begun:
    return journal.noted(_memory(state), Begun)


def _memory(state: Path) -> Path:
    return state / journal.DIRECTORY / FILE


def _write_whole(descriptor: int, line: str, *, begin: str) -> None:
    """In one piece, because others may write there too; half of it is none, and the next begins a line of its own."""
    whole = f"{begin}{line}".encode()
    if os.write(descriptor, whole) != len(whole):
        raise OSError(errno.ENOSPC, "only a part of the line could be written")


@contextmanager
def _opened(file: Path, how: int) -> Iterator[int]:
    """Without waiting for anybody, as one would at a pipe."""
    descriptor = os.open(file, how | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError(errno.EINVAL, "it is no file")
        yield descriptor
    finally:
        os.close(descriptor)
