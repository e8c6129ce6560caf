"""What the fields of a Query ask of a record, as SQL: conditions as data, values always apart from the text."""

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
NOT_OUR_OWN = "own = 0"


class Condition(NamedTuple):
    """What a field asks when it is given; of all records at once, and of one that is at hand."""

    sql: str
    values: Callable[[Any], tuple[Any, ...]] = lambda given: (given,)
    of_one: str = ""


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
"""`seq` is the column in which the trail is gone through."""


def given_in(query: Query) -> tuple[str, ...]:
    """The fields that are given: all that a statement depends on."""
    return tuple(itertools.compress(FIELDS, astuple(query)))


def conditions_of(given: tuple[str, ...]) -> tuple[tuple[str, Condition], ...]:
    return tuple((name, condition) for name, condition in CONDITIONS.items() if name in given)


def values_of(query: Query, conditions: tuple[tuple[str, Condition], ...]) -> list[Any]:
    return [value for name, condition in conditions for value in condition.values(getattr(query, name))]


def _as_words(text: str) -> str:
    """Words as words: what would be an operator of the search is looked for like any other."""
    quoted = ('"' + word.replace('"', '""') + '"' for word in text.split())
    return " ".join(quoted) or '""'
