"""The line that a host runs, as `trotline install` writes it, and how to know such a line again.

Everything in it is absolute and nothing in it is looked up: no search path, no variable, no directory of the workspace.
The C client stands in it where there is one that depends on no library; otherwise the line begins with an empty
environment, because a variable may make the loader or the interpreter load what somebody else wrote.
"""

import math
import re
import shlex
import sys
from pathlib import Path
from typing import Literal

from trotline.errors import UsageError
from trotline.events import EVENTS
from trotline.hosts import HOSTS, host_named

HERE = Path(__file__).resolve().parent
CLIENT = HERE / "trotline-hook"
TWIN = HERE / "twin.py"
EMPTY = ("/usr/bin/env", "-i")

OPTIONS = frozenset({"--host", "--event", "--home", "--deadline", "--fail", "--uid"})
LARGEST_MARGIN = 5.0
"""Seconds before the host's own timeout at which we answer; for short ones a tenth of them."""

MILLISECONDS = 3
OPENS_A_LIBRARY = 3  # PT_INTERP


def installed_line(host: str, event: str, home: str | Path | None = None, *, timeout: float = 60.0) -> str:
    """The command for one event of one host, which gives it so many seconds."""
    if host not in HOSTS:
        raise UsageError(f"there is no host `{host}`", hint=f"known: {', '.join(HOSTS)}")
    if timeout <= 0 or not math.isfinite(timeout):
        raise UsageError(f"a timeout of {timeout} leaves no time to answer")
    words = ["--host", host, "--event", event]
    if home is not None:
        words += ["--home", _plain(Path(home).absolute())]
    words += ["--deadline", f"{round(timeout - min(LARGEST_MARGIN, timeout / 10), MILLISECONDS):g}"]
    if not _refusable(host, event):
        words += ["--fail", "open"]
    return shlex.join([*_program(), *words])


def is_ours(command: str) -> bool:
    """Whether a version of this wrote the line; lines in which anything else is done are somebody's own."""
    try:
        words = shlex.split(command)
    except ValueError:
        return False
    if tuple(words[:2]) == EMPTY:
        words = words[2:]
    rest = _after_program(words)
    if rest is None or len(rest) % 2:
        return False
    return set(rest[::2]) <= OPTIONS and not re.search(r"[;&|<>()`$\n]", " ".join(rest))


def programs_of(command: str) -> list[Path]:
    """The files that a line of ours starts or reads: the client or its twin, and the interpreter."""
    words = shlex.split(command)
    rest = _after_program(words[2:] if tuple(words[:2]) == EMPTY else words) or []
    return [Path(word) for word in words[: len(words) - len(rest)] if word.startswith("/")]


def _after_program(words: list[str]) -> list[str] | None:
    """The options behind a client, behind its twin, or behind `python -m trotline hook HOST`."""
    match words:
        case [client, python, *rest] if Path(client).name == CLIENT.name and python.startswith("/"):
            return rest
        case [_, "-I", "-S", twin, *rest] if Path(twin).parts[-3:] == TWIN.parts[-3:]:
            return rest
        case [_, "-I", "-m", "trotline", "hook", _, *rest]:
            return rest
        case _:
            return None


def _program() -> tuple[str, ...]:
    python = _plain(Path(sys.executable))
    if not CLIENT.is_file():
        return (*EMPTY, python, "-I", "-S", _plain(TWIN))
    client = (_plain(CLIENT), python)
    return client if _needs_no_library(CLIENT) else (*EMPTY, *client)


def _refusable(host: str, event: str) -> bool:
    ours = host_named(host).events.get(event, event)
    return ours not in EVENTS or EVENTS[ours].contract.refusable


def _plain(path: Path) -> str:
    """Without the double slash that POSIX lets stand at the beginning."""
    return "/" + str(path).lstrip("/")


def _needs_no_library(program: Path) -> bool:
    """Whether it is an ELF file that names no loader."""
    with program.open("rb") as file:
        head = file.read(64)
        if head[:4] != b"\x7fELF" or head[4] != 2:
            return False
        order: Literal["little", "big"] = "little" if head[5] == 1 else "big"
        start = int.from_bytes(head[32:40], order)
        size, count = (int.from_bytes(head[at : at + 2], order) for at in (54, 56))
        file.seek(start)
        table = file.read(size * count)
    kinds = [int.from_bytes(table[at : at + 4], order) for at in range(0, len(table), size)]
    return OPENS_A_LIBRARY not in kinds
