"""trotline hook: the command that agents run. A payload comes in, an answer in the agent's format goes out."""

import click

from trotline.agents import AGENTS

HELP = """Answer one call of an agent: its payload on standard input, its kind of answer on standard output.

`trotline install` writes a faster line that does the same. AGENT is the product; --event names the event where the
payload does not. The exit code is the agent's language, not ours.

\b
  echo '{"hook_event_name": "beforeShellExecution", "command": "ls"}' | trotline hook cursor
"""


@click.command("hook", help=HELP)
@click.argument("agent", type=click.Choice(list(AGENTS)))
@click.option("--event", default="", help="The agent's name of the event.")
@click.option("--home", default="", metavar="DIR", help="Another home directory.")
@click.option("--system", expose_value=False, hidden=True)
@click.option("--project", expose_value=False, hidden=True, multiple=True)
def command(agent: str, event: str, home: str) -> int:
    from trotline.hook.process import answer_call

    return answer_call(["--agent", agent, "--event", event, "--home", home], [], guarded=True)
