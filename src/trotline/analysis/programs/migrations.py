"""Database migrations: most commands go forward, some drop everything first."""

from trotline.analysis.programs.phrases import expand_names
from trotline.analysis.programs.service_table import ServiceRow
from trotline.analysis.programs.services import ServiceLine, classify_by_rules, parse_line
from trotline.analysis.service_verbs import VerbKind
from trotline.analysis.shell.invocation import Handler, Invocation
from trotline.formats.lazy_regex import lazy_regex

_ROWS = {
    "prisma": ServiceRow(
        depth=2, destroys="migrate reset; db push +force-reset; db push +accept-data-loss", reads="studio|generate"
    ),
    "alembic": ServiceRow(
        depth=1, valued="c config n name x", destroys="downgrade", reads="current|heads|history", dry="sql"
    ),
    "sequelize sequelize-cli": ServiceRow(
        depth=1, destroys="db:drop|db:migrate:undo:all", stops="db:migrate:undo|db:seed:undo"
    ),
    "knex": ServiceRow(depth=1, destroys="migrate:rollback +all", stops="migrate:rollback|migrate:down"),
    "typeorm": ServiceRow(depth=1, destroys="schema:drop", stops="migration:revert|schema:sync", valued="d dataSource"),
    "typeorm-ts-node-commonjs": ServiceRow(depth=1, destroys="schema:drop", stops="migration:revert|schema:sync"),
    "drizzle-kit": ServiceRow(depth=1, destroys="drop", stops="push +force", reads="studio|generate|check"),
    "flyway": ServiceRow(depth=2, destroys="clean", stops="undo", reads="info|validate"),
    "liquibase": ServiceRow(
        depth=1,
        destroys="dropAll|drop-all",
        stops="rollback|rollback-count|rollback-to-date|rollbackCount",
        reads="status|history|validate|diff|snapshot|update-sql|update-count-sql|rollback-sql|rollback-count-sql|"
        "rollback-to-date-sql|future-rollback-sql",
    ),
    "goose": ServiceRow(destroys="reset", stops="down|redo|down-to", valued="dir table"),
    "dbmate": ServiceRow(depth=1, destroys="drop", stops="rollback|down", valued="u url e env d migrations-dir"),
    "sqitch": ServiceRow(depth=1, stops="revert|rebase"),
    "migrate": ServiceRow(depth=2, destroys="drop|down", stops="force", valued="path database source"),
    "diesel": ServiceRow(depth=2, destroys="database reset|drop", stops="migration revert|redo"),
    "sqlx": ServiceRow(depth=2, destroys="database drop|reset", stops="migrate revert"),
    "sea-orm-cli": ServiceRow(depth=2, destroys="migrate fresh|reset|refresh", stops="migrate down"),
    "ent": ServiceRow(depth=2),
    "atlas": ServiceRow(depth=2, destroys="schema clean", stops="migrate down; schema apply +auto-approve"),
    "mikro-orm": ServiceRow(
        depth=1,
        destroys="schema:drop|schema:fresh|database:drop|migration:fresh",
        stops="migration:down",
        valued="config",
    ),
    "django-admin manage.py": ServiceRow(
        destroys="flush|reset_db; migrate * zero", valued="settings pythonpath", reads="sqlflush"
    ),
    "artisan": ServiceRow(
        depth=1,
        destroys="migrate:fresh|migrate:reset|migrate:refresh|db:wipe|schema:drop",
        stops="migrate:rollback|queue:flush|queue:clear|cache:clear",
    ),
    "console": ServiceRow(
        depth=1,
        destroys="doctrine:database:drop|doctrine:schema:drop; doctrine:fixtures:load -append",
        stops="doctrine:schema:update",
    ),
    "rails rake": ServiceRow(
        depth=1,
        destroys="db:drop|db:reset|db:purge|db:drop:all|db:schema:load|db:migrate:reset|db:seed:replant|"
        "db:truncate_all; db:setup -x",
        stops="db:rollback|db:migrate:down|destroy|d",
        reads="routes|stats|about|db:version|db:migrate:status|server|s|console|c|notes",
    ),
    "gitlab-rails": ServiceRow(depth=1),
    "ace": ServiceRow(
        depth=1, destroys="migration:fresh|migration:refresh|migration:reset|db:wipe", stops="migration:rollback"
    ),
    "aerich": ServiceRow(depth=1, destroys="downgrade", valued="c config app", reads="heads|history"),
    "dotnet-ef": ServiceRow(
        destroys="database drop", stops="migrations remove; database update 0", reads="dbcontext; migrations list"
    ),
    "drush": ServiceRow(
        depth=1,
        destroys="sql:drop|sql-drop|site:install|site-install|si",
        stops="sql:sync|sql-sync",
        valued="l uri r root",
    ),
    "flask": ServiceRow(depth=2, destroys="db downgrade", valued="app A e env-file", dry="sql"),
    "ecto": ServiceRow(
        depth=1, destroys="drop|reset", stops="rollback|load", reads="migrations", valued="r repo n step"
    ),
    "payload": ServiceRow(depth=1, destroys="migrate:fresh|migrate:reset|migrate:refresh", stops="migrate:down"),
    "phinx": ServiceRow(depth=1, stops="rollback", valued="c configuration e environment t target"),
    "wp": ServiceRow(
        depth=2,
        destroys="db reset|drop|clean; site empty|delete",
        valued="path url user",
        reads="db check|export|search|size|tables",
    ),
    "yii": ServiceRow(depth=1, destroys="migrate/fresh|migrate/down"),
}
MIGRATIONS = expand_names(_ROWS)

_ENVIRONMENT_VARIABLES = ("RAILS_ENV", "NODE_ENV", "APP_ENV", "DJANGO_ENV", "FLASK_ENV", "RACK_ENV")
_DELETE_CALL = lazy_regex(
    r"(?:\.|::|->)(?:destroy_all|delete_all|destroy!?|delete|truncate|drop_table|drop_database|execute|dropAllTables)\b"
)


_SQL_VERBS = {VerbKind.DESTROY: "ddl-drop", VerbKind.STOP: "ddl-alter", VerbKind.READ: "read"}


def _handle_migration(call: Invocation) -> None:
    row = MIGRATIONS[call.name]
    line = parse_line(call.args, row)
    if line.is_dry_run:
        return
    if line.head[:1] == ("sqlflush",):
        call.print("truncate every_table;\n")
    if line.head[:1] in _CODE_VERBS:
        _analyze_application_code(call, line.head[0])
        return
    if " ".join(line.head) in _QUERY_VERBS:
        _analyze_statements(call, len(line.head))
        return
    if call.name in _TASK_RUNNERS:
        line = line._replace(verb_kind=classify_by_rules(line.head, line.options, row))
        if line.verb_kind is VerbKind.NONE and not _is_database_task(line.head):
            _add_task(call, line.head)
            return
    environments = ",".join(_find_environments(call, line))
    call.add_effect(
        "sql",
        _SQL_VERBS.get(line.verb_kind, "ddl-create"),
        target="the database of this project",
        package=environments,
        source="database",
        writes=line.verb_kind is not VerbKind.READ,
        recursive=line.verb_kind is VerbKind.DESTROY,
    )


def _find_environments(call: Invocation, line: ServiceLine) -> list[str]:
    """Return the environments of the project that a variable, a word or an option selects."""
    words = dict(word.text.partition("=")[::2] for word in call.args if "=" in word.text and word.text[0] != "-")
    values = [words.get(name) or call.get_variable(name) for name in _ENVIRONMENT_VARIABLES]
    return list(dict.fromkeys(name for name in (*values, line.options.value("env")) if name))


_TASK_RUNNERS = frozenset(
    "ace artisan console django-admin drush flask gitlab-rails manage.py payload rails rake wp yii".split()
)
"""These run any task of a project; only some concern its database."""


def _is_database_task(head: tuple[str, ...]) -> bool:
    return bool(head) and head[0].startswith(("db", "migrate", "migration", "doctrine:", "schema", "sql"))


def _add_task(call: Invocation, head: tuple[str, ...]) -> None:
    """Add a task that does not concern the database; it is in the Rakefile."""
    if call.name == "rake":
        call.add_effect("execute", "run", path=call.state.resolve("Rakefile"), source="file", target=" ".join(head))


_CODE_VERBS = frozenset((word,) for word in "r runner shell shell_plus tinker".split())
_QUERY_VERBS = frozenset({"db execute", "db query", "sql-query", "sql:query", "sqlq"})


def _analyze_application_code(call: Invocation, verb: str) -> None:
    """Analyze code that runs inside the application: `rails runner 'Order.delete_all'`, `manage.py shell -c`."""
    options = call.parse_options("c command e environment execute")
    is_ruby = verb in {"r", "runner"}
    texts = list(options.rest[1:2]) if is_ruby else options.values("c", "command", "execute")
    if not texts and call.stdin.text:
        texts = [call.program._replace(text=call.stdin.text)]
    for text in texts:
        deletes = bool(_DELETE_CALL.search(text.text))
        if deletes or is_ruby:
            effect = "delete" if deletes else "procedural"
            call.add_effect("sql", effect, text, target="the database of this project", writes=True, recursive=deletes)
        if verb.startswith("shell"):
            call.analyze_command([*(call.program._replace(text=word) for word in ("python3", "-c")), text])


def _analyze_statements(call: Invocation, words: int) -> None:
    """Analyze SQL in a word, a file or a pipe, as psql takes it."""
    options = call.parse_options("file schema url path user")
    texts = [part for text in options.rest[words : words + 1] for part in ("-c", text.text)]
    files = [part for file in options.values("file") for part in ("-f", file.text)]
    call.stdout = call.analyze_command([call.program._replace(text=word) for word in ("psql", *texts, *files)])


PROGRAMS: dict[str, Handler] = dict.fromkeys(MIGRATIONS, _handle_migration)
