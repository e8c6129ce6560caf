"""SQL for a Query: records, counts, metrics and conversations.

Conditions are data, and values are always passed as parameters.

Records: usually a few of the newest are wanted. One table leads, which yields matches in the order of the audit log,
and the other conditions are tested record by record until there are enough. The leading table is chosen here and not by
the database, which does not know that denials are rare and that most actions execute something.

Metrics: they are stored in the order of their names, and summed in that order without sorting. For a few records it is
faster to look up the metrics of each; a count with a limit decides which way to take.

Conversations: a first query finds the newest ones, a second one summarizes each. The conditions select conversations;
the summary covers all records of each. Grouping all records first would read the whole audit log to show twenty.
"""

import functools
import itertools
import json
import sqlite3
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from msgspec.structs import astuple

from trotline.audit.query.metrics import COMMAND, CREATED, EDIT, NOT_NAMED, PERCENTILE_KINDS, SUM_KINDS
from trotline.audit.query.query import Query
from trotline.audit.record.actions import ENDED
from trotline.audit.store.record_index import SINCE_CONDITION, UNTIL_CONDITION

HAS_FACT = "records.seq IN (SELECT seq FROM facts WHERE kind = '{kind}' AND {test})"
RECORD_HAS_FACT = "EXISTS (SELECT 1 FROM facts WHERE facts.seq = records.seq AND kind = '{kind}' AND {test})"
# The `+` keeps SQLite from planning again for every pattern to use a literal prefix, which these patterns lack.
# The first GLOB is a prefilter: it matches everything the others can match, and rejects most names.
PATH_TEST = {"kind": "path", "test": f"name GLOB +? AND ({' OR '.join(['name GLOB +?'] * 8)})"}
EFFECT_TEST = {"kind": "effect", "test": "name = ?"}
HAS_TEXT = "records.seq IN (SELECT rowid FROM words WHERE words MATCH ?)"
RECORD_HAS_TEXT = "EXISTS (SELECT 1 FROM words WHERE words MATCH ? AND rowid = records.seq)"

QUERY_FIELDS = Query.__struct_fields__
NOT_SELF_TEST = "is_self_test = 0"


class SqlCondition(NamedTuple):
    """Condition of a query field, for all records at once (`sql`) and for one record at hand (`of_one`, or `sql`)."""

    sql: str
    values: Callable[[Any], tuple[Any, ...]] = lambda value: (value,)
    of_one: str = ""


def _build_path_globs(pattern: str) -> tuple[str, ...]:
    """Return globs for a path pattern: at the start or below any directory, including everything below the match.

    `[id]` is a character class in a glob, and a directory name in some frameworks: both meanings are searched for.
    """
    pattern = pattern.removeprefix("./").rstrip("/")
    begins, bracket, _ = pattern.partition("[")
    literal = pattern.replace("[", "[[]") if bracket else ""
    return (f"*{begins}*", *_build_globs(pattern), *_build_globs(literal))


def _build_globs(pattern: str) -> tuple[str, ...]:
    return (pattern, f"*/{pattern}", f"{pattern}/*", f"*/{pattern}/*") if pattern else ("",) * 4


CONDITIONS: dict[str, SqlCondition] = {
    "since_us": SqlCondition(f"at_us >= ? AND {SINCE_CONDITION}", lambda value: (value, value)),
    "until_us": SqlCondition(f"at_us < ? AND {UNTIL_CONDITION}", lambda value: (value, value)),
    "after_seq": SqlCondition("{seq} > ?"),
    "until_seq": SqlCondition("{seq} < ?"),
    "event": SqlCondition("event = ?"),
    "agent": SqlCondition("agent = ?"),
    "verdict": SqlCondition("verdict = ?"),
    "conversation": SqlCondition("conversation = ?"),
    "command": SqlCondition("command GLOB +?"),
    "effect": SqlCondition(HAS_FACT.format(**EFFECT_TEST), of_one=RECORD_HAS_FACT.format(**EFFECT_TEST)),
    "path": SqlCondition(HAS_FACT.format(**PATH_TEST), _build_path_globs, RECORD_HAS_FACT.format(**PATH_TEST)),
    "text": SqlCondition(HAS_TEXT, lambda value: (_quote_words(value),), RECORD_HAS_TEXT),
}
"""Conditions by query field. `{seq}` is the column by which the leading table is read."""


def list_used_fields(query: Query) -> tuple[str, ...]:
    """Return the names of the fields that are set."""
    return tuple(itertools.compress(QUERY_FIELDS, astuple(query)))


def get_conditions(fields: tuple[str, ...]) -> tuple[tuple[str, SqlCondition], ...]:
    """Return the conditions of the given fields."""
    return tuple((name, condition) for name, condition in CONDITIONS.items() if name in fields)


def get_values(query: Query, conditions: tuple[tuple[str, SqlCondition], ...]) -> list[Any]:
    """Return the SQL parameters of these conditions, in their order."""
    return [value for name, condition in conditions for value in condition.values(getattr(query, name))]


def _quote_words(text: str) -> str:
    """Quote each word, so that operators of the full-text search are treated as ordinary words."""
    quoted = ('"' + word.replace('"', '""') + '"' for word in text.split())
    return " ".join(quoted) or '""'


SELECTIVE_FIELDS = {"text", "since_us", "after_seq"}

RARE_VERDICTS = {"deny", "ask", "would_deny", "would_ask"}
"""Verdicts of only a few records: most actions get none."""

RECENT_ENTRIES = "{seq} > (SELECT max(seq) - 5000 FROM entries)"
"""Entries searched first for a path, which has no index: most queries are about recent records."""


class LeadingTable(NamedTuple):
    """A table that yields matches of a field in the order of the audit log, and the condition on that table."""

    table: str
    seq: str
    sql: str = ""


LEADING_TABLES: dict[str, LeadingTable] = {
    "": LeadingTable("records", "records.seq"),
    "text": LeadingTable("words CROSS JOIN records ON records.seq = words.rowid", "words.rowid", "words MATCH ?"),
    "effect": LeadingTable(
        "facts AS wanted CROSS JOIN records ON records.seq = wanted.seq",
        "wanted.seq",
        "wanted.kind = 'effect' AND wanted.name = ?",
    ),
}

SELECT_RECORDS = (
    "SELECT records.seq, record.body, detail.body FROM {table}"
    " JOIN entries AS record ON record.seq = records.seq"
    " LEFT JOIN entries AS detail ON detail.id = records.id AND detail.kind = 'detail'"
    " {where} ORDER BY {seq} DESC LIMIT ?"
)
SELECT_CONVERSATIONS = "SELECT records.agent, records.conversation FROM {table} {where} ORDER BY {seq} DESC"


class QueryShape(NamedTuple):
    """Everything that the text of a statement depends on."""

    select: str
    fields: tuple[str, ...]
    is_narrow: bool  # the verdict or conversation selects only a few records


class Statements(NamedTuple):
    """SQL statements for a query, and the conditions in them."""

    whole: str
    newest: str  # limited to the newest entries, which may suffice when the whole search is slow; may be empty
    conditions: tuple[tuple[str, SqlCondition], ...]


def build_record_query(query: Query) -> tuple[Statements, list[Any]]:
    """Return the statements that select the records, and the values for either of them."""
    statements = _build_statements(list_used_fields(query), query.verdict in RARE_VERDICTS)
    return statements, [*get_values(query, statements.conditions), query.limit or -1]


def build_conversation_query(query: Query) -> tuple[str, list[Any]]:
    """Return the statement that selects the agent and conversation of each record, newest first, and its values."""
    shape = _build_shape(SELECT_CONVERSATIONS, list_used_fields(query), query.verdict in RARE_VERDICTS)
    return _build_statement(shape, of_one=True), get_values(query, get_conditions(shape.fields))


@functools.lru_cache(maxsize=256)
def _build_statements(fields: tuple[str, ...], is_rare: bool) -> Statements:
    shape = _build_shape(SELECT_RECORDS, fields, is_rare)
    if not _scans_all_paths(shape):
        return Statements(_build_statement(shape, of_one=True), "", get_conditions(fields))
    newest = _build_statement(shape, of_one=True, extra_tests=(RECENT_ENTRIES,)) if "limit" in fields else ""
    return Statements(_build_statement(shape, of_one=False), newest, get_conditions(fields))


def _build_shape(select: str, fields: tuple[str, ...], is_rare: bool) -> QueryShape:
    return QueryShape(select, fields, is_narrow=is_rare or "conversation" in fields)


def _scans_all_paths(shape: QueryShape) -> bool:
    """Check whether all paths of the audit log are searched, because no other field selects fewer records."""
    return "path" in shape.fields and not (shape.is_narrow or SELECTIVE_FIELDS.intersection(shape.fields))


def _build_statement(shape: QueryShape, *, of_one: bool, extra_tests: tuple[str, ...] = ()) -> str:
    """Build a statement that tests record by record (`of_one`), or finds all matches before taking the newest."""
    leader = next((name for name in LEADING_TABLES if name in shape.fields), "") if not shape.is_narrow else ""
    lead = LEADING_TABLES[leader]
    tests = [
        lead.sql if name == leader else _select_test(condition, of_one)
        for name, condition in get_conditions(shape.fields)
    ]
    tests += ([] if "include_self_tests" in shape.fields else [NOT_SELF_TEST]) + [*extra_tests]
    where = f"WHERE {' AND '.join(tests)}".format(seq=lead.seq) if tests else ""
    return shape.select.format(where=where, table=lead.table, seq=lead.seq)


def _select_test(condition: SqlCondition, of_one: bool) -> str:
    return condition.of_one if of_one and condition.of_one else condition.sql


COUNTS = {
    "all": "SELECT 'all', count(*) FROM records {where}",
    "agent": "SELECT agent, count(*) FROM records {where} GROUP BY 1 ORDER BY 2 DESC, 1",
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


def query_counts(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    """Yield the number of matching records for each value of `query.by`."""
    where, values = build_where(query)
    for name, count in db.execute(COUNTS[query.by].format(where=where), values):
        yield {"name": name, "count": count}


def build_where(query: Query, *extra_tests: str) -> tuple[str, list[Any]]:
    """Return the WHERE clause for a query, with the conditions in `extra_tests` added, and its values."""
    conditions = get_conditions(list_used_fields(query))
    tests = (
        [condition.sql for _, condition in conditions]
        + ([] if query.include_self_tests else [NOT_SELF_TEST])
        + [*extra_tests]
    )
    where = f"WHERE {' AND '.join(tests)}".format(seq="records.seq") if tests else ""
    return where, get_values(query, conditions)


SHARES = {"p50": 50, "p95": 95, "p99": 99}


def compute_percentiles(amounts: list[int]) -> dict[str, int]:
    """Return the count and the nearest-rank percentiles of the amounts, of which there is at least one."""
    listed = sorted(amounts)
    shares = {name: listed[-(-len(listed) * share // 100) - 1] for name, share in SHARES.items()}
    return {"count": len(listed), **shares}


SELECT_SUMS = "SELECT metrics.kind, metrics.name, count(*), sum(amount) FROM {table} {where} GROUP BY 1, 2"
SELECT_AMOUNTS = "SELECT metrics.kind, metrics.name, json_group_array(amount) FROM {table} {where} GROUP BY 1, 2"

SELECT_NEW_FILE_SUMS = (
    "SELECT 'agent_added', metrics.name, count(*), sum((SELECT planned.amount FROM metrics AS planned"
    " WHERE planned.kind = 'planned' AND planned.name = metrics.name AND planned.seq < metrics.seq"
    " ORDER BY planned.seq DESC LIMIT 1)) AS total FROM {table} {where} GROUP BY 2 HAVING total"
)
"""Lines of new files, taken from the last plan for each file before it was created."""

RECORDS_WITH_METRICS = "records CROSS JOIN metrics ON metrics.seq = records.seq"
METRIC_NOT_SELF_TEST = "metrics.seq NOT IN (SELECT seq FROM records WHERE is_self_test = 1)"

COUNT_MANY = "SELECT count(*) >= {most} FROM (SELECT 1 FROM records {where} LIMIT {most})"
MANY_THRESHOLD = "(SELECT 1 + max(seq) / 30 FROM entries)"
"""Number of records that counts as many: a fifteenth of all, as each record has two entries."""


def query_sums(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    """Yield the count and sum of the metrics of each kind and name."""
    for sql, kinds in ((SELECT_SUMS, SUM_KINDS), (SELECT_NEW_FILE_SUMS, (CREATED,))):
        for kind, name, count, total in _select_metrics(db, query, sql, kinds):
            yield {"kind": kind, "name": name, "count": count, "sum": total}


def query_percentiles(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    """Yield the count and percentiles of the metrics of each kind and name."""
    for kind, name, amounts in _select_metrics(db, query, SELECT_AMOUNTS, PERCENTILE_KINDS):
        yield {"kind": kind, "name": name, **compute_percentiles(json.loads(amounts))}


def _select_metrics(db: sqlite3.Connection, query: Query, sql: str, kinds: tuple[str, ...]) -> sqlite3.Cursor:
    """Run the statement over the metrics of all, many or a few records, each with the fastest plan."""
    of_kinds = f"metrics.kind IN ({', '.join(map(repr, kinds))})"
    where, values = build_where(query)
    if not values:
        others = "" if query.include_self_tests else f" AND {METRIC_NOT_SELF_TEST}"
        return db.execute(sql.format(table="metrics", where=f"WHERE {of_kinds}{others}"))
    if _matches_many_records(db, where, values):
        among = f"WHERE {of_kinds} AND metrics.seq IN (SELECT records.seq FROM records {where})"  # noqa: S608 - constants
        return db.execute(sql.format(table="metrics", where=among), values)
    return db.execute(sql.format(table=RECORDS_WITH_METRICS, where=f"{where} AND {of_kinds}"), values)


def _matches_many_records(db: sqlite3.Connection, where: str, values: list[Any]) -> bool:
    return bool(db.execute(COUNT_MANY.format(most=MANY_THRESHOLD, where=where), values).fetchone()[0])


CONVERSATION_FIELDS = (
    "name",
    "count",
    "agent",
    "first_us",
    "last_us",
    "denied",
    "commands",
    "edits",
    "status",
    "reason",
)
CONVERSATION_BATCH = 500
METRIC_SUM = (
    "CASE WHEN event IN ({events})"
    " THEN (SELECT sum(amount) FROM metrics WHERE metrics.seq = records.seq AND +kind = '{kind}') END"
)
"""Sum of a metric over one record.

Other events have no such metric and are not looked up. The `+` keeps SQLite from scanning all metrics of the kind.
"""

BEFORE_EVENTS, AFTER_EVENTS = (
    "'beforeShellExecution', 'preToolUse'",
    "'afterFileEdit', 'afterTabFileEdit', 'postToolUse'",
)
ENDING = (
    "coalesce((SELECT name FROM facts WHERE facts.seq = {at} AND kind = '{ended}'),"
    " CASE WHEN {at} THEN '{untold}' END, '')"
)
CONVERSATION_SUMMARY = (
    "SELECT conversation, count, agent, first_us, last_us, denied, commands, edits, {status}, {reason} FROM ("
    "SELECT wanted.key AS position, records.conversation, count(*) AS count, records.agent,"
    " min(at_us) AS first_us, max(at_us) AS last_us, sum(verdict = 'deny') AS denied,"
    " coalesce(sum({commands}), 0) AS commands, coalesce(sum({edits}), 0) AS edits,"
    " max(CASE event WHEN 'stop' THEN records.seq END) AS stopped,"
    " max(CASE event WHEN 'sessionEnd' THEN records.seq END) AS closed"
    " FROM json_each(?) AS wanted CROSS JOIN records ON +records.agent = json_extract(wanted.value, '$[0]')"
    " AND records.conversation = json_extract(wanted.value, '$[1]')"
    " {where} GROUP BY wanted.key) ORDER BY position"
)
"""Statement whose parameter is a JSON list of (agent, conversation).

The `+` keeps SQLite from scanning all records of an agent.
"""

CONVERSATION_PARTS = {
    "status": ENDING.format(at="stopped", ended=ENDED, untold=NOT_NAMED),
    "reason": ENDING.format(at="closed", ended=ENDED, untold=NOT_NAMED),
    "commands": METRIC_SUM.format(events=BEFORE_EVENTS, kind=COMMAND),
    "edits": METRIC_SUM.format(events=AFTER_EVENTS, kind=EDIT),
}


def query_conversations(db: sqlite3.Connection, query: Query) -> Iterator[dict[str, Any]]:
    """Yield a summary of each conversation with a matching record, newest first, up to the limit."""
    statement = CONVERSATION_SUMMARY.format(
        where="" if query.include_self_tests else f"WHERE {NOT_SELF_TEST}", **CONVERSATION_PARTS
    )
    newest = itertools.islice(_iterate_newest_conversations(db, query), query.limit or None)
    while batch := list(itertools.islice(newest, CONVERSATION_BATCH)):
        for row in db.execute(statement, (json.dumps(batch),)):
            yield dict(zip(CONVERSATION_FIELDS, row, strict=True))


def _iterate_newest_conversations(db: sqlite3.Connection, query: Query) -> Iterator[tuple[str, str]]:
    """Yield each agent and conversation once, by its newest matching record, newest first."""
    seen: set[tuple[str, str]] = set()
    for conversation in db.execute(*build_conversation_query(query)):
        if conversation not in seen:
            seen.add(conversation)
            yield conversation
