"""Anchors: files outside the audit log that record its heads.

An anchor has a line `trotline-anchor <seq> <digest>` for every recorded head, or is any other log that contains such
lines. It is only as trustworthy as its location: an anchor that the agent's user can write to is no better than the
audit log itself.
"""

import errno
import os
import re
from pathlib import Path
from typing import NamedTuple

import msgspec

from trotline.audit.export import export_progress
from trotline.audit.verify.chain import ChainHead
from trotline.domain.errors import TrotlineError, describe_os_error
from trotline.system.files import open_regular

ANCHOR_MARK = "trotline-anchor"
ANCHOR_LINE = re.compile(rf"(?:.*\b{ANCHOR_MARK} )?([0-9]{{1,18}}) ([0-9a-f]{{64}})(?: .*)?")
FOREIGN_LOG_LINE = re.compile(rf"(?!{ANCHOR_MARK}).*\s{ANCHOR_MARK} ")
"""A line of another log, which has a time and a name before the mark."""

ANCHORS_FILE = "anchors.json"


class Anchor(NamedTuple):
    """The heads read from an anchor."""

    heads: dict[int, str] = {}  # noqa: RUF012 - never mutated
    unread: int = 0  # number of lines that should be heads but cannot be read
    ours: bool = True  # it is not another log, so heads may be appended


class KnownHeads(msgspec.Struct, frozen=True, kw_only=True):
    """The newest entry recorded in each anchor, by path, so that a deleted anchor is not silently started again."""

    schema: str = "trotline.anchors/1"
    heads: dict[str, int] = {}


def read_anchor(file: Path) -> Anchor:
    """Read the heads in an anchor; there are none if the file does not exist.

    Raises TrotlineError if the file cannot be read or is not an anchor.
    """
    try:
        with os.fdopen(open_regular(file), encoding="utf-8", errors="replace", newline="\n") as opened:
            text = opened.read()
    except FileNotFoundError:
        return Anchor()
    except OSError as error:
        raise TrotlineError(f"the anchor `{file}` cannot be read: {describe_os_error(error)}") from None
    lines = [line.strip() for line in text.split("\n") if line.strip()]
    noted = [head for line in lines if (head := ANCHOR_LINE.fullmatch(line))]
    unread = [line for line in lines if not ANCHOR_LINE.fullmatch(line)]
    if not noted and not all(map(_is_torn, unread)):
        hint = f"every line of an anchor is `{ANCHOR_MARK}`, a number, a digest, and perhaps a time"
        raise TrotlineError(f"`{file}` is no anchor", hint=hint)
    ours = not any(FOREIGN_LOG_LINE.match(line) for line in lines)
    heads = {int(head[1]): head[2] for head in reversed(noted)}  # of two heads for one entry, the first one counts
    heads.pop(0, None)  # there is nothing to check before the first entry
    return Anchor(heads, len(unread) if ours else sum(ANCHOR_MARK in line for line in unread), ours)


def _is_torn(line: str) -> bool:
    """Check whether a line begins like an anchor line, which means that it was not written completely."""
    return line.startswith(ANCHOR_MARK) or ANCHOR_MARK.startswith(line)


def format_head(head: ChainHead, when: str) -> str:
    """Format a head as a line of an anchor."""
    return f"{ANCHOR_MARK} {head.seq} {head.digest} {when}"


def append_head(file: Path, head: ChainHead, when: str) -> None:
    """Append a head to an anchor; existing lines are not changed."""
    try:
        with os.fdopen(open_regular(file, os.O_RDWR | os.O_APPEND | os.O_CREAT), "rb+") as opened:
            descriptor = opened.fileno()
            size = os.fstat(descriptor).st_size
            torn = size and os.pread(descriptor, 1, size - 1) != b"\n"
            _write_whole(descriptor, f"{format_head(head, when)}\n", begin="\n" if torn else "")
    except OSError as error:
        raise TrotlineError(f"the anchor `{file}` cannot be written: {describe_os_error(error)}") from None


def save_known_head(file: Path, seq: int, state: Path) -> None:
    """Save in the state directory that the anchor has heads up to an entry."""
    started = _read_known_heads(state)
    if started.heads.get(str(file)) != seq:
        export_progress.write_progress(
            _get_known_heads_file(state), msgspec.structs.replace(started, heads={**started.heads, str(file): seq})
        )


def find_lost_head(file: Path, known: Anchor, state: Path) -> int:
    """Return the newest entry whose head was recorded in the anchor but is missing now, or 0."""
    once = _read_known_heads(state).heads.get(str(file), 0)
    return once if once > max(known.heads, default=0) else 0


def _read_known_heads(state: Path) -> KnownHeads:
    return export_progress.read_progress(_get_known_heads_file(state), KnownHeads)


def _get_known_heads_file(state: Path) -> Path:
    return state / export_progress.EXPORT_DIRECTORY / ANCHORS_FILE


def _write_whole(descriptor: int, line: str, *, begin: str) -> None:
    """Write a line in one piece, because other processes may append too.

    A partial line is an error; the next head then begins on a new line.
    """
    whole = f"{begin}{line}".encode()
    if os.write(descriptor, whole) != len(whole):
        raise OSError(errno.ENOSPC, "only a part of the line could be written")
