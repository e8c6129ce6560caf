"""A Query as SQL: conditions as data, values always apart from the text."""

from collections.abc import Callable
from typing import Any, NamedTuple

from trotline.audit.query import Query

FACT = "records.seq IN (SELECT seq FROM facts WHERE kind = '{kind}' AND {test})"
FACT_OF_IT = "EXISTS (SELECT 1 FROM facts WHERE facts.seq = records.seq AND kind = '{kind}' AND {test})"
PATH = {"kind": "path", "test": "(name GLOB ? OR name GLOB ?)"}

RECENT = 5_000
"""Entries that are looked through first, one by one: most people ask for what has just been."""


class Condition(NamedTuple):
    """What a field of a Query asks of a record, when it is given; and how a few records are asked that are at hand.

    The one finds all that answer before it looks for the newest, the other looks at one record after the other: each
    takes seconds where the other takes none, and only who has looked at the newest knows which it is.
    """

    sql: str
    values: Callable[[Any], tuple[Any, ...]] = lambda given: (given,)
    one_by_one: str = ""


CONDITIONS: dict[str, Condition] = {
    "since_us": Condition("at_us >= ?"),
    "until_us": Condition("at_us < ?"),
    "after_seq": Condition("records.seq > ?"),
    "until_seq": Condition("records.seq < ?"),
    "event": Condition("event = ?"),
    "host": Condition("host = ?"),
    "verdict": Condition("verdict = ?"),
    "conversation": Condition("conversation = ?"),
    "command": Condition("command GLOB ?"),
    "effect": Condition(
        FACT.format(kind="effect", test="name = ?"),
        one_by_one=FACT.format(kind="effect", test="name = ? AND seq > {after}"),
    ),
    "path": Condition(FACT.format(**PATH), lambda given: (given, f"*/{given}"), FACT_OF_IT.format(**PATH)),
    "text": Condition(
        "records.seq IN (SELECT rowid FROM words WHERE words MATCH ?)",
        lambda given: (_as_words(given),),
        "records.seq IN (SELECT rowid FROM words WHERE words MATCH ? AND rowid > {after})",
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
    "SELECT records.seq, record.body, detail.body FROM records"
    " JOIN entries AS record ON record.seq = records.seq"
    " LEFT JOIN entries AS detail ON detail.id = records.id AND detail.kind = 'detail'"
    " {where} ORDER BY records.seq DESC LIMIT ?"
)


def asked(query: Query, after: int = -1) -> tuple[str, list[Any]]:
    """The statement and its values; of those after this entry, if one is given, one by one."""
    given = {name: value for name in CONDITIONS if (value := getattr(query, name))}
    tests = [_test(CONDITIONS[name], after) for name in given] + ([] if query.own else ["own = 0"])
    tests += [f"records.seq > {after:d}"] if after >= 0 else []
    values = [value for name, one in given.items() for value in CONDITIONS[name].values(one)]
    where = f"WHERE {' AND '.join(tests)}" if tests else ""
    if query.by:
        return COUNTS[query.by].format(where=where), values
    return RECORDS.format(where=where), [*values, query.limit or -1]


def _test(condition: Condition, after: int) -> str:
    return condition.one_by_one.format(after=after) if after >= 0 and condition.one_by_one else condition.sql


def is_worth_two_looks(query: Query) -> bool:
    """Whether a few of the newest may be all that is wanted, and quicker to find than all that answer."""
    few = bool(query.limit) and not query.by
    return few and any(getattr(query, name) for name, condition in CONDITIONS.items() if condition.one_by_one)


def _as_words(text: str) -> str:
    """Words as words: what would be an operator of the search is looked for like any other."""
    quoted = ('"' + word.replace('"', '""') + '"' for word in text.split())
    return " ".join(quoted)
