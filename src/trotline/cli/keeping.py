"""The trail kept: its heads noted elsewhere, and what is to be forgotten."""

from pathlib import Path
from typing import Any

import click

from trotline.audit.export import moment
from trotline.audit.sqlite_store import SqliteStore
from trotline.audit.store import Forgetting
from trotline.audit.upkeep import Upkeep, beyond, note_elsewhere, size_of, upkeep_of
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import envelope, paint, plural, printable
from trotline.cli.patience import opened_trail, said_if_slow
from trotline.cli.questions import Moment, has_any, kept_name, the_only
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.errors import TrotlineError
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


@click.command("anchor")
@click.option("--file", "anchor", type=FILE, help="Note it in this file.")
@click.option("--syslog", default="", metavar="SOCKET", help="Tell it to this socket; /dev/log is the machine's log.")
@json_option
@roots_options
def anchor(anchor: Path | None, syslog: str, as_json: bool, roots: Roots) -> int:
    """Note the head of the trail elsewhere, now: where --file and --syslog say, or else the settings. A file that is
    not there is begun.

    With `anchor_file` or `anchor_syslog` in settings.json the service does it by itself whenever records come in.
    """
    given = Upkeep(anchor=anchor.resolve() if anchor else None, syslog=syslog)
    upkeep = given if given.anchors else upkeep_of(roots)
    if not upkeep.anchors:
        hint = "say --file or --syslog, or set `anchor_file` or `anchor_syslog` in settings.json"
        raise click.UsageError(f"nobody says where the head is to be noted: {hint}")
    with opened_trail(roots.state) as store:
        head = store.head()
    noted = note_elsewhere(head, upkeep, moment(clock()), roots.state, anew=True)
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
@click.option("--conversation", default="", metavar="ID", help="This conversation; its first characters are enough.")
@click.option("--keep", "keep_bytes", type=Size(), default=0, help="The oldest, until the trail has this size: 500MB.")
@json_option
@roots_options
def forget(before_us: int, conversation: str, keep_bytes: int, as_json: bool, roots: Roots) -> int:
    """Take records out for good; that something was forgotten stays, and the chain still holds."""
    if sum(map(bool, (before_us, conversation, keep_bytes))) != 1:
        raise click.UsageError("say what to forget: --before TIME, --conversation ID or --keep SIZE")
    with opened_trail(roots.state) as store, said_if_slow("records are taken out of the trail"):
        meant, before = _meant(store, kept_name(conversation, roots)), store.head()
        count = store.forget(Forgetting(before_us, meant, keep_bytes), now_us=clock())
        if conversation and store.head() == before:  # no round was noted: nothing is of that name
            hint = "`trotline log conversations` lists those that are there; eight characters of a name are enough"
            raise TrotlineError(f"the trail has no conversation `{printable(conversation)[:80]}`", hint=hint)
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


def _meant(store: SqliteStore, conversation: str) -> str:
    """The conversation of this name, or else the only one that begins so."""
    if not conversation or has_any(store, conversation=conversation):
        return conversation
    return the_only(store, "conversation", conversation) or conversation
