"""The hook line that an agent runs: write it, and recognise it again.

Everything in it is absolute: it depends on no search path, no variable and no directory of the workspace. It starts
the C client if there is one that needs no library. Otherwise it starts with an empty environment, because a variable
may make the loader or the interpreter load foreign code.
"""

import math
import re
import shlex
import sys
from pathlib import Path
from typing import Literal

from trotline.agents import AGENTS, get_agent
from trotline.domain.errors import UsageError
from trotline.domain.events import EVENTS

HERE = Path(__file__).resolve().parent
CLIENT = HERE / "trotline-hook"
PYTHON_CLIENT = HERE / "python_client.py"
OLD_PYTHON_CLIENT = HERE / "twin.py"
"""The path of the Python client in hook lines that earlier versions installed."""

EMPTY_ENVIRONMENT = ("/usr/bin/env", "-i")

OPTIONS = frozenset({"--agent", "--event", "--home", "--deadline", "--fail", "--uid"})
OLD_OPTIONS = frozenset({"--host"})
"""Options of lines that earlier versions wrote."""

MAX_MARGIN_SECONDS = 5.0
"""The time between our answer and the timeout of the agent; for short timeouts a tenth of them."""

MILLISECONDS = 3
PT_INTERP = 3  # the ELF segment that names a loader


def build_hook_line(agent: str, event: str, home: str | Path | None = None, *, timeout: float = 60.0) -> str:
    """Return the command for one event of an agent that waits `timeout` seconds."""
    if agent not in AGENTS:
        raise UsageError(f"there is no agent `{agent}`", hint=f"known: {', '.join(AGENTS)}")
    if timeout <= 0 or not math.isfinite(timeout):
        raise UsageError(f"a timeout of {timeout} leaves no time to answer")
    options = ["--agent", agent, "--event", event]
    if home is not None:
        options += ["--home", _format_path(Path(home).absolute())]
    options += ["--deadline", f"{round(timeout - min(MAX_MARGIN_SECONDS, timeout / 10), MILLISECONDS):g}"]
    if not _is_refusable(agent, event):
        options += ["--fail", "open"]
    return shlex.join([*_build_program(), *options])


def is_hook_line(command: str) -> bool:
    """Return whether this or an earlier version wrote the line. A line that does anything else belongs to a person."""
    options = _parse_options(command)
    if options is None or len(options) % 2:
        return False
    return set(options[::2]) <= OPTIONS | OLD_OPTIONS and not re.search(r"[;&|<>()`$\n]", " ".join(options))


def is_old_hook_line(command: str) -> bool:
    """Return whether an earlier version wrote the line, in a way that this version only answers slowly."""
    if not is_hook_line(command):
        return False
    options = _parse_options(command) or []
    return not OLD_OPTIONS.isdisjoint(options[::2]) or OLD_PYTHON_CLIENT.name in {
        path.name for path in list_programs(command)
    }


def list_programs(command: str) -> list[Path]:
    """Return the files that a hook line starts or reads: every absolute path before the options of the hook.

    These are the client and the interpreter, and `/usr/bin/env` if the line empties the environment. Raise ValueError
    for a line with an open quote. A line that `is_hook_line` accepts has none.
    """
    words = shlex.split(command)
    options = _parse_options(command) or []
    return [Path(word) for word in words[: len(words) - len(options)] if word.startswith("/")]


def _parse_options(command: str) -> list[str] | None:
    """Return the options behind one of our clients or `python -m trotline hook AGENT`; None for another program."""
    try:
        words = shlex.split(command)
    except ValueError:
        return None
    words = words[2:] if tuple(words[:2]) == EMPTY_ENVIRONMENT else words
    clients = {PYTHON_CLIENT.parts[-3:], OLD_PYTHON_CLIENT.parts[-3:]}
    match words:
        case [client, python, *options] if Path(client).name == CLIENT.name and python.startswith("/"):
            return options
        case [_, "-I", "-S", script, *options] if Path(script).parts[-3:] in clients:
            return options
        case [_, "-I", "-m", "trotline", "hook", _, *options]:
            return options
        case _:
            return None


def _build_program() -> tuple[str, ...]:
    python = _format_path(Path(sys.executable))
    if not CLIENT.is_file():
        return (*EMPTY_ENVIRONMENT, python, "-I", "-S", _format_path(PYTHON_CLIENT))
    client = (_format_path(CLIENT), python)
    return client if _needs_no_library(CLIENT) else (*EMPTY_ENVIRONMENT, *client)


def _is_refusable(agent: str, event: str) -> bool:
    name = get_agent(agent).events.get(event, event)
    return name not in EVENTS or EVENTS[name].contract.refusable


def _format_path(path: Path) -> str:
    """Return a path without the double slash that POSIX allows at its beginning."""
    return "/" + str(path).lstrip("/")


def _needs_no_library(program: Path) -> bool:
    """Return whether a program is an ELF file that names no loader."""
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
    return PT_INTERP not in kinds
