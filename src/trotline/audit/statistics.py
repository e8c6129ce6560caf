"""Records taken together: a conversation from its first call to its last, and what a time was like."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace

from trotline.audit.alarms import Alarm
from trotline.audit.figures import BROKEN, CALLED, DENIED, FAILED, LASTED, LOST, OPEN, SAID, SUMMED, TOOK
from trotline.audit.percentiles import SHARES
from trotline.audit.query import Query
from trotline.audit.store import Store

TOP = 10
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
    sums: defaultdict[str, Counter[str]] = defaultdict(Counter)
    calls: Counter[str] = Counter()
    for one in store.search(replace(query, by="figure")):
        sums[one["kind"]][one["what"]] = one["sum"]
        calls.update({one["what"]: one["count"]} if one["kind"] == CALLED else {})
    spread: defaultdict[str, dict[str, dict[str, int]]] = defaultdict(dict)
    for one in store.search(replace(query, by="spread")):
        spread[one["kind"]][one["what"]] = {"calls": one["count"], **{share: one[share] for share in SHARES}}
    slowest = sorted(spread[TOOK].items(), key=lambda item: -item[1]["p95"])[:TOP]
    return {
        "calls": sum(verdicts.values()),
        "verdicts": verdicts,
        "denied_by": dict(sums[DENIED].most_common(TOP)),
        "slowest": [{"who": who, **times} for who, times in slowest],
        "losses": dict(sums[LOST].most_common(TOP)),
        "failures": dict(sums[BROKEN].most_common(TOP)),
        "failed_open": dict((+sums[OPEN]).most_common(TOP)),
        "files": _files(sums),
        "tools": [
            _tool(name, number, sums, spread[LASTED].get(name, {}), costs) for name, number in calls.most_common(TOP)
        ],
        "lengths": spread[SAID],
    }


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


def _files(sums: Mapping[str, Counter[str]]) -> list[dict[str, Any]]:
    """Those with the most lines added and removed, and by whom."""
    files: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for kind in LINES & sums.keys():
        for file, lines in sums[kind].items():
            files[file][kind] = lines
    most = sorted(files.items(), key=lambda item: -item[1].total())[:TOP]
    return [{"file": file, **counts} for file, counts in most]


def _tool(
    name: str,
    calls: int,
    sums: Mapping[str, Counter[str]],
    times: Mapping[str, int],
    costs: Mapping[str, float],
) -> dict[str, Any]:
    priced = max((known for known in costs if name.startswith(known)), key=len, default=None)  # the longest name it has
    return {
        "tool": name,
        "calls": calls,
        "failed": sums[FAILED][name],
        "bytes": sums[CALLED][name],
        **{f"{share}_ms": times[share] for share in ("p50", "p95") if times},
        **({} if priced is None else {"cost": round(costs[priced] * calls, 6)}),
    }
