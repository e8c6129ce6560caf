"""Store: what keeps the trail. Four methods, so that another database can join without a new question."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol

from trotline.audit.query import Query


class Line(NamedTuple):
    """A record or a detail as it comes: JSON that begins with its `schema`; where it stood, when it came at the latest,
    and its bytes there."""

    body: dict[str, Any]
    place: str = ""
    came_us: int = 0
    line: bytes = b""


class Unread(NamedTuple):
    """Something in the spool that is no record of ours; kept as it is, so that a person can look."""

    place: str
    why: str
    line: bytes
    came_us: int = 0


class Forgetting(NamedTuple):
    """What is to be forgotten: all before a time, a conversation, or the oldest until the rest has this size.

    By size the newest day is kept, and if the size cannot be reached so, nothing is forgotten.
    """

    before_us: int = 0
    conversation: str = ""
    keep_bytes: int = 0

    @property
    def why(self) -> str:
        return "a conversation" if self.conversation else "size" if self.keep_bytes else "age"


class Store(Protocol):
    def append(self, lines: Iterable[Line | Unread]) -> int:
        """Keep what is not kept yet, all or nothing; how many lines were new. The same id again changes nothing; if it
        says something else it is kept as a line, and so is what cannot be kept otherwise."""

    def search(self, query: Query) -> Iterator[dict[str, Any]]:
        """Records, newest first, each with its `seq` and its `detail`; or what they are together, `by` something: at
        least `{"what", "count"}`."""

    def fetch(self, id_: str) -> dict[str, Any] | None:
        """Everything about one."""

    def forget(self, what: Forgetting, *, now_us: int) -> int:
        """How many records were forgotten; that it was done is an entry of its own."""
