"""Formats each file that Agent or Tab edited, with the command that its name asks for, inside the workspace only."""

import shlex
import sys

import click
import msgspec

from trotline.errors import TrotlineError
from trotline.events import AfterFileEdit, AfterTabFileEdit
from trotline.ready.commands import Words, ran, tail, with_files, words
from trotline.ready.desk import Desk, answering
from trotline.ready.workspace import Inside, inside
from trotline.sdk import on

SHOWN_LINES, SHOWN_CHARACTERS = 3, 300

HELP = """Run a formatter on each file that was edited, by Agent and by Tab, each with lines of their own.

\b
  "afterFileEdit": [ { "command":
      "trotline ready format --on '*.py' 'ruff format' --on '*.ts' 'npx prettier -w'" } ],
  "afterTabFileEdit": [ { "command": "trotline ready format --on '*.py' 'ruff format'" } ]

The file is the last word of the command, or stands where `{}` does; it is an absolute path, and no shell reads it.
A star takes slashes too: `src/*.ts` is every .ts file below src. A file outside of the workspace, also behind a link,
and everything in .git is left alone.
"""


class Formatter(msgspec.Struct, frozen=True):
    """Patterns of files, and what formats them; of several that fit, each is run, in this order."""

    desk: Desk
    rows: tuple[tuple[str, Words], ...]
    seconds: float

    def format(self, event: AfterFileEdit | AfterTabFileEdit) -> None:
        file = inside(event, event.file_path)
        if file is None:
            print("not formatted: it is no file of this workspace", file=sys.stderr)
            return
        failed = [
            why for pattern, formatter in self.rows if file.fits(pattern) and (why := self._failure(formatter, file))
        ]
        if failed:
            raise TrotlineError("; ".join(failed))

    def _failure(self, formatter: Words, file: Inside) -> str:
        try:
            done = ran(with_files(formatter, [file.path]), file.root, self.desk.environ, self.seconds)
        except TrotlineError as error:
            return error.message
        if done.late:
            return f"`{shlex.join(formatter)}` did not end within {self.seconds:g} seconds"
        said = tail(self.desk.cleaned(done.text), SHOWN_LINES, SHOWN_CHARACTERS) if done.code else ""
        return f"`{shlex.join(formatter)}` ended with {done.code}: {said}" if done.code else ""


@click.command("format", help=HELP)
@click.option(
    "--on",
    "rows",
    type=(str, words),
    multiple=True,
    required=True,
    metavar="PATTERN COMMAND",
    help="Which files, and what formats them; may be repeated.",
)
@click.option("--seconds", type=click.FloatRange(min=0.1), default=20.0, show_default=True, help="For each command.")
@answering
def command(desk: Desk, *, rows: tuple[tuple[str, Words], ...], seconds: float) -> None:
    formatter = Formatter(desk, rows, seconds)
    on.after_file_edit(formatter.format)
    on.after_tab_file_edit(formatter.format)
