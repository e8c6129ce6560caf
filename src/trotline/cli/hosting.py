"""What every command does that plays the host: an engine of these roots, and hooks that end when we do."""

import os
import signal
import sys
from typing import TypeVar

from trotline.config.places import Roots
from trotline.engine.engine import Engine, Options
from trotline.errors import TrotlineError
from trotline.machine import clock, machine_roots

E = TypeVar("E", bound=Engine)


def hosting_engine(roots: Roots, options: Options) -> Engine:
    return hosting(Engine, roots, options)


def hosting(kind: type[E], roots: Roots, options: Options) -> E:
    if sys.platform == "win32":
        raise TrotlineError("hooks are not run on Windows yet", hint="check and show work there")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # inherited as ignored, it would cost us every exit code
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that our hooks end with us
    moved = {"HOME": str(roots.home)} if roots.home != machine_roots().home else {}
    engine = kind(roots, {**os.environ, **moved}, clock, options)
    engine.sessions.named = lambda name: _kept(name, roots)
    return engine


def _kept(name: str, roots: Roots) -> str:
    from trotline.audit.names import Names  # only a conversation with a name of its own waits for scanners

    return Names(roots).kept(name)
