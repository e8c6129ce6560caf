"""Keeps the agent from ending until somebody says so, or until it has run what it must."""

import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from trotline import jsregex
from trotline.config import lookaround
from trotline.config.files import beginning
from trotline.errors import TrotlineError
from trotline.events import AfterFileEdit, PostToolUse, Stop
from trotline.hooks import Matcher
from trotline.ready.commands import Words, ran, words
from trotline.ready.desk import Desk, answering
from trotline.ready.ends import CUT_SHORT
from trotline.ready.workspace import workspace_of
from trotline.sdk import follow_up, on
from trotline.verdicts import Verdict

NAME = "hold-stop"
PAUSE = 0.2
MOST_BYTES = 1_000_000

HELP = """Do not let the agent stop before somebody says so, or before it has run what it must.

\b
  "stop": [ { "command": "trotline ready hold-stop --until-file ~/approved --wait 50" } ]
  "stop": [ { "command": "trotline ready hold-stop --until 'ci-status --passed'" } ]

\b
  "postToolUse":   [ { "command": "trotline ready hold-stop --require 'make test'", "matcher": "Shell" } ],
  "afterFileEdit": [ { "command": "trotline ready hold-stop --require 'make test'" } ],
  "stop":          [ { "command": "trotline ready hold-stop --require 'make test'" } ]

All that is asked for must be there: each file exists (and has the words of --containing), each command ends with 0, and
each required check, a regular expression as in a matcher, was run by the agent, without failing, after its last edit.
--wait looks again and again for so many seconds before the agent is told. `loop_limit` ends it.
"""


class HoldStop(msgspec.Struct, frozen=True):
    """What has to be there before the agent may end."""

    desk: Desk
    files: tuple[str, ...] = ()
    containing: str = ""
    commands: tuple[Words, ...] = ()
    required: tuple[str, ...] = ()
    message: str = ""
    wait: float = 0.0
    seconds: float = 10.0

    def ran(self, event: PostToolUse) -> None:
        """A required check that did not fail counts until the next edit."""
        line = event.tool_input.get("command") if isinstance(event.tool_input, dict) else event.tool_input
        if not isinstance(line, str) or _failed(event.tool_output):
            return
        done = [one for one in self.required if Matcher(one).fit((line,), lookaround.search).applies]
        if done:
            with self.desk.notes(NAME).changed(event.conversation_id) as notes:
                notes["done"] = sorted({*notes.get("done", []), *done})

    def edited(self, event: AfterFileEdit) -> None:
        with self.desk.notes(NAME).changed(event.conversation_id) as notes:
            notes["done"] = []

    def hold(self, event: Stop) -> Verdict | None:
        if event.status in CUT_SHORT:
            return None
        until = time.monotonic() + self.wait
        missing = [*self._missing(event)]
        while missing and time.monotonic() < until:
            time.sleep(PAUSE)
            missing = [*self._missing(event)]
        if not missing:
            return None
        return follow_up("\n".join([self.message or "Not yet. Before you stop:", *(f"- {one}" for one in missing)]))

    def _missing(self, event: Stop) -> Iterator[str]:
        for name in self.files:
            if not self._is_there(name, event):
                having = f" and says `{self.containing}`" if self.containing else ""
                yield f"wait until `{name}` exists{having}; it is for somebody else to make"
        yield from (
            f"`{shlex.join(command)}` has to end with 0" for command in self.commands if self._fails(command, event)
        )
        known = self.desk.notes(NAME).read(event.conversation_id).get("done", []) if self.required else []
        yield from (f"run what `{one}` asks for, after your last edit" for one in self.required if one not in known)

    def _fails(self, command: Words, event: Stop) -> bool:
        """One that cannot be run has not ended with 0 either; why is for a person to read."""
        try:
            done = ran(command, workspace_of(event), self.desk.environ, self.seconds)
        except TrotlineError as error:
            print(error.message, file=sys.stderr)
            return True
        return done.late or done.code != 0

    def _is_there(self, name: str, event: Stop) -> bool:
        path = self.desk.roots.home / name[2:] if name.startswith("~/") else Path(name)
        path = path if path.is_absolute() else workspace_of(event) / path
        try:
            return self.containing.encode() in beginning(path, MOST_BYTES)[0]
        except (OSError, ValueError):
            return False


def _failed(output: str) -> bool:
    """Whether a tool's output says so; where it does not say, the host raises another event for failures."""
    try:
        body = json.loads(output)
    except (ValueError, RecursionError):
        return False
    return isinstance(body, dict) and body.get("exitCode", 0) not in (0, None)


def check(text: str) -> str:
    try:
        jsregex.parse(text)
    except jsregex.PatternError as error:
        raise click.BadParameter(f"`{text}` is no regular expression of JavaScript: {error.message}") from None
    return text


@click.command(NAME, help=HELP)
@click.option("--until-file", "files", multiple=True, metavar="PATH", help="A file that somebody makes.")
@click.option("--containing", default="", metavar="TEXT", help="What these files have to say.")
@click.option("--until", "commands", type=words, multiple=True, metavar="COMMAND", help="What has to end with 0.")
@click.option("--require", "required", type=check, multiple=True, metavar="PATTERN", help="What the agent has to run.")
@click.option("--message", default="", help="What the agent is told first.")
@click.option("--wait", type=click.FloatRange(min=0), default=0.0, show_default=True, help="Seconds to look again.")
@answering
def command(  # each option is one word of the line
    desk: Desk,
    *,
    files: tuple[str, ...],
    containing: str,
    commands: tuple[Words, ...],
    required: tuple[str, ...],
    message: str,
    wait: float,
) -> None:
    if not (files or commands or required):
        raise click.UsageError("nothing is waited for: say --until-file, --until or --require")
    hold = HoldStop(desk, files, containing, commands, required, message, wait)
    on.stop(hold.hold)
    if required:
        on.post_tool_use(matching="^Shell$")(hold.ran)
        on.after_file_edit(hold.edited)
