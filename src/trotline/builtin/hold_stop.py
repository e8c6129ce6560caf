"""The built-in hook `hold-stop`: keep the agent from stopping until files, commands and required checks allow it."""

import json
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.builtin.hook_context import INTERRUPTED, HookContext, builtin_command
from trotline.builtin.workspace import Words, find_workspace_folder, parse_command, run_command
from trotline.config.hooks_json import lookaround
from trotline.domain.errors import TrotlineError
from trotline.domain.events import AfterFileEdit, PostToolUse, Stop
from trotline.domain.hooks import Matcher
from trotline.domain.verdicts import Verdict
from trotline.formats import js_regex
from trotline.hook.sdk import follow_up, on
from trotline.system.files import read_start

NAME = "hold-stop"
POLL_SECONDS = 0.2
MAX_FILE_BYTES = 1_000_000

HELP = """Keep the agent from stopping until someone approves, or until it has run the required commands.

\b
  "stop": [ { "command": "trotline builtin hold-stop --until-file ~/approved --wait 50" } ]
  "stop": [ { "command": "trotline builtin hold-stop --until 'ci-status --passed'" } ]

\b
  "postToolUse":   [ { "command": "trotline builtin hold-stop --require 'make test'", "matcher": "Shell" } ],
  "afterFileEdit": [ { "command": "trotline builtin hold-stop --require 'make test'" } ],
  "stop":          [ { "command": "trotline builtin hold-stop --require 'make test'" } ]

All conditions must be met: each file exists (and contains the text of --containing), each command exits with 0, and the
agent ran each required check, a regular expression as in a matcher, without failure after its last edit.
--wait checks repeatedly for this many seconds before the agent is told. `loop_limit` ends it.
"""


class HoldStop(msgspec.Struct, frozen=True):
    """The conditions for a stop: files exist, commands succeed, required checks ran after the last edit."""

    context: HookContext
    files: tuple[str, ...]
    containing: str
    commands: tuple[Words, ...]
    required: tuple[str, ...]
    message: str
    wait: float
    command_timeout: float = 10.0

    def record_passed_check(self, event: PostToolUse) -> None:
        """Note a required check that succeeded; it counts until the next edit."""
        line = event.tool_input.get("command") if isinstance(event.tool_input, dict) else event.tool_input
        if not isinstance(line, str) or _has_failed(event.tool_output):
            return
        passed = [pattern for pattern in self.required if Matcher(pattern).fit((line,), lookaround.search).applies]
        if passed:
            with self.context.get_notes(NAME).edit(event.conversation_id) as notes:
                notes["passed"] = sorted({*notes.get("passed", []), *passed})

    def reset_checks(self, event: AfterFileEdit) -> None:
        """Forget the passed checks: they must pass again after an edit."""
        with self.context.get_notes(NAME).edit(event.conversation_id) as notes:
            notes["passed"] = []

    def hold(self, event: Stop) -> Verdict | None:
        """Wait for the conditions; return a follow-up that lists those that are not met."""
        if event.status in INTERRUPTED:
            return None
        deadline = time.monotonic() + self.wait
        unmet = [*self._find_unmet(event)]
        while unmet and time.monotonic() < deadline:
            time.sleep(POLL_SECONDS)
            unmet = [*self._find_unmet(event)]
        if not unmet:
            return None
        heading = self.message or "Not yet. Before you stop:"
        return follow_up("\n".join([heading, *(f"- {condition}" for condition in unmet)]))

    def _find_unmet(self, event: Stop) -> Iterator[str]:
        for name in self.files:
            if not self._is_file_ready(name, event):
                content = f" and contains `{self.containing}`" if self.containing else ""
                yield f"wait until `{name}` exists{content}; someone else has to create it"
        yield from (
            f"`{shlex.join(command)}` has to exit with 0"
            for command in self.commands
            if self._command_fails(command, event)
        )
        passed = self.context.get_notes(NAME).read(event.conversation_id).get("passed", []) if self.required else []
        yield from (
            f"run what `{pattern}` asks for, after your last edit" for pattern in self.required if pattern not in passed
        )

    def _command_fails(self, command: Words, event: Stop) -> bool:
        """Return whether a command fails or cannot be started."""
        try:
            result = run_command(command, find_workspace_folder(event), self.context.environ, self.command_timeout)
        except TrotlineError as error:
            print(error.message, file=sys.stderr)
            return True
        return result.timed_out or result.exit_code != 0

    def _is_file_ready(self, name: str, event: Stop) -> bool:
        """Return whether a file exists and contains the text."""
        path = self.context.roots.home / name[2:] if name.startswith("~/") else Path(name)
        path = path if path.is_absolute() else find_workspace_folder(event) / path
        try:
            return self.containing.encode() in read_start(path, MAX_FILE_BYTES)[0]
        except (OSError, ValueError):
            return False


def _has_failed(output: str) -> bool:
    """Return whether a tool's output has a nonzero exit code. Agents without one report failures by another event."""
    try:
        body = json.loads(output)
    except (ValueError, RecursionError):
        return False
    return isinstance(body, dict) and body.get("exitCode", 0) not in (0, None)


def _parse_pattern(text: str) -> str:
    try:
        js_regex.parse_js_regex(text)
    except js_regex.PatternError as error:
        raise click.BadParameter(f"`{text}` is not a valid JavaScript regular expression: {error.message}") from None
    return text


@click.command(NAME, help=HELP)
@click.option("--until-file", "files", multiple=True, metavar="PATH", help="A file that must exist.")
@click.option("--containing", default="", metavar="TEXT", help="Text that these files must contain.")
@click.option(
    "--until", "commands", type=parse_command, multiple=True, metavar="COMMAND", help="A command that must exit with 0."
)
@click.option(
    "--require",
    "required",
    type=_parse_pattern,
    multiple=True,
    metavar="PATTERN",
    help="A command that the agent must have run.",
)
@click.option("--message", default="", help="The first line of the message to the agent.")
@click.option(
    "--wait", type=click.FloatRange(min=0), default=0.0, show_default=True, help="How many seconds to keep checking."
)
@builtin_command
def command(context: HookContext, **options: Any) -> None:
    hold = HoldStop(context, **options)
    if not (hold.files or hold.commands or hold.required):
        raise click.UsageError("no condition given: use --until-file, --until or --require")
    on.stop(hold.hold)
    if hold.required:
        on.post_tool_use(matching="^Shell$")(hold.record_passed_check)
        on.after_file_edit(hold.reset_checks)
