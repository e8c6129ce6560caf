"""The table of built-in hooks: their purposes and the events that they handle. Their code is in `builtin/`."""

import shlex
from itertools import dropwhile
from typing import NamedTuple

from trotline.config.hooks_json.hook_commands import ASSIGNMENT
from trotline.config.problems import HookFinding
from trotline.domain.events import EVENTS
from trotline.domain.hooks import Hook


class BuiltinHook(NamedTuple):
    """A built-in hook: its purpose and the events that it handles."""

    purpose: str
    events: tuple[str, ...]


BUILTIN_HOOKS: dict[str, BuiltinHook] = {
    "session-context": BuiltinHook(
        "gives the model context, and hooks variables, when a session starts", ("sessionStart",)
    ),
    "format": BuiltinHook("formats each file that Agent or Tab edited", ("afterFileEdit", "afterTabFileEdit")),
    "until-green": BuiltinHook("keeps the agent going until the tests pass", ("stop",)),
    "hold-stop": BuiltinHook(
        "lets no agent end before somebody says so, or before it has run what it must",
        ("stop", "postToolUse", "afterFileEdit"),
    ),
    "code-scan": BuiltinHook(
        "tells the agent what a scanner finds in the lines that it changed",
        ("preToolUse", "postToolUse", "afterFileEdit", "stop"),
    ),
    "env-files": BuiltinHook("refuses commands while environment files are not mounted", ("beforeShellExecution",)),
    "agent-branch": BuiltinHook(
        "commits what the agent edited to a branch of its conversation",
        ("beforeSubmitPrompt", "afterFileEdit", "postToolUse", "stop"),
    ),
    "forward": BuiltinHook("sends events, summaries or diffs to a file, a command or a server", tuple(EVENTS)),
}
"""The hooks by name; the module of each has the same name, with underscores."""

FORWARDED_EVENTS: dict[str, tuple[str, ...]] = {
    "events": tuple(EVENTS),
    "summaries": ("stop",),
    "diffs": ("afterFileEdit", "afterTabFileEdit"),
}
"""The values of `forward --send`, each with the events that it handles."""


def check_builtin_hook(hook: Hook) -> list[HookFinding]:
    """Return the problems of a command that names a built-in hook; none for other commands."""
    try:
        words = [*dropwhile(ASSIGNMENT.match, shlex.split(hook.command))]
    except ValueError:
        return []
    if len(words) < 2 or words[0].rpartition("/")[2] != "trotline" or words[1] != "builtin":
        return []
    name, options = words[2] if len(words) > 2 else "", words[3:]
    if name not in BUILTIN_HOOKS:
        return [_report_unknown(name)]
    events = BUILTIN_HOOKS[name].events
    if name == "forward" and "--send" in options[:-1]:
        sent = options[options.index("--send") + 1]
        name, events = f"forward --send {sent}", FORWARDED_EVENTS.get(sent, events)
    if hook.event in events:
        return []
    message = f"`trotline builtin {name}` has nothing to say about {hook.event}"
    return [HookFinding("TL266", message, f"it answers {', '.join(events)}")]


def _report_unknown(name: str) -> HookFinding:
    from difflib import get_close_matches  # noqa: PLC0415 - only needed for an unknown name

    near = get_close_matches(name, BUILTIN_HOOKS, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "`trotline builtin` lists them"
    return HookFinding(
        "TL265", f"there is no built-in hook `{name}`" if name else "the line names no built-in hook", hint
    )
