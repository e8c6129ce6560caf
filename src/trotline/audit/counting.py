"""A Query as SQL, where it is wanted what records are together: how many, whose, and their figures."""

from typing import Any, NamedTuple

from trotline.audit.actions import ENDED, ENDS
from trotline.audit.conditions import NOT_OUR_OWN, conditions_of, given_in, values_of
from trotline.audit.figures import EDITS, SPREAD, SUMMED
from trotline.audit.query import Query

RECORDS = "records"
FIGURES = "records CROSS JOIN figures ON figures.seq = records.seq"
FIGURES_OF_ALL = "figures"
NO_FIGURES_OF_OUR_OWN = "figures.seq NOT IN (SELECT seq FROM records WHERE own = 1)"

TALKS = (
    "json_each(?) AS talk CROSS JOIN records ON +records.host = json_extract(talk.value, '$[0]')"
    " AND records.conversation = json_extract(talk.value, '$[1]')"
)
"""The first value is a list of hosts with their conversations; the `+` keeps from going through all of a host."""

EACH_TALK = (
    "SELECT conversation, count, host, first_us, last_us, denied, commands, edits,"
    " coalesce((SELECT name FROM facts WHERE facts.seq = ending AND kind = '{ended}'),"
    " (SELECT event FROM records WHERE records.seq = ending), '') FROM ("
    "SELECT talk.key AS turn, records.conversation, count(*) AS count, records.host,"
    " min(at_us) AS first_us, max(at_us) AS last_us, sum(verdict = 'deny') AS denied,"
    " sum(event = 'beforeShellExecution') AS commands, sum(event IN {edits}) AS edits,"
    " max(CASE WHEN event IN {ends} THEN records.seq END) AS ending"
    " FROM {{table}} {{where}} GROUP BY talk.key) ORDER BY turn"
)
"""How it ended: the status or the reason that the host gave last."""


class Counting(NamedTuple):
    """The statement, what its columns are called, which table it is asked of, and which kinds of figures."""

    sql: str
    fields: tuple[str, ...] = ("what", "count")
    table: str = RECORDS
    kinds: tuple[str, ...] = ()


def _listed(words: tuple[str, ...]) -> str:
    """Names of ours; nothing that somebody gave."""
    return f"({', '.join(repr(word) for word in words)})"


COUNTINGS: dict[str, Counting] = {
    "all": Counting("SELECT 'all', count(*) FROM {table} {where}"),
    "host": Counting("SELECT host, count(*) FROM {table} {where} GROUP BY 1 ORDER BY 2 DESC, 1"),
    "verdict": Counting("SELECT verdict, count(*) FROM {table} {where} GROUP BY 1 ORDER BY 2 DESC, 1"),
    "hour": Counting(
        "SELECT strftime('%Y-%m-%dT%H:00Z', at_us / 1000000, 'unixepoch'), count(*)"
        " FROM {table} {where} GROUP BY 1 ORDER BY 1 DESC"
    ),
    "guard": Counting(
        "SELECT name, count(*) FROM {table} JOIN facts ON facts.seq = records.seq AND facts.kind = 'guard'"
        " {where} GROUP BY 1 ORDER BY 2 DESC, 1"
    ),
    "figure": Counting(
        "SELECT figures.kind, figures.name, count(*), sum(amount) FROM {table} {where} GROUP BY 1, 2",
        ("kind", "what", "count", "sum"),
        FIGURES,
        SUMMED,
    ),
    "spread": Counting(
        "SELECT figures.kind, figures.name, json_group_array(amount) FROM {table} {where} GROUP BY 1, 2",
        ("kind", "what", "amounts"),
        FIGURES,
        SPREAD,
    ),
    "conversation": Counting(
        EACH_TALK.format(ended=ENDED, edits=_listed(tuple(EDITS)), ends=_listed(tuple(sorted(ENDS)))),
        ("what", "count", "host", "first_us", "last_us", "denied", "commands", "edits", "ended"),
        TALKS,
    ),
}


def counted(query: Query) -> tuple[str, list[Any]]:
    counting, given = COUNTINGS[query.by], given_in(query)
    conditions = conditions_of(given)
    of_all = counting.table == FIGURES and not conditions  # then nothing has to be asked of records, but of a few
    not_our_own = NO_FIGURES_OF_OUR_OWN if of_all else NOT_OUR_OWN
    tests = [condition.sql for _, condition in conditions] + ([] if query.own else [not_our_own])
    tests += [f"figures.kind IN {_listed(counting.kinds)}"] if counting.kinds else []
    where = f"WHERE {' AND '.join(tests)}".format(seq="records.seq") if tests else ""
    table = FIGURES_OF_ALL if of_all else counting.table
    return counting.sql.format(where=where, table=table), values_of(query, conditions)
