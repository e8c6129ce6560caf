"""Build the dispatcher of commands that run hooks."""

import os
import signal
import sys
from typing import TypeVar

from trotline.config.paths import Roots
from trotline.domain.errors import TrotlineError
from trotline.engine.dispatch import Dispatcher, Options
from trotline.machine import find_roots, read_clock

D = TypeVar("D", bound=Dispatcher)


def build_dispatcher(kind: type[D], roots: Roots, options: Options) -> D:
    """Return a dispatcher of these roots whose hooks end when this process does."""
    if sys.platform == "win32":
        raise TrotlineError("hooks are not run on Windows yet", hint="check and show work there")
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # inherited as ignored, it would hide every exit code
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # so that hooks end with this process
    moved = {"HOME": str(roots.home)} if roots.home != find_roots().home else {}
    dispatcher = kind(roots, {**os.environ, **moved}, read_clock, options)
    dispatcher.sessions.clean_name = lambda name: _redact_name(name, roots)
    return dispatcher


def _redact_name(name: str, roots: Roots) -> str:
    from trotline.audit.record.detail_policy import NameRedactor

    return NameRedactor(roots).redact(name)
