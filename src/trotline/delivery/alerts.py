"""Alerts: tell people about records, by a desktop notification, a command or a webhook.

A round offers the records that arrived since the last one to each alert. The state is written as the round goes on, so
a killed process sends at most one alert twice. An alert that was not delivered is counted with the suppressed ones.
"""

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
    """Check whether an alert is due for a record. Alerts that are not about a single record are checked elsewhere."""
    conditions = (
        (alert.agent, record.agent == alert.agent),
        (alert.event, record.event == alert.event),
        (alert.guard, alert.guard in record.deciders),
    )
    is_selected = all(holds for value, holds in conditions if value)
    return is_selected and alert.on in RECORD_OCCASIONS and RECORD_OCCASIONS[alert.on](alert, record)


def _has_finding(alert: Alert, record: Record) -> bool:
    scanners = [finding.scanner for finding in record.findings]
    return alert.scanner in scanners if alert.scanner else bool(scanners)


RECORD_OCCASIONS: dict[str, Callable[[Alert, Record], bool]] = {
    "denied": lambda _, record: record.effective_verdict == "deny",
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
        """The alert in one line of printable text: the record, and the number of suppressed alerts."""
        return _replace_unprintable(" ".join(filter(None, (self._describe_record(), self._describe_suppressed()))))

    @property
    def body(self) -> dict[str, Any]:
        """The JSON object for commands and webhooks. It contains the detail of the record only if the alert has it."""
        record = None
        if self.record is not None:
            record = {**self.record.to_dict(), **({"alarm": self.alarm} if self.alarm else {})}
            if not self.alert.details:
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
        text = f"{call}: {self._describe_occasion(record)}"
        subject = " ".join(record.subject.split()) if self.alert.details else ""
        return f"{text}: {subject[:MAX_SUBJECT]}" if subject else text

    def _describe_occasion(self, record: Record) -> str:
        verdict = (
            "let through" if record.effective_verdict == "none" else VERDICT_LABELS.get(record.effective_verdict, "")
        )
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


def _replace_unprintable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)


ALERTS_STATE_FILE = "alerts.json"
RETRY_PAUSE_US = 60_000_000
"""Pause after an alert that was not delivered, if no record arrives."""


class AlertStatus(msgspec.Struct, frozen=True, kw_only=True):
    """The delivery state of one alert."""

    count: int = 0
    last_us: int = 0
    window_us: int = 0  # start of the current rate limit window
    in_window: int = 0
    suppressed: int = 0  # alerts that were not delivered
    trouble: DeliveryError | None = None
    silence: str = ""  # the record whose silence was reported


class AlertState(msgspec.Struct, frozen=True, kw_only=True):
    """The state of all alerts."""

    schema: str = "trotline.alerts/1"
    seq: int = -1  # the last record that was offered; -1 before the first round
    fired: dict[str, AlertStatus] = {}


class AlertLog(ReadableLog, Protocol):
    """The part of a store that alerts need."""

    def fetch(self, id_: str) -> Record | None:
        """Return the record with an id, including its detail, or None."""

    def alarms(self) -> list[Alarm]:
        """Return the alarms of the audit log."""


class AlertRound:
    """One round. In the first one, only records from `since_us` on count."""

    def __init__(
        self, state: Path, alerts: Iterable[Alert], clock: Callable[[], int], deliver: Callable[[AlertMessage], str]
    ) -> None:
        self.alerts = tuple(alerts)
        self.file = state / EXPORT_DIRECTORY / ALERTS_STATE_FILE
        self.state = read_progress(self.file, AlertState)
        self.due: list[int] = []  # times of alerts that are due without a new record
        self.sent = 0  # messages delivered in this round
        self._clock = clock
        self._deliver = deliver

    def run(self, store: AlertLog, since_us: int) -> AlertState:
        """Send the alerts for records after the last round, for alarms and for silent agents. Return the new state."""
        start = self.state.seq
        if start > store.head().seq:
            start = 0  # another audit log in the same place
        for record in read_arrived(store, max(start, 0), self._clock()):
            if start >= 0 or record.at_us >= since_us:
                self._offer_record(record)
            self.state = replace(self.state, seq=record.seq)
        self._check_alarms(store, start, since_us if start < 0 else 0)
        self._check_silence(store)
        self._send_suppressed()
        self._save(seq=max(self.state.seq, 0))
        return self.state

    def _offer_record(self, record: Record) -> None:
        for alert in self.alerts:
            if matches_record(alert, record):
                self._offer(alert, record)

    def _check_alarms(self, store: AlertLog, start: int, since_us: int) -> None:
        alarm_alerts = [alert for alert in self.alerts if alert.on == "alarm"]
        alarms = store.alarms() if alarm_alerts else []
        for alarm in (
            alarm for alarm in alarms if alarm.kind in UNEXPECTED_KINDS and start < alarm.seq <= self.state.seq
        ):
            record = store.fetch(alarm.id)
            if record is None or record.at_us < since_us:
                continue
            for alert in alarm_alerts:
                if alert.agent in ("", record.agent):
                    self._offer(alert, record, alarm.kind)

    def _check_silence(self, store: AlertLog) -> None:
        """Report each silence once; the next call ends it."""
        for alert in self.alerts:
            if alert.on != "silent":
                continue
            query = Query(agent=alert.agent, event=alert.event, limit=1)
            last = next(iter(store.search(query)), None)
            if last is None or self._get_status(alert).silence == last.id:
                continue
            if self._clock() - last.at_us >= alert.after_us:
                self._update_status(alert, silence=last.id)
                self._offer(alert, last)
            else:
                self.due.append(last.at_us + alert.after_us)

    def _send_suppressed(self) -> None:
        for alert in self.alerts:
            status = self._get_status(alert)
            trouble = status.trouble
            retry_us = trouble.at_us + RETRY_PAUSE_US if trouble else 0
            if status.suppressed and self._is_rate_limited(alert):
                self.due.append(self._get_status(alert).window_us + alert.per_us)
            elif status.suppressed and self._clock() < retry_us:
                self.due.append(retry_us)
            elif status.suppressed:
                self._send(AlertMessage(alert, None, status.suppressed))

    def _offer(self, alert: Alert, record: Record, alarm: str = "") -> None:
        if self._is_rate_limited(alert):
            self._update_status(alert, suppressed=self._get_status(alert).suppressed + 1)
        else:
            self._send(AlertMessage(alert, record, self._get_status(alert).suppressed, alarm=alarm))

    def _is_rate_limited(self, alert: Alert) -> bool:
        """Check whether the rate limit is reached; a clock that was set back starts a new window."""
        status, now = self._get_status(alert), self._clock()
        if not 0 <= now - status.window_us < alert.per_us:
            self._update_status(alert, window_us=now, in_window=0)
        return self._get_status(alert).in_window >= alert.at_most

    def _send(self, message: AlertMessage) -> None:
        alert, status = message.alert, self._get_status(message.alert)
        failure = self._deliver(message)
        now = self._clock()
        if failure:
            suppressed = message.suppressed + (message.record is not None)
            self._update_status(
                alert, suppressed=suppressed, trouble=DeliveryError(now, failure), in_window=status.in_window + 1
            )
        else:
            self.sent += 1
            delivered = {"count": status.count + 1, "last_us": now, "trouble": None}
            self._update_status(alert, suppressed=0, in_window=status.in_window + 1, **delivered)
        self._save()

    def _get_status(self, alert: Alert) -> AlertStatus:
        return self.state.fired.get(alert.name, AlertStatus())

    def _update_status(self, alert: Alert, **changed: Any) -> None:
        self.state = replace(
            self.state, fired={**self.state.fired, alert.name: replace(self._get_status(alert), **changed)}
        )

    def _save(self, **changed: Any) -> None:
        self.state = replace(self.state, **changed)
        write_progress(self.file, self.state)


CHANNEL_TIMEOUT = 10.0
"""Seconds for a program or a server; a program that takes longer is killed."""

DEFAULT_PATH = "/usr/bin:/bin"
PASSED_VARIABLES = ("PATH", "HOME", "LANG", "DISPLAY", "WAYLAND_DISPLAY", "XDG_RUNTIME_DIR", "DBUS_SESSION_BUS_ADDRESS")
"""Environment variables passed to the program of an alert."""

APPLESCRIPT = ("on run argv", "display notification (item 2 of argv) with title (item 1 of argv)", "end run")
MARKUP_ESCAPES = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
"""Escapes for desktops that read markup in a notification: texts of agents are plain text."""


class ChannelContext(NamedTuple):
    """Environment variables and clock of the machine."""

    environ: Mapping[str, str]
    clock: Callable[[], int]


def deliver_message(message: AlertMessage, context: ChannelContext) -> str:
    """Deliver a message; return an empty string, or why it was not delivered."""
    try:
        return CHANNELS[message.alert.channel](message, context)
    except TrotlineError as error:
        return error.message


def _notify_desktop(message: AlertMessage, context: ChannelContext) -> str:
    """Show a notification. The texts are arguments, never part of a program."""
    title, path = f"Trotline: {message.alert.name}", context.environ.get("PATH", DEFAULT_PATH)
    if found := shutil.which("notify-send", path=path):
        argv = [found, "--app-name=Trotline", "--", title, message.text.translate(MARKUP_ESCAPES)]
    elif found := shutil.which("osascript", path=path):
        argv = [found, *(argument for line in APPLESCRIPT for argument in ("-e", line)), title, message.text]
    else:
        return "this machine has neither notify-send nor osascript"
    return _run_alert_program(argv, b"", context.environ)


def _run_command(message: AlertMessage, context: ChannelContext) -> str:
    data = json.dumps(message.body, ensure_ascii=True).encode() + b"\n"
    return _run_alert_program(list(message.alert.command), data, context.environ)


def _post_to_webhook(message: AlertMessage, context: ChannelContext) -> str:
    alert = message.alert
    url = alert.webhook or read_secret_line(alert.webhook_file)
    fault = find_address_fault(url)
    if fault:
        return "its file holds no address to which anything should be sent" if alert.webhook_file else fault[0]
    data = json.dumps(message.body, ensure_ascii=True).encode()
    answer = send_request(Request(url, data, {"content-type": "application/json"}, CHANNEL_TIMEOUT), context.clock())
    return "" if answer.is_good else answer.failure


CHANNELS: dict[str, Callable[[AlertMessage, ChannelContext], str]] = {
    "desktop": _notify_desktop,
    "command": _run_command,
    "webhook": _post_to_webhook,
    "webhook_file": _post_to_webhook,
}


def _run_alert_program(argv: list[str], data: bytes, environ: Mapping[str, str]) -> str:
    """Run a program without a shell. Return why it failed, or an empty text."""
    result = run_program(argv, env=_build_environment(environ), timeout=CHANNEL_TIMEOUT, stdin=data)
    if result.stopped is StopReason.TIME:
        return f"`{argv[0]}` did not end within {CHANNEL_TIMEOUT:g} s"
    if result.stopped is not StopReason.NONE:
        return f"`{argv[0]}` cannot be run: {result.stopped}"
    return f"`{argv[0]}` ended with {result.exit_code}" if result.exit_code else ""


def _build_environment(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variables for a program, with defaults for a service, which has none."""
    runtime = f"/run/user/{os.getuid()}"
    usual = {"PATH": DEFAULT_PATH, "XDG_RUNTIME_DIR": runtime, "DBUS_SESSION_BUS_ADDRESS": f"unix:path={runtime}/bus"}
    return {**usual, **{name: environ[name] for name in PASSED_VARIABLES if name in environ}}
