"""The built-in hook `forward`: send events, summaries of conversations, or diffs of edits to a file, command or URL."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.builtin.destinations import Destinations, Outbox, validate_url
from trotline.builtin.hook_context import HookContext, builtin_command
from trotline.builtin.text_diff import build_diff, pair_texts
from trotline.builtin.workspace import Words, find_workspace_file, parse_command, read_text
from trotline.config.builtin_hooks import FORWARDED_EVENTS
from trotline.conversation.functions import EventHandler
from trotline.domain.errors import UsageError
from trotline.domain.events import AfterFileEdit, AfterTabFileEdit, Event, Stop
from trotline.domain.verdicts import Verdict
from trotline.hook.sdk import BACKGROUND_HANDLERS, HANDLERS, follow_up

NAME = "forward"
URL_VARIABLE = "AGENT_TELEMETRY_URL"
MAX_TEXT = 2000

PRIVATE_FIELDS = frozenset({"raw", "workspace_roots", "transcript_path", "user_email"})
"""Event fields that are never forwarded, because they identify the user and the workspace."""

NAME_FIELDS = frozenset(
    {"conversation_id", "generation_id", "model", "status", "tool_name", "subagent_type", "failure_type"}
)
"""Event fields with short names, which `--no-texts` keeps."""

HELP = """Send each event, summaries of conversations, or the diff of each edit to a file, a command or a server.

\b
  "afterShellExecution": [ { "command": "trotline builtin forward" } ],
  "stop":                [ { "command": "trotline builtin forward --send summaries" } ],
  "afterFileEdit":       [ { "command": "trotline builtin forward --send diffs --run 'tee -a /var/log/edits.diff'" } ]

\b
  events     one line of JSON for each event; with --no-texts only names and the sizes of texts
  summaries  at each stop: status, tokens, and how often the conversation stopped and failed; an agent that failed
             --patience times in a row is asked once to try another way
  diffs      a unified diff of each edit by Agent and by Tab, in the workspace

A file is named with --to, outside of the workspace; one that grows over 10 MB gets the suffix .1. A command gets the
text on its standard input. A server gets JSON over https, or on this machine itself, after the answer is out; what it
does not take waits for the next call. Without any of them, events go to events.jsonl below the state directory, and
summaries to the address in AGENT_TELEMETRY_URL, if it is set. Secrets and personal data are redacted.
"""


class EventForwarder(msgspec.Struct, frozen=True):
    """A forwarder of each event, redacted."""

    destinations: Destinations
    has_texts: bool

    def forward(self, event: Event) -> None:
        """Send the event to all destinations."""
        fields = {
            name: value for name, value in msgspec.to_builtins(event).items() if name not in PRIVATE_FIELDS and value
        }
        if not self.has_texts:
            fields = {name: value if name in NAME_FIELDS else _shorten(value, 0) for name, value in fields.items()}
        body = self.destinations.context.redact_tree({"event": event.wire_name, **fields})
        self.destinations.deliver(event, {name: _shorten(value, MAX_TEXT) for name, value in body.items()})


class SummaryForwarder(msgspec.Struct, frozen=True):
    """A forwarder of a summary at each stop, with counts of stops and failures of the conversation."""

    destinations: Destinations
    patience: int

    def forward(self, event: Stop) -> Verdict | None:
        """Send a summary of the stop; after repeated failures, ask the agent to try another way."""
        context, has_failed = self.destinations.context, event.status == "error"
        with context.get_notes(NAME).edit(event.conversation_id) as notes:
            in_a_row = int(notes.get("in_a_row", 0)) + 1 if has_failed else 0
            failures = int(notes.get("failures", 0)) + has_failed
            notes.update(stops=int(notes.get("stops", 0)) + 1, failures=failures, in_a_row=in_a_row)
        if not self.destinations.is_empty:
            self.destinations.deliver(event, context.redact_tree(self._summarize(event, notes)))
        if in_a_row != self.patience:
            return None
        failed = f"This has failed {self.patience} times in a row."
        return follow_up(f"{failed} Say in one sentence what goes wrong, then try another way.")

    def _summarize(self, event: Stop, notes: dict[str, Any]) -> dict[str, Any]:
        return {
            "schema": "trotline.stop/1",
            "conversation_id": event.conversation_id,
            "generation_id": event.generation_id,
            "status": event.status,
            "loop_count": event.loop_count,
            "model": event.model or "",
            "tokens": {"input": event.input_tokens or 0, "output": event.output_tokens or 0},
            **notes,
        }


class DiffForwarder(msgspec.Struct, frozen=True):
    """A forwarder of a unified diff of each edit in the workspace, redacted."""

    destinations: Destinations

    def forward(self, event: AfterFileEdit | AfterTabFileEdit) -> None:
        """Send the diff of the edit to all destinations."""
        file = find_workspace_file(event, event.file_path)
        if file is None:
            print("no diff: it is no file of this workspace", file=sys.stderr)
            return
        context = self.destinations.context
        pairs = pair_texts(read_text(file.path), event.edits)
        # Redact before the diff is made: a hunk holds parts of keys that scanners recognise only as a whole.
        redacted = context.redact_tree({"pairs": pairs})["pairs"]
        diff = context.redact(build_diff(file.name, redacted))
        if diff:
            body = {
                "schema": "trotline.edit/1",
                "event": event.wire_name,
                "conversation_id": context.redact(event.conversation_id),
                "file": context.redact(file.name),
                "diff": diff,
            }
            self.destinations.deliver(event, body, diff, file.root)


def _shorten(value: Any, limit: int) -> Any:
    """Replace a long text by its size. Call it after redaction, because a part of a secret is not recognised."""
    if isinstance(value, str):
        return value if len(value) <= limit else {"characters": len(value)}
    if isinstance(value, dict | list):
        text = json.dumps(value)
        return value if len(text) <= limit else {"characters": len(text)}
    return value


def _build_outbox(context: HookContext, url: str | None, headers_file: str, *, use_variable: bool) -> Outbox | None:
    """Build the outbox for --url or the variable. An invalid variable is reported, and the hook goes on."""
    directory = context.get_state_directory(NAME) / "outbox"
    if url is not None:
        return Outbox(directory, validate_url(url), headers_file)
    default = context.environ.get(URL_VARIABLE, "") if use_variable else ""
    try:
        return Outbox(directory, validate_url(default), headers_file) if default else None
    except UsageError as error:
        print(f"{URL_VARIABLE}: {error.message}; {error.hint}", file=sys.stderr)
        return None


@click.command(NAME, help=HELP)
@click.option(
    "--send", type=click.Choice([*FORWARDED_EVENTS]), default="events", show_default=True, help="What is sent."
)
@click.option("--to", "file", type=click.Path(path_type=Path), help="A file, outside of the workspace.")
@click.option("--run", "commands", type=parse_command, multiple=True, help="Has it on standard input; may be repeated.")
@click.option("--url", help="A server.")
@click.option("--headers-file", default="", metavar="PATH", help="`Name: value` lines for the server; yours alone.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=20.0, show_default=True, help="For each command.")
@click.option("--texts/--no-texts", default=True, help="Texts of events, or only their sizes.  [default: texts]")
@click.option("--patience", type=click.IntRange(min=1), default=2, show_default=True, help="Failures in a row.")
@builtin_command
def command(
    context: HookContext,
    *,
    send: str,
    file: Path | None,
    commands: tuple[Words, ...],
    url: str | None,
    headers_file: str,
    seconds: float,
    texts: bool,
    patience: int,
) -> None:
    if file is not None and not file.is_absolute():
        raise click.UsageError(f"`{file}` depends on where the hook is run; name the whole path")
    directory = context.get_state_directory(NAME)
    outbox = _build_outbox(context, url, headers_file, use_variable=send == "summaries")
    if send == "events" and not (file or commands or outbox):
        file = directory / "events.jsonl"
    destinations = Destinations(context, directory, file, commands, outbox, seconds)
    if send == "diffs" and destinations.is_empty:
        raise click.UsageError("nobody gets the diff: say --to, --run or --url")
    forwarders: dict[str, Callable[[Any], Verdict | None]] = {
        "events": EventForwarder(destinations, texts).forward,
        "summaries": SummaryForwarder(destinations, patience).forward,
        "diffs": DiffForwarder(destinations).forward,
    }
    for event in FORWARDED_EVENTS[send]:
        HANDLERS.append(EventHandler(name=NAME, event=event, call=forwarders[send]))
        if outbox is not None:
            BACKGROUND_HANDLERS.append(EventHandler(name=NAME, event=event, call=destinations.send))
