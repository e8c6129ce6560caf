"""Sending of records to a collector, in bounded batches, each until it is accepted.

The audit log is the queue: records that are not accepted stay in it, and nothing waits for them. The progress is
written before a batch is sent and after each signal is accepted. So a killed process leaves no gap, and at most one
batch is sent again, with the same records under the same ids.
"""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from trotline.audit.export import otlp
from trotline.audit.export.export_progress import (
    EXPORT_DIRECTORY,
    DeliveryError,
    ExportProgress,
    PendingBatch,
    compute_pause_us,
    read_progress,
    write_progress,
)
from trotline.audit.query.query import Query
from trotline.audit.record.record import Record
from trotline.audit.record.record_reader import convert_record
from trotline.audit.store.audit_log import ReadableLog, read_arrived
from trotline.config.export_file import Destination
from trotline.delivery.request_headers import read_headers, send_request
from trotline.domain.errors import TrotlineError
from trotline.system.http_post import Answer, Request, redact_error

MAX_BATCH_BYTES = 1_000_000
"""Maximum size of the records of one batch; a larger record is sent without its detail."""

TOO_LARGE = 413

Post = Callable[[Request, int], Answer]


class SenderContext(NamedTuple):
    """Clock and environment variables of the machine."""

    clock: Callable[[], int]
    environ: Mapping[str, str]
    extend_time: Callable[[float], None] = lambda _: None  # called before an action that may take this many seconds


def get_progress_file(state: Path, destination: Destination) -> Path:
    """Return the path of the file that stores the progress of a destination."""
    return state / EXPORT_DIRECTORY / f"{destination.layer}.json"


class RecordSender:
    """Sends records to one destination and stores its progress."""

    def __init__(self, state: Path, destination: Destination, context: SenderContext) -> None:
        self.destination = destination
        self.file = get_progress_file(state, destination)
        self.progress = read_progress(self.file, ExportProgress)
        self._context = context
        self._headers: dict[str, str] = {}

    def run(self, store: ReadableLog, send: Post = send_request, *, at_once: bool = False) -> ExportProgress:
        """Send everything that is due, until a batch is not accepted."""
        if not at_once and not self.progress.is_due(self._context.clock()):
            return self.progress
        try:
            self._prepare(store)
            while batch := self._read_batch(store):
                if not self._send_batch(batch, store, send):
                    break
        except TrotlineError as error:
            self._record_failure(error.message)
        return self.progress

    def skip(self, store: ReadableLog) -> None:
        """Skip all records that are in the log now."""
        last = next(iter(store.search(Query(include_self_tests=True, limit=1))), None)
        seq, id_ = (last.seq, last.id) if last else (0, "")
        self._save(seq=seq, id=id_, pending=None, failures=0, next_us=0)

    def _prepare(self, store: ReadableLog) -> None:
        destination = self.destination
        self._headers = read_headers(destination.headers_file, destination.headers_env, self._context.environ)
        seq = self.progress.seq
        at_seq = Query(after_seq=seq - 1, until_seq=seq + 1, include_self_tests=True)
        recorded = next(iter(store.search(at_seq)), None) if seq else None
        is_another_log = recorded is not None and self.progress.id and recorded.id != self.progress.id
        if store.head().seq < seq or is_another_log:
            self._save(seq=0, id="", pending=None)  # another audit log in the same place: all of it is new

    def _read_batch(self, store: ReadableLog) -> list[Record]:
        """Return the pending batch, or the next one, oldest first."""
        if self.progress.pending:
            query = Query(after_seq=self.progress.seq, until_seq=self.progress.pending.last_seq + 1)
            batch = [_drop_large_detail(record) for record in list(store.search(query))[::-1]]
            if batch:
                return batch
            self._save(pending=None, seq=self.progress.pending.last_seq, id="")  # forgotten meanwhile
        batch = self._read_next(store)
        if batch:
            last = batch[-1]
            name = otlp.get_batch_id(batch[0].id, last.id, len(batch))
            head = store.head()
            self._save(pending=PendingBatch(name, last.seq, last.id, len(batch), (head.seq, head.digest)))
        return batch

    def _read_next(self, store: ReadableLog) -> list[Record]:
        batch: list[Record] = []
        bytes_left = MAX_BATCH_BYTES
        for record in map(_drop_large_detail, read_arrived(store, self.progress.seq, self._context.clock())):
            bytes_left -= _count_json_bytes(record)
            if len(batch) == self.destination.batch or (bytes_left < 0 and batch):
                break
            batch.append(record)
        return batch

    def _send_batch(self, batch: list[Record], store: ReadableLog, send: Post) -> bool:
        """Send a batch; return whether to go on. After a failure, the reason and the next attempt are stored."""
        pending = self.progress.pending
        if pending is None:
            return False
        for signal in self.destination.signals:
            if signal in pending.done:
                continue
            answer = self._send_signal(signal, batch, store, send)
            if answer.status == TOO_LARGE:
                self._shrink_batch(batch)
                return True
            if not answer.is_good:
                self._record_failure(answer.failure, answer.wait_us)
                return False
            self._save_rejection(otlp.parse_rejection(signal, answer.body, self.destination.protocol))
            pending = replace(pending, done=(*pending.done, signal))
            self._save(pending=pending)
        self._save(
            seq=pending.last_seq,
            id=pending.last_id,
            sent=self.progress.sent + len(batch),
            last_us=self._context.clock(),
            failures=0,
            next_us=0,
            pending=None,
        )
        return True

    def _shrink_batch(self, batch: list[Record]) -> None:
        """Send half of the batch next, even if another signal of it was accepted.

        A record that is too large alone is counted as refused, so that it does not block all others.
        """
        half = batch[: len(batch) // 2]
        if half:
            name = otlp.get_batch_id(half[0].id, half[-1].id, len(half))
            head = self.progress.pending.head if self.progress.pending else (0, "")
            self._save(pending=PendingBatch(name, half[-1].seq, half[-1].id, len(half), head))
        else:
            self._save_rejection(otlp.Rejection(1, f"record {batch[0].seq} is too large for it"))
            self._save(seq=batch[0].seq, id=batch[0].id, pending=None)

    def _send_signal(self, signal: str, batch: list[Record], store: ReadableLog, send: Post) -> Answer:
        destination, pending = self.destination, self.progress.pending
        batch_info = otlp.BatchInfo(pending.id, *pending.head) if pending else otlp.NO_BATCH
        if signal == "logs":
            request = otlp.build_logs_request(
                batch, with_detail=destination.details, resource=destination.resource, batch=batch_info
            )
        else:
            spans = [otlp.build_span(record, with_detail=destination.details) for record in batch]
            spans += [span for record in batch for span in _build_ended_spans(record, store)]
            request = otlp.build_traces_request(spans, resource=destination.resource, batch=batch_info)
        headers = {
            **self._headers,
            "content-type": otlp.CONTENT_TYPES[destination.protocol],
            "idempotency-key": f"{batch_info.id}-{signal}",
        }
        url = destination.endpoint.rstrip("/") + otlp.SIGNAL_PATHS[signal]
        body = otlp.encode_request(signal, request, destination.protocol)
        self._context.extend_time(destination.timeout)
        return send(Request(url, body, headers, destination.timeout, destination.certificate), self._context.clock())

    def _save_rejection(self, rejection: otlp.Rejection) -> None:
        """Record what a collector accepted and rejected: sending it again would change nothing."""
        if rejection.number:
            request = Request(self.destination.endpoint, b"", self._headers, self.destination.timeout)
            why = f"it refused {rejection.number} of a batch: {redact_error(rejection.why, request)}"
            trouble = DeliveryError(self._context.clock(), why)
            self._save(refused=self.progress.refused + rejection.number, trouble=trouble)

    def _record_failure(self, why: str, requested_us: int = 0) -> None:
        now, failures = self._context.clock(), self.progress.failures
        until = now + compute_pause_us(failures, requested_us)
        self._save(failures=failures + 1, next_us=until, trouble=DeliveryError(now, why))

    def _save(self, **changed: Any) -> None:
        self.progress = replace(self.progress, **changed)
        write_progress(self.file, self.progress)


def count_unsent(store: ReadableLog, progress: ExportProgress) -> int:
    """Return the number of records that wait to be sent."""
    (counted,) = store.aggregate(Query(after_seq=progress.seq, by="all"))
    return int(counted["count"])


def _count_json_bytes(record: Record) -> int:
    return len(json.dumps(record.to_dict()))


def _drop_large_detail(record: Record) -> Record:
    if _count_json_bytes(record) <= MAX_BATCH_BYTES:
        return record
    return convert_record({name: value for name, value in record.to_dict().items() if name != "detail"})


def _build_ended_spans(record: Record, store: ReadableLog) -> list[dict[str, Any]]:
    """Return the span of the turn or of the conversation that ends with this record."""
    scope_kind = otlp.SCOPE_END_EVENTS.get(record.event)
    scopes = (
        [scope for scope in otlp.list_scopes(record) if bool(scope[2]) == (scope_kind == "generation")]
        if scope_kind
        else []
    )
    return [otlp.build_scope_span(scope, _find_time_range(scope, record, store)) for scope in scopes]


def _find_time_range(scope: otlp.ConversationScope, record: Record, store: ReadableLog) -> otlp.TimeRange:
    time_range = otlp.TimeRange(record.at_us, record.at_us)
    for earlier in store.search(Query(conversation=scope[1], until_seq=record.seq)):
        if scope in otlp.list_scopes(earlier):
            time_range = time_range.extend(earlier.at_us)
    return time_range
