"""A Query as SQL, where it is wanted how many records there are, or for each host, hour, verdict, guard."""

import sqlite3
from collections.abc import Iterator
from typing import Any

from trotline.audit.conditions import NOT_OUR_OWN, conditions_of, given_in, values_of
from trotline.audit.query import Query

COUNTS = {
    "all": "SELECT 'all', count(*) FROM records {where}",
    "host": "SELECT host, count(*) FROM records {where} GROUP BY 1 ORDER BY 2 DESC, 1",
    "verdict": "SELECT verdict, count(*) FROM records {where} GROUP BY 1 ORDER BY 2 DESC, 1",
    "hour": (
        "SELECT strftime('%Y-%m-%dT%H:00Z', at_us / 1000000, 'unixepoch'), count(*)"
        " FROM records {where} GROUP BY 1 ORDER BY 1 DESC"
    ),
    "guard": (
        "SELECT name, count(*) FROM records JOIN facts ON facts.seq = records.seq AND facts.kind = 'guard'"
        " {where} GROUP BY 1 ORDER BY 2 DESC, 1"
    ),
}


def counts(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    where, values = chosen(query)
    for what, count in db.execute(COUNTS[query.by].format(where=where), values):
        yield {"what": what, "count": count}


def chosen(query: Query, *more: str) -> tuple[str, list[Any]]:
    """Which records are meant, and the values for it; and what else is to be true of them."""
    conditions = conditions_of(given_in(query))
    tests = [condition.sql for _, condition in conditions] + ([] if query.own else [NOT_OUR_OWN]) + [*more]
    where = f"WHERE {' AND '.join(tests)}".format(seq="records.seq") if tests else ""
    return where, values_of(query, conditions)
