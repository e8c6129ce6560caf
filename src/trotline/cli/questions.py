"""What every question to the trail shares: its options, and times as people say them."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Literal

import click
from msgspec.structs import replace

from trotline.audit.conditions import CONDITIONS
from trotline.audit.query import VERDICTS, Query
from trotline.audit.shapes import text_of
from trotline.audit.sqlite_store import SqliteStore
from trotline.cli.output import paint, printable
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import UsageError
from trotline.machine import clock, machine_roots

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


AGO = re.compile(r"(?:\d{1,9}[smhdw]){1,5}")
DAY_US = UNITS["d"] * 1_000_000
DAYS_AGO = {"today": 0, "yesterday": 1}

SHORTEST = 8
"""Characters of an id by which a whole one is meant."""

MOST_SHOWN = 5

WORDS = ("event", "host", "path", "command", "conversation", "effect", "text")
"""Options that say a word. An empty one, as a variable that is not set gives it, would ask for everything."""

number_option = click.option(
    "-n", "number", type=click.IntRange(1, 1_000_000_000), default=20, show_default=True, help="How many."
)


class Moment(click.ParamType[int]):
    """A time as people say it: `1h30m` ago, `yesterday`, or a date of ISO 8601; microseconds, and never none."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from datetime import UTC, datetime

        if isinstance(value, int):
            return value
        if value in DAYS_AGO:
            return clock() // DAY_US * DAY_US - DAYS_AGO[value] * DAY_US
        if AGO.fullmatch(value):
            seconds = sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)(\w)", value))
            return max(1, clock() - seconds * 1_000_000)
        try:
            given = datetime.fromisoformat(value)
        except ValueError:
            said = "say `2h`, `1h30m`, `7d`, `today`, `yesterday`, or a date like 2026-03-01"
            self.fail(f"`{value}` is no time: {said}", param, ctx)
        return max(1, int((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp() * 1_000_000))


def understood(store: SqliteStore, query: Query) -> Query:
    """What is meant: a conversation by its beginning. Names that nobody has are told, with those that may be meant."""
    for doubt in _unheard_of(store, query):
        click.echo(paint(printable(doubt), Severity.WARNING), err=True)
    if not query.conversation or has_any(store, conversation=query.conversation):
        return query
    return replace(query, conversation=the_only(store, "conversation", query.conversation) or query.conversation)


def the_only(store: SqliteStore, column: Literal["id", "conversation"], beginning: str) -> str:
    """The one id that begins so, or nothing; that there are several is said."""
    if len(beginning) < SHORTEST:
        return ""
    found = store.beginning(column, beginning, MOST_SHOWN + 1)
    if len(found) > 1:
        shown = ", ".join(f"`{printable(one)}`" for one in found[:MOST_SHOWN]) + ", ..." * (len(found) > MOST_SHOWN)
        raise UsageError(f"`{printable(beginning)}` is ambiguous: it may be {shown}", hint="say more of it")
    return found[0] if found else ""


def _unheard_of(store: SqliteStore, query: Query) -> Iterator[str]:
    from trotline.events import EVENTS
    from trotline.hosts import HOSTS

    for what, given, known in (("event", query.event, EVENTS), ("host", query.host, HOSTS)):
        if given and given not in known and not has_any(store, **{what: given}):
            yield f"there is no {what} `{given}`{_meant(given, known)}"
    if query.effect and not has_any(store, effect=query.effect):
        yield from _unheard_of_effect(query.effect)


def _unheard_of_effect(given: str) -> Iterator[str]:
    """Only what looks like another: no list has all that there are, and one that never was is a good answer."""
    from trotline.guards import guards

    known = {kind for guard in guards() for kind in guard.kinds}
    meant = _meant(given, known) if given not in known else ""
    if meant:
        yield f"no record has an effect `{given}`{meant}"


def _meant(given: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(given, known, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def has_any(store: SqliteStore, **asked: Any) -> bool:
    """Whether any record answers to that."""
    return any(True for _ in store.search(Query(**asked, own=True, limit=1)))


def kept_name(conversation: str, roots: Roots) -> str:
    """A conversation as records name it."""
    from trotline.audit.names import Names

    return Names(roots).kept(conversation)


def query_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What every question shares; it comes to the function as one Query."""

    @click.option(
        "--since", "since_us", type=Moment(), default=0, help="Not before this: 1h30m, yesterday, 2026-03-01."
    )
    @click.option("--until", "until_us", type=Moment(), default=0, help="Before this.")
    @click.option("--event", help="Only this event.")
    @click.option("--host", help="Only this host.")
    @click.option("--verdict", type=click.Choice(list(VERDICTS)), help="Only what became of it.")
    @click.option("--path", metavar="GLOB", help="Only what touches such a path; `*` crosses `/`.")
    @click.option("--command", metavar="GLOB", help="Only such a command.")
    @click.option("--conversation", metavar="ID", help="Only this conversation.")
    @click.option("--effect", metavar="KIND", help="Only what would do this: delete, write, send, ...")
    @click.option("--text", metavar="WORDS", help="Only what has all these words.")
    @click.option("--all", "own", is_flag=True, help="Also calls that were made to try the lines.")
    @functools.wraps(function)
    def wrapped(*args: Any, verdict: str | None, **rest: Any) -> Any:
        asked = {name: rest.pop(name) for name in (*CONDITIONS, "own") if name in rest}
        if any(text_of(given, len(given)) != given for given in asked.values() if isinstance(given, str)):
            raise click.UsageError("a question has bytes in it that are no text")
        if 0 < asked["until_us"] <= asked["since_us"]:
            raise click.UsageError("--until is before --since: nothing can be between them")
        for name in WORDS:
            if asked[name] is not None and not asked[name].strip():
                raise click.UsageError(f"--{name} has no word in it")
        asked |= {name: asked[name] or "" for name in WORDS}
        if asked["conversation"]:
            roots = machine_roots(rest["projects"], rest["home"], rest["system"])
            asked["conversation"] = kept_name(asked["conversation"], roots)
        return function(*args, query=Query(**asked, verdict=VERDICTS.get(verdict or "", "")), **rest)

    return wrapped
