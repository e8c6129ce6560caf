"""A process of ours that nobody waits for, one at a time: for what may take long, or hang."""

import os
import sys
from contextlib import suppress
from pathlib import Path

import msgspec

import trotline

FOUND = "import sys; sys.path += sys.argv[1:3]; del sys.argv[1:3]; "
"""Our code and its libraries are found where they are now, whatever the interpreter finds by itself."""


class Background:
    """Begins one when asked to, unless the last is still at it."""

    def __init__(self) -> None:
        self._child = 0
        self.ended_by = 0
        """The signal that ended the last one, if one did."""

    @property
    def is_at_it(self) -> bool:
        if not self._child:
            return False
        with suppress(ChildProcessError):
            child, status = os.waitpid(self._child, os.WNOHANG)
            if not child:
                return True
            self.ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
        self._child = 0
        return False

    def begin(self, program: str, *words: str) -> bool:
        """Whether a process was started: of this text, with our own words and none that anybody else wrote."""
        if self.is_at_it:
            return False
        try:
            self._child = _spawned([sys.executable, "-I", "-c", FOUND + program, *_code(), *words])
        except OSError:
            return False  # no process can be made now; the next one who has time tries again
        return True


def _code() -> tuple[str, str]:
    return str(Path(trotline.__file__).parent.parent), str(Path(msgspec.__file__).parent.parent)


def _spawned(words: list[str]) -> int:
    """It keeps nothing of ours but the variables."""
    actions = [
        (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
        (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
        (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
    ]
    try:
        return os.posix_spawn(sys.executable, words, os.environ, file_actions=actions, setsid=True)
    except NotImplementedError:  # an older system: the process stays in our session
        return os.posix_spawn(sys.executable, words, os.environ, file_actions=actions)
