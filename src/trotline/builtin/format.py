"""The built-in hook `format`: run a formatter on each edited file of the workspace."""

import shlex
import sys

import click
import msgspec

from trotline.builtin.hook_context import HookContext, builtin_command
from trotline.builtin.workspace import (
    Words,
    WorkspaceFile,
    add_files,
    find_workspace_file,
    parse_command,
    run_command,
    tail,
)
from trotline.domain.errors import TrotlineError
from trotline.domain.events import AfterFileEdit, AfterTabFileEdit
from trotline.hook.sdk import on

MAX_LINES, MAX_CHARACTERS = 3, 300

HELP = """Run a formatter on each file that was edited, by Agent and by Tab, each with lines of their own.

\b
  "afterFileEdit": [ { "command":
      "trotline builtin format --on '*.py' 'ruff format' --on '*.ts' 'npx prettier -w'" } ],
  "afterTabFileEdit": [ { "command": "trotline builtin format --on '*.py' 'ruff format'" } ]

The file is the last word of the command, or stands where `{}` does; it is an absolute path, and no shell reads it.
A star takes slashes too: `src/*.ts` is every .ts file below src. A file outside of the workspace, also behind a link,
and everything in .git is left alone.
"""


class Formatter(msgspec.Struct, frozen=True):
    """Formatters with their patterns; all that match the edited file run, in order."""

    context: HookContext
    formatters: tuple[tuple[str, Words], ...]
    seconds: float

    def format(self, event: AfterFileEdit | AfterTabFileEdit) -> None:
        """Format the edited file; raise if a formatter fails."""
        file = find_workspace_file(event, event.file_path)
        if file is None:
            print("not formatted: it is no file of this workspace", file=sys.stderr)
            return
        failures = [
            failure
            for pattern, formatter in self.formatters
            if file.matches(pattern) and (failure := self._run(formatter, file))
        ]
        if failures:
            raise TrotlineError("; ".join(failures))

    def _run(self, formatter: Words, file: WorkspaceFile) -> str:
        """Run a formatter and return an error message, or an empty text if it succeeds."""
        line = shlex.join(formatter)
        try:
            result = run_command(add_files(formatter, [file.path]), file.root, self.context.environ, self.seconds)
        except TrotlineError as error:
            return error.message
        if result.timed_out:
            return f"`{line}` did not end within {self.seconds:g} seconds"
        if not result.exit_code:
            return ""
        output = tail(self.context.redact(result.text), MAX_LINES, MAX_CHARACTERS)
        return f"`{line}` ended with {result.exit_code}: {output}"


@click.command("format", help=HELP)
@click.option(
    "--on",
    "formatters",
    type=(str, parse_command),
    multiple=True,
    required=True,
    metavar="PATTERN COMMAND",
    help="Which files, and what formats them; may be repeated.",
)
@click.option("--seconds", type=click.FloatRange(min=0.1), default=20.0, show_default=True, help="For each command.")
@builtin_command
def command(context: HookContext, *, formatters: tuple[tuple[str, Words], ...], seconds: float) -> None:
    formatter = Formatter(context, formatters, seconds)
    on.after_file_edit(formatter.format)
    on.after_tab_file_edit(formatter.format)
