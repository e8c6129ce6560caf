"""Statistics and counts as tables."""

from collections.abc import Iterator
from typing import Any

from trotline.audit.figures import EVERY_CALL
from trotline.audit.query import SAID
from trotline.audit.sqlite_store import RECENT_FOR_ALARMS
from trotline.cli.output import plural
from trotline.cli.tables import Table

COUNTED = {
    "denied_by": "denied by",
    "would_be_denied_by": "would be denied by",
    "losses": "lost",
    "failures": "failed",
    "failed_open": "failed, and the call went on",
    "alarms": f"alarms, of the newest {RECENT_FOR_ALARMS:,} entries",
}
SHARES = ("p50", "p95", "p99")
OF_WORK = ("calls", "p50_ms", "p95_ms", "failed", "bytes", "cost")
TOP = 10
"""Rows of a table that a person reads; programs get all."""

OF_FILES = ("agent_added", "agent_removed", "tab_added", "tab_removed")


def counts(found: list[dict[str, Any]]) -> Table:
    return Table("", [(one["count"], one["what"]) for one in found])


def statistics(found: dict[str, Any]) -> Iterator[Table]:
    verdicts = [(number, SAID.get(word, word)) for word, number in found["verdicts"].items()]
    yield Table(plural(found["calls"], "call"), verdicts, is_whole=True)
    yield from map(_shortened, (*_counted(found), *_work(found)))


def _shortened(table: Table) -> Table:
    """Its first rows, and how many there are more; a row of all calls is not one of them."""
    top = TOP + (table.rows[:1] != [] and table.rows[0][-1] == EVERY_CALL)
    more = len(table.rows) - top
    if more <= 0:
        return table
    return table._replace(rows=[*table.rows[:top], (*("" for _ in table.numbers), f"and {more} more")])


def _counted(found: dict[str, Any]) -> Iterator[Table]:
    for key, title in COUNTED.items():
        yield Table(title, [(number, name) for name, number in found[key].items()])
    slowest = [
        (one["calls"], *(f"{one[share] / 1000:.1f}" for share in SHARES), one["who"]) for one in found["slowest"]
    ]
    yield Table("slowest, in ms", slowest, ("calls", *SHARES), "who")


def _work(found: dict[str, Any]) -> Iterator[Table]:
    """What was done: tools, servers, files, lengths."""
    for of, title in (("tool", "tools, in ms"), ("server", "MCP servers, in ms")):
        rows = [(*(one.get(name, "") for name in OF_WORK), one[of]) for one in found[f"{of}s"]]
        yield Table(title, rows, ("calls", "p50", "p95", "failed", "bytes", "cost"), of)
    files = [(*(one.get(name, 0) for name in OF_FILES), one["file"]) for one in found["files"]]
    yield Table("lines", files, ("agent +", "agent -", "tab +", "tab -"), "file")
    lengths = [(sizes["calls"], *(sizes[share] for share in SHARES), name) for name, sizes in found["lengths"].items()]
    yield Table("characters", lengths, ("texts", *SHARES), "of a")
