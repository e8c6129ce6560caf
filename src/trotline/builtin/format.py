"""The built-in hook `format`: run a formatter on each edited file of the workspace."""

import sys
from typing import Any

import click
import msgspec

from trotline.builtin.hook_context import HookContext, builtin_command
from trotline.builtin.workspace import Words, find_workspace_file, parse_command
from trotline.domain.events import AfterFileEdit, AfterTabFileEdit
from trotline.hook.sdk import on

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
        matching = [formatter for pattern, formatter in self.formatters if file.matches(pattern)]
        self.context.run_commands(matching, file.root, self.seconds, file=file.path)


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
def command(context: HookContext, **options: Any) -> None:
    formatter = Formatter(context, **options)
    on.after_file_edit(formatter.format)
    on.after_tab_file_edit(formatter.format)
