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
# the first is true of all that the others may be true of, and is all that most names are asked
PATH = {"kind": "path", "test": f"name GLOB +? AND ({' OR '.join(['name GLOB +?'] * 8)})"}
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


def _as_paths(given: str) -> tuple[str, ...]:
    """A pattern, from the beginning or from any directory, and all that is below what it names.

    `[id]` is a class of a pattern, and in some frameworks the name of a directory: both are looked for.
    """
    pattern = given.removeprefix("./").rstrip("/")
    begins, bracket, _ = pattern.partition("[")
    literal = pattern.replace("[", "[[]") if bracket else ""
    return (f"*{begins}*", *_places(pattern), *_places(literal))


def _places(pattern: str) -> tuple[str, ...]:
    return (pattern, f"*/{pattern}", f"{pattern}/*", f"*/{pattern}/*") if pattern else ("",) * 4


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
    "path": Condition(FACTS.format(**PATH), _as_paths, FACT_OF_IT.format(**PATH)),
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
