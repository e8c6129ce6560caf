"""trotline log export and send: records for other programs, as lines here or sent to configured destinations."""

import os
import signal
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.audit.export.export_formats import FORMATS, format_records, format_time
from trotline.audit.export.export_progress import ExportProgress, read_progress
from trotline.audit.query.query import Query
from trotline.cli.command import COMMON_OPTIONS, FILE, declare, list_used_options
from trotline.cli.log_query import complete_query, open_log, query_options
from trotline.cli.output import Result, bold, dim, format_problems, paint, plural, printable
from trotline.config.alerts_file import read_alerts
from trotline.config.export_file import Destination, read_exports
from trotline.config.paths import CONFIG_FILE, Roots
from trotline.config.problems import Severity
from trotline.delivery.delivery_process import lock_delivery, run_delivery
from trotline.delivery.record_sender import RecordSender, SenderContext, count_unsent, get_progress_file
from trotline.domain.errors import TryAgain, UsageError, describe_error, describe_os_error
from trotline.machine import read_clock
from trotline.service.directory import RunDirectory
from trotline.system.files import OWNER_ONLY, LockedError

EXTRA_SECONDS = 60.0


@declare("export", "trotline.log.export/1")
@query_options
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="jsonl", show_default=True)
@click.option("--output", type=FILE, help="Into this file, for your eyes only.")
@click.option("--details/--no-details", default=True, help="Include the redacted details. [default: on]")
@click.option("--status", is_flag=True, help="How far what is sent as it comes has come.")
def export(query: Query, form: str, output: Path | None, details: bool, status: bool, roots: Roots) -> Result:
    """Records for other programs, newest first, on standard output; nothing is sent anywhere.

    `trotline schema record` is the schema of jsonl; `record-csv` and `record-ocsf` are those of the others. otlp is
    lines of OTLP as JSON, as a collector's file receiver reads them. What is sent as it comes is said in trotline.toml:
    `trotline log send` sends it now, and --status tells how far that has come.
    """
    _refuse_ignored_options(click.get_current_context(), status=status)
    if status:
        return _build_status(roots)
    with open_log(roots.state) as store:
        lines = format_records(
            form, store.with_observed(store.search(complete_query(store, query))), with_detail=details
        )
        if output is None:
            for line in lines:
                click.echo(line)
            return Result()
        count = _write_lines(lines, output)
    return Result(lines=[f"{plural(count, 'line')} in {printable(str(output))}"])


def _refuse_ignored_options(context: click.Context, *, status: bool) -> None:
    given = list_used_options(context)
    if not status and "as_json" in given:
        raise click.UsageError("--json goes with --status; --format jsonl is what programs read", context)
    if status and (ignored := given - {"status", *COMMON_OPTIONS}):
        names = ", ".join(option.opts[0] for option in context.command.params if option.name in ignored)
        raise click.UsageError(f"--status is asked alone, without {names}", context)


def _write_lines(lines: Iterable[str], output: Path) -> int:
    count = 0
    with os.fdopen(_open_private(output), "w", encoding="utf-8") as file:
        for count, line in enumerate(lines, 1):  # noqa: B007 - the count is returned
            file.write(f"{line}\n")
    return count


def _open_private(output: Path) -> int:
    """Open a file that only its owner may read; an existing one is made private before it is written."""
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, OWNER_ONLY)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):  # not a pipe or a device
            os.fchmod(descriptor, OWNER_ONLY)
            os.ftruncate(descriptor, 0)
    except OSError as error:
        raise UsageError(f"`{output}` cannot be written: {describe_os_error(error)}") from None
    return descriptor


@declare("send", "trotline.log.export/1")
@click.option("--skip", is_flag=True, help="Skip the records that wait now; send only later ones.")
@click.option("--background", is_flag=True, hidden=True)
def send(skip: bool, background: bool, roots: Roots) -> Result:
    """Send new records and alerts now, as `[export]` and `[[alert]]` in trotline.toml configure it.

    The service does this by itself, and so does `trotline log`. Nothing is sent if there are no such sections.
    """
    context = SenderContext(read_clock, os.environ, _limit_seconds if background else (lambda _: None))
    if skip:
        _skip_backlog(roots, context)
    try:
        result = run_delivery(roots, context, at_once=not background)
    except Exception as error:
        if background:  # its output is not shown
            RunDirectory(roots.state / "run").log("not sent", describe_error(error))
        raise
    if result is None:
        raise TryAgain("another process is sending already", hint="`trotline log export --status` tells how far it is")
    return _build_status(roots, alerts=result.alerts)


def _limit_seconds(seconds: float) -> None:
    """Have the kernel end this process if it hangs; the next one sends the same batch again."""
    signal.setitimer(signal.ITIMER_REAL, seconds + EXTRA_SECONDS)


def _skip_backlog(roots: Roots, context: SenderContext) -> None:
    with suppress(LockedError), lock_delivery(roots.state), open_log(roots.state) as store:
        for destination in read_exports(roots).destinations:
            RecordSender(roots.state, destination, context).skip(store)


def _build_status(roots: Roots, *, alerts: int = 0) -> Result:
    """Return the progress of every destination; not ok if one fails, or a file has a problem."""
    read = read_exports(roots)
    with open_log(roots.state) as store:
        found = [
            (
                destination,
                progress := read_progress(get_progress_file(roots.state, destination), ExportProgress),
                count_unsent(store, progress),
            )
            for destination in read.destinations
        ]
    data = {"destinations": [_build_data(*entry) for entry in found], "alerts": alerts}
    lines = [*format_problems(read.problems), *(line for entry in found for line in _format_destination(*entry))]
    if not found and not read.problems:
        what = "no records are" if alerts or read_alerts(roots).files else "nothing is"
        lines = [f"{what} sent anywhere; `[export]` in {roots.config / CONFIG_FILE} would say where"]
    lines += [f"{plural(alerts, 'alert')} sent"] if alerts else []
    is_ok = not read.problems and not any(progress.failures for _, progress, _ in found)
    return Result(data, lines, read.problems, ok=is_ok)


def _build_data(destination: Destination, progress: ExportProgress, waiting: int) -> dict[str, Any]:
    return {
        "layer": destination.layer,
        "endpoint": destination.endpoint,
        "protocol": destination.protocol,
        "details": destination.details,
        "waiting": waiting,
        **msgspec.to_builtins(progress),
    }


def _format_destination(destination: Destination, progress: ExportProgress, waiting: int) -> Iterator[str]:
    what = "records and details" if destination.details else "records without details"
    name = f"{bold(destination.layer)} {printable(destination.endpoint)}"
    yield f"{name}: {what}; {progress.sent} sent, {waiting} wait"
    if progress.last_us:
        yield f"  last taken {format_time(progress.last_us)}, up to {progress.seq}"
    if progress.refused:
        yield paint(f"  {progress.refused} refused", Severity.WARNING)
    if progress.trouble:
        trouble = f"  {format_time(progress.trouble.at_us)} {printable(progress.trouble.why)}"
        yield paint(trouble, Severity.ERROR) if progress.failures else dim(trouble)
    if progress.failures:
        yield f"  {plural(progress.failures, 'failure')} in a row; next try {format_time(progress.next_us)}"
