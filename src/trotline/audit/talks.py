"""Conversations, the newest first, as one asks a database for them: first which they are, then what each came to.

What is asked for says which conversations are meant; what each came to is said of all of it.

To take all records together and then the newest would read the whole trail for the twenty that are looked at.
"""

import itertools
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from trotline.audit.actions import ENDED
from trotline.audit.asking import talks_asked
from trotline.audit.conditions import NOT_OUR_OWN
from trotline.audit.figures import COMMAND, EDIT, UNTOLD
from trotline.audit.query import Query

FIELDS = ("what", "count", "host", "first_us", "last_us", "denied", "commands", "edits", "status", "reason")
AT_ONCE = 500
COUNTED = (
    "CASE WHEN event IN ({events})"
    " THEN (SELECT sum(amount) FROM figures WHERE figures.seq = records.seq AND +kind = '{kind}') END"
)
"""Other events have none, and need not be looked up; the `+` keeps from going through all of a kind."""

BEFORE, AFTER = "'beforeShellExecution', 'preToolUse'", "'afterFileEdit', 'afterTabFileEdit', 'postToolUse'"
HOW = (
    "coalesce((SELECT name FROM facts WHERE facts.seq = {at} AND kind = '{ended}'),"
    " CASE WHEN {at} THEN '{untold}' END, '')"
)
EACH = (
    "SELECT conversation, count, host, first_us, last_us, denied, commands, edits, {status}, {reason} FROM ("
    "SELECT talk.key AS turn, records.conversation, count(*) AS count, records.host,"
    " min(at_us) AS first_us, max(at_us) AS last_us, sum(verdict = 'deny') AS denied,"
    " coalesce(sum({commands}), 0) AS commands, coalesce(sum({edits}), 0) AS edits,"
    " max(CASE event WHEN 'stop' THEN records.seq END) AS stopped,"
    " max(CASE event WHEN 'sessionEnd' THEN records.seq END) AS closed"
    " FROM json_each(?) AS talk CROSS JOIN records ON +records.host = json_extract(talk.value, '$[0]')"
    " AND records.conversation = json_extract(talk.value, '$[1]')"
    " {where} GROUP BY talk.key) ORDER BY turn"
)
"""The value is a list of hosts with their conversations; the `+` keeps from going through all of a host."""

PARTS = {
    "status": HOW.format(at="stopped", ended=ENDED, untold=UNTOLD),
    "reason": HOW.format(at="closed", ended=ENDED, untold=UNTOLD),
    "commands": COUNTED.format(events=BEFORE, kind=COMMAND),
    "edits": COUNTED.format(events=AFTER, kind=EDIT),
}


def talks(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    statement = EACH.format(where="" if query.own else f"WHERE {NOT_OUR_OWN}", **PARTS)
    newest = itertools.islice(_newest(db, query), query.limit or None)
    while some := list(itertools.islice(newest, AT_ONCE)):
        for row in db.execute(statement, (json.dumps(some),)):
            yield dict(zip(FIELDS, row, strict=True))


def _newest(db: sqlite3.Connection, query: Query) -> Iterator[tuple[str, str]]:
    """Hosts and their conversations, in the order in which they last said something."""
    seen: set[tuple[str, str]] = set()
    for talk in db.execute(*talks_asked(query)):
        if talk not in seen:
            seen.add(talk)
            yield talk
