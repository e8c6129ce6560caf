"""Clients of SQL databases: SQL comes from an option, a word, a file or a pipe."""

import posixpath
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

from trotline.analysis.network_addresses import get_host, get_url_path
from trotline.analysis.options import ParsedOptions
from trotline.analysis.programs import STANDARD_INPUT
from trotline.analysis.programs.phrases import expand_names
from trotline.analysis.programs.service_table import SERVICES, ServiceRow
from trotline.analysis.programs.services import analyze_service, is_dry_run
from trotline.analysis.shell.invocation import UNKNOWN_TEXT, Handler, Invocation
from trotline.analysis.shell.shell_state import Argument
from trotline.analysis.shell.streams import Stream
from trotline.analysis.sql.statements import SqlStatement, parse_statements
from trotline.domain.effects import Certainty


class SqlClient(NamedTuple):
    """The options and words of a client that hold SQL, files, the host and the database."""

    dialect: str = "postgres"
    text: str = ""  # options whose value is SQL
    file: str = ""  # options whose value is a file of SQL
    host: str = ""
    database: str = ""
    valued: str = ""  # further options that take a value
    words: int = 1  # number of words that name the database
    rest: bool = False  # further words are SQL
    verbs: str = ""  # the first word must be one of these
    output: str = ""  # options that name a file to write
    long_dash: bool = False


_POSTGRES_VALUED = "U username p port v set variable F field-separator P pset R record-separator T table-attr"
_MYSQL_VALUED = "u user P port S socket default-character-set ssl-ca ssl-mode protocol login-path defaults-file"
"""Without `-p` and `--password`, whose value is attached."""

_CLIENT_ROWS = {
    "psql": SqlClient(
        "postgres", "c command", "f file", "h host", "d dbname", _POSTGRES_VALUED, 2, output="o output L log-file"
    ),
    "pgcli": SqlClient("postgres", "", "", "h host", "d dbname", "u user p port"),
    "ysqlsh": SqlClient("postgres", "c command", "f file", "h host", "d dbname", _POSTGRES_VALUED, 2),
    "usql": SqlClient("postgres", "c command", "f file", "", "", "o out"),
    "mariadb mycli mysql": SqlClient("mysql", "e execute", "", "h host", "D database", _MYSQL_VALUED, 1),
    "mysqlsh": SqlClient("mysql", "e execute", "f file", "h host", "D database schema", _MYSQL_VALUED, 1),
    "sqlite3": SqlClient("sqlite", "cmd", "init", "", "", "separator nullvalue newline", 1, rest=True, long_dash=True),
    "litecli": SqlClient("sqlite", "e execute", "", "", "D database", "", 1),
    "duckdb": SqlClient("duckdb", "c s cmd", "f init", "", "", "separator nullvalue", 1, rest=True, long_dash=True),
    "clickhouse-client": SqlClient(
        "clickhouse", "q query", "queries-file", "h host", "d database", "u user port password", 0
    ),
    "clickhouse": SqlClient(
        "clickhouse", "q query", "queries-file", "h host", "d database", "u user port password", 0, verbs="client local"
    ),
    "snowsql": SqlClient(
        "snowflake", "q query", "f filename", "h host", "d dbname", "a u r w s accountname username", 0
    ),
    "snow": SqlClient("snowflake", "q query", "f filename", "", "database", "c connection", 0, verbs="sql"),
    "sqlcmd": SqlClient("tsql", "Q q", "i", "S", "d", "U P o t l h s w", 0, output="o"),
    "bcp": SqlClient("tsql", "", "", "S", "d", "U P t r", 1),
    "cqlsh": SqlClient("postgres", "e execute", "f file", "", "k keyspace", "u p username password", 1),
    "trino": SqlClient("trino", "execute", "f file", "server", "catalog", "user schema", 0),
    "presto": SqlClient("presto", "execute", "f file", "server", "catalog", "user schema", 0),
    "beeline": SqlClient("hive", "e", "f", "u", "", "n p d", 0),
    "hive": SqlClient("hive", "e", "f", "", "database", "hiveconf d", 0),
    "spark-sql": SqlClient("spark", "e", "f", "", "database", "master conf", 0),
    "impala-shell": SqlClient("hive", "q query", "f query_file", "i impalad", "d database", "u o", 0, output="o"),
    "sqlplus": SqlClient("oracle", "", "", "", "", "", 1),
}
CLIENTS = expand_names(_CLIENT_ROWS)


def _handle_client(call: Invocation) -> None:
    row = CLIENTS[call.name]
    valued = f"{row.text} {row.file} {row.host} {row.database} {row.valued}"
    options = call.parse_options(valued, writes=row.output, long_dash=row.long_dash)
    words = options.rest
    if row.verbs:
        if not words or words[0].text not in row.verbs.split():
            return
        words = words[1:]
    address = _find_database(call, row, options, words)
    if address.database.startswith("/"):
        call.add_read(words[0], verb="database")
    texts = options.values(*row.text.split())
    texts += list(words[row.words :]) if row.rest else []
    files = options.values(*row.file.split())
    for file in files:
        _analyze_file(call, file, row.dialect, address)
    for text in texts:
        analyze_sql(call, text, row.dialect, address)
    if not texts and not files:
        _analyze_input(call, row.dialect, address)
    if call.stdout is None:
        call.stdout = Stream()


class DatabaseAddress(NamedTuple):
    """The host and the name of a database."""

    host: str = ""
    database: str = ""


def _find_database(
    call: Invocation, row: SqlClient, options: ParsedOptions, words: Sequence[Argument]
) -> DatabaseAddress:
    host = options.value(*row.host.split())
    database = options.value(*row.database.split())
    for word in words[: 1 if row.words else 0]:
        database = database or word.text
    if "://" in database:
        return DatabaseAddress(get_host(database), get_url_path(database).strip("/"))
    if "=" in database:
        fields = dict(part.partition("=")[::2] for part in database.split())
        return DatabaseAddress(fields.get("host", ""), fields.get("dbname", ""))
    if row.dialect in {"sqlite", "duckdb"} and database not in {"", ":memory:"}:
        database = call.resolve(words[0])
    host = host or call.get_variable("PGHOST" if row.dialect == "postgres" else "MYSQL_HOST")
    return DatabaseAddress(host, database or call.get_variable("PGDATABASE"))


def _analyze_file(call: Invocation, file: Argument, dialect: str, address: DatabaseAddress) -> None:
    path = call.resolve(file)
    if file.text == "-" or path in STANDARD_INPUT:
        _analyze_input(call, dialect, address)
        return
    call.add_read(file)
    text = call.state.written_texts.get(path)
    if text is not None:
        analyze_sql(call, file._replace(text=text), dialect, address)
        return
    fields = {"path": path, "host": address.host, "target": address.database}
    why = f"the statements are in {posixpath.basename(path)}"
    call.add_effect("sql", "file", file, writes=True, certainty=Certainty.OPAQUE, why=why, **fields)


def _analyze_input(call: Invocation, dialect: str, address: DatabaseAddress) -> None:
    stream = call.stdin
    if stream.text:
        analyze_sql(call, call.program._replace(text=stream.text), dialect, address)
    elif stream.origins:
        origin = ", ".join(sorted(stream.origins))
        fields = {"host": address.host, "target": address.database, "source": origin}
        why = "the statements come through a pipe"
        call.add_effect("sql", "pipe", None, writes=True, certainty=Certainty.OPAQUE, why=why, **fields)


def analyze_sql(call: Invocation, arg: Argument, dialect: str, address: DatabaseAddress = DatabaseAddress()) -> None:  # noqa: B008 - it cannot change
    """Add the effects of SQL statements, and of commands of the client between them."""
    plain: list[str] = []
    for line in arg.text.splitlines():
        command = line.strip()
        is_mysql_command = call.name in _MYSQL_CLIENTS and command.lower().startswith(("system ", "source "))
        if is_mysql_command or (command.startswith(("\\", ".")) and not command.startswith(("./", ".."))):
            _analyze_client_command(call, arg, command)
        else:
            plain.append(line)
    text = "\n".join(plain).replace("\\G", ";").replace("\\g", ";")
    if not arg.is_known and not text.strip("\0 ;"):
        why = arg.why or "the statement is not known"
        call.add_opaque(why, arg, "sql", host=address.host, target=address.database, writes=True)
        return
    for statement in parse_statements(text.replace("\0", "__unknown__"), dialect):
        _add_statement(call, arg, statement, address)


def _add_statement(call: Invocation, arg: Argument, statement: SqlStatement, address: DatabaseAddress) -> None:
    if statement.writes and address.database.startswith("/"):  # the database is a file
        call.add_effect("write", "database", arg, path=address.database, writes=True)
    names = [name.replace("__unknown__", UNKNOWN_TEXT) for name in statement.targets]
    targets = ", ".join(_qualify_name(address.database, name, statement.object_type) for name in names)
    call.add_effect(
        "sql",
        statement.kind,
        arg,
        target=targets or address.database,
        host=address.host,
        package=address.database,
        source=statement.object_type,
        writes=statement.writes,
        recursive=statement.affects_all,
        certainty=Certainty.OPAQUE if statement.kind == "unknown" else Certainty.KNOWN,
        why="Trotline does not know this statement" if statement.kind == "unknown" else "",
    )


def _qualify_name(database: str, name: str, object_type: str) -> str:
    """Return the name of a table with its database, so that policy rules about a database match; files have no name."""
    is_complete = not database or "/" in database or object_type in {"database", "schema"}
    return name if is_complete else f"{database}.{name}"


_SHELL_COMMANDS = ("\\!", ".shell", ".system", "system")
_MYSQL_CLIENTS = frozenset({"mysql", "mariadb", "mycli"})
_READ_COMMANDS = ("\\i", "\\ir", "\\include", ".read", "source", "\\.")
_WRITE_COMMANDS = ("\\o", "\\out", ".output", ".once", ".backup", ".save", "\\w", ".excel")


def _analyze_client_command(call: Invocation, arg: Argument, command: str) -> None:
    """Analyze `\\!` of psql and mysql, `.shell` of sqlite, and commands that read and write files."""
    name, _, rest = command.partition(" ")
    rest = rest.strip().strip("'\"")
    if command.startswith("\\!"):
        call.analyze_script(arg._replace(text=command[2:].strip()))
    elif name in _SHELL_COMMANDS:
        call.analyze_script(arg._replace(text=rest))
    elif rest.startswith("|"):
        call.analyze_script(arg._replace(text=rest[1:]))
    elif name in _READ_COMMANDS:
        call.add_read(arg._replace(text=rest))
        path, why = call.state.resolve(rest), "the statements are in a file"
        call.add_effect("sql", "file", arg, path=path, writes=True, certainty=Certainty.OPAQUE, why=why)
    elif name in _WRITE_COMMANDS and rest:
        call.add_write(arg._replace(text=rest.split()[0]))
    elif name == ".open" and rest:
        call.add_effect("sql", "session", arg, path=call.state.resolve(rest), target=rest, writes=True)
    elif name == ".load":
        call.add_effect("execute", "run", arg, path=call.state.resolve(rest), source="file")
    elif name == "\\copy":
        _analyze_copy(call, arg, rest)


def _analyze_copy(call: Invocation, arg: Argument, rest: str) -> None:
    words = rest.split()
    for preposition, word in pairwise(words):
        if preposition.lower() in {"from", "to"}:
            if word.lower() == "program":
                call.analyze_script(arg._replace(text=rest.partition(word)[2].strip().strip("'")))
            elif preposition.lower() == "to":
                call.add_write(arg._replace(text=word.strip("'")))
            else:
                call.add_read(arg._replace(text=word.strip("'")))
            return


# Services with a database


class SqlSubcommand(NamedTuple):
    """A subcommand of a service that takes SQL."""

    words: tuple[str, ...]
    dialect: str
    text: str = ""
    file: str = ""
    sql_index: int = -1  # the word that is SQL


_SQL_SUBCOMMANDS = {
    "bq": SqlSubcommand(("query",), "bigquery", sql_index=1),
    "cockroach": SqlSubcommand(("sql",), "postgres", "e execute", "f file"),
    "heroku": SqlSubcommand(("pg:psql",), "postgres", "c command"),
    "turso": SqlSubcommand(("db", "shell"), "sqlite", sql_index=3),
    "wrangler": SqlSubcommand(("d1", "execute"), "sqlite", "command", "file"),
}


def _handle_sql_subcommand(call: Invocation) -> None:
    row = _SQL_SUBCOMMANDS[call.name]
    options = call.parse_options(f"{row.text} {row.file} a app project_id location format max_rows env e config")
    words = options.rest
    if tuple(word.text for word in words[: len(row.words)]) != row.words or is_dry_run(options, "dry_run"):
        analyze_service(call, SERVICES.get(call.name, _PLAIN_SERVICE))
        return
    for file in options.values(*row.file.split()):
        _analyze_file(call, file, row.dialect, DatabaseAddress(call.name))
    for text in (
        *options.values(*row.text.split()),
        *(words[row.sql_index : row.sql_index + 1] if row.sql_index > 0 else ()),
    ):
        analyze_sql(call, text, row.dialect, DatabaseAddress(call.name))
    if call.stdin.text or call.stdin.origins:
        _analyze_input(call, row.dialect, DatabaseAddress(call.name))


_PLAIN_SERVICE = ServiceRow(kind="data")

# Other programs for databases


def _handle_dropdb(call: Invocation) -> None:
    object_type = "user" if call.name == "dropuser" else "database"
    options = call.parse_options("h host p port U username maintenance-db")
    verb = "privilege" if object_type == "user" else "ddl-drop"
    for word in options.rest:
        _add_database_effect(call, word, verb, object_type, options.value("h", "host"))


def _add_database_effect(call: Invocation, arg: Argument, verb: str, object_type: str, host: str = "") -> None:
    fields = {"target": arg.text, "package": arg.text, "host": host, "source": object_type}
    call.add_effect("sql", verb, arg, writes=True, recursive=verb == "ddl-drop", **fields)


_ADMIN_VERBS = {"flush-privileges": "privilege", "kill": "stop", "password": "privilege", "shutdown": "stop"}


def _handle_mysqladmin(call: Invocation) -> None:
    options = call.parse_options(f"{_MYSQL_VALUED} h host")
    words, host = options.rest, options.value("h", "host")
    for index, word in enumerate(words[:-1]):
        if word.text in {"drop", "create"}:
            _add_database_effect(call, words[index + 1], f"ddl-{word.text}", "database", host)
    for verb in _ADMIN_VERBS.keys() & {word.text for word in words}:
        effect = _ADMIN_VERBS[verb]
        call.add_effect("sql", effect, target=verb, host=host, writes=True, recursive=verb == "shutdown")


def _handle_dump(call: Invocation) -> None:
    """A dump reads the whole database and prints it, or writes it to a file."""
    valued = "h host p port U username d dbname u user P db uri t n T b"
    options = call.parse_options(valued, writes="f file r result-file o out")
    hosts = options.values("h", "host")
    target = options.rest[0].text if options.rest else ""
    call.add_effect("sql", "export", target=target, host=hosts[0].text if hosts else "")
    call.stdout = Stream(None, frozenset({"database"}))


def _handle_restore(call: Invocation) -> None:
    options = call.parse_options("h host p port U username d dbname db uri u user nsInclude drop-")
    drops = options.has("clean", "drop") or "c" in options.flags
    name = options.value("d", "dbname", "db")
    fields = {"target": name, "package": name, "host": options.value("h", "host"), "source": "database"}
    call.add_effect("sql", "ddl-drop" if drops else "load", None, writes=True, recursive=drops, **fields)
    for file in options.rest:
        call.add_read(file)


def _handle_pg_resetwal(call: Invocation) -> None:
    """Without the write-ahead log, changes that are not yet in the tables are lost."""
    options = call.parse_options("D pgdata c e l m o O u x wal-segsize")
    if not options.has("n", "dry-run", "V", "version", "help"):
        directory = options.value("D", "pgdata") or " ".join(word.text for word in options.rest[:1])
        target = f"the write-ahead log of {directory}".strip()
        call.add_effect("data", "destroy", target=target, host=call.name, writes=True)


def _handle_statement(call: Invocation) -> None:
    """`DROP TABLE x` as a command: the agent may be typing into the prompt of a database client."""
    text = " ".join(word.text for word in (call.program, *call.args))
    analyze_sql(call, call.program._replace(text=text, end=call.end), "")


PROGRAMS: dict[str, Handler] = {
    **dict.fromkeys("alter delete drop grant revoke".split(), _handle_statement),
    **dict.fromkeys(CLIENTS, _handle_client),
    **dict.fromkeys(_SQL_SUBCOMMANDS, _handle_sql_subcommand),
    **dict.fromkeys(("dropdb", "dropuser"), _handle_dropdb),
    **dict.fromkeys("pg_dump pg_dumpall mysqldump mariadb-dump mongodump mydumper".split(), _handle_dump),
    **dict.fromkeys(("pg_restore", "mongorestore"), _handle_restore),
    **dict.fromkeys(("pg_resetwal", "pg_resetxlog"), _handle_pg_resetwal),
    "mysqladmin": _handle_mysqladmin,
    "mariadb-admin": _handle_mysqladmin,
}
