"""Classify the statements of an SQL text: what each does, to what, and whether it affects all rows."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from trotline.analysis.sql.row_conditions import evaluate_condition
from trotline.analysis.sql.sql_text import SqlText, split_statements

if TYPE_CHECKING:
    from sqlglot import exp

MAX_PARSED = 20_000
"""Longer statements, in characters, are classified by their first words, because parsing them takes too long."""


class SqlStatement(NamedTuple):
    """A statement. `affects_all`: it affects all rows, or a whole table or database."""

    kind: str
    verb: str = ""
    writes: bool = False
    affects_all: bool = False
    targets: tuple[str, ...] = ()
    object_type: str = ""  # of what is created, changed or dropped: table, database, role


_READS = {"read", "session", "transaction", "notify"}

_VERBS = {
    "session": "set reset discard use pragma prepare deallocate declare close fetch move attach detach lock unlock go"
    " print handler",
    "transaction": "begin start commit rollback savepoint release abort end",
    "maintenance": "analyze vacuum reindex cluster checkpoint optimize repair check flush refresh msck compact",
    "procedural": "call do execute exec perform if while",
    "notify": "listen notify unlisten",
    "privilege": "grant revoke deny reassign",
    "read": "show describe desc help table values",
    "ddl-alter": "rename",
    "ddl-create": "import",
    "export": "unload export put",
    "load": "install load",
    "write": "insert replace upsert",
    "modify": "update merge",
    "delete": "delete",
    "truncate": "truncate",
}
_KINDS = {word: kind for kind, words in _VERBS.items() for word in words.split()}

# First words of a statement, specific patterns first; the text has no comments and its strings are empty.
_OPENINGS = tuple(
    (re.compile(pattern), kind)
    for pattern, kind in (
        (r"alter (?:role|user|group|system|default privileges|login)\b", "privilege"),
        (r"(?:create|drop) (?:or replace )?(?:role|user|group|login|policy)\b", "privilege"),
        (r"security label\b", "privilege"),
        (r"set (?:global|password|persist)\b", "privilege"),
        (r"(?:create|alter) server\b", "unsafe-io"),
        (r"alter subscription \S+ connection\b", "unsafe-io"),
        (r"create subscription\b", "unsafe-io"),
        (r"(?:create|drop) tablespace\b", "unsafe-io"),
        (r"copy .*\b(?:from|to) program\b", "unsafe-io"),
        (r"copy .*\bto (?:stdout|stdin)\b", "export"),
        (r"copy .*\bfrom (?:stdin|stdout)\b", "load"),
        (r"copy into (?:''|@)", "export"),
        (r"(?:export data|unload)\b", "export"),
        (r"copy into\b", "load"),
        (r"(?:purge|reset (?:master|slave|replica|binary logs))\b", "erase"),
        (r"(?:shutdown|restart|kill|stop (?:slave|replica|group_replication))\b", "stop"),
        (r"copy .*\b(?:from|to) ''", "unsafe-io"),
        (r"(?:load data|load xml|bulk insert|backup|restore)\b", "unsafe-io"),
        (r"comment on\b", "ddl-alter"),
        (r"alter\b", "ddl-alter"),
        (r"drop\b", "ddl-drop"),
        (r"undrop\b", "ddl-alter"),
        (r"create (?:aggregate )?function .*\bsoname\b", "unsafe-io"),
        (r"create assembly\b", "unsafe-io"),
        (r"create or replace (?:transient )?table .*\b(?:clone|like|as \(?(?:select|with|from|table))\b", "ddl-alter"),
        (r"create or replace (?:transient )?(?:table|database|schema)\b", "ddl-drop"),
        (r"insert into (?:table )?function (?:s3|gcs|azureblobstorage|hdfs|iceberg|deltalake)", "export"),
        (r"insert into (?:table )?function\b", "unsafe-io"),
        (r"create\b", "ddl-create"),
    )
)
_CLOUD_URL = re.compile(r"'(?:s3|gs|gcs|azure|https?)://", re.IGNORECASE)
_UNSAFE_CALLS = re.compile(
    r"\b(?:pg_read_file|pg_read_binary_file|pg_ls_dir|pg_stat_file|pg_file_write|lo_import|lo_export|dblink\w*|load_file"
    r"|xp_cmdshell|xp_dirtree|xp_regread|sp_oacreate|openrowset|opendatasource|load_extension|readfile|writefile|edit"
    r"|sys_exec|sys_eval|utl_file|utl_http|dbms_scheduler|query_to_xml|pg_execute_server_program)\b"
)
_FOREIGN_CODE = re.compile(r"\blanguage\s+['\"]?(?:c|internal|pl\w+u|plsh)\b", re.IGNORECASE)
"""Languages whose functions can do whatever the system user of the database can."""

_MAINTENANCE_CALLS = re.compile(r"\b(?:pg_reload_conf|pg_rotate_logfile|pg_switch_wal|setval)\b")
_STOPPING_CALLS = re.compile(r"\b(?:pg_terminate_backend|pg_cancel_backend|pg_drop_replication_slot|pg_promote)\b")
_OUTFILE = re.compile(r"\binto (?:outfile|dumpfile)\b")
_OBJECT = re.compile(
    r"(?:create|alter|drop|truncate|undrop)(?: or replace)?(?: (?:temp|temporary|unlogged|materialized|external|unique"
    r"|foreign|global|local|transient))* (\w+)(?: concurrently)?(?: if (?:not )?exists)? ?([^\s(;,]*)"
)


_DROP_OPTIONS = re.compile(r" (?:cascade|restrict|purge|on|with|force|sync)\b.*|;.*|\(.*")
_CREATES_TEMPORARY = re.compile(r"create (?:or replace )?(?:global |local )?temp(?:orary)? table\b")
_TEMPORARY = "temporary table"


def parse_statements(text: str, dialect: str = "") -> tuple[SqlStatement, ...]:
    """Return all statements of a text in order."""
    found = [statement for part in split_statements(text, dialect) for statement in _classify_nested(part, dialect)]
    return tuple(_ignore_temporary_drops(found))


def _ignore_temporary_drops(statements: list[SqlStatement]) -> Iterator[SqlStatement]:
    """Yield the statements, with drops of temporary tables of the same text as harmless ones.

    A second drop of the same name means another table.
    """
    created: set[str] = set()
    for statement in statements:
        drops = statement.kind == "ddl-drop" and statement.object_type == "table" and statement.targets
        if drops and created.issuperset(statement.targets):
            created.difference_update(statement.targets)
            yield SqlStatement("session", statement.verb)
            continue
        if statement.object_type == _TEMPORARY:
            created.update(statement.targets)
        yield statement


_CONTAINERS = frozenset("database schema table keyspace catalog warehouse owned".split())
_RUNS_STRINGS = frozenset("do execute exec prepare".split())
_PREPARED = re.compile(r"(?is)\s*prepare\s+[^\s(]+(?:\s*\([^)]*\))?\s+as\s(.*)")
_BLOCK = re.compile(r".*\b(?:begin|then|else|loop)\b", re.DOTALL)
_MAX_DEPTH = 4


def _classify_nested(text: SqlText, dialect: str, depth: int = 0) -> Iterator[SqlStatement]:
    """Classify a statement and, if it runs strings (`DO`, `EXECUTE`, a procedure), the statements in them."""
    outer = _classify(text, dialect)
    yield outer
    if outer.verb not in _RUNS_STRINGS or depth == _MAX_DEPTH:
        return
    prepared = _PREPARED.match(text.source) if outer.verb == "prepare" else None
    if prepared:
        for part in split_statements(prepared[1], dialect):
            yield from _classify_nested(part, dialect, depth + 1)
    for string in text.strings:
        for part in split_statements(string, dialect):
            block = _BLOCK.match(part.blanked.lower())
            for inner in split_statements(part.source[block.end() :], dialect) if block else [part]:
                yield from (found for found in _classify_nested(inner, dialect, depth + 1) if found.kind != "unknown")


def _classify_source(source: str, dialect: str) -> SqlStatement | None:
    """Classify a statement that was found in another."""
    parts = split_statements(source, dialect)
    return _classify(parts[0], dialect) if parts else None


def _classify(text: SqlText, dialect: str) -> SqlStatement:
    plain = " ".join(text.masked.lower().split())
    verb = plain.split(" ", 1)[0].strip("(;") if plain else ""
    if _OUTFILE.search(plain):
        return SqlStatement("unsafe-io", verb, writes=True)
    unsafe = _UNSAFE_CALLS.search(plain)
    if unsafe and verb not in {"grant", "revoke", "drop", "comment"}:
        return SqlStatement("unsafe-io", verb, writes=True, targets=(unsafe[0],))
    if verb == "select" and _STOPPING_CALLS.search(plain):
        return SqlStatement("stop", verb, writes=True)
    if verb == "select" and _MAINTENANCE_CALLS.search(plain):
        return SqlStatement("maintenance", verb, writes=True)
    if verb == "explain":
        return _classify_explain(text, plain, dialect)
    if verb in {"create", "do"} and _runs_foreign_code(plain, text.source):
        return SqlStatement("unsafe-io", verb, writes=True)
    if verb == "alter" and plain.startswith(("alter table", "alter foreign table")):
        return _classify_alter_table(text, plain, dialect)
    kind = _classify_by_opening(plain, text.source)
    if kind:
        return _build_named_statement(kind, verb, plain)
    if verb in _QUERIES and not _WRITING_WORD.search(plain):
        return SqlStatement("read", verb)
    if verb in _QUERIES or verb in {"insert", "update", "delete", "merge", "replace"}:
        return _parse_statement(text.source, verb, dialect) or _classify_by_verb(verb, plain)
    return _classify_by_verb(verb, plain)


def _classify_by_opening(plain: str, source: str) -> str:
    kind = next((kind for pattern, kind in _OPENINGS if pattern.match(plain)), "")
    if kind == "unsafe-io" and plain.startswith("copy") and _CLOUD_URL.search(source):
        kind = "load" if " from " in plain else "export"
    return "send" if kind == "export" and _CLOUD_URL.search(source) else kind


def _runs_foreign_code(plain: str, source: str) -> bool:
    """Return whether the statement defines code in an unsafe language.

    A quoted name of a language is only in the source, because the plain text has empty quotes.
    """
    return bool(_FOREIGN_CODE.search(source if "language ''" in plain else plain))


_TABLE = r"alter\s+(?:foreign\s+)?table\s+(?:if\s+exists\s+)?(?:only\s+)?(\S+?)(?:\s+on\s+cluster\s+\S+)?\s+"
_KEEPS_DATA = "constraint|index|key|primary|foreign|check|default|not|expression|identity|projection|trigger|statistics"
_DROPS_DATA = re.compile(
    rf"{_TABLE}(?:.*?, ?)?(?:"
    r"(?:drop|truncate|clear)\s+(?:if\s+exists\s+)?(?:(?:sub)?partitions?|part)\b\s*(?P<part>[^\s,;]*)"
    r"|discard\s+(?P<space>tablespace)"
    rf"|(?:drop|clear)\s+(?:column\s+)?(?:if\s+exists\s+)?(?!(?:{_KEEPS_DATA})\b)(?P<column>[^\s,;]+))"
)
_MUTATION = re.compile(rf"{_TABLE}(delete|update)\b(.*)", re.IGNORECASE | re.DOTALL)


def _classify_alter_table(text: SqlText, plain: str, dialect: str) -> SqlStatement:
    """Classify a change of a table: of its rows (ClickHouse), of its structure, or one that drops data."""
    mutation = _classify_source(_rewrite_mutation(text.source), dialect)
    if mutation is not None:
        return mutation
    found = _DROPS_DATA.match(plain)
    if found is None:
        return _build_named_statement("ddl-alter", "alter", plain)
    object_type = "column" if found["column"] else "partition" if found["part"] is not None else "tablespace"
    name = (found["column"] or found["part"] or "").strip("()'")
    target = _unquote(".".join(filter(None, (found[1], name))))
    return SqlStatement("ddl-alter", "alter", writes=True, affects_all=True, targets=(target,), object_type=object_type)


def _rewrite_mutation(source: str) -> str:
    """Rewrite ClickHouse's `ALTER TABLE ... DELETE/UPDATE` as plain DELETE or UPDATE, or return an empty text."""
    found = _MUTATION.match(source)
    if found is None:
        return ""
    words = ("DELETE FROM", found[1]) if found[2].lower() == "delete" else ("UPDATE", found[1], "SET")
    return " ".join((*words, found[3]))


def _build_named_statement(kind: str, verb: str, plain: str) -> SqlStatement:
    """Build a statement about the object that its first words name."""
    found = _OBJECT.match(plain)
    object_type, name = (found[1], found[2]) if found else ("", "")
    targets: tuple[str, ...] = (_unquote(name),) if name else ()
    if found and kind == "ddl-drop":
        names = _DROP_OPTIONS.sub("", plain[found.start(2) :]).split(",")
        targets = tuple(_unquote(part.strip()) for part in names if part.strip())
    if _CREATES_TEMPORARY.match(plain):
        object_type = _TEMPORARY
    elif kind == "ddl-alter" and verb == "comment":
        object_type = "comment"
    affects_all = kind == "ddl-drop" and object_type in _CONTAINERS
    affects_all = affects_all or kind == "erase" or verb in {"shutdown", "restart"}
    return SqlStatement(kind, verb, kind not in _READS, affects_all, targets, object_type)


def _classify_by_verb(verb: str, plain: str) -> SqlStatement:
    """Classify a statement by its first word alone."""
    kind = "unknown" if verb in _QUERIES else _KINDS.get(verb, "unknown")
    if verb in {"pragma", "attach"}:
        return SqlStatement(kind, verb, writes="=" in plain or verb == "attach")
    affects_all = kind == "truncate" or (verb in {"update", "delete"} and " where " not in plain)
    skipped = {"delete", "truncate", "update", "from", "table", "only", "insert", "into"}
    names = (word for word in plain.split() if word not in skipped)
    target = next(names, "") if affects_all or kind == "write" else ""
    return SqlStatement(kind, verb, kind not in _READS, affects_all, (_unquote(target),) if target else ())


def _unquote(name: str) -> str:
    return name.translate(_QUOTES)


_QUOTES = str.maketrans("", "", "`\"'[];,")


_QUERIES = frozenset({"select", "with", "values", "from"})
_WRITING_WORD = re.compile(r"\b(?:insert|update|delete|merge|into|replace|truncate|drop|create|alter)\b")
"""A query without one of these words only reads and needs no parser."""

_EXPLAIN_RUNS = re.compile(r"explain (?:analyze|analyse)\b|explain \([^)]*\banaly[sz]e\b")


def _classify_explain(text: SqlText, plain: str, dialect: str) -> SqlStatement:
    """Classify EXPLAIN, which only plans, or EXPLAIN ANALYZE, which runs the statement."""
    reads = SqlStatement("read", "explain")
    if not _EXPLAIN_RUNS.match(plain):
        return reads
    words = r"\b(?:select|insert|update|delete|merge|with|create)\b.*"
    inner = re.search(words, text.source, re.IGNORECASE | re.DOTALL)
    return (_classify_source(inner[0], dialect) if inner else None) or reads


def _parse_statement(source: str, verb: str, dialect: str) -> SqlStatement | None:
    """Classify a statement by its syntax tree, because a statement inside a query may write."""
    if len(source) > MAX_PARSED:
        return None
    import logging  # noqa: PLC0415 - as below

    import sqlglot  # noqa: PLC0415 - big, and few lines hold SQL
    from sqlglot.errors import SqlglotError  # noqa: PLC0415 - as above

    # sqlglot logs what it does not know to standard error, with the statement, which may hold secrets.
    logger = logging.getLogger("sqlglot")
    if not logger.handlers:
        logger.addHandler(logging.NullHandler())
    try:
        tree = sqlglot.parse_one(source, read=dialect or None, error_message_context=0)
    except (SqlglotError, RecursionError, ValueError):
        return None
    if isinstance(tree, sqlglot.exp.Command):
        return None  # the parser does not know this statement
    found = sorted(_find_writes(tree), key=lambda statement: _SEVERITY.index(statement.kind))
    return found[0]._replace(verb=verb) if found else SqlStatement("read", verb)


_SEVERITY = ("ddl-drop", "truncate", "delete", "modify", "ddl-create", "write", "read")


def _find_writes(tree: "exp.Expr") -> Iterator[SqlStatement]:
    from sqlglot import exp  # noqa: PLC0415 - as above

    inserts = isinstance(tree, exp.Insert)
    for node in tree.walk():
        if isinstance(node, exp.Delete | exp.Update):
            kind = "delete" if isinstance(node, exp.Delete) else "modify"
            yield SqlStatement(kind, writes=True, affects_all=_affects_all(node), targets=_get_tables(node.this))
        elif isinstance(node, exp.Merge):
            yield _classify_merge(node)
        elif isinstance(node, exp.Insert) and (inserts or node is not tree):
            yield SqlStatement("write", writes=True, targets=_get_tables(node.this))
        elif isinstance(node, exp.Into):
            yield SqlStatement("ddl-create", writes=True, targets=_get_tables(node.this), object_type="table")


def _classify_merge(node: "exp.Expr") -> SqlStatement:
    """Classify MERGE as a deletion if a branch deletes; it affects all rows if nothing else limits that branch."""
    branches = node.args["whens"].expressions if node.args.get("whens") else ()
    deletes = [branch for branch in branches if branch.args["then"].name.upper() == "DELETE"]
    if not deletes:
        return SqlStatement("modify", writes=True, targets=_get_tables(node.this))
    on = node.args.get("on")
    matches_all = on is not None and evaluate_condition(on) is True
    unlimited = [branch for branch in deletes if not branch.args.get("condition")]
    affects_all = any(
        matches_all or (branch.args.get("source") and not branch.args.get("matched")) for branch in unlimited
    )
    return SqlStatement("delete", writes=True, affects_all=affects_all, targets=_get_tables(node.this))


def _affects_all(node: "exp.Expr") -> bool:
    """Return whether a statement has no condition, or one that is always true."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    where = node.args.get("where")
    if where is None:
        return not node.args.get("limit")
    if not isinstance(where.this, exp.Expr):
        return True  # a truncated statement may end with `where`
    return evaluate_condition(where.this) is True


def _get_tables(node: object) -> tuple[str, ...]:
    """Return the name of the table; a truncated statement may have none."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    table = node.find(exp.Table) if isinstance(node, exp.Expr) else None
    return (".".join(part.name for part in table.parts),) if table is not None else ()
