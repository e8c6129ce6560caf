"""Summaries of conversations, and statistics over many records."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from trotline.audit.query.alarms import Alarm
from trotline.audit.query.metrics import (
    ADDED,
    BROKEN,
    CALLED,
    DENIED_BY,
    EVERY_CALL,
    FAILED,
    LASTED,
    LENGTH,
    LOST,
    MONITORED,
    NOT_NAMED,
    OPEN,
    REMOVED,
    SERVED,
    SERVING,
    SUM_KINDS,
    TOOK,
    UNSERVED,
)
from trotline.audit.query.query import Query
from trotline.audit.query.sql_queries import SHARES
from trotline.audit.store.store import Store
from trotline.domain.hooks import split_mcp_name

MAX_ROWS = 1_000
"""Limit of rows in each table; the largest are kept."""

LINE_KINDS = {kind for kind in SUM_KINDS if kind.endswith(("_added", "_removed"))}


class ConversationSummary(msgspec.Struct, kw_only=True):
    """Summary of one conversation, with times in microseconds."""

    id: str
    agent: str
    first_us: int
    last_us: int
    calls: int
    denied: int
    commands: int
    edits: int
    status: str  # how its last turn stopped
    reason: str  # why the session ended


def list_conversations(store: Store, query: Query) -> list[ConversationSummary]:
    """Return the conversations that match the query, newest first, up to its limit."""
    found = store.aggregate(replace(query, by="conversation"))
    return [ConversationSummary(id=row.pop("name"), calls=row.pop("count"), **row) for row in found]


def compute_statistics(store: Store, query: Query, costs: Mapping[str, float]) -> dict[str, Any]:
    """Return statistics of the matching records: verdicts, denials, losses, failures, durations, and work done."""
    verdicts = {row["name"]: row["count"] for row in store.aggregate(replace(query, by="verdict"))}
    sums, counts = _sum_metrics(store, query)
    percentiles: defaultdict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for row in store.aggregate(replace(query, by="percentile")):
        percentiles[row["kind"]][row["name"]] = {"calls": row["count"], **{share: row[share] for share in SHARES}}
    tools = [
        _summarize_usage(UsageKind("tool", CALLED, FAILED, LASTED), name, sums, counts, percentiles)
        for name in counts[CALLED]
    ]
    servers = [
        _summarize_usage(UsageKind("server", SERVED, UNSERVED, SERVING), name, sums, counts, percentiles)
        for name in counts[SERVED]
    ]
    _put_prices(tools, servers, costs)
    slowest = sorted(percentiles[TOOK].items(), key=lambda item: (item[0] != EVERY_CALL, -item[1]["p95"]))[
        : MAX_ROWS + 1
    ]
    return {
        "calls": sum(verdicts.values()),
        "verdicts": verdicts,
        "denied_by": dict(sums[DENIED_BY].most_common(MAX_ROWS)),
        "would_be_denied_by": dict(sums[MONITORED].most_common(MAX_ROWS)),
        "slowest": [{"author": author, **times} for author, times in slowest],
        "losses": dict(sums[LOST].most_common(MAX_ROWS)),
        "failures": dict(sums[BROKEN].most_common(MAX_ROWS)),
        "failed_open": dict((+sums[OPEN]).most_common(MAX_ROWS)),
        "files": _list_files(sums),
        "tools": _most_called(tools),
        "servers": _most_called(servers),
        "lengths": percentiles[LENGTH],
    }


Sums = Mapping[str, Counter[str]]
"""Amounts by kind and name."""


def _sum_metrics(store: Store, query: Query) -> tuple[Sums, Sums]:
    """Return the sum and the number of metrics of each kind and name."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for row in store.aggregate(replace(query, by="metric")):
        sums[row["kind"]][row["name"]] += row["sum"]
        counts[row["kind"]][row["name"]] += row["count"]
    return sums, counts


def filter_alarms(store: Store, query: Query, alarms: Iterable[Alarm]) -> list[Alarm]:
    """Return the alarms whose records match the query."""
    found = list(alarms)
    if not found or query == Query():
        return found
    first = min(alarm.seq for alarm in found)
    seqs = {record.seq for record in store.search(replace(query, after_seq=max(query.after_seq, first - 1)))}
    return [alarm for alarm in found if alarm.seq in seqs]


def parse_costs(text: str) -> dict[str, float]:
    """Parse the costs setting, such as `MCP:search=0.01, Shell=0`."""
    pairs = [part.rpartition("=")[::2] for part in text.split(",") if "=" in part]
    return {name.strip(): float(price) for name, price in pairs}


def _list_files(sums: Sums) -> list[dict[str, Any]]:
    """Return the files with the most changed lines, and who changed them."""
    files: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind in LINE_KINDS & sums.keys():
        for file, lines in sums[kind].items():
            files[file][kind] += lines
            files[file][kind.replace(ADDED, REMOVED)] += 0  # new files have no count of removed lines
    most = sorted(files.items(), key=lambda item: -item[1].total())[:MAX_ROWS]
    return [{"file": file, **counts} for file, counts in most]


class UsageKind(NamedTuple):
    """Metric kinds for tools or for servers, and the key of the name (`of`)."""

    of: str
    called: str
    failed: str
    lasted: str


def _summarize_usage(
    kind: UsageKind, name: str, sums: Sums, counts: Sums, percentiles: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> dict[str, Any]:
    times = percentiles.get(kind.lasted, {}).get(name, {})
    return {
        kind.of: name,
        "calls": counts[kind.called][name],
        "failed": sums[kind.failed][name],
        "bytes": sums[kind.called][name],
        **{f"{share}_ms": times[share] for share in ("p50", "p95") if times},
    }


def _put_prices(tools: list[dict[str, Any]], servers: list[dict[str, Any]], costs: Mapping[str, float]) -> None:
    """Set the cost of tools and servers.

    The longest configured prefix of the tool name applies, with or without its server. A server costs the sum of its
    tools.
    """
    total: Counter[str] = Counter()
    for tool in tools:
        server, bare = split_mcp_name(tool["tool"])
        names = (tool["tool"], f"MCP:{bare}" if bare else tool["tool"])
        priced = max((known for known in costs if any(name.startswith(known) for name in names)), key=len, default=None)
        if priced is not None:
            tool["cost"] = round(costs[priced] * tool["calls"], 6)
            total.update({server or NOT_NAMED: tool["cost"]} if bare else {})
    for row in servers:
        row.update({"cost": round(total[row["server"]], 6)} if row["server"] in total else {})


def _most_called(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda row: -row["calls"])[:MAX_ROWS]
