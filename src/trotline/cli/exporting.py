"""trotline log export and send: records for other programs, here or elsewhere."""

import os
import signal
import stat
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import click
import msgspec
from click.core import ParameterSource

from trotline.audit import otlp_wire
from trotline.audit.export import FORMATS, exported, moment
from trotline.audit.journal import Progress, noted
from trotline.audit.otlp import requests
from trotline.audit.outflow import Outflow, World, behind, journal_of
from trotline.audit.posting import headers_of, post
from trotline.audit.query import Query
from trotline.cli.options import json_option, roots_options
from trotline.cli.output import bold, dim, paint, plural, printable, tell_status
from trotline.cli.patience import opened_trail
from trotline.cli.questions import query_options, understood
from trotline.config.alerts_file import NAME as ALERTS
from trotline.config.export_file import NAME, PROTOCOLS, Destination, address_fault, read_exports
from trotline.config.places import Roots
from trotline.config.problems import Severity
from trotline.config.toml_page import are_there
from trotline.engine.posting import Answer, Request, shown
from trotline.errors import TrotlineError, TryAgain, UsageError, cause_of
from trotline.machine import clock
from trotline.outward import alone, flow
from trotline.service.directory import RunDirectory

SECONDS_OF_SLACK = 60.0
PASSING = frozenset({429, 502, 503, 504})
"""What a collector says when nothing is wrong but the moment."""

TRIES = 5
LONGEST_PAUSE = 30.0
TIMEOUT = 10.0
"""Of a person who sends something once, in seconds."""


@click.command("export")
@query_options
@click.option("--format", "form", type=click.Choice(list(FORMATS)), default="jsonl", show_default=True)
@click.option("--output", type=click.Path(dir_okay=False, path_type=Path), help="Into this file, for your eyes only.")
@click.option("--to", metavar="URL", help="Post it to this collector, as OTLP over HTTP.")
@click.option("--protocol", type=click.Choice(PROTOCOLS), default=PROTOCOLS[0], show_default=True, help="With --to.")
@click.option("--headers-file", metavar="FILE", default="", help="With --to: lines of `Name: value`.")
@click.option("--headers-env", metavar="NAME", default="", help="With --to: a variable with `name=value,name=value`.")
@click.option("--words/--no-words", default=True, help="Also what was said, redacted. [default: on]")
@click.option("--status", is_flag=True, help="How far what is sent as it comes has come.")
@json_option
@roots_options
@click.pass_context
def export(
    context: click.Context,
    query: Query,
    form: str,
    output: Path | None,
    to: str | None,
    protocol: str,
    headers_file: str,
    headers_env: str,
    words: bool,
    status: bool,
    as_json: bool,
    roots: Roots,
) -> int:
    """Records for other programs, newest first, on standard output; nothing is sent anywhere without --to.

    `trotline schema record` is the schema of jsonl; `record-csv` and `record-ocsf` are those of the others. otlp is
    lines of OTLP as JSON, as a collector's file receiver reads them. What is sent as it comes is said in export.toml,
    and --status tells how far that has come.
    """
    _refuse_unheard(context, status=status, to=to is not None)
    if status:
        return _tell_status(roots, as_json=as_json)
    if to is not None:
        headers = headers_of(headers_file, headers_env, os.environ)
        with opened_trail(roots.state) as store:
            found = store.with_observed(store.search(understood(store, query)))
            count = _post_all(requests(found, words=words), to, protocol, headers)
        click.echo(f"{plural(count, 'request')} taken by {printable(to)}")
        return 0
    with opened_trail(roots.state) as store:
        lines = exported(form, store.with_observed(store.search(understood(store, query))), words=words)
        if output is None:
            for line in lines:
                click.echo(line)
            return 0
        count = _written(lines, output)
    click.echo(f"{plural(count, 'line')} in {printable(str(output))}")
    return 0


def _written(lines: Iterable[str], output: Path) -> int:
    count = 0
    with os.fdopen(_opened(output), "w", encoding="utf-8") as file:
        for count, line in enumerate(lines, 1):  # noqa: B007 - how many it were is what is asked
            file.write(f"{line}\n")
    return count


ONLY_WITH_TO = ("protocol", "headers_file", "headers_env")
ONLY_WITHOUT_TO = ("form", "output")
"""Where records go as lines."""


def _refuse_unheard(context: click.Context, *, status: bool, to: bool) -> None:
    """Who says something that would change nothing means something else."""
    given = {name for name in context.params if context.get_parameter_source(name) is ParameterSource.COMMANDLINE}
    if not status and "as_json" in given:
        raise click.UsageError("--json goes with --status; --format jsonl is what programs read", context)
    if status and (ignored := given - {"status", "as_json", "projects", "home", "system", "roots"}):
        raise click.UsageError(f"--status is asked alone, without {_options(context, ignored)}", context)
    if not to and (ignored := given.intersection(ONLY_WITH_TO)):
        raise click.UsageError(f"without --to there is nothing that {_options(context, ignored)} would change", context)
    if to and context.params["form"] == "otlp":
        given.discard("form")
    if to and (ignored := given.intersection(ONLY_WITHOUT_TO)):
        raise click.UsageError(f"--to posts OTLP: {_options(context, ignored)} would change nothing", context)


def _options(context: click.Context, names: set[str]) -> str:
    return ", ".join(option.opts[0] for option in context.command.params if option.name in names)


def _opened(output: Path) -> int:
    """A file that was there already, and that others may read, is closed to them before anything is in it."""
    try:
        descriptor = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):  # a pipe or a device is its owner's affair
            os.fchmod(descriptor, 0o600)
            os.ftruncate(descriptor, 0)
    except OSError as error:
        raise UsageError(f"`{output}` cannot be written: {(error.strerror or str(error)).lower()}") from None
    return descriptor


def _post_all(made: Iterable[dict[str, Any]], to: str, protocol: str, headers: dict[str, str]) -> int:
    fault = address_fault(to)
    if fault:
        raise UsageError(fault[0], hint=fault[1].partition(";")[0])
    count = 0
    for request in made:
        signal_ = "logs" if "resourceLogs" in request else "traces"
        named = {**headers, "content-type": otlp_wire.TYPES[protocol]}
        body = otlp_wire.encoded(signal_, request, protocol)
        asked = Request(to.rstrip("/") + otlp_wire.PATHS[signal_], body, named, TIMEOUT)
        answer = _posted(asked)
        refused = otlp_wire.refused(signal_, answer.body, protocol)
        if refused.number:
            said = f"{plural(refused.number, 'record')} refused: {shown(refused.why, asked)}"
            click.echo(paint(said, Severity.WARNING), err=True)
        count += 1
    return count


def _posted(request: Request) -> Answer:
    """A server that is busy is asked again, a few times."""
    for left in range(TRIES - 1, -1, -1):
        answer = post(request, clock())
        if answer.is_good:
            return answer
        if answer.status not in PASSING or not left:
            break
        time.sleep(min(max(answer.wait_us / 1_000_000, 0.5), LONGEST_PAUSE))
    hint = "what was taken before it stays there; the same again does no harm, ids are the same"
    raise TrotlineError(f"the collector did not take it: {answer.complaint}", hint=hint)


@click.command("send")
@click.option("--skip", is_flag=True, help="Send nothing of what is there now; go on behind it.")
@click.option("--background", is_flag=True, hidden=True)
@json_option
@roots_options
def send(skip: bool, background: bool, as_json: bool, roots: Roots) -> int:
    """What export.toml and alerts.toml ask for, now: whatever is new goes where they say.

    The service does this by itself, and so does `trotline log`. Nothing is sent if there are no such files.
    """
    world = World(clock, os.environ, _limited if background else (lambda _: None))
    if skip:
        _skip(roots, world)
    try:
        flowed = flow(roots, world, at_once=not background)
    except Exception as error:
        if background:  # nobody sees what it prints
            RunDirectory(roots.state / "run").log("not sent", cause_of(error))
        raise
    if flowed is None:
        raise TryAgain("another process is sending already", hint="`trotline log export --status` tells how far it is")
    return _tell_status(roots, as_json=as_json, told=flowed.told)


def _limited(seconds: float) -> None:
    """The kernel ends whoever hangs all the same; whoever comes next begins with the same batch."""
    signal.setitimer(signal.ITIMER_REAL, seconds + SECONDS_OF_SLACK)


def _skip(roots: Roots, world: World) -> None:
    with alone(roots.state) as is_alone, opened_trail(roots.state) as store:
        for one in read_exports(roots).destinations if is_alone else ():
            Outflow(roots.state, one, world).skip(store)


def _tell_status(roots: Roots, *, as_json: bool, told: int = 0) -> int:
    """How far every destination has come; 1 if one of them has trouble, or a file cannot be understood."""
    read = read_exports(roots)
    with opened_trail(roots.state) as store:
        found = [
            (one, progress := noted(journal_of(roots.state, one), Progress), behind(store, progress))
            for one in read.destinations
        ]
    is_well = not read.problems and not any(progress.failures for _, progress, _ in found)
    data = {"destinations": [_facts(*one) for one in found], "alerts": told}
    lines = [line for one in found for line in _lines(*one)]
    if not found and not read.problems:
        what = "no records are" if told or are_there(roots, ALERTS) else "nothing is"
        lines = [f"{what} sent anywhere; {roots.config / NAME} would say where"]
    lines += [f"{plural(told, 'alert')} sent"] if told else []
    return tell_status("trotline.log.export/1", data, lines, read.problems, ok=is_well, as_json=as_json)


def _facts(one: Destination, progress: Progress, waiting: int) -> dict[str, Any]:
    named = {"layer": one.layer, "endpoint": one.endpoint, "protocol": one.protocol, "words": one.words}
    return {**named, "waiting": waiting, **msgspec.to_builtins(progress)}


def _lines(one: Destination, progress: Progress, waiting: int) -> Iterator[str]:
    what = "records and words" if one.words else "records without words"
    yield f"{bold(one.layer)} {printable(one.endpoint)}: {what}; {progress.sent} sent, {waiting} wait"
    if progress.last_us:
        yield f"  last taken {moment(progress.last_us)}, up to {progress.seq}"
    if progress.refused:
        yield paint(f"  {progress.refused} refused", Severity.WARNING)
    if progress.trouble:
        said = f"  {moment(progress.trouble.at_us)} {printable(progress.trouble.why)}"
        yield paint(said, Severity.ERROR) if progress.failures else dim(said)
    if progress.failures:
        yield f"  {plural(progress.failures, 'failure')} in a row; next try {moment(progress.next_us)}"
