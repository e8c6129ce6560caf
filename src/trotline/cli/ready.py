"""trotline ready: hooks that are there already; each is a line in hooks.json."""

from importlib import import_module

import click

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


class Ready(click.Group):
    """Imports a hook when it is called, not when it is listed."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(READY)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in READY:
            return None
        command: click.Command = import_module(f"trotline.ready.{cmd_name.replace('-', '_')}").command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and args[0] not in READY:
            from difflib import get_close_matches

            near = get_close_matches(args[0], READY, n=1)
            hint = f"did you mean `{near[0]}`?" if near else f"there are {', '.join(READY)}"
            raise click.UsageError(f"there is no ready hook `{args[0]}`; {hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section("Ready hooks"):
            formatter.write_dl([(name, row.what_for) for name, row in READY.items()])


@click.group("ready", cls=Ready, help=HELP, invoke_without_command=True)
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
