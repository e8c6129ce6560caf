"""trotline log verify, anchor and prune: check the integrity of the audit log, note its head elsewhere, shorten it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from trotline.audit.export.export_formats import format_time
from trotline.audit.store import audit_log
from trotline.audit.store.audit_log import (
    MaintenanceSettings,
    explain_lost_heads,
    explain_size,
    parse_size,
    read_maintenance_settings,
    write_anchors,
)
from trotline.audit.store.drain import drain
from trotline.audit.store.sqlite_store import DATABASE_NAME, SqliteStore
from trotline.audit.store.store import ForgetRequest
from trotline.audit.verify.anchors import Anchor, append_head, read_anchor, save_known_head
from trotline.audit.verify.chain import ChainBreak, group_runs
from trotline.audit.verify.verification import MISINDEXED, WHOLE_FILE, VerificationResult, verify_audit_log
from trotline.cli.command import FILE, announce_if_slow, declare
from trotline.cli.log_query import TimeType, open_log
from trotline.cli.output import Result, dim, paint, plural, printable
from trotline.config.paths import Roots
from trotline.config.problems import Severity
from trotline.domain.errors import UsageError
from trotline.machine import read_clock

MAX_BREAKS = 20
MAX_SPANS = 5
"""Breaks that people read; --json has all."""


@declare("verify", "trotline.log.verify/1")
@click.option("--anchor", "named", type=FILE, help="A file elsewhere where heads are noted.")
def verify(named: Path | None, roots: Roots) -> Result:
    """Check that the audit log was not changed since it was written, and show where it was.

    With --anchor it is compared with the heads that were noted in that file, and if it holds the head of today is noted
    there too; a log with our lines among others is only read. `trotline log anchor --file FILE` begins one. Without it,
    `anchor_file` of the settings is the file. Without both, a cut end and an audit log that was written anew as a whole
    cannot be seen.
    """
    settings = read_maintenance_settings(roots)
    settings = settings._replace(anchor=named.resolve()) if named else settings
    known = read_anchor(settings.anchor) if settings.anchor else Anchor()
    if named and not known.heads:
        what = "has no head in it" if named.exists() else "is not there"
        hint = f"`trotline log anchor --file {named}` begins one"
        raise UsageError(f"the anchor `{named}` {what}: there is nothing to compare with", hint=hint)
    with announce_if_slow("every entry of the audit log is read"):
        found = _verify(roots, settings.anchor, known)
    lines = list(_format_result(found, settings, known))
    if settings.anchor and named and not found.breaks and found.head.seq > 0 and known.ours:
        append_head(settings.anchor, found.head, format_time(read_clock()))
        save_known_head(settings.anchor, found.head.seq, roots.state)
        lines.append(dim(f"the head is noted in {named}"))
    return Result(_build_data(found, known), lines, ok=not found.breaks)


def _verify(roots: Roots, anchor: Path | None, known: Anchor) -> VerificationResult:
    """Verify the log as it is; only if it holds, add the records that wait in the spool and verify again."""
    spool = audit_log.get_spool(roots.state)
    with SqliteStore(roots.state / DATABASE_NAME) as store:
        found = _add_anchor_breaks(verify_audit_log(store, known.heads), roots, anchor, known)
        if found.breaks or not spool.waits:
            return found
        drain(spool, store)
        return _add_anchor_breaks(verify_audit_log(store, known.heads), roots, anchor, known)


def _add_anchor_breaks(
    found: VerificationResult, roots: Roots, anchor: Path | None, known: Anchor
) -> VerificationResult:
    """Report a configured anchor that is missing or empty, because nothing was compared then."""
    if anchor is None:
        return found
    wrong = explain_lost_heads(anchor, roots.state)
    if not wrong and not known.heads and found.head.seq:
        what = "has no head in it" if anchor.exists() else "is not there"
        wrong = f"the anchor `{anchor}` {what}, so that a cut end would not be seen: `trotline log anchor` begins it"
    return found._replace(breaks=[ChainBreak(WHOLE_FILE, "", wrong), *found.breaks]) if wrong else found


def _build_data(found: VerificationResult, known: Anchor) -> dict[str, Any]:
    return {
        "entries": found.head.seq,
        "head": found.head.digest,
        "anchored": found.anchored,
        "forgotten": found.forgotten._asdict(),
        "breaks": [chain_break._asdict() for chain_break in found.breaks],
        "unchecked": found.unchecked,
        "unread_anchors": known.unread,
    }


def _format_result(found: VerificationResult, settings: MaintenanceSettings, known: Anchor) -> Iterator[str]:
    for place, text in _order_breaks(found.breaks):
        yield f"{paint(place, Severity.ERROR)}: {printable(text)}"
    unread = [f"{plural(known.unread, 'line')} of the anchor cannot be read"] if known.unread else []
    yield from (paint(printable(text), Severity.WARNING) for text in (*found.unchecked, *unread))
    holds = "it holds" if not found.breaks else paint("it does not hold", Severity.ERROR)
    state = f"anchored up to entry {found.anchored}" if known.heads else "unanchored"
    entries = "1 entry" if found.head.seq == 1 else f"{found.head.seq} entries"
    yield f"{entries}: {holds}; {state}"
    if found.forgotten.entries:
        gone, rounds = found.forgotten
        yield dim(f"{gone} of them {'is' if gone == 1 else 'are'} forgotten, in {plural(rounds, 'round')}")
    if not known.heads and settings.syslog:
        yield dim(f"heads are told to {settings.syslog}: compare with that log, `trotline log verify --anchor FILE`")
    elif not known.heads and not found.breaks:
        yield dim("nobody but the audit log itself says how long it was: a cut end would not be seen")


def _order_breaks(breaks: list[ChainBreak]) -> Iterator[tuple[str, str]]:
    """Yield causes first: the file, then the chain, then index rows, which only follow from missing entries."""
    rows = [chain_break for chain_break in breaks if chain_break.what == MISINDEXED]
    others = [chain_break for chain_break in breaks if chain_break.what != MISINDEXED]
    yield from (_describe_break(chain_break) for chain_break in others[:MAX_BREAKS])
    if len(others) > MAX_BREAKS:
        yield "the audit log", f"and {len(others) - MAX_BREAKS} more such places; --json names every one"
    if len(rows) == 1:
        yield _describe_break(rows[0])
    elif rows:
        spans = group_runs(sorted(chain_break.seq for chain_break in rows))
        shown = ", ".join(f"{first} to {last}" if last > first else str(first) for first, last in spans[:MAX_SPANS])
        more = f" and {len(spans) - MAX_SPANS} more places; --json names every one" if len(spans) > MAX_SPANS else ""
        yield "tables", f"{len(rows)} rows do not fit: entries {shown}{more}"


def _describe_break(chain_break: ChainBreak) -> tuple[str, str]:
    """Return the entry and the text; a break without an id is about missing entries, which its text names."""
    if chain_break.what == MISINDEXED or chain_break.id:
        return f"entry {chain_break.seq} {printable(chain_break.id)}".rstrip(), chain_break.what
    return "the audit log", chain_break.what


class SizeType(click.ParamType[int]):
    """A size such as `500MB`, in bytes."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return a size in bytes. Refuses text that is not a size with a usage error."""
        size = value if isinstance(value, int) else parse_size(value)
        if not size and value != 0:
            self.fail(f"`{value}` is no size: say `500MB` or `2GB`", param, ctx)
        return size


@declare("anchor", "trotline.log.anchor/1")
@click.option("--file", "file", type=FILE, help="Note it in this file.")
@click.option("--syslog", default="", metavar="SOCKET", help="Tell it to this socket; /dev/log is the machine's log.")
def anchor(file: Path | None, syslog: str, roots: Roots) -> Result:
    """Note the head of the audit log elsewhere, now: where --file and --syslog say, or else the settings. A file that
    is not there is begun.

    With `anchor_file` or `anchor_syslog` in trotline.toml the service does it by itself whenever records come in.
    """
    named = MaintenanceSettings(anchor=file.resolve() if file else None, syslog=syslog)
    settings = named if named.anchors else read_maintenance_settings(roots)
    if not settings.anchors:
        hint = "say --file or --syslog, or set `anchor_file` or `anchor_syslog` in trotline.toml"
        raise click.UsageError(f"nobody says where the head is to be noted: {hint}")
    with open_log(roots.state) as store:
        head = store.head()
    places = write_anchors(head, settings, format_time(read_clock()), roots.state, restart=True)
    line = f"the head, entry {head.seq}, is noted in {', '.join(places)}"
    data = {"seq": head.seq, "head": head.digest, "noted": places}
    return Result(data, [line if places else "the audit log is empty: it has no head yet"])


@declare("prune", "trotline.log.prune/1")
@click.option("--before", "before_us", type=TimeType(), default=0, help="All before this: 90d, 2026-03-01.")
@click.option(
    "--keep", "keep_bytes", type=SizeType(), default=0, help="The oldest, until the audit log has this size: 500MB."
)
def prune(before_us: int, keep_bytes: int, roots: Roots) -> Result:
    """Take records out for good; that something was forgotten stays, and the chain still holds.

    `trotline log conversations --clear ID` takes out one conversation.
    """
    if bool(before_us) == bool(keep_bytes):
        raise click.UsageError("say what to forget: --before TIME or --keep SIZE")
    with open_log(roots.state) as store, announce_if_slow("records are taken out of the audit log"):
        count = store.forget(ForgetRequest(before_us, "", keep_bytes), now_us=read_clock())
        size = store.size()
        left = explain_size(store, read_clock()) if keep_bytes and size > keep_bytes else ""
    lines = [f"{plural(count, 'record')} forgotten", *([paint(left, Severity.WARNING)] if left else [])]
    return Result({"forgotten": count, "bytes": size}, lines)
