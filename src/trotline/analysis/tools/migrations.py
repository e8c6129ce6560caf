"""Programs that bring a project's database into shape: most go forward, some begin by dropping everything."""

import re

from trotline.analysis.services import Service
from trotline.analysis.step import Handler, Step
from trotline.analysis.tools.services import Line, line_of, special
from trotline.analysis.verbs import Deed

MIGRATIONS = {
    "prisma": Service(
        depth=2, destroys="migrate reset;db push +force-reset;db push +accept-data-loss", reads="studio;generate"
    ),
    "alembic": Service(
        depth=1, valued="c config n name x", destroys="downgrade", reads="current;heads;history", dry="sql"
    ),
    "sequelize": Service(depth=1, destroys="db:drop;db:migrate:undo:all", stops="db:migrate:undo;db:seed:undo"),
    "sequelize-cli": Service(depth=1, destroys="db:drop;db:migrate:undo:all", stops="db:migrate:undo;db:seed:undo"),
    "knex": Service(depth=1, destroys="migrate:rollback +all", stops="migrate:rollback;migrate:down"),
    "typeorm": Service(depth=1, destroys="schema:drop", stops="migration:revert;schema:sync", valued="d dataSource"),
    "typeorm-ts-node-commonjs": Service(depth=1, destroys="schema:drop", stops="migration:revert;schema:sync"),
    "drizzle-kit": Service(depth=1, destroys="drop", stops="push +force", reads="studio;generate;check"),
    "flyway": Service(depth=2, destroys="clean", stops="undo", reads="info;validate"),
    "liquibase": Service(
        depth=1,
        destroys="dropAll;drop-all",
        stops="rollback;rollback-count;rollback-to-date;rollbackCount",
        reads="status;history;validate;diff;snapshot;update-sql;update-count-sql;rollback-sql;rollback-count-sql;"
        "rollback-to-date-sql;future-rollback-sql",
    ),
    "goose": Service(depth=3, destroys="reset", stops="down;redo;down-to", valued="dir table"),
    "dbmate": Service(depth=1, destroys="drop", stops="rollback;down", valued="u url e env d migrations-dir"),
    "sqitch": Service(depth=1, stops="revert;rebase"),
    "migrate": Service(depth=2, destroys="drop;down", stops="force", valued="path database source"),
    "diesel": Service(depth=2, destroys="database reset;database drop", stops="migration revert;migration redo"),
    "sqlx": Service(depth=2, destroys="database drop;database reset", stops="migrate revert"),
    "sea-orm-cli": Service(depth=2, destroys="migrate fresh;migrate reset;migrate refresh", stops="migrate down"),
    "ent": Service(depth=2),
    "atlas": Service(depth=2, destroys="schema clean", stops="migrate down;schema apply +auto-approve"),
    "mikro-orm": Service(
        depth=1,
        destroys="schema:drop;schema:fresh;database:drop;migration:fresh",
        stops="migration:down",
        valued="config",
    ),
    "manage.py": Service(
        depth=3,
        destroys="flush;reset_db;migrate * zero",
        valued="settings pythonpath",
        reads="sqlflush",
    ),
    "django-admin": Service(
        depth=3, destroys="flush;reset_db;migrate * zero", valued="settings pythonpath", reads="sqlflush"
    ),
    "artisan": Service(
        depth=1,
        destroys="migrate:fresh;migrate:reset;migrate:refresh;db:wipe;schema:drop",
        stops="migrate:rollback;queue:flush;queue:clear;cache:clear",
    ),
    "console": Service(
        depth=1,
        destroys="doctrine:database:drop;doctrine:schema:drop;doctrine:fixtures:load -append",
        stops="doctrine:schema:update",
    ),
    "rails": Service(
        depth=1,
        destroys="db:drop;db:reset;db:purge;db:drop:all;db:schema:load;db:migrate:reset;db:seed:replant;"
        "db:truncate_all;"
        "db:setup -x",
        stops="db:rollback;db:migrate:down;destroy;d",
        reads="routes;stats;about;db:version;db:migrate:status;server;s;console;c;notes",
    ),
    "gitlab-rails": Service(depth=1),
    "ace": Service(
        depth=1, destroys="migration:fresh;migration:refresh;migration:reset;db:wipe", stops="migration:rollback"
    ),
    "aerich": Service(depth=1, destroys="downgrade", valued="c config app", reads="heads;history"),
    "dotnet-ef": Service(
        depth=3,
        destroys="database drop",
        stops="migrations remove;database update 0",
        reads="dbcontext;migrations list",
    ),
    "drush": Service(
        depth=1,
        destroys="sql:drop;sql-drop;site:install;site-install;si",
        stops="sql:sync;sql-sync",
        valued="l uri r root",
    ),
    "flask": Service(depth=2, destroys="db downgrade", valued="app A e env-file", dry="sql"),
    "ecto": Service(depth=1, destroys="drop;reset", stops="rollback;load", reads="migrations", valued="r repo n step"),
    "payload": Service(depth=1, destroys="migrate:fresh;migrate:reset;migrate:refresh", stops="migrate:down"),
    "phinx": Service(depth=1, stops="rollback", valued="c configuration e environment t target"),
    "wp": Service(
        depth=2,
        destroys="db reset;db drop;db clean;site empty;site delete",
        valued="path url user",
        reads="db check;db export;db search;db size;db tables",
    ),
    "yii": Service(depth=1, destroys="migrate/fresh;migrate/down"),
}
MIGRATIONS["rake"] = MIGRATIONS["rails"]

_ENVIRONMENTS = ("RAILS_ENV", "NODE_ENV", "APP_ENV", "DJANGO_ENV", "FLASK_ENV", "RACK_ENV")
_DELETES = re.compile(
    r"(?:\.|::|->)(?:destroy_all|delete_all|destroy!?|delete|truncate|drop_table|drop_database|execute|dropAllTables)\b"
)


def _migration(step: Step) -> None:
    row = MIGRATIONS[step.name]
    line = line_of(step.words, row)
    if line.dry:
        return
    if line.head[:1] == ("sqlflush",):
        step.print("truncate every_table;\n")
    if line.head[:1] in _CODE:
        _code(step, line.head[0])
        return
    if " ".join(line.head) in _QUERIES:
        _statements(step, len(line.head))
        return
    if step.name in _TASKS:
        line = line._replace(deed=special(line.head, line.found, row))
        if line.deed is Deed.NONE and not _data(line.head):
            _task(step, line.head)
            return
    where = ",".join(_environments(step, line))
    verb = {Deed.DESTROY: "ddl-drop", Deed.STOP: "ddl-alter", Deed.READ: "read"}.get(line.deed, "ddl-create")
    everything = line.deed is Deed.DESTROY
    step.effect(
        "sql",
        verb,
        target="the database of this project",
        package=where,
        source="database",
        writes=line.deed is not Deed.READ,
        recursive=everything,
    )


def _environments(step: Step, line: Line) -> list[str]:
    """Which of its environments a project is told to be in: by a variable, by a word, or by an option."""
    words = dict(word.text.partition("=")[::2] for word in step.words if "=" in word.text and word.text[0] != "-")
    named = [words.get(name) or step.variable(name) for name in _ENVIRONMENTS]
    return list(dict.fromkeys(name for name in (*named, line.found.value("env")) if name))


_TASKS = frozenset(
    "ace artisan console django-admin drush flask gitlab-rails manage.py payload rails rake wp yii".split()
)
"""They run any task of a project; only some are about its database."""


def _data(head: tuple[str, ...]) -> bool:
    return bool(head) and head[0].startswith(("db", "migrate", "migration", "doctrine:", "schema", "sql"))


def _task(step: Step, head: tuple[str, ...]) -> None:
    """Some other task: what it does is in the project's own file."""
    if step.name == "rake":
        at = step.program._replace(text="Rakefile")
        step.effect("execute", "run", path=step.path(at), source="file", target=" ".join(head))


_CODE = frozenset((word,) for word in "r runner shell shell_plus tinker".split())
_QUERIES = frozenset({"db execute", "db query", "sql-query", "sql:query", "sqlq"})


def _code(step: Step, verb: str) -> None:
    """`rails runner 'Order.delete_all'`, `manage.py shell -c`: code with the application loaded."""
    found = step.options("c command e environment execute".split())
    ruby = verb in {"r", "runner"}
    texts = list(found.rest[1:2]) if ruby else found.values("c", "command", "execute")
    if not texts and step.stdin.text:
        texts = [step.program._replace(text=step.stdin.text)]
    for text in texts:
        deletes = bool(_DELETES.search(text.text))
        if deletes or ruby:
            said = "delete" if deletes else "procedural"
            step.effect("sql", said, text, target="the database of this project", writes=True, recursive=deletes)
        if verb.startswith("shell"):
            step.run([*(step.program._replace(text=word) for word in ("python3", "-c")), text])


def _statements(step: Step, words: int) -> None:
    """Statements as a word, in a file, or through a pipe: as a client of the database takes them."""
    found = step.options("file schema url path user".split())
    texts = [part for text in found.rest[words : words + 1] for part in ("-c", text.text)]
    files = [part for file in found.values("file") for part in ("-f", file.text)]
    step.out = step.run([step.program._replace(text=word) for word in ("psql", *texts, *files)])


TOOLS: dict[str, Handler] = dict.fromkeys(MIGRATIONS, _migration)
