"""Records taken together: a conversation from its first call to its last, and what a time was like."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from trotline.audit.alarms import Alarm
from trotline.audit.figures import (
    ADDED,
    BROKEN,
    CALLED,
    DENIED,
    EVERY_CALL,
    FAILED,
    LASTED,
    LOST,
    MONITORED,
    OPEN,
    REMOVED,
    SAID,
    SERVED,
    SERVING,
    SUMMED,
    TOOK,
    UNSERVED,
    UNTOLD,
)
from trotline.audit.percentiles import SHARES
from trotline.audit.query import Query
from trotline.audit.store import Store
from trotline.hooks import mcp_parts

MOST = 1_000
"""Rows of each table: those that say the most."""

LINES = {kind for kind in SUMMED if kind.endswith(("_added", "_removed"))}


class Conversation(msgspec.Struct, kw_only=True):
    """What one conversation came to; times in microseconds."""

    id: str
    host: str
    first_us: int
    last_us: int
    calls: int
    denied: int
    commands: int
    edits: int
    status: str  # how its last turn stopped
    reason: str  # why the session ended


def conversations(store: Store, query: Query) -> list[Conversation]:
    """Newest first, no more than the query wants."""
    found = store.search(replace(query, by="conversation"))
    return [Conversation(id=one.pop("what"), calls=one.pop("count"), **one) for one in found]


def statistics(store: Store, query: Query, costs: Mapping[str, float]) -> dict[str, Any]:
    """Verdicts, who refused, how long everybody took, what hosts could not hear, what failed, and what was done."""
    verdicts = {one["what"]: one["count"] for one in store.search(replace(query, by="verdict"))}
    sums, counts = _sums(store, query)
    spread: defaultdict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for one in store.search(replace(query, by="spread")):
        spread[one["kind"]][one["what"]] = {"calls": one["count"], **{share: one[share] for share in SHARES}}
    tools = [_work(Work("tool", CALLED, FAILED, LASTED), name, sums, counts, spread) for name in counts[CALLED]]
    servers = [_work(Work("server", SERVED, UNSERVED, SERVING), name, sums, counts, spread) for name in counts[SERVED]]
    _put_prices(tools, servers, costs)
    slowest = sorted(spread[TOOK].items(), key=lambda item: (item[0] != EVERY_CALL, -item[1]["p95"]))[: MOST + 1]
    return {
        "calls": sum(verdicts.values()),
        "verdicts": verdicts,
        "denied_by": dict(sums[DENIED].most_common(MOST)),
        "would_be_denied_by": dict(sums[MONITORED].most_common(MOST)),
        "slowest": [{"who": who, **times} for who, times in slowest],
        "losses": dict(sums[LOST].most_common(MOST)),
        "failures": dict(sums[BROKEN].most_common(MOST)),
        "failed_open": dict((+sums[OPEN]).most_common(MOST)),
        "files": _files(sums),
        "tools": _most_called(tools),
        "servers": _most_called(servers),
        "lengths": spread[SAID],
    }


Sums = Mapping[str, Counter[str]]
"""By kind and name."""


def _sums(store: Store, query: Query) -> tuple[Sums, Sums]:
    """What the figures of each name come to, and how many they are."""
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in store.search(replace(query, by="figure")):
        sums[one["kind"]][one["what"]] += one["sum"]
        counts[one["kind"]][one["what"]] += one["count"]
    return sums, counts


def among(store: Store, query: Query, alarms: Iterable[Alarm]) -> list[Alarm]:
    """Those of them whose records are asked for."""
    found = list(alarms)
    if not found or query == Query():
        return found
    first = min(alarm.seq for alarm in found)
    seqs = {one["seq"] for one in store.search(replace(query, after_seq=max(query.after_seq, first - 1)))}
    return [alarm for alarm in found if alarm.seq in seqs]


def costs_of(text: str) -> dict[str, float]:
    """The setting: `MCP:search=0.01, Shell=0`."""
    pairs = [part.rpartition("=")[::2] for part in text.split(",") if "=" in part]
    return {name.strip(): float(price) for name, price in pairs}


def _files(sums: Sums) -> list[dict[str, Any]]:
    """Those with the most lines added and removed, and by whom."""
    files: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind in LINES & sums.keys():
        for file, lines in sums[kind].items():
            files[file][kind] += lines
            files[file][kind.replace(ADDED, REMOVED)] += 0  # of a new file nobody says so
    most = sorted(files.items(), key=lambda item: -item[1].total())[:MOST]
    return [{"file": file, **counts} for file, counts in most]


class Work(NamedTuple):
    """What is told of a tool, or of a server with all its tools: under which name, from which figures."""

    of: str
    called: str
    failed: str
    lasted: str


def _work(
    work: Work, name: str, sums: Sums, counts: Sums, spread: Mapping[str, Mapping[str, Mapping[str, int]]]
) -> dict[str, Any]:
    times = spread.get(work.lasted, {}).get(name, {})
    return {
        work.of: name,
        "calls": counts[work.called][name],
        "failed": sums[work.failed][name],
        "bytes": sums[work.called][name],
        **{f"{share}_ms": times[share] for share in ("p50", "p95") if times},
    }


def _put_prices(tools: list[dict[str, Any]], servers: list[dict[str, Any]], costs: Mapping[str, float]) -> None:
    """On each tool that has one, by the longest beginning of its name, with its server or without; a server costs what
    its tools do."""
    total: Counter[str] = Counter()
    for tool in tools:
        server, bare = mcp_parts(tool["tool"])
        names = (tool["tool"], f"MCP:{bare}" if bare else tool["tool"])
        priced = max((known for known in costs if any(name.startswith(known) for name in names)), key=len, default=None)
        if priced is not None:
            tool["cost"] = round(costs[priced] * tool["calls"], 6)
            total.update({server or UNTOLD: tool["cost"]} if bare else {})
    for one in servers:
        one.update({"cost": round(total[one["server"]], 6)} if one["server"] in total else {})


def _most_called(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return sorted(rows, key=lambda one: -one["calls"])[:MOST]
