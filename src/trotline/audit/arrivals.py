"""Records in the order in which they came to the trail, for whoever follows it from where they ended."""

from collections.abc import Iterable, Iterator
from typing import Any, Protocol

from trotline.audit.chain import Head
from trotline.audit.otlp import at_of
from trotline.audit.query import Query

PATIENCE_US = 10_000_000
"""How long the words of a call are waited for."""

SPAN = 500
"""Entries that are looked through at once."""


class Readable(Protocol):
    """What is asked of a trail here."""

    def search(self, query: Query) -> Iterable[dict[str, Any]]: ...
    def head(self) -> Head: ...


def arrived(
    store: Readable, after_seq: int, now_us: int, *, patience_us: int = PATIENCE_US, own: bool = False
) -> Iterator[dict[str, Any]]:
    """Oldest first. One whose words have not come yet ends it, unless it has waited for long."""
    head = store.head().seq
    for at in range(after_seq, head, SPAN):
        asked = Query(after_seq=at, until_seq=min(at + SPAN, head) + 1, own=own)
        for record in list(store.search(asked))[::-1]:
            if "detail" not in record and 0 <= now_us - at_of(record) < patience_us:
                return
            yield record
