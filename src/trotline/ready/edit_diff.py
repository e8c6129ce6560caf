"""Hands the diff of each edit to a command, or sends it to a server, without the secrets in it."""

import shlex
import sys

import click
import msgspec

from trotline.errors import TrotlineError
from trotline.events import AfterFileEdit, AfterTabFileEdit
from trotline.ready.changes import text_of
from trotline.ready.commands import Words, ran, tail, words
from trotline.ready.desk import Desk, answering
from trotline.ready.diffs import diff_of, sides_of
from trotline.ready.outbox import Outbox, checked_url
from trotline.ready.workspace import Inside, inside
from trotline.sdk import on

NAME = "edit-diff"

HELP = """Give the diff of each edit, by Agent and by Tab, to a command or to a server.

\b
  "afterFileEdit":    [ { "command": "trotline ready edit-diff --run 'tee -a /var/log/edits.diff'" } ],
  "afterTabFileEdit": [ { "command": "trotline ready edit-diff --url https://review.example/edits" } ]

A command has the diff on its standard input. A server gets JSON with the file, the diff and who made it, over https
or on this machine itself, after the answer is out; what it does not take waits for the next edit. Secrets and personal
data are taken out of the diff first. Files outside of the workspace are left alone.
"""


class EditDiff(msgspec.Struct, frozen=True):
    """Who gets the diffs."""

    desk: Desk
    commands: tuple[Words, ...]
    outbox: Outbox | None
    seconds: float

    def edited(self, event: AfterFileEdit | AfterTabFileEdit) -> None:
        file = inside(event, event.file_path)
        if file is None:
            print("no diff: it is no file of this workspace", file=sys.stderr)
            return
        sides = sides_of(text_of(file.path), event.edits)
        clean = self.desk.cleaned_tree({"sides": sides})["sides"]  # not later: in a hunk a key has lost its frame
        diff = self.desk.cleaned(diff_of(file.name, clean))
        if not diff:
            return
        if self.outbox is not None:
            self._send(self.outbox, event, file, diff)
        failed = [why for command in self.commands if (why := self._failure(command, file, diff))]
        if failed:
            raise TrotlineError("; ".join(failed))

    def _send(self, outbox: Outbox, event: AfterFileEdit | AfterTabFileEdit, file: Inside, diff: str) -> None:
        if trouble := outbox.trouble():
            print(trouble, file=sys.stderr)
        outbox.put(
            {
                "schema": "trotline.edit/1",
                "event": event.wire_name,
                "conversation_id": self.desk.cleaned(event.conversation_id),
                "file": self.desk.cleaned(file.name),
                "diff": diff,
            }
        )

    def _failure(self, command: Words, file: Inside, diff: str) -> str:
        given = diff.encode("utf-8", "replace")
        done = ran(command, file.root, self.desk.environ, self.seconds, given)
        line = shlex.join(command)
        if done.late:
            return f"`{line}` did not end within {self.seconds:g} seconds"
        return f"`{line}` ended with {done.code}: {tail(self.desk.cleaned(done.text), 3, 300)}" if done.code else ""

    def send(self, _event: AfterFileEdit | AfterTabFileEdit) -> None:
        if self.outbox is not None:
            self.outbox.send()


@click.command(NAME, help=HELP)
@click.option("--run", "commands", type=words, multiple=True, help="Has the diff on standard input; may be repeated.")
@click.option("--url", help="Where diffs are sent.")
@click.option("--headers-file", default="", metavar="PATH", help="`Name: value` lines for the server; yours alone.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=20.0, show_default=True, help="For each command.")
@answering
def command(desk: Desk, *, commands: tuple[Words, ...], url: str | None, headers_file: str, seconds: float) -> None:
    if not (commands or url):
        raise click.UsageError("nobody gets the diff: say --run or --url")
    outbox = Outbox(desk.place(NAME) / "outbox", checked_url(url), headers_file) if url else None
    diffs = EditDiff(desk, commands, outbox, seconds)
    on.after_file_edit(diffs.edited)
    on.after_tab_file_edit(diffs.edited)
    if outbox is not None:
        on.after_file_edit(background=True)(diffs.send)
        on.after_tab_file_edit(background=True)(diffs.send)
