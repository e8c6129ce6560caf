"""The trail kept: whether it is what was written, its heads noted elsewhere, and what is to be forgotten."""

from pathlib import Path
from typing import Any

import click

from trotline.audit import trail
from trotline.audit.anchors import Anchor, anchor_in, note_head
from trotline.audit.drain import drain
from trotline.audit.export import moment
from trotline.audit.sqlite_store import NAME, SqliteStore
from trotline.audit.store import Forgetting
from trotline.audit.upkeep import Upkeep, beyond, note_elsewhere, size_of, upkeep_of
from trotline.audit.verification import Verified, verified
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import dim, envelope, paint, plural, printable
from trotline.cli.patience import opened_trail, said_if_slow
from trotline.cli.questions import Moment, kept_name
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.machine import clock

FILE = click.Path(dir_okay=False, path_type=Path)


class Size(click.ParamType[int]):
    """A size as people say it: `500MB`."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        found = value if isinstance(value, int) else size_of(value)
        if not found and value != 0:
            self.fail(f"`{value}` is no size: say `500MB` or `2GB`", param, ctx)
        return found


@click.command("verify")
@click.option("--anchor", type=FILE, help="A file elsewhere where heads are noted.")
@json_option
@roots_options
def verify(anchor: Path | None, as_json: bool, roots: Roots) -> int:
    """Whether the trail is what was written, and where it is not.

    With --anchor it is compared with the heads that were noted in that file, and if it holds the head of today is noted
    there too; a log with our lines among others is only read. Without it, `anchor_file` of the settings is the file.
    Without both, a cut end and a trail that was written anew as a whole cannot be seen.
    """
    upkeep = upkeep_of(roots)
    compared = anchor or upkeep.anchor
    known = anchor_in(compared) if compared else Anchor()
    with said_if_slow("every entry of the trail is read"):
        found = _verified(roots, known)
    notes = not found.breaks and found.head.seq > 0 and known.ours
    if anchor and notes:
        note_head(anchor, found.head, moment(clock()))
    if as_json:
        click.echo(envelope("trotline.log.verify/1", ok=not found.breaks, data=_as_data(found, known), problems=[]))
        return 1 if found.breaks else 0
    _tell_verified(found, upkeep, known)
    if anchor and notes:
        click.echo(dim(f"the head is noted in {anchor}"))
    return 1 if found.breaks else 0


def _verified(roots: Roots, known: Anchor) -> Verified:
    """As it is found, before anything is added: what waits comes in only if it holds, and is looked at then."""
    spool = trail.spool_of(roots.state)
    with SqliteStore(roots.state / NAME) as store:
        found = verified(store, known.heads)
        if found.breaks or not spool.waits:
            return found
        drain(spool, store)
        return verified(store, known.heads)


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


def _tell_verified(found: Verified, upkeep: Upkeep, known: Anchor) -> None:
    for one in found.breaks:
        where = f"entry {one.seq} {printable(one.id)}" if one.seq or one.id else "the trail"
        click.echo(f"{paint(where, Severity.ERROR)}: {printable(one.what)}")
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
    elif not known.heads:
        click.echo(dim("nobody but the trail itself says how long it was: a cut end would not be seen"))


def _unread_lines(known: Anchor) -> list[str]:
    return [f"{plural(known.unread, 'line')} of the anchor cannot be read"] if known.unread else []


@click.command("anchor")
@click.option("--file", "anchor", type=FILE, help="Note it in this file.")
@click.option("--syslog", default="", metavar="SOCKET", help="Tell it to this socket; /dev/log is the machine's log.")
@json_option
@roots_options
def anchor(anchor: Path | None, syslog: str, as_json: bool, roots: Roots) -> int:
    """Note the head of the trail elsewhere, now: where --file and --syslog say, or else the settings.

    With `anchor_file` or `anchor_syslog` in settings.json the service does it by itself whenever records come in.
    """
    upkeep = Upkeep(anchor=anchor, syslog=syslog) if anchor or syslog else upkeep_of(roots)
    if not upkeep.anchors:
        hint = "say --file or --syslog, or set `anchor_file` or `anchor_syslog` in settings.json"
        raise click.UsageError(f"nobody says where the head is to be noted: {hint}")
    with opened_trail(roots.state) as store:
        head = store.head()
    noted = note_elsewhere(head, upkeep, moment(clock()))
    if as_json:
        data = {"seq": head.seq, "head": head.digest, "noted": noted}
        click.echo(envelope("trotline.log.anchor/1", ok=True, data=data, problems=[]))
    elif noted:
        click.echo(f"the head, entry {head.seq}, is noted in {', '.join(noted)}")
    else:
        click.echo("the trail is empty: it has no head yet")
    return 0


@click.command("forget")
@click.option("--before", "before_us", type=Moment(), default=0, help="All before this: 90d, 2026-03-01.")
@click.option("--conversation", default="", metavar="ID", help="This conversation.")
@click.option("--keep", "keep_bytes", type=Size(), default=0, help="The oldest, until the trail has this size: 500MB.")
@json_option
@roots_options
def forget(before_us: int, conversation: str, keep_bytes: int, as_json: bool, roots: Roots) -> int:
    """Take records out for good; that something was forgotten stays, and the chain still holds."""
    if sum(map(bool, (before_us, conversation, keep_bytes))) != 1:
        raise click.UsageError("say what to forget: --before TIME, --conversation ID or --keep SIZE")
    with opened_trail(roots.state) as store, said_if_slow("records are taken out of the trail"):
        count = store.forget(Forgetting(before_us, kept_name(conversation, roots), keep_bytes), now_us=clock())
        size = store.size()
        left = beyond(store, clock()) if keep_bytes and size > keep_bytes else ""
    if as_json:
        data = {"forgotten": count, "bytes": size}
        click.echo(envelope("trotline.log.forget/1", ok=True, data=data, problems=[]))
        return 0
    click.echo(f"{plural(count, 'record')} forgotten")
    if left:
        click.echo(paint(left, Severity.WARNING))
    return 0
