"""A Query as SQL: conditions as data, values always apart from the text.

The newest records are wanted, and few of them. So one table leads, which has what is asked for in the order of the
trail, and the rest is asked of one record after the other until there are enough. Which table that is, is said here
and not left to the database: it does not know that refusals are rare and that most actions execute something.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec.structs import astuple

from trotline.audit import spans
from trotline.audit.query import Query

FACTS = "records.seq IN (SELECT seq FROM facts WHERE kind = '{kind}' AND {test})"
FACT_OF_IT = "EXISTS (SELECT 1 FROM facts WHERE facts.seq = records.seq AND kind = '{kind}' AND {test})"
# with the `+` the database does not make its plan anew for every pattern, in the hope of a prefix that none has here
PATH = {"kind": "path", "test": "(name GLOB +? OR name GLOB +?)"}
EFFECT = {"kind": "effect", "test": "name = ?"}
WORDS = "records.seq IN (SELECT rowid FROM words WHERE words MATCH ?)"
WORDS_OF_IT = "EXISTS (SELECT 1 FROM words WHERE words MATCH ? AND rowid = records.seq)"

FIELDS = Query.__struct_fields__
FEWER = {"text", "since_us", "after_seq"}

RARE = {"deny", "ask"}
"""Verdicts: to most of what an agent does nobody says anything."""

RECENT = "{seq} > (SELECT max(seq) - 5000 FROM entries)"
"""Entries that are looked through first for a path, which no index finds: most people ask for what has just been."""


class Condition(NamedTuple):
    """What a field of a Query asks of a record, when it is given; of all at once, and of one that is at hand."""

    sql: str
    values: Callable[[Any], tuple[Any, ...]] = lambda given: (given,)
    of_one: str = ""


class Lead(NamedTuple):
    """A table that has what a field asks for in the order of the trail; and what it is then asked."""

    table: str
    seq: str
    sql: str = ""


CONDITIONS: dict[str, Condition] = {
    "since_us": Condition(f"at_us >= ? AND {spans.SINCE}", lambda given: (given, given)),
    "until_us": Condition(f"at_us < ? AND {spans.UNTIL}", lambda given: (given, given)),
    "after_seq": Condition("{seq} > ?"),
    "until_seq": Condition("{seq} < ?"),
    "event": Condition("event = ?"),
    "host": Condition("host = ?"),
    "verdict": Condition("verdict = ?"),
    "conversation": Condition("conversation = ?"),
    "command": Condition("command GLOB +?"),
    "effect": Condition(FACTS.format(**EFFECT), of_one=FACT_OF_IT.format(**EFFECT)),
    "path": Condition(FACTS.format(**PATH), lambda given: (given, f"*/{given}"), FACT_OF_IT.format(**PATH)),
    "text": Condition(WORDS, lambda given: (_as_words(given),), WORDS_OF_IT),
}

LEADS: dict[str, Lead] = {
    "": Lead("records", "records.seq"),
    "text": Lead("words CROSS JOIN records ON records.seq = words.rowid", "words.rowid", "words MATCH ?"),
    "effect": Lead(
        "facts AS wanted CROSS JOIN records ON records.seq = wanted.seq",
        "wanted.seq",
        "wanted.kind = 'effect' AND wanted.name = ?",
    ),
}

COUNTS = {
    "all": "SELECT 'all', count(*) FROM records {where}",
    "host": "SELECT host, count(*) FROM records {where} GROUP BY 1 ORDER BY 2 DESC, 1",
    "hour": (
        "SELECT strftime('%Y-%m-%dT%H:00Z', at_us / 1000000, 'unixepoch'), count(*)"
        " FROM records {where} GROUP BY 1 ORDER BY 1 DESC"
    ),
    "guard": (
        "SELECT name, count(*) FROM records JOIN facts ON facts.seq = records.seq AND facts.kind = 'guard'"
        " {where} GROUP BY 1 ORDER BY 2 DESC, 1"
    ),
}

RECORDS = (
    "SELECT records.seq, record.body, detail.body FROM {table}"
    " JOIN entries AS record ON record.seq = records.seq"
    " LEFT JOIN entries AS detail ON detail.id = records.id AND detail.kind = 'detail'"
    " {where} ORDER BY {seq} DESC LIMIT ?"
)


class Shape(NamedTuple):
    """All that statements depend on: which fields are given, and of two of them, how."""

    given: tuple[str, ...]
    by: str
    is_narrow: bool  # what is given leads to a few records by itself


class Statements(NamedTuple):
    whole: str
    newest: str  # the same of the newest entries, where they may have all that is wanted and the rest takes much longer
    conditions: tuple[tuple[str, Condition], ...]


def asked(query: Query) -> tuple[Statements, list[Any]]:
    """How it is asked, and the values for either statement."""
    given = tuple(itertools.compress(FIELDS, astuple(query)))
    statements = _statements(given, query.by, query.verdict in RARE)
    values = [value for name, condition in statements.conditions for value in condition.values(getattr(query, name))]
    return statements, values if query.by else [*values, query.limit or -1]


@functools.lru_cache(maxsize=256)
def _statements(given: tuple[str, ...], by: str, is_rare: bool) -> Statements:
    shape = Shape(given, by, is_narrow=is_rare or "conversation" in given)
    conditions = tuple((name, condition) for name, condition in CONDITIONS.items() if name in given)
    if not _goes_through_paths(shape):
        return Statements(_statement(shape, of_one=not by), "", conditions)
    newest = _statement(shape, of_one=True, more=(RECENT,)) if "limit" in given else ""
    return Statements(_statement(shape, of_one=False), newest, conditions)


def _goes_through_paths(shape: Shape) -> bool:
    """Whether all paths of the trail are looked at, because nothing else that is given leads to fewer records."""
    return "path" in shape.given and not (shape.by or shape.is_narrow or FEWER.intersection(shape.given))


def _statement(shape: Shape, *, of_one: bool, more: tuple[str, ...] = ()) -> str:
    """Asked of one record after the other, or of all before the newest are taken."""
    leads = () if shape.by or shape.is_narrow else LEADS
    leader = next((name for name in leads if name in shape.given), "")
    lead = LEADS[leader]
    tests = [
        lead.sql if name == leader else _test(condition, of_one)
        for name, condition in CONDITIONS.items()
        if name in shape.given
    ]
    tests += ([] if "own" in shape.given else ["own = 0"]) + [*more]
    where = f"WHERE {' AND '.join(tests)}".format(seq=lead.seq) if tests else ""
    statement = COUNTS[shape.by] if shape.by else RECORDS
    return statement.format(where=where, table=lead.table, seq=lead.seq)


def _test(condition: Condition, of_one: bool) -> str:
    return condition.of_one if of_one and condition.of_one else condition.sql


def _as_words(text: str) -> str:
    """Words as words: what would be an operator of the search is looked for like any other."""
    quoted = ('"' + word.replace('"', '""') + '"' for word in text.split())
    return " ".join(quoted)
