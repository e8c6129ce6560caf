"""trotline events: the contract of every event, as a table or one by one."""

import json
from typing import Any

import click

from trotline.cli.options import accepts_roots, edition_option, json_option
from trotline.cli.output import bold, dim, envelope
from trotline.contracts import Contract, Fires, Surface
from trotline.editions import Edition
from trotline.errors import UsageError
from trotline.events import EVENTS
from trotline.fields import FIELDS, sample
from trotline.hosts.cursor_editions import edition

HELP = """Every event that an agent raises: when, where, and what a hook may answer.

\b
  trotline events                   the table
  trotline events preToolUse        one event, with an example payload
  trotline events --json            for scripts
"""

MARKS = {Fires.YES: "yes", Fires.NO: "-", Fires.UNVERIFIED: "?"}


@click.command("events", help=HELP)
@click.argument("name", required=False)
@json_option
@edition_option
@accepts_roots
def command(name: str | None, as_json: bool, edition_name: str) -> int:
    chosen = edition(edition_name)
    if name is not None and name not in EVENTS:
        near = next((event for event in EVENTS if event.lower() == name.lower()), "")
        hint = f"did you mean `{near}`?" if near else "`trotline events` lists them"
        raise UsageError(f"there is no event `{name}`", hint=hint)
    if name is not None and name not in chosen.events:
        raise UsageError(f"edition {chosen.name} has no event `{name}`", hint="leave --edition out for the newest")
    names = [name] if name else [event for event in EVENTS if event in chosen.events]
    if as_json:
        data = [contract_data(EVENTS[event].contract, chosen) for event in names]
        click.echo(envelope("trotline.events/1", ok=True, data=data, problems=[]))
    elif name:
        _one(EVENTS[name].contract, chosen)
    else:
        _table([EVENTS[event].contract for event in names], chosen)
    return 0


def contract_data(contract: Contract, chosen: Edition) -> dict[str, Any]:
    return {
        "name": contract.name,
        "family": contract.family,
        "when": contract.when,
        "matched_against": contract.subject.word or contract.subject.field or None,
        "can_refuse": chosen.refuses(contract.name, refusable=contract.refusable),
        "unenforced_on": list(contract.unenforced_on),
        "answers": list(chosen.reply_keys.get(contract.name, ())),
        "on_failure": failure_words(contract, chosen),
        "ask": contract.ask,
        "fires": {surface: contract.fires(surface) for surface in Surface},
        "example": sample(contract.name),
    }


def failure_words(contract: Contract, chosen: Edition) -> str:
    """What failing decides, in a few words."""
    if not chosen.refuses(contract.name, refusable=contract.refusable):
        return "nothing: it only observes"
    if contract.name in chosen.closed_by_default:
        return "refuses"
    closed = "failClosed refuses" if "failClosed" in chosen.entry_keys else "cannot be closed"
    unreadable = "; unreadable output refuses" if contract.name in chosen.bad_output_blocks else ""
    return f"goes on ({closed}{unreadable})"


def _refusing(contract: Contract, chosen: Edition) -> str:
    if not chosen.refuses(contract.name, refusable=contract.refusable):
        return "no"
    deaf = ", ".join(contract.unenforced_on)
    return f"yes (on {deaf} it is read and not enforced)" if deaf else "yes"


def _table(contracts: list[Contract], chosen: Edition) -> None:
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
        click.echo(bold(line) if number == 0 else line)
    click.echo(
        dim("\nide .. tab: whether it fires there (? = nobody has shown it). `trotline events NAME` tells more.")
    )


def _one(contract: Contract, chosen: Edition) -> None:
    fires = ", ".join(f"{surface} {MARKS[contract.fires(surface)]}" for surface in Surface)
    rows = {
        "when": contract.when,
        "family": contract.family.value,
        "fires on": fires,
        "matchers see": str(contract.subject),
        "can refuse": _refusing(contract, chosen),
        "ask": contract.ask.value,
        "a failing hook": failure_words(contract, chosen),
        "may answer": ", ".join(chosen.reply_keys.get(contract.name, ())) or "nothing",
    }
    click.echo(bold(contract.name))
    for title, text in rows.items():
        click.echo(f"  {title + ':':16}{text}")
    payload = sample(contract.name)
    click.echo("\nfields")
    for field in payload:
        click.echo(f"  {field:22}{FIELDS[field].meaning}")
    click.echo("\na payload, as it comes on standard input")
    click.echo(json.dumps(payload, indent=2, ensure_ascii=False))
