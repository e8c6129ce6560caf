"""Programs that bring a project's database into shape: most go forward, some begin by dropping everything."""

import re

from trotline.analysis.services import Service
from trotline.analysis.step import Handler, Step
from trotline.analysis.tools.services import line_of, special
from trotline.analysis.verbs import Deed

MIGRATIONS = {
    "prisma": Service(
        depth=3, destroys="migrate reset;db push +force-reset;db push +accept-data-loss", reads="studio;generate"
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
        reads="status",
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
        depth=2,
        destroys="flush;reset_db;sqlflush -print",
        stops="migrate zero",
        valued="settings pythonpath",
        reads="sqlflush",
    ),
    "django-admin": Service(depth=2, destroys="flush;reset_db", valued="settings pythonpath", reads="sqlflush"),
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
}
MIGRATIONS["rake"] = MIGRATIONS["rails"]

_ENVIRONMENTS = ("RAILS_ENV", "NODE_ENV", "APP_ENV", "DJANGO_ENV", "FLASK_ENV", "RACK_ENV")
_RUBY = re.compile(r"\.(?:destroy_all|delete_all|destroy!?|delete|truncate|drop_table|drop_database|execute)\b")


def _migration(step: Step) -> None:
    row = MIGRATIONS[step.name]
    line = line_of(step.words, row)
    if line.dry:
        return
    if line.head[:1] in {("runner",), ("r",)}:
        _runner(step)
        return
    if step.name in _TASKS:
        line = line._replace(deed=special(line.head, line.found, row))
        if line.deed is Deed.NONE and not _data(line.head):
            _task(step, line.head)
            return
    named = [step.given[name].text for name in _ENVIRONMENTS if name in step.given]
    where = "test" if "test" in named else ",".join(named)
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


_TASKS = frozenset("artisan console django-admin gitlab-rails manage.py rails rake".split())
"""They run any task of a project; only some are about its database."""


def _data(head: tuple[str, ...]) -> bool:
    return bool(head) and head[0].startswith(("db", "migrate", "migration", "doctrine:", "schema"))


def _task(step: Step, head: tuple[str, ...]) -> None:
    """Some other task: what it does is in the project's own file."""
    if step.name == "rake":
        at = step.program._replace(text="Rakefile")
        step.effect("execute", "run", path=step.path(at), source="file", target=" ".join(head))


def _runner(step: Step) -> None:
    """`rails runner 'Order.delete_all'`: a text of Ruby with the application loaded."""
    for word in step.options("e environment".split()).rest[1:2]:
        deletes = _RUBY.search(word.text)
        step.effect(
            "sql",
            "delete" if deletes else "procedural",
            word,
            target="the database of this project",
            writes=True,
            recursive=bool(deletes),
        )


TOOLS: dict[str, Handler] = dict.fromkeys(MIGRATIONS, _migration)
