"""trotline log verify: whether the trail is what was written. Causes come before what follows from them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from trotline.audit import trail
from trotline.audit.anchors import Anchor, anchor_in, note_head, remember
from trotline.audit.chain import Break, spans_of
from trotline.audit.drain import drain
from trotline.audit.export import moment
from trotline.audit.sqlite_store import NAME, SqliteStore
from trotline.audit.upkeep import Upkeep, gone_from, upkeep_of
from trotline.audit.verification import MISLED, WHOLE, Verified, verified
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import dim, envelope, paint, plural, printable
from trotline.cli.patience import said_if_slow
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import UsageError
from trotline.machine import clock

FILE = click.Path(dir_okay=False, path_type=Path)
MOST_SHOWN = 20
MOST_SPANS = 5
"""What a person reads of breaks that are alike; programs get all."""


@click.command("verify")
@click.option("--anchor", "named", type=FILE, help="A file elsewhere where heads are noted.")
@json_option
@roots_options
def verify(named: Path | None, as_json: bool, roots: Roots) -> int:
    """Whether the trail is what was written, and where it is not.

    With --anchor it is compared with the heads that were noted in that file, and if it holds the head of today is noted
    there too; a log with our lines among others is only read. `trotline log anchor --file FILE` begins one. Without it,
    `anchor_file` of the settings is the file. Without both, a cut end and a trail that was written anew as a whole
    cannot be seen.
    """
    upkeep = upkeep_of(roots)
    upkeep = upkeep._replace(anchor=named.resolve()) if named else upkeep
    known = anchor_in(upkeep.anchor) if upkeep.anchor else Anchor()
    if named and not known.heads:
        what = "has no head in it" if named.exists() else "is not there"
        hint = f"`trotline log anchor --file {named}` begins one"
        raise UsageError(f"the anchor `{named}` {what}: there is nothing to compare with", hint=hint)
    with said_if_slow("every entry of the trail is read"):
        found = _verified(roots, upkeep.anchor, known)
    notes = bool(named) and not found.breaks and found.head.seq > 0 and known.ours
    if upkeep.anchor and notes:
        note_head(upkeep.anchor, found.head, moment(clock()))
        remember(upkeep.anchor, found.head.seq, roots.state)
    if as_json:
        click.echo(envelope("trotline.log.verify/1", ok=not found.breaks, data=_as_data(found, known), problems=[]))
    else:
        _tell(found, upkeep, known)
        if notes:
            click.echo(dim(f"the head is noted in {named}"))
    return 1 if found.breaks else 0


def _verified(roots: Roots, anchor: Path | None, known: Anchor) -> Verified:
    """As it is found, before anything is added: what waits comes in only if it holds, and is looked at then."""
    spool = trail.spool_of(roots.state)
    with SqliteStore(roots.state / NAME) as store:
        found = _with_the_anchor(verified(store, known.heads), roots, anchor, known)
        if found.breaks or not spool.waits:
            return found
        drain(spool, store)
        return _with_the_anchor(verified(store, known.heads), roots, anchor, known)


def _with_the_anchor(found: Verified, roots: Roots, anchor: Path | None, known: Anchor) -> Verified:
    """An anchor that is not there says nothing of the trail, and who wanted one must hear that."""
    if anchor is None:
        return found
    wrong = gone_from(anchor, roots.state)
    if not wrong and not known.heads and found.head.seq:
        what = "has no head in it" if anchor.exists() else "is not there"
        wrong = f"the anchor `{anchor}` {what}, so that a cut end would not be seen: `trotline log anchor` begins it"
    return found._replace(breaks=[Break(WHOLE, "", wrong), *found.breaks]) if wrong else found


def _as_data(found: Verified, known: Anchor) -> dict[str, Any]:
    return {
        "entries": found.head.seq,
        "head": found.head.digest,
        "anchored": found.anchored,
        "forgotten": found.forgotten._asdict(),
        "breaks": [one._asdict() for one in found.breaks],
        "unchecked": found.unchecked,
        "unread_anchors": known.unread,
    }


def _tell(found: Verified, upkeep: Upkeep, known: Anchor) -> None:
    for where, what in _causes_first(found.breaks):
        click.echo(f"{paint(where, Severity.ERROR)}: {printable(what)}")
    for what in (*found.unchecked, *_unread_lines(known)):
        click.echo(paint(printable(what), Severity.WARNING))
    holds = "it holds" if not found.breaks else paint("it does not hold", Severity.ERROR)
    state = f"anchored up to entry {found.anchored}" if known.heads else "unanchored"
    entries = "1 entry" if found.head.seq == 1 else f"{found.head.seq} entries"
    click.echo(f"{entries}: {holds}; {state}")
    if found.forgotten.entries:
        gone, rounds = found.forgotten
        click.echo(dim(f"{gone} of them {'is' if gone == 1 else 'are'} forgotten, in {plural(rounds, 'round')}"))
    if not known.heads and upkeep.syslog:
        click.echo(
            dim(f"heads are told to {upkeep.syslog}: compare with that log, `trotline log verify --anchor FILE`")
        )
    elif not known.heads and not found.breaks:
        click.echo(dim("nobody but the trail itself says how long it was: a cut end would not be seen"))


def _causes_first(breaks: list[Break]) -> Iterator[tuple[str, str]]:
    """The file, then the chain, then tables: rows of entries that are gone are no news beside that."""
    rows = [one for one in breaks if one.what == MISLED]
    others = [one for one in breaks if one.what != MISLED]
    yield from (_told(one) for one in others[:MOST_SHOWN])
    if len(others) > MOST_SHOWN:
        yield "the trail", f"and {len(others) - MOST_SHOWN} more such places; --json names every one"
    if len(rows) == 1:
        yield _told(rows[0])
    elif rows:
        spans = spans_of(sorted(one.seq for one in rows))
        shown = ", ".join(f"{first} to {last}" if last > first else str(first) for first, last in spans[:MOST_SPANS])
        more = f" and {len(spans) - MOST_SPANS} more places; --json names every one" if len(spans) > MOST_SPANS else ""
        yield "tables", f"{len(rows)} rows do not fit: entries {shown}{more}"


def _told(one: Break) -> tuple[str, str]:
    """What has no id is about entries that are not there, and its sentence names them."""
    if one.what == MISLED or one.id:
        return f"entry {one.seq} {printable(one.id)}".rstrip(), one.what
    return "the trail", one.what


def _unread_lines(known: Anchor) -> list[str]:
    return [f"{plural(known.unread, 'line')} of the anchor cannot be read"] if known.unread else []
