"""Records on their way to a collector: from where the last one ended, in bounded batches, each sent until it is taken.

The trail is the queue. What is not taken stays where it is, and nobody waits for it. A batch is noted before it is sent
and after each signal was taken, so that one who is killed leaves no gap behind, and at most one batch that is sent
again, with the same id and the same records in it. Ids of records and spans are the same then, too.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from trotline.audit import otlp, otlp_wire
from trotline.audit.arrivals import Readable, arrived
from trotline.audit.journal import DIRECTORY, Pending, Progress, Trouble, note, noted, pause_us
from trotline.audit.posting import headers_of, post
from trotline.audit.query import Query
from trotline.config.export_file import Destination
from trotline.engine.posting import Answer, Request, shown
from trotline.errors import TrotlineError

MOST_BYTES = 1_000_000
"""Of records in one batch; a record that is longer goes without its words."""

TOO_LARGE = 413

Post = Callable[[Request, int], Answer]


class World(NamedTuple):
    """What the ways in know and nobody else looks at."""

    clock: Callable[[], int]
    environ: Mapping[str, str]
    breathe: Callable[[float], None] = lambda _: None  # called before something that may take so many seconds


def journal_of(state: Path, destination: Destination) -> Path:
    return state / DIRECTORY / f"{destination.layer}.json"


class Outflow:
    """One destination and its journal."""

    def __init__(self, state: Path, destination: Destination, world: World) -> None:
        self.destination = destination
        self.file = journal_of(state, destination)
        self.progress = noted(self.file, Progress)
        self._world = world
        self._headers: dict[str, str] = {}

    def run(self, store: Readable, send: Post = post, *, at_once: bool = False) -> Progress:
        """Everything that is due, until all is taken or something is not."""
        if not at_once and not self.progress.is_due(self._world.clock()):
            return self.progress
        try:
            self._begin(store)
            while batch := self._batch(store):
                if not self._taken(batch, store, send):
                    break
        except TrotlineError as error:
            self._failed(error.message)
        return self.progress

    def skip(self, store: Readable) -> None:
        """Go on behind what is there now, whatever of it was taken."""
        last = next(iter(store.search(Query(own=True, limit=1))), {"seq": 0, "id": ""})
        self._note(seq=last["seq"], id=str(last["id"]), pending=None, failures=0, next_us=0)

    def _begin(self, store: Readable) -> None:
        given = self.destination
        self._headers = headers_of(given.headers_file, given.headers_env, self._world.environ)
        seq = self.progress.seq
        there = next(iter(store.search(Query(after_seq=seq - 1, until_seq=seq + 1, own=True))), None) if seq else None
        is_other = there is not None and self.progress.id and there["id"] != self.progress.id
        if store.head().seq < seq or is_other:
            self._note(seq=0, id="", pending=None)  # another trail in the same place: all of it is new

    def _batch(self, store: Readable) -> list[dict[str, Any]]:
        """Oldest first: what was begun already, or what comes next."""
        if self.progress.pending:
            asked = Query(after_seq=self.progress.seq, until_seq=self.progress.pending.last_seq + 1)
            again = [_bounded(record) for record in list(store.search(asked))[::-1]]
            if again:
                return again
            self._note(pending=None, seq=self.progress.pending.last_seq, id="")  # forgotten meanwhile
        found = self._next(store)
        if found:
            last = found[-1]
            name = otlp.batch_id(found[0]["id"], last["id"], len(found))
            head = store.head()
            self._note(pending=Pending(name, last["seq"], last["id"], len(found), (head.seq, head.digest)))
        return found

    def _next(self, store: Readable) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = []
        room = MOST_BYTES
        for record in map(_bounded, arrived(store, self.progress.seq, self._world.clock())):
            room -= len(json.dumps(record))
            if len(found) == self.destination.batch or (room < 0 and found):
                break
            found.append(record)
        return found

    def _taken(self, batch: list[dict[str, Any]], store: Readable, send: Post) -> bool:
        """Whether all of it was; else it is noted why not, and when to try again."""
        pending = self.progress.pending
        if pending is None:
            return False
        for signal in self.destination.signals:
            if signal in pending.done:
                continue
            answer = self._sent(signal, batch, store, send)
            if answer.status == TOO_LARGE:
                self._make_smaller(batch)
                return True
            if not answer.is_good:
                self._failed(answer.complaint, answer.wait_us)
                return False
            self._note_refused(otlp_wire.refused(signal, answer.body, self.destination.protocol))
            pending = replace(pending, done=(*pending.done, signal))
            self._note(pending=pending)
        self._note(
            seq=pending.last_seq,
            id=pending.last_id,
            sent=self.progress.sent + len(batch),
            last_us=self._world.clock(),
            failures=0,
            next_us=0,
            pending=None,
        )
        return True

    def _make_smaller(self, batch: list[dict[str, Any]]) -> None:
        """Half of it is tried next; what was taken of it already is taken once more. One that is too large alone is
        counted as refused, so that it does not stand in the way of all others."""
        half = batch[: len(batch) // 2]
        if half:
            name = otlp.batch_id(half[0]["id"], half[-1]["id"], len(half))
            head = self.progress.pending.head if self.progress.pending else (0, "")
            self._note(pending=Pending(name, half[-1]["seq"], half[-1]["id"], len(half), head))
        else:
            self._note_refused(otlp_wire.Refused(1, f"record {batch[0]['seq']} is too large for it"))
            self._note(seq=batch[0]["seq"], id=batch[0]["id"], pending=None)

    def _sent(self, signal: str, batch: list[dict[str, Any]], store: Readable, send: Post) -> Answer:
        given, pending = self.destination, self.progress.pending
        about, part = given.resource, otlp.Batch(pending.id, *pending.head) if pending else otlp.NONE
        if signal == "logs":
            request = otlp.logs_request(batch, words=given.words, about=about, batch=part)
        else:
            spans = [otlp.span_of(record, words=given.words) for record in batch]
            spans += [span for record in batch for span in _ended(record, store)]
            request = otlp.traces_request(spans, about=about, batch=part)
        headers = {
            **self._headers,
            "content-type": otlp_wire.TYPES[given.protocol],
            "idempotency-key": f"{part.id}-{signal}",
        }
        url = given.endpoint.rstrip("/") + otlp_wire.PATHS[signal]
        body = otlp_wire.encoded(signal, request, given.protocol)
        self._world.breathe(given.timeout)
        return send(Request(url, body, headers, given.timeout, given.certificate), self._world.clock())

    def _note_refused(self, refused: otlp_wire.Refused) -> None:
        """What a collector took and did not want: sending it again would change nothing, and it is said."""
        if refused.number:
            asked = Request(self.destination.endpoint, b"", self._headers, self.destination.timeout)
            why = f"it refused {refused.number} of a batch: {shown(refused.why, asked)}"
            trouble = Trouble(self._world.clock(), why)
            self._note(refused=self.progress.refused + refused.number, trouble=trouble)

    def _failed(self, why: str, wanted_us: int = 0) -> None:
        now, failures = self._world.clock(), self.progress.failures
        until = now + pause_us(failures, wanted_us)
        self._note(failures=failures + 1, next_us=until, trouble=Trouble(now, why))

    def _note(self, **changed: Any) -> None:
        self.progress = replace(self.progress, **changed)
        note(self.file, self.progress)


def behind(store: Readable, progress: Progress) -> int:
    """How many records wait to be sent."""
    (counted,) = store.search(Query(after_seq=progress.seq, by="all"))
    return int(counted["count"])


def _bounded(record: dict[str, Any]) -> dict[str, Any]:
    if len(json.dumps(record)) <= MOST_BYTES:
        return record
    return {name: value for name, value in record.items() if name != "detail"}


def _ended(record: dict[str, Any], store: Readable) -> list[dict[str, Any]]:
    """The span of the turn or of the conversation that is over with this record."""
    part = otlp.ENDS.get(str(record.get("event")))
    talks = [talk for talk in otlp.talks_of(record) if bool(talk[2]) == (part == "generation")] if part else []
    return [otlp.talk_span(talk, _extent(talk, record, store)) for talk in talks]


def _extent(talk: otlp.Talk, record: dict[str, Any], store: Readable) -> otlp.Extent:
    extent = otlp.Extent(otlp.at_of(record), otlp.at_of(record))
    for one in store.search(Query(conversation=talk[1], until_seq=record["seq"])):
        if talk in otlp.talks_of(one):
            extent = extent.with_(otlp.at_of(one))
    return extent
