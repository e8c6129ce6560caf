"""The built-in hook `until-green`: run the tests when the agent stops, and keep it going until they pass."""

import shlex
from pathlib import Path
from typing import Any

import click
import msgspec

from trotline.builtin.hook_context import INTERRUPTED, HookContext, builtin_command
from trotline.builtin.workspace import (
    CommandResult,
    Words,
    find_workspace_folder,
    parse_command,
    run_command,
    tail,
)
from trotline.domain.errors import TrotlineError
from trotline.domain.events import Stop
from trotline.domain.verdicts import Verdict
from trotline.hook.sdk import follow_up, on

MAX_LINES, MAX_CHARACTERS = 40, 4000
PROGRAM_NOT_FOUND = frozenset({126, 127})
"""Exit codes of `env`, `npx` and shells for a missing program; no test was run."""

HELP = """Run the tests when the agent stops; while they fail, the end of their output is its next message.

\b
  "stop": [ { "command": "trotline builtin until-green --run 'make test'",
              "timeout": 300, "loop_limit": 5 } ]

--run may be repeated; the first that fails is shown. A command is a list of words, run in the workspace without a
shell. Nothing is run when the person stopped the agent, or when it failed. `loop_limit` ends it: five times at most.
"""


class UntilGreen(msgspec.Struct, frozen=True):
    """Checks that run at each stop; the output of the first that fails is the agent's next message."""

    context: HookContext
    checks: tuple[Words, ...]
    seconds: float

    def follow_up(self, event: Stop) -> Verdict | None:
        """Run the checks; return a follow-up if one fails."""
        if event.status in INTERRUPTED:
            return None
        folder = find_workspace_folder(event)
        for check in self.checks:
            if message := self._run_check(check, folder):
                return follow_up(message)
        return None

    def _run_check(self, check: Words, folder: Path) -> str:
        """Run a check and return the message for the agent; empty if it passes."""
        result = run_command(check, folder, self.context.environ, self.seconds)
        line = shlex.join(check)
        if result.timed_out:
            return f"`{line}` did not end within {self.seconds:g} seconds. Find out why, then stop."
        if result.exit_code in PROGRAM_NOT_FOUND:
            raise TrotlineError(f"`{line}` ended with {result.exit_code}: there is no such program, so no test was run")
        return self._describe_failure(line, result) if result.exit_code else ""

    def _describe_failure(self, line: str, result: CommandResult) -> str:
        output = tail(self.context.redact(result.text), MAX_LINES, MAX_CHARACTERS) or "(it printed nothing)"
        return f"`{line}` fails with exit code {result.exit_code}. Fix what it says, then stop.\n\n{output}"


@click.command("until-green", help=HELP)
@click.option(
    "--run", "checks", type=parse_command, multiple=True, required=True, help="What has to pass; may be repeated."
)
@click.option("--seconds", type=click.FloatRange(min=0.1), default=280.0, show_default=True, help="For each of them.")
@builtin_command
def command(context: HookContext, **options: Any) -> None:
    on.stop(UntilGreen(context, **options).follow_up)
