"""Guard: data in databases, stores and queues that is deleted, and databases that reach out to their machine."""

from trotline.analysis.service_verbs import VerbKind
from trotline.domain.effects import Certainty, Effect
from trotline.formats.lazy_regex import lazy_regex
from trotline.guards.guard import CRITICAL, HIGH, LOW, MEDIUM, PASS, Filter, GuardContext, build_guard, rule

_TEST_NAME = lazy_regex(
    r"(?:^|[_./-])(?:test|tests|testing|tmp|temp|scratch|sandbox|demo|example|ci|memory:?)\d*(?:$|[_./-])"
)
_LOSES_DATA = frozenset({"ddl-drop", "ddl-alter", "truncate", "delete", "erase"})
_LOCAL_HOSTS = {"", "localhost", "127.0.0.1", "::1", "db", "postgres", "mysql"}


def _is_test_database(effect: Effect) -> bool:
    """Return whether the database is on this machine and its name says that it is for tests."""
    if effect.host not in _LOCAL_HOSTS:
        return False
    names = (effect.package, effect.target) if effect.source in {"database", "schema"} else (effect.package,)
    named = any(_TEST_NAME.search(name.lower()) for name in names if name)
    return named or effect.package.startswith(("/tmp/", ":"))  # noqa: S108 - a name to recognise


def _opens_another_database(context: GuardContext) -> bool:
    return any(other.kind == "sql" and other.verb == "session" and other.writes for other in context.effects)


def _holds_real_data(effect: Effect, context: GuardContext) -> bool:
    return not _is_test_database(effect) or _opens_another_database(context)


def _loses_all_data(effect: Effect, context: GuardContext) -> bool:
    if effect.kind == "data":
        return effect.verb == VerbKind.DESTROY
    return effect.recursive and effect.verb in _LOSES_DATA and _holds_real_data(effect, context)


def _changes_all_rows(effect: Effect, _: GuardContext) -> bool:
    return effect.verb != "modify" or not _is_test_database(effect)


def _is_not_comment(effect: Effect, _: GuardContext) -> bool:
    return effect.source != "comment"


def _is_in_memory_database(effect: Effect, context: GuardContext) -> bool:
    return effect.package == ":memory:" and not _opens_another_database(context)


def _is_remote(effect: Effect, _: GuardContext) -> bool:
    return effect.host not in _LOCAL_HOSTS


GUARD = build_guard(
    "databases",
    "data is dropped or emptied, or a database is used to reach its machine",
    {
        "reaches out": rule(
            "sql: unsafe-io",
            CRITICAL,
            "this statement makes the database read or write files, run programs or call other machines",
            "move data with the client's own means, from and to this machine",
        ),
        "in memory": rule(
            Filter("sql: *", when=_is_in_memory_database),
            (PASS, PASS, PASS),
            "{target} is gone with the program anyway",
        ),
        "gone": rule(
            Filter("data|sql: *", when=_loses_all_data),
            HIGH,
            "all of {target} would be gone; a database has no way back from that",
            "make a backup first, or name the rows with a WHERE; a person should do this",
        ),
        "overwritten": rule(
            Filter("sql: modify", recursive=True, when=_holds_real_data),
            HIGH,
            "every row of {target} would be changed, and a database does not keep what stood there",
            "name the rows with a WHERE",
        ),
        "shut down": rule(
            Filter("sql: stop", recursive=True),
            HIGH,
            "the database would be stopped for everybody who uses it",
            "a person should do this",
        ),
        "ends": rule("sql: stop", MEDIUM, "what others do with this database would be ended", "ask whose work it is"),
        "leaves": rule(
            "sql: send",
            MEDIUM,
            "the database would copy its data to another service",
            "write it to a file of the workspace",
        ),
        "all rows": rule(
            Filter("sql: *", recursive=True, when=_changes_all_rows),
            MEDIUM,
            "every row of {target} would be changed",
            "name the rows with a WHERE",
        ),
        "structure": rule(
            Filter("sql: ddl-alter|ddl-drop|privilege", when=_is_not_comment),
            MEDIUM,
            "this changes the structure of {target}, or who may use it",
        ),
        "stops": rule("data: grant|stop", MEDIUM, "`{target}` takes data away, stops {host} or changes who may use it"),
        "unseen": rule(
            Filter("sql: *", writes=True, certainty=Certainty.OPAQUE),
            MEDIUM,
            "what would be done to the database cannot be seen: {why}",
        ),
        "far": rule(Filter("sql: *", writes=True, when=_is_remote), MEDIUM, "this writes to a database on {host}"),
        "writes": rule(Filter("data|sql: *", writes=True), LOW, "this writes to {target}"),
    },
)
