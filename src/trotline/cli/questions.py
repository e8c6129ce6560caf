"""What every question to the trail shares: its options, and times as people say them."""

import functools
import re
from collections.abc import Callable, Iterator
from typing import Any

import click

from trotline.audit.conditions import CONDITIONS
from trotline.audit.query import VERDICTS, Query
from trotline.config.places import Roots
from trotline.machine import clock, machine_roots

UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


class Moment(click.ParamType[int]):
    """A time as people say it: `2h` ago, or a date of ISO 8601; microseconds."""

    name = "time"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from datetime import UTC, datetime

        if isinstance(value, int):
            return value
        ago = re.fullmatch(r"(\d{1,9})([smhdw])", value)
        if ago:
            return max(1, clock() - int(ago[1]) * UNITS[ago[2]] * 1_000_000)
        try:
            given = datetime.fromisoformat(value)
        except ValueError:
            self.fail(f"`{value}` is no time: say `2h`, `7d`, or a date like 2026-03-01", param, ctx)
        return int((given if given.tzinfo else given.replace(tzinfo=UTC)).timestamp() * 1_000_000)


def unheard_of(query: Query) -> Iterator[str]:
    """Names in a question that nobody has, and those that may be meant. A record may still have them."""
    from difflib import get_close_matches

    from trotline.events import EVENTS
    from trotline.hosts import HOSTS

    for what, given, known in (("event", query.event, EVENTS), ("host", query.host, HOSTS)):
        if given and given not in known:
            near = get_close_matches(given, known, n=1)
            yield f"there is no {what} `{given}`" + (f"; did you mean `{near[0]}`?" if near else "")


def kept_name(conversation: str, roots: Roots) -> str:
    """A conversation as records name it."""
    from trotline.audit.names import Names

    return Names(roots).kept(conversation)


def query_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """What every question shares; it comes to the function as one Query."""

    @click.option("--since", "since_us", type=Moment(), default=0, help="Not before this: 2h, 7d, 2026-03-01.")
    @click.option("--until", "until_us", type=Moment(), default=0, help="Before this.")
    @click.option("--event", default="", help="Only this event.")
    @click.option("--host", default="", help="Only this host.")
    @click.option("--verdict", type=click.Choice(list(VERDICTS)), help="Only what became of it.")
    @click.option("--path", default="", metavar="GLOB", help="Only what touches such a path; `*` crosses `/`.")
    @click.option("--command", default="", metavar="GLOB", help="Only such a command.")
    @click.option("--conversation", default="", metavar="ID", help="Only this conversation.")
    @click.option("--effect", default="", metavar="KIND", help="Only what would do this: delete, write, send, ...")
    @click.option("--text", default="", metavar="WORDS", help="Only what has all these words.")
    @click.option("--all", "own", is_flag=True, help="Also calls that were made to try the lines.")
    @functools.wraps(function)
    def wrapped(*args: Any, verdict: str | None, **rest: Any) -> Any:
        asked = {name: rest.pop(name) for name in (*CONDITIONS, "own") if name in rest}
        if 0 < asked["until_us"] <= asked["since_us"]:
            raise click.UsageError("--until is before --since: nothing can be between them")
        if asked["conversation"]:
            roots = machine_roots(rest["projects"], rest["home"], rest["system"])
            asked["conversation"] = kept_name(asked["conversation"], roots)
        return function(*args, query=Query(**asked, verdict=VERDICTS.get(verdict or "", "")), **rest)

    return wrapped
