"""Which decisions would change: the calls in question, and how people and programs are told."""

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO

import click
import msgspec

from trotline.audit.export import moment
from trotline.audit.query import Query
from trotline.cli.options import roots_options
from trotline.cli.output import bold, dim, paint, plural, printable
from trotline.cli.patience import opened_trail
from trotline.cli.questions import query_options
from trotline.cli.showing import record_named
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import TrotlineError, UsageError
from trotline.guarding import scanning_of
from trotline.replay.comparison import Group, Kind, Row, grouped, unsaid
from trotline.replay.removal import here as as_if_here
from trotline.replay.sources import Calls, Told, given, in_order
from trotline.scanners.scan import Scanner

SHOWN = (Kind.CHANGED, Kind.DRIFTED, Kind.OTHERS)
FOUND = frozenset({Kind.CHANGED, Kind.DRIFTED})
"""Decisions that would be others."""

TITLES = {
    Kind.CHANGED: "",
    Kind.DRIFTED: ", and not because of the candidate: what is in force says so too, now",
    Kind.OTHERS: ", the same decision by others",
}
PAINTED = {"deny": Severity.ERROR, "ask": Severity.WARNING}
WORDS = {"silent": "a warning"}
"""Of those who said something, this is what the others did."""

WIDTH = 140


def calls_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """Which calls are in question: those of the trail that a query finds, or lines that are given."""

    @click.option("--events", type=click.File("rb"), help="JSON lines instead of the trail; - for stdin.")
    @click.option("--here", is_flag=True, help="As if the calls had been made in this project.")
    @query_options
    @roots_options
    @functools.wraps(function)
    def wrapped(*args: Any, events: BinaryIO | None, here: bool, query: Query, roots: Roots, **rest: Any) -> Any:
        with _never_taken_for_an_answer():
            found = _calls(rest.get("name"), events, query, roots)
            if here:
                project = str(roots.projects[0])
                found = found._replace(every=[as_if_here(one, project) for one in found.every])
            return function(*args, calls=found, roots=roots, **rest)

    return wrapped


@contextmanager
def _never_taken_for_an_answer() -> Iterator[None]:
    """Exit 1 says that a decision would be another: what could not be judged at all must not say that."""
    try:
        yield
    except TrotlineError as error:
        if error.exit_code != TrotlineError.exit_code:
            raise
        raise UsageError(error.message, hint=error.hint) from None


def _calls(name: str | None, events: BinaryIO | None, query: Query, roots: Roots) -> Calls:
    """One call of the trail, those that a query finds, or all that are given."""
    if name is not None and msgspec.structs.replace(query, own=False) != Query():
        raise UsageError("an ID is one call, and conditions choose among many", hint="leave out the one or the others")
    if events is None:
        with opened_trail(roots.state) as store:
            if name is None:
                return in_order(store, query)
            seq = int(record_named(store, name)["seq"])
            return in_order(store, Query(after_seq=seq - 1, until_seq=seq + 1, own=True))
    if name is not None or msgspec.structs.replace(query, host="", event="") != Query():
        raise UsageError("what is given with --events is all judged", hint="only --host and --event go with it")
    calls = given(events, Told(query.host, query.event, _redacting(roots)))
    if not calls:
        raise UsageError(f"the input is empty: nothing is in `{events.name}`", hint="one payload on each line")
    return Calls(calls)


def _redacting(roots: Roots) -> Sequence[Scanner]:
    """Those by which the trail of this home is redacted, with the rules of its own."""
    known = scanning_of(roots).scanners()
    return [known[name] for name in ("secrets", "pii")]


def counts(rows: Iterable[Row]) -> dict[str, int]:
    found = [row.kind for row in rows]
    return {str(kind): found.count(kind) for kind in Kind}


def summary(rows: Sequence[Row]) -> str:
    numbers = counts(rows)
    parts = [f"{numbers['changed'] + numbers['drifted']} would be decided otherwise"]
    parts += [f"{numbers['same'] + numbers['others']} the same"]
    parts += [f"{numbers['unsaid']} cannot be said"] if numbers["unsaid"] else []
    return f"{plural(len(rows), 'call')}: {', '.join(parts)}"


def unreached(count: int) -> str:
    """Calls that a policy of this project does not reach."""
    where = "was in another workspace" if count == 1 else "were in other workspaces"
    return f"; {count} {where}, which this does not reach" if count else ""


def told(rows: Sequence[Row], examples: int, elsewhere: int = 0) -> Iterator[str]:
    """What changes, grouped and counted, with examples; and what cannot be said."""
    yield bold(summary(rows) + unreached(elsewhere)) if rows else "nothing in the trail answers to that"
    for group in grouped(rows, SHOWN):
        yield ""
        yield from _group(group, examples)
    reasons = unsaid(rows)
    if reasons:
        yield ""
        yield bold("cannot be said")
        yield from (f"{count:>6}  {printable(why)}" for why, count in reasons)


def _group(group: Group, examples: int) -> Iterator[str]:
    calls = plural(len(group.rows), "call")
    was, would = group.told
    unknown = f", and whether what is in force says so too cannot be said: {printable(group.why)}" if group.why else ""
    yield f"{bold(printable(was))} -> {_painted(would)}: {calls}{TITLES[group.kind]}{unknown}"
    yield from (f"  {line}" for line in voices(group))
    yield from (dim(f"  {example(row)}") for row in group.rows[:examples])
    more = len(group.rows) - examples
    if more > 0 and examples:
        yield dim(f"         and {more} more")


def voices(group: Group) -> Iterator[str]:
    """Who speaks now, otherwise, or no longer, in the words of the first call."""
    said = dict(group.silent)
    for author, reason in group.rows[0].reasons:
        word = said.pop(author, "")
        otherwise = f"says otherwise (it was {WORDS.get(word, printable(word))})" if word else "now speaks"
        yield f"{otherwise}: {printable(reason)}"
    yield from (
        f"no longer speaks: {printable(author)} ({WORDS.get(word, printable(word))})" for author, word in said.items()
    )


def example(row: Row) -> str:
    one = row.one
    subject = printable(" ".join(one.subject.split()))[:WIDTH]
    when = f" {moment(one.at_us)}" if one.at_us else ""
    return f"{one.seq:>6}{when} {printable(one.host)} {printable(one.event)}: {subject}"


def _painted(word: str) -> str:
    severity = PAINTED.get(word.replace(" (", ",").partition(",")[0])
    return paint(word, severity) if severity else bold(word)


def data(rows: Sequence[Row]) -> dict[str, Any]:
    """The numbers, and every call that is not simply the same."""
    others = [_row(row) for row in rows if row.kind is not Kind.SAME]
    return {"calls": len(rows), "counts": counts(rows), "rows": others}


def _row(row: Row) -> dict[str, Any]:
    one = row.one
    who = {"seq": one.seq, "id": one.id, "host": one.host, "event": one.event, "subject": one.subject}
    if row.kind is Kind.UNSAID:
        return {**who, "kind": row.kind, "why": row.why}
    decided = zip(row.sent, (row.was, row.would.partition(",")[0]), strict=True)
    spoken = {"speaks": list(map(list, row.speaks)), "silent": list(map(list, row.silent))}
    return {
        **who,
        "kind": row.kind,
        "was": row.was,
        "would": row.would,
        **({"sent": [sent or said for sent, said in decided]} if any(row.sent) else {}),
        **spoken,
        "reasons": [why for _, why in row.reasons],
        **({"why": row.why} if row.why else {}),
    }
