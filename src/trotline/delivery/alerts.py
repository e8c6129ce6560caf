"""When an alert is due: what each occasion wants of a record, as data.

What somebody is told: a sentence, and the record that it is about.

A round: the records that have come since the last one, each rule asked about each, and the few alerts that follow.

How far it has come and what was told is noted as it goes. Whoever is killed in a round leaves at most one alert that is
sent twice. An alert that could not be delivered is counted with those of which nobody was told.


The ways to somebody: the desktop, a command, a webhook. Each says why it failed; an empty sentence is success."""

import json
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec
from msgspec.structs import replace

from trotline.audit.export.export_formats import format_time
from trotline.audit.export.export_progress import EXPORT_DIRECTORY, DeliveryError, read_progress, write_progress
from trotline.audit.query.alarms import DONE_WITHOUT_CALL, UNEXPECTED_KINDS, Alarm
from trotline.audit.query.query import VERDICT_LABELS, Query
from trotline.audit.record.record import Record
from trotline.audit.store.audit_log import ReadableLog, read_arrived
from trotline.config.alerts_file import ALERT_SCHEMA, Alert
from trotline.config.export_file import find_address_fault
from trotline.delivery.request_headers import read_secret_line, send_request
from trotline.domain.errors import TrotlineError
from trotline.system.http_post import Request
from trotline.system.processes import StopReason, run_program

STOP_EVENT = "stop"


def matches_record(alert: Alert, record: Record) -> bool:
    """Check whether an alert is due for a record. Alerts that are about no single record are checked elsewhere."""
    conditions = (
        (alert.agent, record.agent == alert.agent),
        (alert.event, record.event == alert.event),
        (alert.guard, alert.guard in record.deciders),
    )
    fits = all(holds for value, holds in conditions if value)
    return fits and alert.on in RECORD_OCCASIONS and RECORD_OCCASIONS[alert.on](alert, record)


def _has_finding(alert: Alert, record: Record) -> bool:
    scanners = [finding.scanner for finding in record.findings]
    return alert.scanner in scanners if alert.scanner else bool(scanners)


RECORD_OCCASIONS: dict[str, Callable[[Alert, Record], bool]] = {
    "denied": lambda _, record: record.verdict == "deny",
    "found": _has_finding,
    "slow": lambda alert, record: record.micros >= alert.over_us,
    "failing": lambda _, record: any(response.failure for response in record.responses),
    "finished": lambda _, record: record.event == STOP_EVENT,
}
"""Conditions of alerts that are about one record."""

MAX_SUBJECT = 200
ALARM_TEXTS = {DONE_WITHOUT_CALL: "it was done, and nobody was asked before: a hook stopped firing"}


class AlertMessage(NamedTuple):
    """An alert to deliver."""

    alert: Alert
    record: Record | None
    suppressed: int = 0  # alerts that were not delivered since the last one
    sample: bool = False
    alarm: str = ""  # the kind of the alarm that the record raised

    @property
    def text(self) -> str:
        return _printable(" ".join(filter(None, (self._describe_record(), self._describe_suppressed()))))

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object for commands and webhooks. It contains the detail of the record only if the alert has it."""
        record = None
        if self.record is not None:
            record = {**self.record.to_dict(), **({"alarm": self.alarm} if self.alarm else {})}
            if not self.alert.words:
                record.pop("detail", None)
        return {
            "schema": ALERT_SCHEMA,
            "alert": self.alert.name,
            "on": self.alert.on,
            "text": self.text,
            "more": self.suppressed,
            **({"at": format_time(self.record.at_us)} if self.record else {}),
            **({"sample": True} if self.sample else {}),
            "record": record,
        }

    def _describe_record(self) -> str:
        record = self.record
        if record is None:
            return ""
        call = f"{record.agent} {record.event}"
        if self.alert.on == "silent":
            return f"no call has come since {format_time(record.at_us)}; the last was {call}"
        text = f"{call}: {self._explain(record)}"
        subject = " ".join(record.subject.split()) if self.alert.words else ""
        return f"{text}: {subject[:MAX_SUBJECT]}" if subject else text

    def _explain(self, record: Record) -> str:
        verdict = "let through" if record.verdict == "none" else VERDICT_LABELS.get(record.verdict, "")
        decision = f"{verdict} by {', '.join(record.deciders)}" if record.deciders else verdict
        failed = [response for response in record.responses if response.failure]
        return {
            "found": ", ".join(dict.fromkeys(f"{finding.scanner} {finding.kind}" for finding in record.findings)),
            "slow": f"took {record.micros / 1000:g} ms",
            "failing": ", ".join(f"{response.author} failed, {response.failure}" for response in failed),
            "finished": "the agent has stopped",
            "alarm": ALARM_TEXTS.get(self.alarm, "it was refused, and was done all the same"),
        }.get(self.alert.on, decision)

    def _describe_suppressed(self) -> str:
        if not self.suppressed:
            return ""
        return f"({self.suppressed} more)" if self.record else f"{self.suppressed} more since the last alert"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


ALERTS_STATE_FILE = "alerts.json"
RETRY_PAUSE_US = 60_000_000
"""After one that did not arrive, if nothing new comes."""


class AlertStatus(msgspec.Struct, frozen=True, kw_only=True):
    """What became of one alert so far."""

    count: int = 0
    last_us: int = 0
    window_us: int = 0  # when the time began in which so many may be sent
    in_window: int = 0
    held: int = 0  # of which nobody was told
    trouble: DeliveryError | None = None
    silence: str = ""  # the record after which nothing came, and of which somebody was told


class AlertState(msgspec.Struct, frozen=True, kw_only=True):
    schema: str = "trotline.alerts/1"
    seq: int = -1  # up to which records were looked at; -1 before the first round
    fired: dict[str, AlertStatus] = {}


class AlertLog(ReadableLog, Protocol):
    def fetch(self, id_: str) -> Record | None: ...
    def alarms(self) -> list[Alarm]: ...


class AlertRound:
    """One of them; `since_us` is from when on records count before there was any."""

    def __init__(
        self, state: Path, alerts: Iterable[Alert], clock: Callable[[], int], deliver: Callable[[AlertMessage], str]
    ) -> None:
        self.alerts = tuple(alerts)
        self.file = state / EXPORT_DIRECTORY / ALERTS_STATE_FILE
        self.rounds = read_progress(self.file, AlertState)
        self.due: list[int] = []  # when there will be something to tell although no record has come
        self._clock = clock
        self._deliver = deliver

    def run(self, store: AlertLog, since_us: int) -> AlertState:
        begun = self.rounds.seq
        if begun > store.head().seq:
            begun = 0  # another trail in the same place
        for record in read_arrived(store, max(begun, 0), self._clock()):
            if begun >= 0 or record.at_us >= since_us:
                self._offer_record(record)
            self.rounds = replace(self.rounds, seq=record.seq)
        self._look_for_alarms(store, begun, since_us if begun < 0 else 0)
        self._look_for_silence(store)
        self._tell_what_was_held()
        self._note(seq=max(self.rounds.seq, 0))
        return self.rounds

    def _offer_record(self, record: Record) -> None:
        for alert in self.alerts:
            if matches_record(alert, record):
                self._offer(alert, record)

    def _look_for_alarms(self, store: AlertLog, begun: int, since_us: int) -> None:
        wanted = [alert for alert in self.alerts if alert.on == "alarm"]
        alarms = store.alarms() if wanted else []
        for alarm in (one for one in alarms if one.kind in UNEXPECTED_KINDS and begun < one.seq <= self.rounds.seq):
            record = store.fetch(alarm.id)
            if record is None or record.at_us < since_us:
                continue
            for alert in wanted:
                if alert.agent in ("", record.agent):
                    self._offer(alert, record, alarm.kind)

    def _look_for_silence(self, store: AlertLog) -> None:
        """Once for each: the next call ends it."""
        for alert in self.alerts:
            if alert.on != "silent":
                continue
            asked = Query(agent=alert.agent, event=alert.event, limit=1)
            last = next(iter(store.search(asked)), None)
            if last is None or self._get_status(alert).silence == last.id:
                continue
            if self._clock() - last.at_us >= alert.after_us:
                self._change(alert, silence=last.id)
                self._offer(alert, last)
            else:
                self.due.append(last.at_us + alert.after_us)

    def _tell_what_was_held(self) -> None:
        for alert in self.alerts:
            held, trouble = self._get_status(alert).held, self._get_status(alert).trouble
            pause = trouble.at_us + RETRY_PAUSE_US if trouble else 0
            if held and self._is_full(alert):
                self.due.append(self._get_status(alert).window_us + alert.per_us)
            elif held and self._clock() < pause:
                self.due.append(pause)
            elif held:
                self._send(AlertMessage(alert, None, held))

    def _offer(self, alert: Alert, record: Record, alarm: str = "") -> None:
        if self._is_full(alert):
            self._change(alert, held=self._get_status(alert).held + 1)
        else:
            self._send(AlertMessage(alert, record, self._get_status(alert).held, alarm=alarm))

    def _is_full(self, alert: Alert) -> bool:
        """Whether so many were sent in this time that nobody wants another; a clock that went back begins a new one."""
        fired, now = self._get_status(alert), self._clock()
        if not 0 <= now - fired.window_us < alert.per_us:
            self._change(alert, window_us=now, in_window=0)
        return self._get_status(alert).in_window >= alert.at_most

    def _send(self, message: AlertMessage) -> None:
        alert, fired = message.alert, self._get_status(message.alert)
        why = self._deliver(message)
        now = self._clock()
        if why:
            untold = message.suppressed + (message.record is not None)
            self._change(alert, held=untold, trouble=DeliveryError(now, why), in_window=fired.in_window + 1)
        else:
            told = {"count": fired.count + 1, "last_us": now, "trouble": None}
            self._change(alert, held=0, in_window=fired.in_window + 1, **told)
        self._note()

    def _get_status(self, alert: Alert) -> AlertStatus:
        return self.rounds.fired.get(alert.name, AlertStatus())

    def _change(self, alert: Alert, **changed: Any) -> None:
        self.rounds = replace(
            self.rounds, fired={**self.rounds.fired, alert.name: replace(self._get_status(alert), **changed)}
        )

    def _note(self, **changed: Any) -> None:
        self.rounds = replace(self.rounds, **changed)
        write_progress(self.file, self.rounds)


CHANNEL_TIMEOUT = 10.0
"""For a program or a server; whoever needs longer is ended."""

DEFAULT_PATH = "/usr/bin:/bin"
PASSED_VARIABLES = ("PATH", "HOME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Variables that a program of an alert sees, where we have them."""

APPLESCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")
MARKUP_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""A desktop may read markup in what it shows; what an agent wrote is text."""


class ChannelContext(NamedTuple):
    """What the ways in know."""

    environ: Mapping[str, str]
    clock: Callable[[], int]


def deliver_message(message: AlertMessage, machine: ChannelContext) -> str:
    """Why it did not arrive; empty if it did."""
    try:
        return CHANNELS[message.alert.channel](message, machine)
    except TrotlineError as error:
        return error.message


def _to_the_desktop(message: AlertMessage, machine: ChannelContext) -> str:
    """Words are arguments here, never a part of a program."""
    title, path = f"Trotline: {message.alert.name}", machine.environ.get("PATH", DEFAULT_PATH)
    if found := shutil.which("notify-send", path=path):
        words = [found, "--app-name=Trotline", "--", title, message.text.translate(MARKUP_ESCAPES)]
    elif found := shutil.which("osascript", path=path):
        words = [found, *(word for line in APPLESCRIPT for word in ("-e", line)), title, message.text]
    else:
        return "this machine has neither notify-send nor osascript"
    return _run(words, b"", machine.environ)


def _to_a_command(message: AlertMessage, machine: ChannelContext) -> str:
    data = json.dumps(message.body, ensure_ascii=True).encode() + b"\n"
    return _run(list(message.alert.command), data, machine.environ)


def _to_a_webhook(message: AlertMessage, machine: ChannelContext) -> str:
    alert = message.alert
    url = alert.webhook or read_secret_line(alert.webhook_file)
    fault = find_address_fault(url)
    if fault:
        return "its file holds no address to which anything should be sent" if alert.webhook_file else fault[0]
    data = json.dumps(message.body, ensure_ascii=True).encode()
    answer = send_request(Request(url, data, {"content-type": "application/json"}, CHANNEL_TIMEOUT), machine.clock())
    return "" if answer.is_good else answer.failure


CHANNELS: dict[str, Callable[[AlertMessage, ChannelContext], str]] = {
    "desktop": _to_the_desktop,
    "command": _to_a_command,
    "webhook": _to_a_webhook,
    "webhook_file": _to_a_webhook,
}


def _run(words: list[str], data: bytes, environ: Mapping[str, str]) -> str:
    """Run a program without a shell. Return why it failed, or an empty text."""
    result = run_program(words, env=_variables(environ), timeout=CHANNEL_TIMEOUT, stdin=data)
    if result.stopped is StopReason.TIME:
        return f"`{words[0]}` did not end within {CHANNEL_TIMEOUT:g} s"
    if result.stopped is not StopReason.NO:
        return f"`{words[0]}` cannot be run: {result.stopped}"
    return f"`{words[0]}` ended with {result.exit_code}" if result.exit_code else ""


def _variables(environ: Mapping[str, str]) -> dict[str, str]:
    """The service has no variables; where the desktop of a user listens is known without them."""
    runtime = f"/run/user/{os.getuid()}"
    usual = {"PATH": DEFAULT_PATH, "XDG_RUNTIME_DIR": runtime, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus"}
    return {**usual, **{name: environ[name] for name in PASSED_VARIABLES if name in environ}}
