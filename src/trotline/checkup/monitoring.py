"""Monitor mode, looked at afterwards: what enforcing would have stopped. A record holds no reasons, only names."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from trotline.config.places import Roots
from trotline.config.settings import read_settings

STOPS = ("deny", "ask", "follow_up")
"""Words that keep an agent from going on, or from ending."""

LAST = 3


class Stopped(NamedTuple):
    """How many calls; how often by event, author and word; and the last few."""

    calls: int
    by: Counter[tuple[str, str, str]]
    last: list[str]


def would_have_stopped(records: Iterable[dict[str, Any]]) -> Stopped:
    found = [(record, word) for record in records if (word := _stop(record))]
    by = Counter((str(record["event"]), _author(record), word) for record, word in found)
    last = [_told(record, word) for record, word in found[-LAST:]]
    return Stopped(len(found), Counter(dict(by.most_common())), last)


def monitor_line(roots: Roots) -> str:
    """What every command says that speaks of refusals; empty when they are sent."""
    said = read_settings(roots)
    return "monitor mode: nothing is refused but the canary; `trotline init --enforce` ends it" if said.monitors else ""


def _stop(record: dict[str, Any]) -> str:
    return next((word for word in STOPS if word in record.get("withheld", ())), "")


def _author(record: dict[str, Any]) -> str:
    return ", ".join(map(str, record.get("deciders", ()))) or "nobody in particular"


def _told(record: dict[str, Any], word: str) -> str:
    at = datetime.fromtimestamp(record["at_us"] / 1_000_000, UTC).isoformat(timespec="seconds")
    tool = f" {record['tool']}" if record.get("tool") else ""
    failures = {str(voice["failure"]) for voice in record.get("voices", ()) if voice.get("failure")}
    broke = f" (failed: {', '.join(sorted(failures))})" if failures else ""
    return f"{at} {record['host']} {record['event']}{tool}: {word}, by {_author(record)}{broke}"
