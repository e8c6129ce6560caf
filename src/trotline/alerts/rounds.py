"""A round: the records that have come since the last one, each rule asked about each, and the few alerts that follow.

How far it has come and what was told is noted as it goes. Whoever is killed in a round leaves at most one alert that is
sent twice. An alert that could not be delivered is counted with those of which nobody was told.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Protocol

import msgspec
from msgspec.structs import replace

from trotline.alerts.message import Message
from trotline.alerts.occasions import is_due
from trotline.audit.alarms import UNEXPECTED, Alarm
from trotline.audit.arrivals import Readable, arrived
from trotline.audit.journal import DIRECTORY, Trouble, note, noted
from trotline.audit.otlp import at_of
from trotline.audit.query import Query
from trotline.config.alerts_file import Alert

FILE = "alerts.json"
PAUSE_US = 60_000_000
"""After one that did not arrive, if nothing new comes."""


class Fired(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one alert so far."""

    count: int = 0
    last_us: int = 0
    window_us: int = 0  # when the time began in which so many may be sent
    in_window: int = 0
    held: int = 0  # of which nobody was told
    trouble: Trouble | None = None
    silence: str = ""  # the record after which nothing came, and of which somebody was told


class Rounds(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = "trotline.alerts/1"
    seq: int = -1  # up to which records were looked at; -1 before the first round
    fired: dict[str, Fired] = {}


class Trail(Readable, Protocol):
    def fetch(self, id_: str) -> dict[str, Any] | None: ...
    def alarms(self) -> list[Alarm]: ...


class Round:
    """One of them; `since_us` is from when on records count before there was any."""

    def __init__(
        self, state: Path, alerts: Iterable[Alert], clock: Callable[[], int], deliver: Callable[[Message], str]
    ) -> None:
        self.alerts = tuple(alerts)
        self.file = state / DIRECTORY / FILE
        self.rounds = noted(self.file, Rounds)
        self.due: list[int] = []  # when there will be something to tell although no record has come
        self._clock = clock
        self._deliver = deliver

    def run(self, store: Trail, since_us: int) -> Rounds:
        begun = self.rounds.seq
        if begun > store.head().seq:
            begun = 0  # another trail in the same place
        for record in arrived(store, max(begun, 0), self._clock()):
            if begun >= 0 or at_of(record) >= since_us:
                self._offer_record(record)
            self.rounds = replace(self.rounds, seq=record["seq"])
        self._look_for_alarms(store, begun, since_us if begun < 0 else 0)
        self._look_for_silence(store)
        self._tell_what_was_held()
        self._note(seq=max(self.rounds.seq, 0))
        return self.rounds

    def _offer_record(self, record: dict[str, Any]) -> None:
        for alert in self.alerts:
            if is_due(alert, record):
                self._offer(alert, record)

    def _look_for_alarms(self, store: Trail, begun: int, since_us: int) -> None:
        wanted = [alert for alert in self.alerts if alert.on == "alarm"]
        alarms = store.alarms() if wanted else []
        for alarm in (one for one in alarms if one.kind in UNEXPECTED and begun < one.seq <= self.rounds.seq):
            record = store.fetch(alarm.id)
            record = {**record, "alarm": alarm.kind} if record else None
            for alert in wanted if record and at_of(record) >= since_us else ():
                if not alert.host or (record or {}).get("host") == alert.host:
                    self._offer(alert, record)

    def _look_for_silence(self, store: Trail) -> None:
        """Once for each: the next call ends it."""
        for alert in self.alerts:
            if alert.on != "silent":
                continue
            asked = Query(host=alert.host, event=alert.event, limit=1)
            last = next(iter(store.search(asked)), None)
            if last is None or self._of(alert).silence == last["id"]:
                continue
            if self._clock() - at_of(last) >= alert.after_us:
                self._change(alert, silence=last["id"])
                self._offer(alert, last)
            else:
                self.due.append(at_of(last) + alert.after_us)

    def _tell_what_was_held(self) -> None:
        for alert in self.alerts:
            held, trouble = self._of(alert).held, self._of(alert).trouble
            pause = trouble.at_us + PAUSE_US if trouble else 0
            if held and self._is_full(alert):
                self.due.append(self._of(alert).window_us + alert.per_us)
            elif held and self._clock() < pause:
                self.due.append(pause)
            elif held:
                self._send(Message(alert, None, held))

    def _offer(self, alert: Alert, record: dict[str, Any] | None) -> None:
        if self._is_full(alert):
            self._change(alert, held=self._of(alert).held + 1)
        else:
            self._send(Message(alert, record, self._of(alert).held))

    def _is_full(self, alert: Alert) -> bool:
        """Whether so many were sent in this time that nobody wants another; a clock that went back begins a new one."""
        fired, now = self._of(alert), self._clock()
        if not 0 <= now - fired.window_us < alert.per_us:
            self._change(alert, window_us=now, in_window=0)
        return self._of(alert).in_window >= alert.at_most

    def _send(self, message: Message) -> None:
        alert, fired = message.alert, self._of(message.alert)
        why = self._deliver(message)
        now = self._clock()
        if why:
            untold = message.more + (message.record is not None)
            self._change(alert, held=untold, trouble=Trouble(now, why), in_window=fired.in_window + 1)
        else:
            told = {"count": fired.count + 1, "last_us": now, "trouble": None}
            self._change(alert, held=0, in_window=fired.in_window + 1, **told)
        self._note()

    def _of(self, alert: Alert) -> Fired:
        return self.rounds.fired.get(alert.name, Fired())

    def _change(self, alert: Alert, **changed: Any) -> None:
        self.rounds = replace(self.rounds, fired={**self.rounds.fired, alert.name: replace(self._of(alert), **changed)})

    def _note(self, **changed: Any) -> None:
        self.rounds = replace(self.rounds, **changed)
        note(self.file, self.rounds)
