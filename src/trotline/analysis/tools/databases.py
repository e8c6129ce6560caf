"""Programs that give SQL to a database: as an option, a word, a file, or through a pipe."""

import posixpath
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from trotline.analysis.addresses import host_of, path_of
from trotline.analysis.options import Options
from trotline.analysis.scene import Argument
from trotline.analysis.services import SERVICES, Service
from trotline.analysis.sql import Statement, statements
from trotline.analysis.step import GAP, Handler, Step
from trotline.analysis.streams import Stream
from trotline.analysis.tools.services import dry, service
from trotline.effects import Certainty


class Client(NamedTuple):
    """Where a client takes its SQL, its file and its database from."""

    dialect: str = "postgres"
    text: str = ""  # options whose value is SQL
    file: str = ""  # options whose value is a file of SQL
    host: str = ""
    database: str = ""
    valued: str = ""  # further options that take a value
    words: int = 1  # how many words name the database
    rest: bool = False  # words after these are SQL
    verbs: str = ""  # only with one of these words in front
    out: str = ""  # options that name a file to write
    long_dash: bool = False


_PG = "U username p port v set variable F field-separator P pset R record-separator T table-attr"
_MY = "u user P port p password S socket default-character-set ssl-ca ssl-mode protocol login-path defaults-file"

CLIENTS = {
    "psql": Client("postgres", "c command", "f file", "h host", "d dbname", _PG, 2, out="o output L log-file"),
    "pgcli": Client("postgres", "", "", "h host", "d dbname", "u user p port"),
    "ysqlsh": Client("postgres", "c command", "f file", "h host", "d dbname", _PG, 2),
    "usql": Client("postgres", "c command", "f file", "", "", "o out"),
    "mysql": Client("mysql", "e execute", "", "h host", "D database", _MY, 1),
    "mariadb": Client("mysql", "e execute", "", "h host", "D database", _MY, 1),
    "mycli": Client("mysql", "e execute", "", "h host", "D database", _MY, 1),
    "mysqlsh": Client("mysql", "e execute", "f file", "h host", "D database schema", _MY, 1),
    "sqlite3": Client("sqlite", "cmd", "init", "", "", "separator nullvalue newline", 1, rest=True, long_dash=True),
    "litecli": Client("sqlite", "e execute", "", "", "D database", "", 1),
    "duckdb": Client("duckdb", "c s cmd", "f init", "", "", "separator nullvalue", 1, rest=True, long_dash=True),
    "clickhouse-client": Client(
        "clickhouse", "q query", "queries-file", "h host", "d database", "u user port password", 0
    ),
    "clickhouse": Client(
        "clickhouse", "q query", "queries-file", "h host", "d database", "u user port password", 0, verbs="client local"
    ),
    "snowsql": Client("snowflake", "q query", "f filename", "h host", "d dbname", "a u r w s accountname username", 0),
    "snow": Client("snowflake", "q query", "f filename", "", "database", "c connection", 0, verbs="sql"),
    "sqlcmd": Client("tsql", "Q q", "i", "S", "d", "U P o t l h s w", 0, out="o"),
    "bcp": Client("tsql", "", "", "S", "d", "U P t r", 1),
    "cqlsh": Client("postgres", "e execute", "f file", "", "k keyspace", "u p username password", 1),
    "trino": Client("trino", "execute", "f file", "server", "catalog", "user schema", 0),
    "presto": Client("presto", "execute", "f file", "server", "catalog", "user schema", 0),
    "beeline": Client("hive", "e", "f", "u", "", "n p d", 0),
    "hive": Client("hive", "e", "f", "", "database", "hiveconf d", 0),
    "spark-sql": Client("spark", "e", "f", "", "database", "master conf", 0),
    "impala-shell": Client("hive", "q query", "f query_file", "i impalad", "d database", "u o", 0, out="o"),
    "sqlplus": Client("oracle", "", "", "", "", "", 1),
}


def _client(step: Step) -> None:
    row = CLIENTS[step.name]
    valued = f"{row.text} {row.file} {row.host} {row.database} {row.valued} {row.out}".split()
    found = step.options(_attached(step, valued), long_dash=row.long_dash)
    words = found.rest
    if row.verbs:
        if not words or words[0].text not in row.verbs.split():
            return
        words = words[1:]
    where = _where(step, row, found, words)
    if where.database.startswith("/"):
        step.read(words[0], verb="database")
    texts = found.values(*row.text.split()) if row.text else []
    texts += list(words[row.words :]) if row.rest else []
    for file in found.values(*row.out.split()) if row.out else ():
        step.write(file)
    files = found.values(*row.file.split()) if row.file else []
    for file in files:
        _file(step, file, row.dialect, where)
    for text in texts:
        sql(step, text, row.dialect, where)
    if not texts and not files:
        _piped(step, row.dialect, where)
    if step.out is None:
        step.out = Stream()


def _attached(step: Step, valued: list[str]) -> list[str]:
    """MySQL's `-p` takes a password only without a space between."""
    if CLIENTS[step.name].dialect == "mysql":
        return [name for name in valued if name not in {"p", "password"}]
    return valued


class Where(NamedTuple):
    host: str = ""
    database: str = ""


def _where(step: Step, row: Client, found: Options, words: Sequence[Argument]) -> Where:
    host = found.value(*row.host.split()) if row.host else ""
    database = found.value(*row.database.split()) if row.database else ""
    for word in words[: 1 if row.words else 0]:
        database = database or word.text
    if "://" in database:
        return Where(host_of(database), path_of(database).strip("/"))
    if "=" in database:
        fields = dict(part.partition("=")[::2] for part in database.split())
        return Where(fields.get("host", ""), fields.get("dbname", ""))
    if row.dialect in {"sqlite", "duckdb"} and database not in {"", ":memory:"}:
        database = step.path(words[0])
    host = host or step.variable("PGHOST" if row.dialect == "postgres" else "MYSQL_HOST")
    return Where(host, database or step.variable("PGDATABASE"))


def _file(step: Step, file: Argument, dialect: str, where: Where) -> None:
    path = step.path(file)
    if file.text == "-" or path in _INPUT:
        _piped(step, dialect, where)
        return
    step.read(file)
    text = step.scene.written.get(path)
    if text is not None:
        sql(step, file._replace(text=text), dialect, where)
        return
    step.effect(
        "sql", "file", file, path=path, host=where.host, target=where.database, writes=True, certainty=Certainty.OPAQUE,
        why=f"the statements are in {posixpath.basename(path)}",
    )  # fmt: skip


_INPUT = frozenset({"/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})


def _piped(step: Step, dialect: str, where: Where) -> None:
    stream = step.stdin
    if stream.text:
        sql(step, step.program._replace(text=stream.text), dialect, where)
    elif stream.origins:
        origin = ", ".join(sorted(stream.origins))
        step.effect(
            "sql", "pipe", host=where.host, target=where.database, source=origin, writes=True,
            certainty=Certainty.OPAQUE, why="the statements come through a pipe",
        )  # fmt: skip


def sql(step: Step, at: Argument, dialect: str, where: Where = Where()) -> None:  # noqa: B008 - it cannot change
    """A text of SQL, with the commands of the client that may stand between the statements."""
    plain: list[str] = []
    for line in at.text.splitlines():
        command = line.strip()
        of_mysql = step.name in _MYSQL and command.lower().startswith(("system ", "source "))
        if of_mysql or (command.startswith(("\\", ".")) and not command.startswith(("./", ".."))):
            _command(step, at, command)
        else:
            plain.append(line)
    text = "\n".join(plain).replace("\\G", ";").replace("\\g", ";")
    if not at.known and not text.strip("\0 ;"):
        step.opaque(
            at.why or "the statement is not known", at, "sql", host=where.host, target=where.database, writes=True
        )
        return
    for statement in statements(text.replace("\0", "__unknown__"), dialect):
        _noted(step, at, statement, where)


def _noted(step: Step, at: Argument, statement: Statement, where: Where) -> None:
    if statement.writes and where.database.startswith("/"):  # a database that is a file
        step.effect("write", "database", at, path=where.database, writes=True)
    names = [name.replace("__unknown__", GAP) for name in statement.targets]
    step.effect(
        "sql",
        statement.kind,
        at,
        target=", ".join(_inside(where.database, name, statement.thing) for name in names) or where.database,
        host=where.host,
        package=where.database,
        source=statement.thing,
        writes=statement.writes,
        recursive=statement.whole,
        certainty=Certainty.OPAQUE if statement.kind == "unknown" else Certainty.KNOWN,
        why="Trotline does not know this statement" if statement.kind == "unknown" else "",
    )


def _inside(database: str, name: str, thing: str) -> str:
    """A table by its whole name, so that a rule about a database sees it; a database in a file has no such name."""
    whole = not database or "/" in database or thing in {"database", "schema"}
    return name if whole else f"{database}.{name}"


_SHELLS = ("\\!", ".shell", ".system", "system")
_MYSQL = frozenset({"mysql", "mariadb", "mycli"})
_READS_FILE = ("\\i", "\\ir", "\\include", ".read", "source", "\\.")
_WRITES_FILE = ("\\o", "\\out", ".output", ".once", ".backup", ".save", "\\w", ".excel")


def _command(step: Step, at: Argument, command: str) -> None:
    """`\\!` of psql and mysql, `.shell` of sqlite run a shell; others read and write files."""
    name, _, rest = command.partition(" ")
    rest = rest.strip().strip("'\"")
    if command.startswith("\\!"):
        step.script(at._replace(text=command[2:].strip()))
    elif name in _SHELLS:
        step.script(at._replace(text=rest))
    elif rest.startswith("|"):
        step.script(at._replace(text=rest[1:]))
    elif name in _READS_FILE:
        step.read(at._replace(text=rest))
        step.effect(
            "sql",
            "file",
            at,
            path=step.scene.absolute(rest),
            writes=True,
            certainty=Certainty.OPAQUE,
            why="the statements are in a file",
        )
    elif name in _WRITES_FILE and rest:
        step.write(at._replace(text=rest.split()[0]))
    elif name == ".open" and rest:
        step.effect("sql", "session", at, path=step.scene.absolute(rest), target=rest, writes=True)
    elif name == ".load":
        step.effect("execute", "run", at, path=step.scene.absolute(rest), source="file")
    elif name == "\\copy":
        _copied(step, at, rest)


def _copied(step: Step, at: Argument, rest: str) -> None:
    words = rest.split()
    for mark, word in pairwise(words):
        if mark.lower() in {"from", "to"}:
            if word.lower() == "program":
                step.script(at._replace(text=rest.partition(word)[2].strip().strip("'")))
            elif mark.lower() == "to":
                step.write(at._replace(text=word.strip("'")))
            else:
                step.read(at._replace(text=word.strip("'")))
            return


# Services with a database inside


class Wrapped(NamedTuple):
    """Words after which SQL follows, and the options that hold it."""

    words: tuple[str, ...]
    dialect: str
    text: str = ""
    file: str = ""
    at: int = -1  # the word that is SQL


_WRAPPED = {
    "bq": Wrapped(("query",), "bigquery", at=1),
    "cockroach": Wrapped(("sql",), "postgres", "e execute", "f file"),
    "heroku": Wrapped(("pg:psql",), "postgres", "c command"),
    "turso": Wrapped(("db", "shell"), "sqlite", at=3),
    "wrangler": Wrapped(("d1", "execute"), "sqlite", "command", "file"),
}


def _wrapped(step: Step) -> None:
    row = _WRAPPED[step.name]
    found = step.options(f"{row.text} {row.file} a app project_id location format max_rows env e config".split())
    words = found.rest
    if tuple(word.text for word in words[: len(row.words)]) != row.words or dry(found, "dry_run"):
        service(step, SERVICES.get(step.name, _PLAIN))
        return
    for file in found.values(*row.file.split()) if row.file else ():
        _file(step, file, row.dialect, Where(step.name))
    for text in (*found.values(*row.text.split()), *(words[row.at : row.at + 1] if row.at > 0 else ())):
        sql(step, text, row.dialect, Where(step.name))
    if step.stdin.text or step.stdin.origins:
        _piped(step, row.dialect, Where(step.name))


_PLAIN = Service(kind="data")

# Programs that do one thing to a database


def _drops(step: Step) -> None:
    thing = "user" if step.name == "dropuser" else "database"
    found = step.options("h host p port U username maintenance-db".split())
    for word in found.rest:
        _whole(step, word, "privilege" if thing == "user" else "ddl-drop", thing, found.value("h", "host"))


def _whole(step: Step, at: Argument, verb: str, thing: str, host: str = "") -> None:
    step.effect(
        "sql",
        verb,
        at,
        target=at.text,
        package=at.text,
        host=host,
        source=thing,
        writes=True,
        recursive=verb == "ddl-drop",
    )


_ADMIN = {"flush-privileges": "privilege", "kill": "stop", "password": "privilege", "shutdown": "stop"}


def _mysqladmin(step: Step) -> None:
    found = step.options([name for name in _MY.split() if name not in {"p", "password"}] + ["h", "host"])
    words = found.rest
    for index, word in enumerate(words[:-1]):
        if word.text in {"drop", "create"}:
            _whole(
                step,
                words[index + 1],
                "ddl-drop" if word.text == "drop" else "ddl-create",
                "database",
                found.value("h", "host"),
            )
    for verb in _ADMIN.keys() & {word.text for word in words}:
        kind, host = _ADMIN[verb], found.value("h", "host")
        step.effect("sql", kind, target=verb, host=host, writes=True, recursive=verb == "shutdown")


def _dump(step: Step) -> None:
    """Reads everything there is; where it goes is said by its options."""
    found = step.options("h host p port U username d dbname f file o out u user P r result-file db uri t n T b".split())
    hosts = found.values("h", "host")
    step.effect("sql", "export", target=found.rest[0].text if found.rest else "", host=hosts[0].text if hosts else "")
    for file in found.values("f", "file", "r", "result-file", "o", "out"):
        step.write(file)
    step.out = Stream(None, frozenset({"database"}))


def _restore(step: Step) -> None:
    found = step.options("h host p port U username d dbname db uri u user nsInclude drop-".split())
    clean = found.has("clean", "drop") or "c" in found.flags
    name = found.value("d", "dbname", "db")
    verb = "ddl-drop" if clean else "load"
    step.effect(
        "sql",
        verb,
        target=name,
        package=name,
        host=found.value("h", "host"),
        source="database",
        writes=True,
        recursive=clean,
    )
    for file in found.rest:
        step.read(file)


def _named(handler: Handler, names: Iterable[str]) -> dict[str, Handler]:
    return dict.fromkeys(names, handler)


def _typed(step: Step) -> None:
    """A statement as a line of its own: an agent may be typing at the prompt of a database."""
    text = " ".join(word.text for word in (step.program, *step.words))
    sql(step, step.program._replace(text=text, end=step.end), "")


TOOLS: dict[str, Handler] = {
    **_named(_typed, "alter delete drop grant revoke".split()),
    **_named(_client, CLIENTS),
    **_named(_wrapped, _WRAPPED),
    **_named(_drops, ("dropdb", "dropuser")),
    **_named(_dump, "pg_dump pg_dumpall mysqldump mariadb-dump mongodump mydumper".split()),
    **_named(_restore, ("pg_restore", "mongorestore")),
    "mysqladmin": _mysqladmin,
    "mariadb-admin": _mysqladmin,
}
