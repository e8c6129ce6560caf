"""A Query as SQL, where the figures of records are wanted: their sums, and what so many in a hundred do not exceed.

Figures stand in the order of their names, and are added up in it without being sorted. Of a few records it is quicker
to look up the figures of each; which way is taken is found out by looking for more records than a few.
"""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

from trotline.audit.counting import chosen
from trotline.audit.figures import CREATED, SPREAD, SUMMED
from trotline.audit.percentiles import percentiles
from trotline.audit.query import Query

SUMS = "SELECT figures.kind, figures.name, count(*), sum(amount) FROM {table} {where} GROUP BY 1, 2"
SPREADS = "SELECT figures.kind, figures.name, json_group_array(amount) FROM {table} {where} GROUP BY 1, 2"

OF_NEW = (
    "SELECT 'agent_added', figures.name, count(*), sum((SELECT planned.amount FROM figures AS planned"
    " WHERE planned.kind = 'planned' AND planned.name = figures.name AND planned.seq < figures.seq"
    " ORDER BY planned.seq DESC LIMIT 1)) AS total FROM {table} {where} GROUP BY 2 HAVING total"
)
"""Lines of files that were not there before: those of the last plan for each."""

OF_FEW = "records CROSS JOIN figures ON figures.seq = records.seq"
NOT_OUR_OWN = "figures.seq NOT IN (SELECT seq FROM records WHERE own = 1)"

MANY = "SELECT count(*) >= {most} FROM (SELECT 1 FROM records {where} LIMIT {most})"
MOST = "(SELECT 1 + max(seq) / 30 FROM entries)"
"""Records that are few: a fifteenth of them, each of which has two entries."""


def sums(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    for sql, kinds in ((SUMS, SUMMED), (OF_NEW, (CREATED,))):
        for kind, name, count, total in _figures(db, query, sql, kinds):
            yield {"kind": kind, "what": name, "count": count, "sum": total}


def spreads(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    for kind, name, amounts in _figures(db, query, SPREADS, SPREAD):
        yield {"kind": kind, "what": name, **percentiles(json.loads(amounts))}


def _figures(db: sqlite3.Connection, query: Query, sql: str, kinds: tuple[str, ...]) -> sqlite3.Cursor:
    """Of all records, of many, or of a few."""
    of_kinds = f"figures.kind IN ({', '.join(map(repr, kinds))})"
    where, values = chosen(query)
    if not values:
        others = "" if query.own else f" AND {NOT_OUR_OWN}"
        return db.execute(sql.format(table="figures", where=f"WHERE {of_kinds}{others}"))
    if _are_many(db, where, values):
        among = f"WHERE {of_kinds} AND figures.seq IN (SELECT records.seq FROM records {where})"  # noqa: S608 - marks
        return db.execute(sql.format(table="figures", where=among), values)
    return db.execute(sql.format(table=OF_FEW, where=f"{where} AND {of_kinds}"), values)


def _are_many(db: sqlite3.Connection, where: str, values: list[Any]) -> bool:
    return bool(db.execute(MANY.format(most=MOST, where=where), values).fetchone()[0])
