"""The kernel's timer: it ends a process of ours that hangs, and the log says where it hung."""

import faulthandler
import signal
from contextlib import suppress

from trotline.service.directory import RunDirectory, open_log


def end_loudly(directory: RunDirectory) -> None:
    """From now on an alarm ends this process. Without a log it does so too, and nobody is told where."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    faulthandler.unregister(signal.SIGALRM)  # where it would write may be another file by now
    with suppress(OSError):
        faulthandler.register(signal.SIGALRM, file=open_log(directory.log_file), all_threads=False, chain=True)
