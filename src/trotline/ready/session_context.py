"""What the model should know, and which variables hooks should have, when a session starts."""

import re
import shlex
import sys

import click
import msgspec

from trotline.config.files import beginning
from trotline.errors import TrotlineError
from trotline.events import SessionStart
from trotline.ready.commands import Words, ran, words
from trotline.ready.desk import Desk, answering
from trotline.ready.workspace import inside, workspace_of
from trotline.sdk import on
from trotline.verdicts import Verdict

MOST_BYTES = 200_000
MOST_CHARACTERS = 12_000
"""Of one text; a model that begins with more than that has read a book before its first question."""

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")

HELP = """Tell the model what it should know, and set variables for later hooks, when a session starts.

\b
  "sessionStart": [ { "command":
      "trotline ready session-context --text 'Prices are cents.' --file CONTRIBUTING.md --env TICKET=SHOP-42" } ]

Texts come in this order: --text, --file, --run. Files are those of the workspace, and are shown to the model as texts
to read. Secrets and personal data are taken out of files and outputs. What cannot be had is named on standard error,
and the rest is given.
"""


def variable(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not NAME.fullmatch(name):
        raise click.BadParameter(f"`{text}` is not NAME=VALUE")
    return name, value


class Context(msgspec.Struct, frozen=True):
    """Where the texts come from, and the variables."""

    desk: Desk
    texts: tuple[str, ...]
    files: tuple[str, ...]
    commands: tuple[Words, ...]
    variables: dict[str, str]
    seconds: float

    def begin(self, event: SessionStart) -> Verdict:
        parts = [*self.texts, *(self._read(event, name) for name in self.files)]
        parts += [self._printed(event, command) for command in self.commands]
        return Verdict(context="\n\n".join(filter(None, parts)), env=self.variables)

    def _read(self, event: SessionStart, name: str) -> str:
        file = inside(event, name)
        if file is None:
            return _missing(f"`{name}` is no file of this workspace")
        text = beginning(file.path, MOST_BYTES)[0].decode("utf-8", "replace")
        return self._shown(f"From {file.name} in this workspace, a text to read:", text)

    def _printed(self, event: SessionStart, command: Words) -> str:
        line = shlex.join(command)
        try:
            done = ran(command, workspace_of(event), self.desk.environ, self.seconds)
        except TrotlineError as error:
            return _missing(error.message)
        if done.late or done.code:
            return _missing(f"`{line}` {'took too long' if done.late else f'ended with {done.code}'}")
        return self._shown(f"`{line}` prints:", done.stdout) if done.stdout.strip() else ""

    def _shown(self, heading: str, text: str) -> str:
        cleaned = self.desk.cleaned(text).strip("\n")
        cut = "\n[...]" if len(cleaned) > MOST_CHARACTERS else ""
        return f"{heading}\n{cleaned[:MOST_CHARACTERS]}{cut}"


def _missing(why: str) -> str:
    print(f"left out of the context: {why}", file=sys.stderr)
    return ""


@click.command("session-context", help=HELP)
@click.option("--text", "texts", multiple=True, help="A sentence for the model; may be repeated.")
@click.option("--file", "files", multiple=True, metavar="PATH", help="A file of the workspace; may be repeated.")
@click.option("--run", "commands", type=words, multiple=True, help="A command whose output it is; may be repeated.")
@click.option("--env", "variables", type=variable, multiple=True, metavar="NAME=VALUE", help="For later hooks.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=10.0, show_default=True, help="For each command.")
@answering
def command(  # each option is one word of the line
    desk: Desk,
    *,
    texts: tuple[str, ...],
    files: tuple[str, ...],
    commands: tuple[Words, ...],
    variables: tuple[tuple[str, str], ...],
    seconds: float,
) -> None:
    on.session_start(Context(desk, texts, files, commands, dict(variables), seconds).begin)
