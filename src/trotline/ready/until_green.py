"""Keeps the agent going until the tests pass: they are run when it stops, and what they said is its next message."""

import shlex
from pathlib import Path

import click
import msgspec

from trotline.errors import TrotlineError
from trotline.events import Stop
from trotline.ready.commands import Ran, Words, ran, tail, words
from trotline.ready.desk import Desk, answering
from trotline.ready.ends import CUT_SHORT
from trotline.ready.workspace import workspace_of
from trotline.sdk import follow_up, on
from trotline.verdicts import Verdict

SHOWN_LINES, SHOWN_CHARACTERS = 40, 4000
NOT_THERE = frozenset({126, 127})
"""What a command says through `env`, `npx` and their like when the program itself is missing: nobody's test failed."""

HELP = """Run the tests when the agent stops; while they fail, the end of their output is its next message.

\b
  "stop": [ { "command": "trotline ready until-green --run 'make test'",
              "timeout": 300, "loop_limit": 5 } ]

--run may be repeated; the first that fails is shown. A command is a list of words, run in the workspace without a
shell. Nothing is run when the person stopped the agent, or when it failed. `loop_limit` ends it: five times at most.
"""


class UntilGreen(msgspec.Struct, frozen=True):
    """What has to pass before the agent may stop."""

    desk: Desk
    checks: tuple[Words, ...]
    seconds: float

    def go_on(self, event: Stop) -> Verdict | None:
        if event.status in CUT_SHORT:
            return None
        directory = workspace_of(event)
        for check in self.checks:
            if said := self._said(check, directory):
                return follow_up(said)
        return None

    def _said(self, check: Words, directory: Path) -> str:
        """What the agent should read of a check that did not pass; nothing of one that did."""
        done = ran(check, directory, self.desk.environ, self.seconds)
        line = shlex.join(check)
        if done.late:
            return f"`{line}` did not end within {self.seconds:g} seconds. Find out why, then stop."
        if done.code in NOT_THERE:
            raise TrotlineError(f"`{line}` ended with {done.code}: there is no such program, so no test was run")
        return self._told(line, done) if done.code else ""

    def _told(self, line: str, done: Ran) -> str:
        shown = tail(self.desk.cleaned(done.text), SHOWN_LINES, SHOWN_CHARACTERS) or "(it printed nothing)"
        return f"`{line}` fails with exit code {done.code}. Fix what it says, then stop.\n\n{shown}"


@click.command("until-green", help=HELP)
@click.option("--run", "checks", type=words, multiple=True, required=True, help="What has to pass; may be repeated.")
@click.option("--seconds", type=click.FloatRange(min=0.1), default=280.0, show_default=True, help="For each of them.")
@answering
def command(desk: Desk, *, checks: tuple[Words, ...], seconds: float) -> None:
    on.stop(UntilGreen(desk, checks, seconds).go_on)
