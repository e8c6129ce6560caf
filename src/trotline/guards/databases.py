"""Data in databases, stores and queues: dropped or emptied, or used to reach the machine they run on."""

from trotline.analysis.verbs import Deed
from trotline.effects import Effect
from trotline.guards.guard import Guard, Row, Sight, opaque
from trotline.pattern import pattern

_TRIAL = pattern(r"(?:^|[_./-])(?:test|tests|testing|tmp|temp|scratch|sandbox|demo|example|ci|memory:?)\d*(?:$|[_./-])")
_LOSES = frozenset({"ddl-drop", "ddl-alter", "truncate", "delete", "erase"})
_LOCAL = {"", "localhost", "127.0.0.1", "::1", "db", "postgres", "mysql"}


def _trial(effect: Effect) -> bool:
    """A database that says of itself that it is for trying things out, on this machine."""
    if effect.host not in _LOCAL:
        return False
    names = (effect.package, effect.target) if effect.source in {"database", "schema"} else (effect.package,)
    return any(_TRIAL.search(name.lower()) for name in names if name) or effect.package.startswith(("/tmp/", ":"))  # noqa: S108 - a name to recognise


def _opens(sight: Sight) -> bool:
    """Another database is opened beside the one that was named."""
    return any(other.kind == "sql" and other.verb == "session" and other.writes for other in sight.effects)


def _reaches_out(effect: Effect, _: Sight) -> bool:
    return effect.kind == "sql" and effect.verb == "unsafe-io"


def _gone(effect: Effect, sight: Sight) -> bool:
    if effect.kind == "data":
        return effect.verb == Deed.DESTROY
    whole = effect.recursive and effect.verb in _LOSES
    return whole and (not _trial(effect) or _opens(sight))


def _overwritten(effect: Effect, sight: Sight) -> bool:
    changed = effect.kind == "sql" and effect.recursive and effect.verb == "modify"
    return changed and (not _trial(effect) or _opens(sight))


def _shut_down(effect: Effect, _: Sight) -> bool:
    return effect.kind == "sql" and effect.verb == "stop" and effect.recursive


def _ends(effect: Effect, _: Sight) -> bool:
    return effect.kind == "sql" and effect.verb == "stop"


def _leaves(effect: Effect, _: Sight) -> bool:
    return effect.kind == "sql" and effect.verb == "send"


def _changed_all(effect: Effect, _: Sight) -> bool:
    return effect.kind == "sql" and effect.recursive and not (_trial(effect) and effect.verb == "modify")


def _structure(effect: Effect, _: Sight) -> bool:
    changes = effect.verb in {"ddl-drop", "ddl-alter", "privilege"}
    return effect.kind == "sql" and changes and effect.source != "comment"


def _in_memory(effect: Effect, sight: Sight) -> bool:
    return effect.kind == "sql" and effect.package == ":memory:" and not _opens(sight)


def _stops(effect: Effect, _: Sight) -> bool:
    return effect.kind == "data" and effect.verb in {Deed.STOP, Deed.GRANT}


def _unseen(effect: Effect, _: Sight) -> bool:
    return effect.kind == "sql" and effect.writes and opaque(effect)


def _far(effect: Effect, _: Sight) -> bool:
    return effect.kind == "sql" and effect.writes and effect.host not in _LOCAL


def _writes(effect: Effect, _: Sight) -> bool:
    return effect.writes


GUARD = Guard(
    name="databases",
    danger="data is dropped or emptied, or a database is used to reach its machine",
    kinds=frozenset({"sql", "data"}),
    rows=(
        Row(
            "reaches out",
            _reaches_out,
            "deny deny deny",
            "this statement makes the database read or write files, run programs or call other machines",
            "move data with the client's own means, from and to this machine",
        ),
        Row("in memory", _in_memory, "pass pass pass", "{target} is gone with the program anyway"),
        Row(
            "gone",
            _gone,
            "ask deny deny",
            "all of {target} would be gone; a database has no way back from that",
            "make a backup first, or name the rows with a WHERE; a person should do this",
        ),
        Row(
            "overwritten",
            _overwritten,
            "ask deny deny",
            "every row of {target} would be changed, and a database does not keep what stood there",
            "name the rows with a WHERE",
        ),
        Row(
            "shut down",
            _shut_down,
            "ask deny deny",
            "the database would be stopped for everybody who uses it",
            "a person should do this",
        ),
        Row("ends", _ends, "pass ask deny", "what others do with this database would be ended", "ask whose work it is"),
        Row(
            "leaves",
            _leaves,
            "pass ask deny",
            "the database would copy its data to another service",
            "write it to a file of the workspace",
        ),
        Row(
            "all rows",
            _changed_all,
            "pass ask deny",
            "every row of {target} would be changed",
            "name the rows with a WHERE",
        ),
        Row("structure", _structure, "pass ask deny", "this changes the structure of {target}, or who may use it"),
        Row("stops", _stops, "pass ask deny", "`{target}` takes data away, stops {host} or changes who may use it"),
        Row("unseen", _unseen, "pass ask deny", "what would be done to the database cannot be seen: {why}"),
        Row("far", _far, "pass ask deny", "this writes to a database on {host}"),
        Row("writes", _writes, "pass pass ask", "this writes to {target}"),
    ),
    stops=(
        "psql -d ledger -c 'DROP TABLE invoices'",
        'psql postgres://app:pw@db.example/ledger -c "TRUNCATE invoices, payments"',
        "mysql -u root -psecret ledger -e 'DELETE FROM invoices'",
        "mysql -e 'DELETE FROM invoices WHERE 1=1' ledger",
        "echo 'drop database ledger;' | mysql",
        "sqlite3 ledger.db 'DELETE FROM invoices'",
        "psql -d ledger -c 'DELETE FROM invoices WHERE id IS NOT NULL'",
        "psql -d ledger -c 'UPDATE invoices SET paid = true'",
        "psql -d ledger -c 'ALTER TABLE invoices DROP COLUMN total'",
        "mysql ledger -e 'ALTER TABLE invoices TRUNCATE PARTITION p2024'",
        "clickhouse-client -q 'ALTER TABLE invoices DELETE WHERE 1'",
        "snowsql -q 'CREATE OR REPLACE TABLE invoices (id int)'",
        "psql -c \"CREATE FUNCTION f() RETURNS int AS 'x.so' LANGUAGE C\"",
        "psql -c \"COPY invoices TO PROGRAM 'sh'\"",
        "psql -c \"SELECT pg_read_file('/etc/hostname')\"",
        "psql -c 'WITH gone AS (DELETE FROM invoices RETURNING *) SELECT count(*) FROM gone'",
        "mysql -e '/*!50000 DROP TABLE invoices */'",
        "dropdb ledger",
        "pg_dropcluster 16 main --stop",
        "pg_resetwal -f /var/lib/postgresql/16/main",
        "cypher-shell -u neo4j 'MATCH (n) DETACH DELETE n'",
        "mysqladmin -f drop ledger",
        "redis-cli -h cache.example FLUSHALL",
        "mongosh ledger --eval 'db.invoices.deleteMany({})'",
        "kafka-topics --bootstrap-server k:9092 --delete --topic invoices",
        "rabbitmqctl delete_vhost /shop",
        "pg_restore --clean -d ledger dump.bin",
        "psql -d ledger <<'EOF'\nDROP SCHEMA shop CASCADE;\nEOF",
        "npx prisma migrate reset --force",
        "rails db:drop",
        "mysqladmin -h far.example shutdown",
        "mysql -e 'PURGE BINARY LOGS BEFORE NOW()'",
        "psql -d ledger -c \"DO \\$\\$ BEGIN EXECUTE 'DROP TABLE invoices'; END \\$\\$\"",
        "duckdb ledger.db \"COPY invoices TO 's3://shop/invoices.parquet'\"",
    ),
    passes=(
        "psql -d ledger -c 'SELECT count(*) FROM invoices'",
        "psql -c \"SELECT 'DROP TABLE invoices'\"",
        'psql -d ledger -c "UPDATE invoices SET paid = true WHERE id = 7"',
        "psql -d ledger_test -c 'TRUNCATE invoices'",
        "psql -d ledger_test -c 'UPDATE invoices SET paid = true'",
        "psql -d ledger -c 'ALTER TABLE invoices ALTER COLUMN total DROP DEFAULT'",
        "psql -d ledger -c 'DELETE FROM invoices WHERE paid_at IS NOT NULL'",
        "psql -d ledger -c 'CREATE OR REPLACE VIEW paid AS SELECT 1'",
        "dropdb ledger_test",
        "createdb ledger",
        "psql -d ledger -c 'CREATE TEMP TABLE t AS SELECT 1; DROP TABLE t'",
        "sqlite3 :memory: 'CREATE TABLE t (a); DROP TABLE t'",
        "mysql -e 'SHOW TABLES' ledger",
        "mysql -e 'EXPLAIN DELETE FROM invoices' ledger",
        "sqlite3 ledger.db '.schema'",
        "sqlite3 /tmp/scratch.db 'DROP TABLE t'",
        "redis-cli GET cart:7",
        "cypher-shell 'MATCH (n:Invoice {id: 7}) DELETE n'",
        "pg_resetwal -n /var/lib/postgresql/16/main",
        "mongosh ledger --eval 'db.invoices.find({}).limit(3)'",
        "kafka-topics --bootstrap-server k:9092 --list",
        "pg_dump ledger > ledger.sql",
        "alembic upgrade head",
        "git commit -m 'DROP TABLE invoices'",
    ),
)
