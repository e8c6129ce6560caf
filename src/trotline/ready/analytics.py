"""Writes a line of JSON for everything that an agent does, without the secrets and personal data in it."""

import json
import os
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.config.places import private_directory
from trotline.engine.functions import Function
from trotline.errors import TrotlineError
from trotline.events import EVENTS, Event
from trotline.machine import clock
from trotline.ready.desk import Desk, answering
from trotline.ready.notes import locked
from trotline.ready.workspace import roots_of
from trotline.sdk import HANDLERS

NAME = "analytics"
MOST_BYTES = 10_000_000
LONGEST = 2000
OURS = frozenset({"raw", "workspace_roots", "transcript_path", "user_email"})
"""Fields that no line has: where the person works, and who they are."""

HELP = """Write one line of JSON for each event, into a file of yours.

\b
  "afterShellExecution": [ { "command": "trotline ready analytics" } ],
  "afterFileEdit":       [ { "command": "trotline ready analytics" } ],
  "stop":                [ { "command": "trotline ready analytics --no-texts" } ]

The file is events.jsonl below the state directory, or --to, which may not be in a workspace. Secrets and personal data
are taken out of every text; with --no-texts there are only sizes, and words such as the name of the model, the tool or
the conversation. A file that grows over 10 MB becomes events.jsonl.1.
"""


class Analytics(msgspec.Struct, frozen=True):
    """Where lines go, and whether texts are in them."""

    desk: Desk
    file: Path
    texts: bool

    def write(self, event: Event) -> None:
        if any(self.file.resolve().is_relative_to(root) for root in roots_of(event)):
            raise TrotlineError(f"`{self.file}` is in the workspace, where an agent could change it; name another file")
        line = json.dumps(self._line(event), ensure_ascii=True).encode() + b"\n"
        directory = self.file.parent
        if not directory.exists():
            private_directory(directory)
        with locked(self.desk.place(NAME)):
            self._make_room(len(line))
            descriptor = os.open(
                self.file, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o600
            )
            with os.fdopen(descriptor, "ab") as opened:
                opened.write(line)

    def _make_room(self, more: int) -> None:
        if self.file.is_file() and self.file.stat().st_size + more > MOST_BYTES:
            self.file.replace(self.file.with_name(f"{self.file.name}.1"))

    def _line(self, event: Event) -> dict[str, Any]:
        said = {name: value for name, value in msgspec.to_builtins(event).items() if name not in OURS and value}
        if not self.texts:
            said = {name: value if name in PLAIN else _short(value, 0) for name, value in said.items()}
        clean = self.desk.cleaned_tree({"event": event.wire_name, **said})
        return {"at_us": clock(), **{name: _short(value, LONGEST) for name, value in clean.items()}}


PLAIN = frozenset({"conversation_id", "generation_id", "model", "status", "tool_name", "subagent_type", "failure_type"})
"""Short words of the host that stay with --no-texts."""


def _short(value: Any, longest: int) -> Any:
    """Texts that are too long become their size, after they were redacted: half of a secret is one too."""
    if isinstance(value, str):
        return value if len(value) <= longest else {"characters": len(value)}
    if isinstance(value, dict | list):
        text = json.dumps(value)
        return value if len(text) <= longest else {"characters": len(text)}
    return value


@click.command(NAME, help=HELP)
@click.option(
    "--to", type=click.Path(path_type=Path), help="Another file.  [default: events.jsonl in the state directory]"
)
@click.option("--texts/--no-texts", default=True, help="Texts, redacted, or only their sizes.  [default: texts]")
@answering
def command(desk: Desk, *, to: Path | None, texts: bool) -> None:
    if to is not None and not to.is_absolute():
        raise click.UsageError(f"`{to}` depends on where the hook is run; name the whole path")
    analytics = Analytics(desk, to or desk.place(NAME) / "events.jsonl", texts)
    HANDLERS.extend(Function(name=NAME, event=event, call=analytics.write) for event in EVENTS)
