"""trotline ready: hooks that are there already; each is a line in hooks.json."""

import click

from trotline.cli.lazy import Lazy
from trotline.cli.options import accepts_roots, json_option
from trotline.cli.output import bold, dim, envelope
from trotline.config.ready_hooks import READY
from trotline.events import EVENTS

HELP = """Hooks that need no code of your own: name one in hooks.json, and tell it what to do there.

\b
  trotline ready                          the table of them
  trotline ready until-green --help       one of them: its options, its lines for hooks.json
  trotline ready until-green --run 'make test' < payload.json

\b
  { "version": 1, "hooks": { "stop": [
      { "command": "trotline ready until-green --run 'make test'", "timeout": 300 } ] } }

Like every hook, each reads a payload on standard input and answers in the words of its host, which is recognised, or
named with --host. What it keeps is below the state directory; it writes nothing into a workspace that you did not ask
for. Guards are not asked in it: they sit in the line that `trotline install` writes.
"""


@click.group(
    "ready",
    cls=Lazy,
    rows={name: row.what_for for name, row in READY.items()},
    package="trotline.ready",
    what="ready hook",
    help=HELP,
    invoke_without_command=True,
)
@json_option
@accepts_roots
@click.pass_context
def command(context: click.Context, as_json: bool) -> None:
    if context.invoked_subcommand is not None:
        return
    if as_json:
        data = [{"name": name, "for": row.what_for, "events": row.events} for name, row in READY.items()]
        click.echo(envelope("trotline.ready/1", ok=True, data=data, problems=[]))
        return
    width = max(map(len, READY))
    for name, row in READY.items():
        click.echo(f"{bold(f'{name:{width}}')}  {row.what_for}")
        events = ", ".join(row.events) if len(row.events) < len(EVENTS) else "every event"
        click.echo(f"{'':{width}}  {dim(events)}")
