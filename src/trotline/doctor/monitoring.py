"""Monitor mode: which recorded calls would have been stopped by enforcing."""

from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from trotline.audit.record.record import Record
from trotline.config.paths import Roots
from trotline.config.settings import read_settings

STOPPING = ("deny", "ask", "follow_up")
"""Answers that stop an agent, or keep it from ending."""

MAX_EXAMPLES = 3


class MonitorSummary(NamedTuple):
    """The number of calls, counts by event, author and answer, and the last calls."""

    calls: int
    counts: Counter[tuple[str, str, str]]
    examples: list[str]


def summarize_monitoring(records: Iterable[Record]) -> MonitorSummary:
    """Summarize what enforcing would have stopped."""
    withheld = [(record, word) for record in records if (word := _get_withheld(record))]
    counts = Counter((record.event, _name_authors(record), word) for record, word in withheld)
    examples = [_format_call(record, word) for record, word in withheld[-MAX_EXAMPLES:]]
    return MonitorSummary(len(withheld), Counter(dict(counts.most_common())), examples)


def describe_monitor_mode(roots: Roots) -> str:
    """Return the warning of commands that report refusals; empty if refusals are enforced."""
    text = "monitor mode: nothing is refused but the canary; `trotline install --enforce` ends it"
    return text if read_settings(roots).monitors else ""


def _get_withheld(record: Record) -> str:
    return next((word for word in STOPPING if word in record.withheld), "")


def _name_authors(record: Record) -> str:
    return ", ".join(record.deciders) or "nobody in particular"


def _format_call(record: Record, word: str) -> str:
    at = datetime.fromtimestamp(record.at_us / 1_000_000, UTC).isoformat(timespec="seconds")
    tool = f" {record.tool}" if record.tool else ""
    failures = {response.failure for response in record.responses if response.failure}
    broke = f" (failed: {', '.join(sorted(failures))})" if failures else ""
    return f"{at} {record.agent} {record.event}{tool}: {word}, by {_name_authors(record)}{broke}"
