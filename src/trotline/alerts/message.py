"""What somebody is told: a sentence, and the record that it is about."""

from typing import Any, NamedTuple

from trotline.alerts.occasions import list_of, micros_of
from trotline.audit.actions import verdict_of
from trotline.audit.alarms import UNASKED
from trotline.audit.columns import subject_of
from trotline.audit.export import moment
from trotline.audit.otlp import at_of
from trotline.audit.query import SAID
from trotline.config.alerts_file import SCHEMA, Alert

LONGEST = 200
ALARMED = {UNASKED: "it was done, and nobody was asked before: a hook stopped firing"}


class Message(NamedTuple):
    """One alert on its way."""

    alert: Alert
    record: dict[str, Any] | None
    more: int = 0  # of which nobody was told since the last one
    sample: bool = False

    @property
    def text(self) -> str:
        return _printable(" ".join(filter(None, (self._what(), self._rest()))))

    @property
    def body(self) -> dict[str, Any]:
        """What a command reads and a webhook gets: the record as it is in the trail, words only where they may go."""
        record = self.record
        if record is not None and not self.alert.words:
            record = {name: value for name, value in record.items() if name != "detail"}
        about = {"schema": SCHEMA, "alert": self.alert.name, "on": self.alert.on, "text": self.text, "more": self.more}
        at = {"at": moment(at_of(record))} if record else {}
        return {**about, **at, **({"sample": True} if self.sample else {}), "record": record}

    def _what(self) -> str:
        record = self.record
        if record is None:
            return ""
        where = f"{record.get('host')} {record.get('event')}"
        if self.alert.on == "silent":
            return f"no call has come since {moment(at_of(record))}; the last was {where}"
        told = f"{where}: {self._why(record)}"
        subject = " ".join(subject_of(record).split()) if self.alert.words else ""
        return f"{told}: {subject[:LONGEST]}" if subject else told

    def _why(self, record: dict[str, Any]) -> str:
        by = ", ".join(map(str, list_of(record, "deciders")))
        verdict = verdict_of(record)
        said = ("let through" if verdict == "silent" else SAID.get(verdict, "")) + (f" by {by}" if by else "")
        voices = [one for one in list_of(record, "voices") if isinstance(one, dict) and one.get("failure")]
        findings = [one for one in list_of(record, "findings") if isinstance(one, list)]
        return {
            "found": ", ".join(dict.fromkeys(" ".join(map(str, one[:2])) for one in findings)),
            "slow": f"took {micros_of(record) / 1000:g} ms",
            "failing": ", ".join(f"{one.get('author')} failed, {one.get('failure')}" for one in voices),
            "finished": "the agent has stopped",
            "alarm": ALARMED.get(str(record.get("alarm")), "it was refused, and was done all the same"),
        }.get(self.alert.on, said)

    def _rest(self) -> str:
        if not self.more:
            return ""
        return f"({self.more} more)" if self.record else f"{self.more} more since the last alert"


def _printable(text: str) -> str:
    return "".join(letter if letter.isprintable() else "?" for letter in text)
