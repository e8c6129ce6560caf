"""The whole trail of a home, wherever its records are by now: in the store, or still in the spool."""

from pathlib import Path
from typing import Any

from trotline.audit.drain import Drained, drain
from trotline.audit.export import moment
from trotline.audit.query import Query
from trotline.audit.shaping import shaped
from trotline.audit.spool import Read, Spool, with_details
from trotline.audit.sqlite_store import NAME, SqliteStore
from trotline.audit.upkeep import forget_what_is_due, note_elsewhere, upkeep_of
from trotline.config.places import Roots

EVERYTHING = Query(own=True)


def spool_of(state: Path) -> Spool:
    return Spool(state / "spool")


def opened(state: Path) -> SqliteStore:
    """The store with all that waited for it."""
    store = SqliteStore(state / NAME)
    try:
        drain(spool_of(state), store)
    except BaseException:
        store.close()
        raise
    return store


def drained_if_free(roots: Roots, now_us: int) -> Drained | None:
    """For one that has time, and must not wait for anybody; what settings want done with the trail is done as well."""
    spool = spool_of(roots.state)
    if not spool.waits:
        return None
    with SqliteStore(roots.state / NAME) as store:
        drained = drain(spool, store, wait=False)
        if drained and drained.lines:
            tend(store, roots, now_us)
        return drained


def tend(store: SqliteStore, roots: Roots, now_us: int) -> None:
    """Note the head elsewhere, and forget what is due: nothing of both, unless settings say so. What keeps one of them
    from being done keeps nobody from the other."""
    upkeep = upkeep_of(roots)
    try:
        forget_what_is_due(store, upkeep, now_us)
    finally:
        if upkeep.anchors:
            note_elsewhere(store.head(), upkeep, moment(now_us), roots.state)


def read(state: Path, query: Query = EVERYTHING) -> Read:
    """Records, oldest first, without changing anything: those of the store that answer, and all that wait for it.

    The spool is read first: what leaves it meanwhile is then in the store, and what is in both is one.
    """
    lines = spool_of(state).lines()
    kept, torn = _kept(state, query)
    records = with_details([*kept, *filter(None, lines)])
    return Read([shaped(record) for record in records], torn + lines.count(None))


def _kept(state: Path, query: Query) -> tuple[list[dict[str, Any]], int]:
    if not (state / NAME).exists():
        return [], 0
    with SqliteStore(state / NAME) as store:
        return list(store.search(query))[::-1], len(store.unread())
