"""The interface of a store for the audit log.

It has only five methods, so that another database can be added easily.
"""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from trotline.audit.query.query import Query
from trotline.audit.record.record import Record


class StoredLine(NamedTuple):
    """A record or a detail read from the spool.

    The body has a `schema`. `place` says where in the file the line was, `came_us` is the latest time at which it can
    have been written, and `line` has its bytes.
    """

    body: dict[str, Any]
    place: str = ""
    came_us: int = 0
    line: bytes = b""


class UnreadLine(NamedTuple):
    """A line of the spool that is not a valid record, kept unchanged so that a user can inspect it."""

    place: str
    why: str
    line: bytes
    came_us: int = 0


class ForgetRequest(NamedTuple):
    """A selection of records to delete: before a time, of a conversation, or the oldest ones down to a size.

    By size the newest day is always kept, and nothing is forgotten if the size cannot be reached that way.
    """

    before_us: int = 0
    conversation: str = ""
    keep_bytes: int = 0

    @property
    def why(self) -> str:
        """Reason noted in the tombstone."""
        return "a conversation" if self.conversation else "size" if self.keep_bytes else "age"


class Store(Protocol):
    """A database that keeps the audit log."""

    def append(self, lines: Iterable[StoredLine | UnreadLine]) -> int:
        """Store the lines that are new, all or none of them, and return how many were new.

        A known id with the same body changes nothing. With another body it is kept as an unread line, like anything
        else that cannot be stored as an entry.
        """

    def search(self, query: Query) -> Iterator[Record]:
        """Yield the matching records, newest first, each with its `seq` and `detail`."""

    def aggregate(self, query: Query) -> Iterator[dict[str, Any]]:
        """Yield the groups of matching records that `query.by` names, each with at least `name` and `count`."""

    def fetch(self, id_: str) -> Record | None:
        """Return the record with an id, including its detail, or None."""

    def forget(self, request: ForgetRequest, *, now_us: int) -> int:
        """Forget what the request selects, note that in an entry, and return how many records were forgotten."""
