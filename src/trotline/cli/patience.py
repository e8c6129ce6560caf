"""What takes longer than people wait without wondering says what it does, on standard error."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from trotline.audit import trail
from trotline.audit.sqlite_store import SqliteStore
from trotline.cli.output import dim

SECONDS = 1.0


@contextmanager
def said_if_slow(words: str) -> Iterator[None]:
    """The words, once, if the block is not through by then."""
    timer = threading.Timer(SECONDS, click.echo, [dim(f"{words} ...")], {"err": True})
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


@contextmanager
def opened_trail(state: Path) -> Iterator[SqliteStore]:
    """The trail with all that waited for it."""
    with said_if_slow("what waits is brought into the trail, or the trail into its newest form"):
        store = trail.opened(state)
    with store:
        yield store
