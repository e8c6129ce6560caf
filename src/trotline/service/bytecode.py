"""Our code as Python keeps it for the next start, written by us, whole or not at all.

Python writes it while it imports, and takes a write that ended early for a whole one: on a full disk, or where somebody
limits the size of files, what it leaves breaks every later call. So calls read what is there and write nothing. This is
done where nobody waits: when lines are installed, and when a service begins.
"""

import importlib.util
import marshal
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import trotline
from trotline.config.whole_file import put
from trotline.service.entrance import LIBRARIES

HEAD = struct.Struct("<4sIII")
"""A magic number, no flags, the time and the size of the source."""


def keep_bytecode(packages: Path = Path(trotline.__file__).parent.parent, *, read_whole: bool = True) -> int:
    """Write what is missing or old for our package and for the libraries beside it; how many files were written.

    To read all that is there and see whether it is whole takes a tenth of a second; a service looks only how it begins.
    An installation that is not ours to write stays as it is: calls are slower, and right."""
    written = 0
    for source in _sources(packages):
        with suppress(OSError, SyntaxError, ValueError, RecursionError):
            written += _keep(source, read_whole=read_whole)
    return written


def _sources(packages: Path) -> Iterator[Path]:
    for name in ("trotline", *LIBRARIES):
        yield from sorted((packages / name).rglob("*.py"))


def _keep(source: Path, *, read_whole: bool) -> bool:
    status = source.stat()
    target = Path(importlib.util.cache_from_source(str(source)))
    head = HEAD.pack(importlib.util.MAGIC_NUMBER, 0, int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF)
    if _is_whole(target, head) if read_whole else _begins(target, head):
        return False
    code = compile(source.read_bytes(), str(source), "exec", dont_inherit=True)
    target.parent.mkdir(exist_ok=True)
    put(target, head + marshal.dumps(code), mode=None)
    return True


def _begins(target: Path, head: bytes) -> bool:
    try:
        with target.open("rb") as file:
            return file.read(HEAD.size) == head
    except OSError:
        return False


def _is_whole(target: Path, head: bytes) -> bool:
    try:
        data = target.read_bytes()
        if not data.startswith(head):
            return False
        marshal.loads(data[HEAD.size :])  # noqa: S302 - what Python would read at the next import
    except (OSError, EOFError, ValueError, TypeError):
        return False
    return True
