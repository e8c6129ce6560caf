"""The built-in hook `session-context`: give the model context, and later hooks variables, when a session starts."""

import re
import shlex
import sys
from typing import Any

import click
import msgspec

from trotline.builtin.hook_context import HookContext, builtin_command
from trotline.builtin.workspace import Words, find_workspace_file, find_workspace_folder, parse_command, run_command
from trotline.domain.errors import TrotlineError
from trotline.domain.events import SessionStart
from trotline.domain.verdicts import Verdict
from trotline.hook.sdk import on
from trotline.system.files import read_start

MAX_FILE_BYTES = 200_000
MAX_CHARACTERS = 12_000
"""The limit of each text, because context costs tokens in every request."""

_VARIABLE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

HELP = """Tell the model what it should know, and set variables for later hooks, when a session starts.

\b
  "sessionStart": [ { "command":
      "trotline builtin session-context --text 'Prices are cents.' --file CONTRIBUTING.md --env TICKET=SHOP-42" } ]

Texts come in this order: --text, --file, --run. Files are those of the workspace, and are shown to the model as texts
to read. Secrets and personal data are taken out of files and outputs. What cannot be had is named on standard error,
and the rest is given.
"""


def _parse_variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not _VARIABLE_NAME.fullmatch(name):
        raise click.BadParameter(f"`{text}` is not NAME=VALUE")
    return name, value


class SessionContext(msgspec.Struct, frozen=True):
    """The texts, files and commands that give context, and variables for later hooks."""

    context: HookContext
    texts: tuple[str, ...]
    files: tuple[str, ...]
    commands: tuple[Words, ...]
    variables: tuple[tuple[str, str], ...]
    seconds: float

    def build(self, event: SessionStart) -> Verdict:
        """Return a verdict with the context and the variables."""
        parts = [*self.texts, *(self._read_file(event, name) for name in self.files)]
        parts += [self._run(event, command) for command in self.commands]
        return Verdict(context="\n\n".join(filter(None, parts)), env=dict(self.variables))

    def _read_file(self, event: SessionStart, name: str) -> str:
        file = find_workspace_file(event, name)
        if file is None:
            return _report_missing(f"`{name}` is no file of this workspace")
        text = read_start(file.path, MAX_FILE_BYTES)[0].decode("utf-8", "replace")
        return self._format(f"From {file.name} in this workspace, a text to read:", text)

    def _run(self, event: SessionStart, command: Words) -> str:
        line = shlex.join(command)
        try:
            result = run_command(command, find_workspace_folder(event), self.context.environ, self.seconds)
        except TrotlineError as error:
            return _report_missing(error.message)
        if result.timed_out or result.exit_code:
            reason = "took too long" if result.timed_out else f"ended with {result.exit_code}"
            return _report_missing(f"`{line}` {reason}")
        return self._format(f"`{line}` prints:", result.stdout) if result.stdout.strip() else ""

    def _format(self, heading: str, text: str) -> str:
        redacted = self.context.redact(text).strip("\n")
        ellipsis = "\n[...]" if len(redacted) > MAX_CHARACTERS else ""
        return f"{heading}\n{redacted[:MAX_CHARACTERS]}{ellipsis}"


def _report_missing(reason: str) -> str:
    print(f"left out of the context: {reason}", file=sys.stderr)
    return ""


@click.command("session-context", help=HELP)
@click.option("--text", "texts", multiple=True, help="A sentence for the model; may be repeated.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file of the workspace; may be repeated.")
@click.option(
    "--run", "commands", type=parse_command, multiple=True, help="A command whose output it is; may be repeated."
)
@click.option("--env", "variables", type=_parse_variable, multiple=True, metavar="NAME=VALUE", help="For later hooks.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=10.0, show_default=True, help="For each command.")
@builtin_command
def command(context: HookContext, **options: Any) -> None:
    on.session_start(SessionContext(context, **options).build)
