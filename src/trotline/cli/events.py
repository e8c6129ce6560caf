"""trotline events: the contract of every event, as a table or one by one."""

import json
from collections.abc import Iterator
from typing import Any

import click

from trotline.agents.cursor.cursor_editions import get_edition
from trotline.cli.command import declare, edition_option
from trotline.cli.output import Result, bold, dim
from trotline.domain.contracts import Contract, Fires, Surface
from trotline.domain.editions import Edition
from trotline.domain.errors import UsageError
from trotline.domain.event_fields import FIELDS, build_sample
from trotline.domain.events import EVENTS, get_event_class

HELP = """Every event that an agent raises: when, where, and what a hook may answer.

\b
  trotline events                   the table
  trotline events preToolUse        one event, with an example payload
  trotline events --json            for scripts
"""

MARKS = {Fires.YES: "yes", Fires.NO: "-", Fires.UNVERIFIED: "?"}


@declare("events", "trotline.events/1", help=HELP, roots=False)
@click.argument("name", required=False)
@edition_option
def command(name: str | None, edition_name: str) -> Result:
    chosen = get_edition(edition_name)
    if name is not None and get_event_class(name).contract.name not in chosen.events:
        raise UsageError(f"edition {chosen.name} has no event `{name}`", hint="leave --edition out for the newest")
    names = [name] if name else [event for event in EVENTS if event in chosen.events]
    contracts = [EVENTS[event].contract for event in names]
    lines = _format_event(contracts[0], chosen) if name else _format_table(contracts, chosen)
    return Result([_build_event_data(contract, chosen) for contract in contracts], lines)


def _build_event_data(contract: Contract, edition: Edition) -> dict[str, Any]:
    return {
        "name": contract.name,
        "family": contract.family,
        "when": contract.when,
        "matched_against": contract.subject.word or contract.subject.field or None,
        "can_refuse": edition.refuses(contract.name, refusable=contract.refusable),
        "unenforced_on": list(contract.unenforced_on),
        "answers": list(edition.reply_keys.get(contract.name, ())),
        "on_failure": describe_failure(contract, edition),
        "ask": contract.ask,
        "fires": {surface: contract.fires(surface) for surface in Surface},
        "example": build_sample(contract.name),
    }


def describe_failure(contract: Contract, chosen: Edition) -> str:
    """Return what a failing hook decides."""
    if not chosen.refuses(contract.name, refusable=contract.refusable):
        return "nothing: it only observes"
    if contract.name in chosen.closed_by_default:
        return "refuses"
    closed = "failClosed refuses" if "failClosed" in chosen.entry_keys else "cannot be closed"
    unreadable = "; unreadable output refuses" if contract.name in chosen.bad_output_blocks else ""
    return f"goes on ({closed}{unreadable})"


def _describe_refusal(contract: Contract, chosen: Edition) -> str:
    if not chosen.refuses(contract.name, refusable=contract.refusable):
        return "no"
    unenforced = ", ".join(contract.unenforced_on)
    return f"yes (on {unenforced} it is read and not enforced)" if unenforced else "yes"


def _format_table(contracts: list[Contract], chosen: Edition) -> Iterator[str]:
    rows = [("event", "refuses", *(surface.value for surface in Surface), "matched against", "may answer")]
    for contract in contracts:
        refuses = "yes" if chosen.refuses(contract.name, refusable=contract.refusable) else "-"
        fires = [MARKS[contract.fires(surface)] for surface in Surface]
        subject = contract.subject.word and f"'{contract.subject.word}'"
        answers = " ".join(chosen.reply_keys.get(contract.name, ())) or "-"
        rows.append((contract.name, refuses, *fires, subject or contract.subject.field or "-", answers))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for number, row in enumerate(rows):
        line = "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        yield bold(line) if number == 0 else line
    yield dim("\nide .. tab: whether it fires there (? = nobody has shown it). `trotline events NAME` tells more.")


def _format_event(contract: Contract, chosen: Edition) -> Iterator[str]:
    fires = ", ".join(f"{surface} {MARKS[contract.fires(surface)]}" for surface in Surface)
    rows = {
        "when": contract.when,
        "family": contract.family.value,
        "fires on": fires,
        "matchers see": str(contract.subject),
        "can refuse": _describe_refusal(contract, chosen),
        "ask": contract.ask.value,
        "a failing hook": describe_failure(contract, chosen),
        "may answer": ", ".join(chosen.reply_keys.get(contract.name, ())) or "nothing",
    }
    yield bold(contract.name)
    yield from (f"  {title + ':':16}{text}" for title, text in rows.items())
    payload = build_sample(contract.name)
    yield "\nfields"
    yield from (f"  {field:22}{FIELDS[field].meaning}" for field in payload)
    yield "\na payload, as it comes on standard input"
    yield json.dumps(payload, indent=2, ensure_ascii=False)
