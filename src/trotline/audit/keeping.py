"""The host's seat remembers: every Outcome of an engine becomes a record and its words, as in the hook's seat.

What cannot be kept is a sentence, not an exception: an agent's loop does not end because of a full disk. Words are
redacted before they go anywhere; the agent waits for that, because there is nobody after it who could do it.
"""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from trotline.audit.details import detail_of
from trotline.audit.names import Names
from trotline.audit.records import DETAIL, HOST, record_of, with_exits
from trotline.audit.spool import Spool
from trotline.audit.store import Line, Store
from trotline.audit.wording import Wording, wording_of
from trotline.config.places import Roots
from trotline.effects import Effect
from trotline.errors import TrotlineError
from trotline.events import Event
from trotline.hosts.cursor import write_event
from trotline.outcomes import Outcome

Append = Callable[[dict[str, Any]], str]
"""Keeps one line; what comes back says why it could not."""

WouldDo = Callable[[Event], tuple[Effect, ...]]
"""Says what an event would do, of which nobody has said it."""


class Keeping:
    """A Sink: the trail of a home, or a Store that an agent's author brings."""

    def __init__(self, append: Append, roots: Roots, host: str, would_do: WouldDo) -> None:
        self._append = append
        self._would_do = would_do
        self._roots = roots
        self._names = Names(roots)
        self._host = host
        self._alone = threading.Lock()  # sessions may be awaited, each in a thread of its own

    def __call__(self, outcome: Outcome, micros: int) -> str:
        call = msgspec.structs.replace(outcome.call, payload=write_event(outcome.event))
        whole = msgspec.structs.replace(outcome, call=call)
        record = with_exits(record_of(whole, self._host, micros, self._names.kept, HOST), whole)
        with self._alone:
            return self._append(record) or self._append(self._detail(whole))

    @cached_property
    def _wording(self) -> Wording:
        return wording_of(self._roots)

    def _detail(self, outcome: Outcome) -> dict[str, Any]:
        try:
            return detail_of(self._analysed(outcome), self._wording)
        except Exception as error:  # noqa: BLE001 - the record is there; that its words are not must be seen there
            why = f"what was said could not be kept: {type(error).__name__}"
            return {"schema": DETAIL, "id": outcome.call.id, "missing": why}

    def _analysed(self, outcome: Outcome) -> Outcome:
        """With what it would do. It is decided and its record is there: what fails here is only not known."""
        try:
            effects = outcome.effects or self._would_do(outcome.event)
        except Exception:  # noqa: BLE001 - the same as without a trail
            return outcome
        return msgspec.structs.replace(outcome, effects=effects)


def keeping_of(roots: Roots, host: str, would_do: WouldDo) -> Keeping:
    """Into the trail of this home, the way that every record goes."""
    return Keeping(Spool(roots.state / "spool").append, roots, host, would_do)


def keeping(trail: bool | Store, roots: Roots, host: str, would_do: WouldDo) -> Keeping | None:
    """What `trail=` means: the trail of this home, a store of one's own, or nothing."""
    if isinstance(trail, bool):
        return keeping_of(roots, host, would_do) if trail else None
    return Keeping(_into(trail), roots, host, would_do)


def _into(store: Store) -> Append:
    def append(body: dict[str, Any]) -> str:
        try:
            store.append([Line(body)])
        except TrotlineError as error:
            return f"the record of this call could not be kept: {error.message}"
        return ""

    return append
