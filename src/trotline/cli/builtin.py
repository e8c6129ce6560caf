"""trotline builtin: list and run built-in hooks."""

from collections.abc import Iterator

from trotline.cli.command import LazyGroup, declare_group
from trotline.cli.output import Result, bold, dim
from trotline.config.builtin_hooks import BUILTIN_HOOKS
from trotline.domain.events import EVENTS

HELP = """Hooks that need no code of your own: name one in hooks.json, and tell it what to do there.

\b
  trotline builtin                          the table of them
  trotline builtin until-green --help       one of them: its options, its lines for hooks.json
  trotline builtin until-green --run 'make test' < payload.json

\b
  { "version": 1, "hooks": { "stop": [
      { "command": "trotline builtin until-green --run 'make test'", "timeout": 300 } ] } }

Like every hook, each reads a payload on standard input and answers in the words of its agent, which is recognised, or
named with --agent. What it keeps is below the state directory; it writes nothing into a workspace that you did not ask
for. Guards are not asked in it: they sit in the line that `trotline install` writes.
"""


@declare_group(
    "builtin",
    "trotline.builtin/1",
    kind=LazyGroup,
    roots=False,
    summaries={name: hook.purpose for name, hook in BUILTIN_HOOKS.items()},
    package="trotline.builtin",
    noun="built-in hook",
    help=HELP,
)
def command() -> Result:
    data = [{"name": name, "for": hook.purpose, "events": hook.events} for name, hook in BUILTIN_HOOKS.items()]
    return Result(data, _format_table())


def _format_table() -> Iterator[str]:
    width = max(map(len, BUILTIN_HOOKS))
    for name, hook in BUILTIN_HOOKS.items():
        yield f"{bold(f'{name:{width}}')}  {hook.purpose}"
        events = ", ".join(hook.events) if len(hook.events) < len(EVENTS) else "every event"
        yield f"{'':{width}}  {dim(events)}"
