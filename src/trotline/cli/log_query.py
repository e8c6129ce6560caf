"""Options that select records of the audit log, and functions that open the log and find records."""

import functools
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import click
from msgspec.structs import replace

from trotline.audit.export.export_formats import format_time
from trotline.audit.query.query import VERDICT_OPTIONS, Query
from trotline.audit.query.sql_queries import CONDITIONS
from trotline.audit.record.record import Record, clean_text
from trotline.audit.store import audit_log
from trotline.audit.store.sqlite_store import SqliteStore
from trotline.audit.verify.verification import RECORD_NUMBER, find_forgotten_time
from trotline.cli.command import announce_if_slow
from trotline.cli.output import printable, warn
from trotline.config.paths import Roots
from trotline.domain.errors import TrotlineError, UsageError
from trotline.machine import read_clock

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}
AGO = re.compile(r"(?:\d{1,9}[smhdw]){1,5}")
DAY_US = UNITS["d"] * 1_000_000
DAYS_AGO = {"today": 0, "yesterday": 1}

MIN_PREFIX = 8
"""Characters by which the beginning of an id stands for the id."""

MAX_CANDIDATES = 5

TEXT_OPTIONS = ("event", "agent", "path", "command", "conversation", "effect", "text")
"""Options that take a text. An empty text, as an unset variable gives it, would select everything."""


class TimeType(click.ParamType[int]):
    """A time such as `1h30m` (ago), `yesterday`, or an ISO 8601 date, in microseconds; never 0."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a time in microseconds since 1970. Refuses text that is not a time with a usage error."""
        from datetime import UTC, datetime

        if isinstance(value, int):
            return value
        if value in DAYS_AGO:
            return read_clock() // DAY_US * DAY_US - DAYS_AGO[value] * DAY_US
        if AGO.fullmatch(value):
            seconds = sum(int(number) * UNITS[unit] for number, unit in re.findall(r"(\d+)(\w)", value))
            return max(1, read_clock() - seconds * 1_000_000)
        try:
            date = datetime.fromisoformat(value)
        except ValueError:
            hint = "say `2h`, `1h30m`, `7d`, `today`, `yesterday`, or a date like 2026-03-01"
            self.fail(f"`{value}` is no time: {hint}", param, ctx)
        return max(1, int((date if date.tzinfo else date.replace(tzinfo=UTC)).timestamp() * 1_000_000))


def query_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that select records; the function gets them as one Query."""

    @click.option(
        "--since", "since_us", type=TimeType(), default=0, help="Not before this: 1h30m, yesterday, 2026-03-01."
    )
    @click.option("--until", "until_us", type=TimeType(), default=0, help="Before this.")
    @click.option("--event", help="Only this event.")
    @click.option("--agent", help="Only this agent.")
    @click.option("--verdict", type=click.Choice(list(VERDICT_OPTIONS)), help="Only what became of it.")
    @click.option("--path", metavar="GLOB", help="Only what touches such a path; `*` crosses `/`.")
    @click.option("--command", metavar="GLOB", help="Only such a command.")
    @click.option("--conversation", metavar="ID", help="Only this conversation.")
    @click.option("--effect", metavar="KIND", help="Only what would do this: delete, write, send, ...")
    @click.option("--text", metavar="WORDS", help="Only what has all these words.")
    @click.option("--all", "include_self_tests", is_flag=True, help="Also calls that were made to try the lines.")
    @functools.wraps(function)
    def wrapper(*args: Any, verdict: str | None, roots: Roots, **rest: Any) -> Any:
        conditions = {name: rest.pop(name) for name in (*CONDITIONS, "include_self_tests") if name in rest}
        if any(clean_text(value, len(value)) != value for value in conditions.values() if isinstance(value, str)):
            raise click.UsageError("a question has bytes in it that are no text")
        if 0 < conditions["until_us"] <= conditions["since_us"]:
            raise click.UsageError("--until is before --since: nothing can be between them")
        for name in TEXT_OPTIONS:
            if conditions[name] is not None and not conditions[name].strip():
                raise click.UsageError(f"--{name} has no word in it")
        conditions |= {name: conditions[name] or "" for name in TEXT_OPTIONS}
        if conditions["conversation"]:
            conditions["conversation"] = redact_conversation(conditions["conversation"], roots)
        query = Query(**conditions, verdict=VERDICT_OPTIONS.get(verdict or "", ""))
        return function(*args, query=query, roots=roots, **rest)

    return wrapper


@contextmanager
def open_log(state: Path) -> Iterator[SqliteStore]:
    """Open the audit log with all records that waited in the spool."""
    with announce_if_slow("what waits is brought into the audit log, or the audit log into its newest form"):
        store = audit_log.open_audit_log(state)
    with store:
        yield store


def complete_query(store: SqliteStore, query: Query) -> Query:
    """Complete the beginning of a conversation id; warn of names that no record has."""
    for warning in _find_unknown_names(store, query):
        warn(printable(warning))
    return replace(query, conversation=complete_conversation(store, query.conversation))


def complete_conversation(store: SqliteStore, conversation: str) -> str:
    """Return the only conversation that begins so; the given text if there is none."""
    if not conversation or has_records(store, conversation=conversation):
        return conversation
    return complete_id(store, "conversation", conversation) or conversation


def complete_id(store: SqliteStore, column: Literal["id", "conversation"], beginning: str) -> str:
    """Return the only id that begins so, or nothing. Several are an error."""
    if len(beginning) < MIN_PREFIX:
        return ""
    found = store.list_with_prefix(column, beginning, MAX_CANDIDATES + 1)
    if len(found) > 1:
        more = ", ..." * (len(found) > MAX_CANDIDATES)
        shown = ", ".join(f"`{printable(name)}`" for name in found[:MAX_CANDIDATES]) + more
        raise UsageError(f"`{printable(beginning)}` is ambiguous: it may be {shown}", hint="say more of it")
    return found[0] if found else ""


def _find_unknown_names(store: SqliteStore, query: Query) -> Iterator[str]:
    from trotline.agents import AGENTS
    from trotline.domain.events import EVENTS

    for noun, name, known in (("event", query.event, EVENTS), ("agent", query.agent, AGENTS)):
        if name and name not in known and not has_records(store, **{noun: name}):
            yield f"there is no {noun} `{name}`{_suggest(name, known)}"
    if query.effect and not has_records(store, effect=query.effect):
        yield from _suggest_effect(query.effect)


def _suggest_effect(name: str) -> Iterator[str]:
    """Warn only of a name similar to a known one: there is no list of all effects."""
    from trotline.guards import load_guards

    known = {kind for guard in load_guards() for kind in guard.kinds}
    suggestion = _suggest(name, known) if name not in known else ""
    if suggestion:
        yield f"no record has an effect `{name}`{suggestion}"


def _suggest(name: str, known: Iterable[str]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, n=1)
    return f"; did you mean `{near[0]}`?" if near else ""


def has_records(store: SqliteStore, **conditions: Any) -> bool:
    """Return whether any record matches."""
    return any(True for _ in store.search(Query(**conditions, include_self_tests=True, limit=1)))


def redact_conversation(conversation: str, roots: Roots) -> str:
    """Return the name under which records have a conversation."""
    from trotline.audit.record.detail_policy import NameRedactor

    return NameRedactor(roots).redact(conversation)


def find_record(store: SqliteStore, name: str) -> Record:
    """Return the record of this number, id, or unambiguous beginning of an id."""
    is_number = RECORD_NUMBER.fullmatch(name)
    query = Query(after_seq=int(name) - 1, until_seq=int(name) + 1, include_self_tests=True) if is_number else None
    found = next(store.search(query), None) if query else store.fetch(name)
    if found is None:
        whole = complete_id(store, "id", name)
        found = store.fetch(whole) if whole else None
    if found is None:
        _raise_if_forgotten(store, name)
        hint = "`trotline log` lists them; the number stands first"
        raise TrotlineError(f"the audit log has no record `{printable(name)[:80]}`", hint=hint)
    return found


def _raise_if_forgotten(store: SqliteStore, name: str) -> None:
    with store.open_connection() as db:
        when = find_forgotten_time(db, name)
    if when is not None:
        at = f" at {format_time(when)}" if when else ""
        raise TrotlineError(f"record `{printable(name)[:80]}` was forgotten{at}", hint="its link in the chain is left")
