"""Write Python's bytecode cache ourselves, so that no file in it is incomplete.

Python writes the cache while it imports, and takes an incomplete file for a complete one: on a full disk, or under a
limit of file sizes, it would leave files that break every later call. So calls only read the cache. It is written when
no call waits: when hook lines are installed, and when a service starts.
"""

import importlib.util
import marshal
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import trotline
from trotline.service.bootstrap import LIBRARIES
from trotline.system.files import replace_file

HEADER = struct.Struct("<4sIII")
"""The magic number, no flags, the time and the size of the source."""


def keep_bytecode(packages: Path = Path(trotline.__file__).parent.parent, *, read_whole: bool = True) -> int:
    """Write missing and outdated files for our package and its libraries. Return how many were written.

    Reading every file takes a tenth of a second, so a service checks only their headers. If the installation cannot be
    written, calls are slower but correct.
    """
    written = 0
    for source in _list_sources(packages):
        with suppress(OSError, SyntaxError, ValueError, RecursionError):
            written += _write_bytecode(source, read_whole=read_whole)
    return written


def _list_sources(packages: Path) -> Iterator[Path]:
    for name in ("trotline", *LIBRARIES):
        yield from sorted((packages / name).rglob("*.py"))


def _write_bytecode(source: Path, *, read_whole: bool) -> bool:
    status = source.stat()
    target = Path(importlib.util.cache_from_source(str(source)))
    times = int(status.st_mtime) & 0xFFFFFFFF, status.st_size & 0xFFFFFFFF
    header = HEADER.pack(importlib.util.MAGIC_NUMBER, 0, *times)
    if _is_complete(target, header) if read_whole else _has_header(target, header):
        return False
    code = compile(source.read_bytes(), str(source), "exec", dont_inherit=True)
    target.parent.mkdir(exist_ok=True)
    replace_file(target, header + marshal.dumps(code), mode=None)
    return True


def _has_header(target: Path, header: bytes) -> bool:
    try:
        with target.open("rb") as file:
            return file.read(HEADER.size) == header
    except OSError:
        return False


def _is_complete(target: Path, header: bytes) -> bool:
    try:
        data = target.read_bytes()
        if not data.startswith(header):
            return False
        marshal.loads(data[HEADER.size :])  # noqa: S302 - Python would load it at the next import
    except (OSError, EOFError, ValueError, TypeError):
        return False
    return True
