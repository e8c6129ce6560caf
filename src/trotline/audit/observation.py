"""What became of an action is known only later: it is joined when records are read, and never written into one."""

import itertools
import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

from trotline.audit.actions import DONE, PROMPT, SIDES, STEPS, TURNS, Step, steps_of

AT_ONCE = 500
MOST = 10
"""Records that tell of one action; a command that is repeated all day has the same name each time."""

DEEDS, KINDS, ENDS = (", ".join("?" * len(words)) for words in (DONE, STEPS, TURNS))

OBSERVED = (
    "SELECT pair.key, (SELECT json_group_array(seq) FROM (SELECT seq FROM facts"  # noqa: S608 - a number of ours
    f" WHERE kind IN ({DEEDS}) AND name = json_extract(pair.value, '$[0]') AND seq > json_extract(pair.value, '$[1]')"
    f" ORDER BY seq LIMIT {MOST})) FROM json_each(?) AS pair"
)
STEPS_OF = (
    "SELECT records.seq, id, host, conversation, event, coalesce(kind, ''), coalesce(name, ''), verdict"  # noqa: S608 - marks
    f" FROM records LEFT JOIN facts ON facts.seq = records.seq AND kind IN ({KINDS})"
    f" WHERE {{which}} AND own = 0 AND (kind IS NOT NULL OR event IN ({ENDS})) ORDER BY records.seq"
)
FIRST = "SELECT seq FROM records WHERE event = ? AND own = 0 AND +host = ? AND +conversation != ? ORDER BY seq LIMIT 1"


def with_observed(db: sqlite3.Connection, records: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The same records; beside each that announced an action, under `observed`, the numbers of those that say that it
    was done. One question for many of them."""
    waiting = iter(records)
    while some := list(itertools.islice(waiting, AT_ONCE)):
        names = [(at, name) for at, record in enumerate(some) for name in _announced(record)]
        pairs = json.dumps([(name, some[at]["seq"]) for at, name in names])
        found: dict[int, set[int]] = {at: set() for at, _ in names}
        for key, seqs in db.execute(OBSERVED, (*DONE, pairs)) if names else ():
            found[names[key][0]].update(json.loads(seqs))
        for at, record in enumerate(some):
            yield {**record, "observed": sorted(found[at])[:MOST]} if at in found else record


def _announced(record: dict[str, Any]) -> list[str]:
    """The names of what was to be done; that a prompt was sent is told by all that comes of it."""
    return [name for kind, name in steps_of(record) if kind not in DONE and name and not name.startswith(PROMPT)]


def steps_where(db: sqlite3.Connection, which: str, *values: Any) -> Iterator[Step]:
    """What these records say of actions, oldest first."""
    rows = db.execute(STEPS_OF.format(which=which), (*STEPS, *values, *TURNS))
    for seq, id_, host, talk, event, kind, name, verdict in rows:
        yield Step(seq, id_, (host, talk), event, kind, name, verdict == "ask")


def steps_around(db: sqlite3.Connection, record: dict[str, Any]) -> list[Step]:
    """All that can be an alarm about a record: its conversation, and since when its host asks about anything at all."""
    talk = str(record.get("host")), str(record.get("conversation"))
    own = list(steps_where(db, "records.conversation = ? AND +host = ?", talk[1], talk[0]))
    done = {step.family for step in own if step.kind in DONE}
    asks = [event for event, side in SIDES.items() if side.before and side.family in done]
    first = [row[0] for event in asks for row in db.execute(FIRST, (event, *talk))]
    others = [step for seq in first for step in steps_where(db, "records.seq = ?", seq)]
    return sorted([*others, *own], key=lambda step: step.seq)
