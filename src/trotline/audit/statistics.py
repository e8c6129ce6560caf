"""Records taken together: a conversation from its first call to its last, and what a time was like."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from trotline.audit.actions import ENDS, Step, steps_in, verdict_of
from trotline.audit.alarms import alarms_in
from trotline.audit.percentiles import percentile, percentiles
from trotline.audit.work import Work

TOP = 10

EDITS = frozenset({"afterFileEdit", "afterTabFileEdit"})


class Conversation(msgspec.Struct, kw_only=True):
    """What one conversation came to; times in microseconds."""

    id: str
    host: str
    first_us: int
    last_us: int
    calls: int = 0
    denied: int = 0
    commands: int = 0
    edits: int = 0
    ended: str = ""  # the status or the reason that the host gave last


def conversations(records: Iterable[dict[str, Any]]) -> list[Conversation]:
    """Newest first, as the records come."""
    found: dict[tuple[str, str], Conversation] = {}
    for record in records:
        name, host, at = str(record.get("conversation") or ""), str(record.get("host")), int(record["at_us"])
        one = found.setdefault((host, name), Conversation(id=name, host=host, first_us=at, last_us=at))
        event = record.get("event")
        one.first_us, one.last_us = min(one.first_us, at), max(one.last_us, at)
        one.calls += 1
        one.denied += verdict_of(record) == "deny"
        one.commands += event == "beforeShellExecution"
        one.edits += event in EDITS
        if event in ENDS and not one.ended:
            payload = record.get("detail", {}).get("payload")
            told = payload if isinstance(payload, dict) else {}
            one.ended = str(told.get("status") or told.get("reason") or event)
    return list(found.values())


def statistics(records: Iterable[dict[str, Any]], costs: Mapping[str, float] | None = None) -> dict[str, Any]:
    """Verdicts, who refused, how long everybody took, what hosts could not hear, what failed, what does not fit, and
    what was done. The newest comes first."""
    verdicts: Counter[str] = Counter()
    refused: Counter[str] = Counter()
    losses: Counter[str] = Counter()
    failures: Counter[str] = Counter()
    took: defaultdict[str, list[int]] = defaultdict(list)
    steps: list[Step] = []
    work = Work(costs)
    for record in records:
        steps += steps_in([record])
        work.take(record)
        names = _names(record)
        verdicts[verdict_of(record)] += 1
        refused.update(map(names, record.get("deciders", ())) if verdict_of(record) == "deny" else ())
        losses.update(str(loss[0]) for loss in record.get("losses", ()))
        took["every call"].append(int(record.get("micros", 0)))
        for voice in record.get("voices", ()):
            took[names(voice["author"])].append(int(voice["micros"]))
            failures.update([f"{names(voice['author'])}: {voice['failure']}"] if voice["failure"] else ())
    slowest = sorted(took.items(), key=lambda item: -percentile(item[1], 95))
    return {
        "calls": verdicts.total(),
        "verdicts": dict(verdicts.most_common()),
        "denied_by": dict(refused.most_common(TOP)),
        "slowest": [{"who": who, **percentiles(times)} for who, times in slowest[:TOP]],
        "losses": dict(losses.most_common(TOP)),
        "failures": dict(failures.most_common(TOP)),
        "alarms": dict(Counter(alarm.kind for alarm in alarms_in(reversed(steps))).most_common()),
        **work.told(),
    }


def _names(record: dict[str, Any]) -> Callable[[Any], str]:
    """Hooks by the line that people wrote; a record itself has only their ids."""
    detail = record.get("detail")
    hooks = detail.get("hooks") if isinstance(detail, dict) else None
    return lambda author: str((hooks or {}).get(author, author))
