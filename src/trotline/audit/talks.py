"""Conversations, the newest first, as one asks a database for them: first which they are, then what each came to.

To take all records together and then the newest would read the whole trail for the twenty that are looked at.
"""

import itertools
import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from trotline.audit.asking import talks_asked
from trotline.audit.counting import COUNTINGS, counted
from trotline.audit.query import Query

AT_ONCE = 500


def talks(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    fields = COUNTINGS["conversation"].fields
    statement, values = counted(query)
    newest = itertools.islice(_newest(db, query), query.limit or None)
    while some := list(itertools.islice(newest, AT_ONCE)):
        for row in db.execute(statement, (json.dumps(some), *values)):
            yield dict(zip(fields, row, strict=True))


def _newest(db: sqlite3.Connection, query: Query) -> Iterator[tuple[str, str]]:
    """Hosts and their conversations, in the order in which they last said something."""
    seen: set[tuple[str, str]] = set()
    for talk in db.execute(*talks_asked(query)):
        if talk not in seen:
            seen.add(talk)
            yield talk
