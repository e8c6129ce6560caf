"""Audit log of the engine side: every outcome of an engine becomes a record and a detail, as on the hook side.

Errors are returned as text, not raised: an agent's loop must not end because of a full disk. Details are redacted
before they are written. The agent waits for that, because no later process could do it.
"""

import threading
from collections.abc import Callable
from functools import cached_property
from typing import Any

import msgspec

from trotline.agents.cursor.payloads import write_event
from trotline.audit.record.detail_policy import DetailPolicy, NameRedactor, read_detail_policy
from trotline.audit.record.details import build_detail
from trotline.audit.record.record_builder import DETAIL_SCHEMA, ENGINE_SIDE, add_exit_codes, build_record
from trotline.audit.store.spool import Spool
from trotline.audit.store.store import Store, StoredLine
from trotline.config.paths import Roots
from trotline.domain.effects import Effect
from trotline.domain.errors import TrotlineError
from trotline.domain.events import Event
from trotline.domain.outcomes import Outcome

Append = Callable[[dict[str, Any]], str]
"""A function that stores one line and returns an error message, or an empty string."""

EffectAnalyzer = Callable[[Event], tuple[Effect, ...]]
"""A function that returns the effects of an event that has not been analyzed yet."""


class AuditLogSink:
    """A Sink that writes to the audit log or to a Store provided by the agent's author."""

    def __init__(self, append: Append, roots: Roots, agent: str, analyze: EffectAnalyzer) -> None:
        self._append = append
        self._analyze = analyze
        self._roots = roots
        self._names = NameRedactor(roots)
        self._agent = agent
        self._lock = threading.Lock()  # sessions may run in several threads

    def __call__(self, outcome: Outcome, micros: int) -> str:
        call = msgspec.structs.replace(outcome.call, payload=write_event(outcome.event))
        complete = msgspec.structs.replace(outcome, call=call)
        record = add_exit_codes(build_record(complete, self._agent, micros, self._names.redact, ENGINE_SIDE), complete)
        with self._lock:
            return self._append(record) or self._append(self._build_detail(complete))

    @cached_property
    def _policy(self) -> DetailPolicy:
        return read_detail_policy(self._roots)

    def _build_detail(self, outcome: Outcome) -> dict[str, Any]:
        try:
            return build_detail(self._add_effects(outcome), self._policy)
        except Exception as error:  # noqa: BLE001 - the record exists and must show that its detail is missing
            why = f"what was said could not be kept: {type(error).__name__}"
            return {"schema": DETAIL_SCHEMA, "id": outcome.call.id, "missing": why}

    def _add_effects(self, outcome: Outcome) -> Outcome:
        """Return the outcome with its effects.

        The record is already stored, so a failed analysis only leaves the effects unknown.
        """
        try:
            effects = outcome.effects or self._analyze(outcome.event)
        except Exception:  # noqa: BLE001 - the call is already decided
            return outcome
        return msgspec.structs.replace(outcome, effects=effects)


def open_sink(roots: Roots, agent: str, analyze: EffectAnalyzer) -> AuditLogSink:
    """Return a sink that writes to the audit log through the spool, like all records."""
    return AuditLogSink(Spool(roots.state / "spool").append, roots, agent, analyze)


def build_sink(audit_log: bool | Store, roots: Roots, agent: str, analyze: EffectAnalyzer) -> AuditLogSink | None:
    """Return the sink for an `audit_log` argument: the audit log for True, none for False, or the given store."""
    if isinstance(audit_log, bool):
        return open_sink(roots, agent, analyze) if audit_log else None
    return AuditLogSink(_append_to(audit_log), roots, agent, analyze)


def _append_to(store: Store) -> Append:
    def append(body: dict[str, Any]) -> str:
        try:
            store.append([StoredLine(body)])
        except TrotlineError as error:
            return f"the record of this call could not be kept: {error.message}"
        return ""

    return append
