"""What a text of SQL would do: every statement by its kind, and whether it takes all rows."""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from trotline.analysis.sqlalter import loss_of, mutation
from trotline.analysis.sqlconditions import always
from trotline.analysis.sqltext import level, masked, split, strings

if TYPE_CHECKING:
    from sqlglot import exp

LONGEST = 20_000
"""Beyond this many characters a statement is judged by its first words alone: the parser's time is ours."""


class Statement(NamedTuple):
    """One statement. `whole`: it takes all rows, or a whole table or database."""

    kind: str
    verb: str = ""
    writes: bool = False
    whole: bool = False
    targets: tuple[str, ...] = ()
    thing: str = ""  # what is made, changed or dropped: table, database, role


_READS = {"read", "session", "transaction", "notify"}

_FIRST = {
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
_KINDS = {word: kind for kind, words in _FIRST.items() for word in words.split()}

# The first words of a statement, more exact rows first; the text has no comments and its strings are empty.
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
_FROM_CLOUD = re.compile(r"'(?:s3|gs|gcs|azure|https?)://", re.IGNORECASE)
_UNSAFE_CALLS = re.compile(
    r"\b(?:pg_read_file|pg_read_binary_file|pg_ls_dir|pg_stat_file|pg_file_write|lo_import|lo_export|dblink\w*|load_file"
    r"|xp_cmdshell|xp_dirtree|xp_regread|sp_oacreate|openrowset|opendatasource|load_extension|readfile|writefile|edit"
    r"|sys_exec|sys_eval|utl_file|utl_http|dbms_scheduler|query_to_xml|pg_execute_server_program)\b"
)
_FOREIGN_CODE = re.compile(r"\blanguage\s+['\"]?(?:c|internal|pl\w+u|plsh)\b", re.IGNORECASE)
"""Languages in which a function does whatever the database's own user may do on its machine."""

_STEERING_CALLS = re.compile(r"\b(?:pg_reload_conf|pg_rotate_logfile|pg_switch_wal|setval)\b")
_STOPPING_CALLS = re.compile(r"\b(?:pg_terminate_backend|pg_cancel_backend|pg_drop_replication_slot|pg_promote)\b")
_OUTFILE = re.compile(r"\binto (?:outfile|dumpfile)\b")
_OBJECT = re.compile(
    r"(?:create|alter|drop|truncate|undrop)(?: or replace)?(?: (?:temp|temporary|unlogged|materialized|external|unique"
    r"|foreign|global|local|transient))* (\w+)(?: concurrently)?(?: if (?:not )?exists)? ?([^\s(;,]*)"
)


_DROPS_ALSO = re.compile(r" (?:cascade|restrict|purge|on|with|force|sync)\b.*|;.*|\(.*")
_MADE_TEMPORARY = re.compile(r"create (?:or replace )?(?:global |local )?temp(?:orary)? table\b")


def statements(text: str, dialect: str = "") -> tuple[Statement, ...]:
    """All statements of a text, in their order."""
    return tuple(_without_own([each for part in split(text, dialect) for each in _with_inner(part, dialect)]))


_TEMPORARY = "temporary table"


def _without_own(found: list[Statement]) -> Iterator[Statement]:
    """A table that this text made for itself is gone with the session anyway; once dropped, the name means another."""
    made: set[str] = set()
    for each in found:
        drops = each.kind == "ddl-drop" and each.thing == "table" and each.targets
        if drops and made.issuperset(each.targets):
            made.difference_update(each.targets)
            yield Statement("session", each.verb)
            continue
        if each.thing == _TEMPORARY:
            made.update(each.targets)
        yield each


_WHOLE = frozenset("database schema table keyspace catalog warehouse owned".split())
_RUNS_TEXTS = frozenset("do execute exec prepare".split())
_PREPARED = re.compile(r"(?is)\s*prepare\s+[^\s(]+(?:\s*\([^)]*\))?\s+as\s(.*)")
_BLOCK = re.compile(r".*\b(?:begin|then|else|loop)\b", re.DOTALL)
_DEEPEST = 4


def _with_inner(text: str, dialect: str, depth: int = 0) -> Iterator[Statement]:
    """A statement; and those in the strings of one that runs strings: `DO`, `EXECUTE`, a procedure."""
    outer = _statement(text, dialect)
    yield outer
    if outer.verb not in _RUNS_TEXTS or depth == _DEEPEST:
        return
    prepared = _PREPARED.match(text) if outer.verb == "prepare" else None
    if prepared:
        yield from _with_inner(prepared[1], dialect, depth + 1)
    for string in strings(text, dialect):
        for part in split(string, dialect):
            block = _BLOCK.match(level(part, dialect).lower())
            inner = part[block.end() :].strip() if block else part
            yield from (found for found in _with_inner(inner, dialect, depth + 1) if found.kind != "unknown")


def _statement(text: str, dialect: str) -> Statement:
    plain = " ".join(masked(text, dialect).lower().split())
    verb = plain.split(" ", 1)[0].strip("(;") if plain else ""
    if _OUTFILE.search(plain):
        return Statement("unsafe-io", verb, writes=True)
    call = _UNSAFE_CALLS.search(plain)
    if call and verb not in {"grant", "revoke", "drop", "comment"}:
        return Statement("unsafe-io", verb, writes=True, targets=(call[0],))
    if verb == "select" and _STOPPING_CALLS.search(plain):
        return Statement("stop", verb, writes=True)
    if verb == "select" and _STEERING_CALLS.search(plain):
        return Statement("maintenance", verb, writes=True)
    if verb == "explain":
        return _explained(text, plain, dialect)
    if verb in {"create", "do"} and _runs_foreign_code(plain, text):
        return Statement("unsafe-io", verb, writes=True)
    if verb == "alter" and plain.startswith(("alter table", "alter foreign table")):
        return _altered(text, plain, dialect)
    kind = _opening(plain, text)
    if kind:
        return _named(kind, verb, plain)
    if verb in _ASKING and not _DOING.search(plain):
        return Statement("read", verb)
    if verb in _ASKING or verb in {"insert", "update", "delete", "merge", "replace"}:
        return _parsed(text, verb, dialect) or _guessed(verb, plain)
    return _guessed(verb, plain)


def _opening(plain: str, text: str) -> str:
    kind = next((kind for pattern, kind in _OPENINGS if pattern.match(plain)), "")
    if kind == "unsafe-io" and plain.startswith("copy") and _FROM_CLOUD.search(text):
        kind = "load" if " from " in plain else "export"
    return "send" if kind == "export" and _FROM_CLOUD.search(text) else kind


def _runs_foreign_code(plain: str, text: str) -> bool:
    """The name of the language may stand in quotes, which are empty in the plain text."""
    return bool(_FOREIGN_CODE.search(text if "language ''" in plain else plain))


def _altered(text: str, plain: str, dialect: str) -> Statement:
    rows = mutation(text)
    if rows:
        return _statement(rows, dialect)
    loss = loss_of(plain)
    if loss is None:
        return _named("ddl-alter", "alter", plain)
    return Statement("ddl-alter", "alter", writes=True, whole=True, targets=(_bare(loss.target),), thing=loss.thing)


def _named(kind: str, verb: str, plain: str) -> Statement:
    found = _OBJECT.match(plain)
    thing, name = (found[1], found[2]) if found else ("", "")
    targets: tuple[str, ...] = (_bare(name),) if name else ()
    if found and kind == "ddl-drop":
        names = _DROPS_ALSO.sub("", plain[found.start(2) :]).split(",")
        targets = tuple(_bare(each.strip()) for each in names if each.strip())
    if _MADE_TEMPORARY.match(plain):
        thing = _TEMPORARY
    elif kind == "ddl-alter" and verb == "comment":
        thing = "comment"
    whole = kind == "ddl-drop" and thing in _WHOLE
    whole = whole or kind == "erase" or verb in {"shutdown", "restart"}
    return Statement(kind, verb, kind not in _READS, whole, targets, thing)


def _guessed(verb: str, plain: str) -> Statement:
    """By the first word; what that says nothing about is not known."""
    kind = "unknown" if verb in _ASKING else _KINDS.get(verb, "unknown")
    if verb in {"pragma", "attach"}:
        return Statement(kind, verb, writes="=" in plain or verb == "attach")
    whole = kind == "truncate" or (verb in {"update", "delete"} and " where " not in plain)
    name = plain.split()
    skipped = {"delete", "truncate", "update", "from", "table", "only", "insert", "into"}
    target = next((word for word in name if word not in skipped), "") if whole or kind == "write" else ""
    return Statement(kind, verb, kind not in _READS, whole, (_bare(target),) if target else ())


def _bare(name: str) -> str:
    """A name without its quotes."""
    return name.translate(_QUOTES)


_QUOTES = str.maketrans("", "", "`\"'[];,")


_ASKING = frozenset({"select", "with", "values", "from"})
_DOING = re.compile(r"\b(?:insert|update|delete|merge|into|replace|truncate|drop|create|alter)\b")
"""Without one of these a question is only a question, and needs no parser."""

_RUNS_IT = re.compile(r"explain (?:analyze|analyse)\b|explain \([^)]*\banaly[sz]e\b")


def _explained(text: str, plain: str, dialect: str) -> Statement:
    """EXPLAIN only plans; EXPLAIN ANALYZE runs what it explains."""
    if not _RUNS_IT.match(plain):
        return Statement("read", "explain")
    inner = re.search(r"\b(?:select|insert|update|delete|merge|with|create)\b.*", text, re.IGNORECASE | re.DOTALL)
    return _statement(inner[0], dialect) if inner else Statement("read", "explain")


def _parsed(text: str, verb: str, dialect: str) -> Statement | None:
    """By its tree: a statement inside another may write where the outer one reads."""
    if len(text) > LONGEST:
        return None
    import logging  # noqa: PLC0415 - as below

    import sqlglot  # noqa: PLC0415 - big, and few lines hold SQL
    from sqlglot.errors import SqlglotError  # noqa: PLC0415 - as above

    # What it does not know it would say to standard error, with the statement, in which secrets may be.
    heard = logging.getLogger("sqlglot")
    if not heard.handlers:
        heard.addHandler(logging.NullHandler())
    try:
        tree = sqlglot.parse_one(text, read=dialect or None, error_message_context=0)
    except (SqlglotError, RecursionError, ValueError):
        return None
    if isinstance(tree, sqlglot.exp.Command):
        return None  # the parser has given up
    found = sorted(_deeds(tree), key=lambda statement: _ORDER.index(statement.kind))
    return found[0]._replace(verb=verb) if found else Statement("read", verb)


_ORDER = ("ddl-drop", "truncate", "delete", "modify", "ddl-create", "write", "read")


def _deeds(tree: "exp.Expr") -> Iterator[Statement]:
    from sqlglot import exp  # noqa: PLC0415 - as above

    outer = isinstance(tree, exp.Insert)
    for node in tree.walk():
        if isinstance(node, exp.Delete | exp.Update):
            kind = "delete" if isinstance(node, exp.Delete) else "modify"
            yield Statement(kind, writes=True, whole=_takes_all(node), targets=_tables(node.this))
        elif isinstance(node, exp.Merge):
            yield _merged(node)
        elif isinstance(node, exp.Insert) and (outer or node is not tree):
            yield Statement("write", writes=True, targets=_tables(node.this))
        elif isinstance(node, exp.Into):
            yield Statement("ddl-create", writes=True, targets=_tables(node.this), thing="table")


def _merged(node: "exp.Expr") -> Statement:
    """MERGE: it deletes where a branch says so; whatever is not in the source, if that is all the branch says."""
    whens = node.args["whens"].expressions if node.args.get("whens") else ()
    deletes = [when for when in whens if when.args["then"].name.upper() == "DELETE"]
    if not deletes:
        return Statement("modify", writes=True, targets=_tables(node.this))
    on = node.args.get("on")
    matches_all = on is not None and always(on) is True
    plain = [when for when in deletes if not when.args.get("condition")]
    whole = any(matches_all or (when.args.get("source") and not when.args.get("matched")) for when in plain)
    return Statement("delete", writes=True, whole=whole, targets=_tables(node.this))


def _takes_all(node: "exp.Expr") -> bool:
    """No condition, or one that is always true."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    where = node.args.get("where")
    if where is None:
        return not node.args.get("limit")
    if not isinstance(where.this, exp.Expr):
        return True  # `where` without a condition, which a parser of half a statement lets stand
    return always(where.this) is True


def _tables(node: object) -> tuple[str, ...]:
    """Of a statement that was cut off there may be no part at all where its table belongs."""
    from sqlglot import exp  # noqa: PLC0415 - as above

    table = node.find(exp.Table) if isinstance(node, exp.Expr) else None
    return (".".join(part.name for part in table.parts),) if table is not None else ()
