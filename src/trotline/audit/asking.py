"""A Query as SQL, where records are wanted.

The newest of them, and few. So one table leads, which has what is asked for in the order of the trail, and the rest is
asked of one record after the other until there are enough. Which table that is, is said here and not left to the
database: it does not know that refusals are rare and that most actions execute something.
"""

import functools
from typing import Any, NamedTuple

from trotline.audit.conditions import NOT_OUR_OWN, Condition, conditions_of, given_in, values_of
from trotline.audit.query import Query

FEWER = {"text", "since_us", "after_seq"}

RARE = {"deny", "ask", "would_deny", "would_ask"}
"""Verdicts: to most of what an agent does nobody says anything."""

RECENT = "{seq} > (SELECT max(seq) - 5000 FROM entries)"
"""Entries that are looked through first for a path, which no index finds: most people ask for what has just been."""


class Lead(NamedTuple):
    """A table that has what a field asks for in the order of the trail; and what it is then asked."""

    table: str
    seq: str
    sql: str = ""


LEADS: dict[str, Lead] = {
    "": Lead("records", "records.seq"),
    "text": Lead("words CROSS JOIN records ON records.seq = words.rowid", "words.rowid", "words MATCH ?"),
    "effect": Lead(
        "facts AS wanted CROSS JOIN records ON records.seq = wanted.seq",
        "wanted.seq",
        "wanted.kind = 'effect' AND wanted.name = ?",
    ),
}

RECORDS = (
    "SELECT records.seq, record.body, detail.body FROM {table}"
    " JOIN entries AS record ON record.seq = records.seq"
    " LEFT JOIN entries AS detail ON detail.id = records.id AND detail.kind = 'detail'"
    " {where} ORDER BY {seq} DESC LIMIT ?"
)
TALKS = "SELECT records.host, records.conversation FROM {table} {where} ORDER BY {seq} DESC"


class Shape(NamedTuple):
    """All that statements depend on: what is selected, which fields are given, and of one of them, how."""

    select: str
    given: tuple[str, ...]
    is_narrow: bool  # what is given leads to a few records by itself


class Statements(NamedTuple):
    whole: str
    newest: str  # the same of the newest entries, where they may have all that is wanted and the rest takes much longer
    conditions: tuple[tuple[str, Condition], ...]


def asked(query: Query) -> tuple[Statements, list[Any]]:
    """How records are asked for, and the values for either statement."""
    statements = _statements(given_in(query), query.verdict in RARE)
    return statements, [*values_of(query, statements.conditions), query.limit or -1]


def talks_asked(query: Query) -> tuple[str, list[Any]]:
    """How one asks whose the records are, the newest first, until one has heard enough."""
    shape = _shape(TALKS, given_in(query), query.verdict in RARE)
    return _statement(shape, of_one=True), values_of(query, conditions_of(shape.given))


@functools.lru_cache(maxsize=256)
def _statements(given: tuple[str, ...], is_rare: bool) -> Statements:
    shape = _shape(RECORDS, given, is_rare)
    if not _goes_through_paths(shape):
        return Statements(_statement(shape, of_one=True), "", conditions_of(given))
    newest = _statement(shape, of_one=True, more=(RECENT,)) if "limit" in given else ""
    return Statements(_statement(shape, of_one=False), newest, conditions_of(given))


def _shape(select: str, given: tuple[str, ...], is_rare: bool) -> Shape:
    return Shape(select, given, is_narrow=is_rare or "conversation" in given)


def _goes_through_paths(shape: Shape) -> bool:
    """Whether all paths of the trail are looked at, because nothing else that is given leads to fewer records."""
    return "path" in shape.given and not (shape.is_narrow or FEWER.intersection(shape.given))


def _statement(shape: Shape, *, of_one: bool, more: tuple[str, ...] = ()) -> str:
    """Asked of one record after the other, or of all before the newest are taken."""
    leader = next((name for name in LEADS if name in shape.given), "") if not shape.is_narrow else ""
    lead = LEADS[leader]
    tests = [lead.sql if name == leader else _test(condition, of_one) for name, condition in conditions_of(shape.given)]
    tests += ([] if "own" in shape.given else [NOT_OUR_OWN]) + [*more]
    where = f"WHERE {' AND '.join(tests)}".format(seq=lead.seq) if tests else ""
    return shape.select.format(where=where, table=lead.table, seq=lead.seq)


def _test(condition: Condition, of_one: bool) -> str:
    return condition.of_one if of_one and condition.of_one else condition.sql
