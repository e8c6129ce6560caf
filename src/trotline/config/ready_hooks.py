"""The table of ready hooks: what each is for, and which events it has an answer to. Their code is in `ready/`."""

import shlex
from itertools import dropwhile
from typing import NamedTuple

from trotline.config.commands import ASSIGNMENT, Finding
from trotline.events import EVENTS
from trotline.hooks import Hook


class Row(NamedTuple):
    """One ready hook, as people choose it."""

    what_for: str
    events: tuple[str, ...]


READY: dict[str, Row] = {
    "session-context": Row("gives the model context, and hooks variables, when a session starts", ("sessionStart",)),
    "format": Row("formats each file that Agent or Tab edited", ("afterFileEdit", "afterTabFileEdit")),
    "until-green": Row("keeps the agent going until the tests pass", ("stop",)),
    "hold-stop": Row(
        "lets no agent end before somebody says so, or before it has run what it must",
        ("stop", "postToolUse", "afterFileEdit"),
    ),
    "track-stop": Row("counts failures, reports each end, and has a failing agent try again", ("stop",)),
    "code-scan": Row(
        "tells the agent what a scanner finds in the lines that it changed",
        ("preToolUse", "postToolUse", "afterFileEdit", "stop"),
    ),
    "env-files": Row("refuses commands while environment files are not mounted", ("beforeShellExecution",)),
    "agent-branch": Row(
        "commits what the agent edited to a branch of its conversation",
        ("beforeSubmitPrompt", "afterFileEdit", "postToolUse", "stop"),
    ),
    "edit-diff": Row("gives the diff of each edit to a command or a server", ("afterFileEdit", "afterTabFileEdit")),
    "analytics": Row("writes a line of JSON for each event, redacted", tuple(EVENTS)),
}
"""Name -> its row; the module of each is named the same, with underscores."""


def about_ready(hook: Hook) -> list[Finding]:
    """What is wrong with a line that names a ready hook; nothing about any other line."""
    try:
        words = [*dropwhile(ASSIGNMENT.match, shlex.split(hook.command))]
    except ValueError:
        return []
    if len(words) < 2 or words[0].rpartition("/")[2] != "trotline" or words[1] != "ready":
        return []
    name = words[2] if len(words) > 2 else ""
    if name not in READY:
        return [_unknown(name)]
    events = READY[name].events
    if hook.event in events:
        return []
    message = f"`trotline ready {name}` has nothing to say about {hook.event}"
    return [Finding("TL266", message, f"it answers {', '.join(events)}")]


def _unknown(name: str) -> Finding:
    from difflib import get_close_matches  # noqa: PLC0415 - most lines name one that is there

    near = get_close_matches(name, READY, n=1)
    hint = f"did you mean `{near[0]}`?" if near else "`trotline ready` lists them"
    return Finding("TL265", f"there is no ready hook `{name}`" if name else "the line names no ready hook", hint)
