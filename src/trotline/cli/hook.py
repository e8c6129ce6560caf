"""trotline hook: what a host runs. A payload comes in, an answer in the host's own words goes out."""

import click

from trotline.hosts import HOSTS

HELP = """Answer one call of a host: its payload on standard input, its kind of answer on standard output.

This is the line that `trotline install` writes. HOST is the product; --event names the event where the payload does
not. The exit code is the host's language, not ours.

\b
  echo '{"hook_event_name": "beforeShellExecution", "command": "ls"}' | trotline hook cursor
"""


@click.command("hook", help=HELP)
@click.argument("host", type=click.Choice(list(HOSTS)))
@click.option("--event", default="", help="The host's name of the event.")
@click.option("--home", default="", metavar="DIR", help="Another home directory.")
@click.option("--system", expose_value=False, hidden=True)
@click.option("--project", expose_value=False, hidden=True, multiple=True)
def command(host: str, event: str, home: str) -> int:
    from trotline.program import answer_call

    return answer_call(["--host", host, "--event", event, "--home", home], [], guarded=True)
