"""Counts how often a conversation failed, reports each end, and has the agent try again after two failures in a row."""

import sys
from typing import Any

import click
import msgspec

from trotline.errors import UsageError
from trotline.events import Stop
from trotline.ready.desk import Desk, answering
from trotline.ready.outbox import Outbox, checked_url
from trotline.sdk import follow_up, on
from trotline.verdicts import Verdict

NAME = "track-stop"
VARIABLE = "AGENT_TELEMETRY_URL"
FAILED = "error"

HELP = """Count failures of each conversation, report every end to a server, and try again after two failures in a row.

\b
  "stop": [ { "command": "trotline ready track-stop" } ]

The address is that of --url, or of the variable AGENT_TELEMETRY_URL; without one, only the counts are kept. Reports
go out after the answer, over https or to this machine itself. One that cannot be sent waits for the next time, and
standard error says so. A report has the status and counts of a conversation, and nothing that anybody wrote.
"""


class TrackStop(msgspec.Struct, frozen=True):
    """The counts, and where reports of them go."""

    desk: Desk
    patience: int
    outbox: Outbox | None

    def count(self, event: Stop) -> Verdict | None:
        with self.desk.notes(NAME).changed(event.conversation_id) as notes:
            in_a_row = int(notes.get("in_a_row", 0)) + 1 if event.status == FAILED else 0
            failures = int(notes.get("failures", 0)) + (event.status == FAILED)
            notes.update(stops=int(notes.get("stops", 0)) + 1, failures=failures, in_a_row=in_a_row)
        if self.outbox is not None:
            self._report(event, notes)
        if in_a_row != self.patience:
            return None
        often = f"This has failed {self.patience} times in a row."
        return follow_up(f"{often} Say in one sentence what goes wrong, then try another way.")

    def _report(self, event: Stop, notes: dict[str, Any]) -> None:
        if self.outbox is None:
            return
        if trouble := self.outbox.trouble():
            print(trouble, file=sys.stderr)
        self.outbox.put(self._summary(event, notes))

    def _summary(self, event: Stop, notes: dict[str, Any]) -> dict[str, Any]:
        summary = {
            "schema": "trotline.stop/1",
            "conversation_id": event.conversation_id,
            "generation_id": event.generation_id,
            "status": event.status,
            "loop_count": event.loop_count,
            "model": event.model or "",
            "tokens": {"input": event.input_tokens or 0, "output": event.output_tokens or 0},
            **notes,
        }
        return self.desk.cleaned_tree(summary)

    def send(self, _event: Stop) -> None:
        if self.outbox is not None:
            self.outbox.send()


def _outbox(desk: Desk, url: str | None, headers_file: str) -> Outbox | None:
    """A wrong address on the line is a mistake to be told; a wrong variable must not cost us the counts."""
    place, named = desk.place(NAME) / "outbox", desk.environ.get(VARIABLE, "")
    if url is not None:
        return Outbox(place, checked_url(url), headers_file)
    try:
        return Outbox(place, checked_url(named), headers_file) if named else None
    except UsageError as error:
        print(f"{VARIABLE}: {error.message}; {error.hint}", file=sys.stderr)
        return None


@click.command(NAME, help=HELP)
@click.option("--url", help=f"Where reports go.  [default: ${VARIABLE}]")
@click.option("--headers-file", default="", metavar="PATH", help="`Name: value` lines for the server; yours alone.")
@click.option("--patience", type=click.IntRange(min=1), default=2, show_default=True, help="Failures in a row.")
@answering
def command(desk: Desk, *, url: str | None, headers_file: str, patience: int) -> None:
    tracking = TrackStop(desk, patience, _outbox(desk, url, headers_file))
    on.stop(tracking.count)
    if tracking.outbox is not None:
        on.stop(background=True)(tracking.send)
