"""How a hook's command line becomes a process: its words, its environment.

The environment is inherited, as Cursor does it, and our own variables come last, so that nothing a hook put into the
session can pretend to be them.
"""

import re
from collections.abc import Mapping
from enum import StrEnum

from trotline.engine.sessions import Variable
from trotline.events import Event
from trotline.hooks import Hook, LayerKind
from trotline.outcomes import Loss

COOKIE = "TROTLINE_RUN"
"""Carried by every process of a run; whoever outlives a killed hook is found by it."""

CLEAN = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "LC_ALL", "TMPDIR", "TZ")
"""What is left of the environment when a clean one is asked for."""

PRIVILEGED = re.compile(
    r"PATH|HOME|XDG_.*|LD_.*|DYLD_.*|PYTHON.*|NODE_OPTIONS|BASH_ENV|ENV|GIT_.*|.*_PROXY|.*_BASE_URL"
    r"|CURSOR_.*|CLAUDE_.*|TROTLINE_.*"
)
"""Variables by which a lower layer's hook could take over a higher layer's."""

PLAIN_WORDS = re.compile(r"[A-Za-z0-9_@%+:,./-]*/[A-Za-z0-9_@%+:,./-]*+(?: +[A-Za-z0-9_@%+=:,./-]++)*+ *")


class Shell(StrEnum):
    """Which shell runs a line that is more than a list of words."""

    PLAIN = "-c"
    LOGIN = "-lc"  # what Cursor does: PATH is the profile's


def argv_of(command: str, shell: Shell = Shell.PLAIN) -> tuple[str, ...]:
    """A plain list of words that begins with a path is started as it is; everything else is the shell's business."""
    if shell is Shell.PLAIN and PLAIN_WORDS.fullmatch(command):
        return tuple(command.split())
    return through_the_shell(command, shell)


def through_the_shell(command: str, shell: Shell = Shell.PLAIN) -> tuple[str, ...]:
    return ("/bin/sh", shell.value, command)


def base_environment(inherited: Mapping[str, str], *, clean: bool) -> dict[str, str]:
    if clean:
        return {name: inherited[name] for name in CLEAN if name in inherited}
    return {name: value for name, value in inherited.items() if name != COOKIE}


def session_environment(hook: Hook, session: Mapping[str, Variable]) -> tuple[dict[str, str], list[Loss]]:
    """What earlier sessionStart hooks set, as far as this hook's layer may be told by theirs."""
    given: dict[str, str] = {}
    losses = []
    for name, variable in session.items():
        from_below = variable.rank > hook.layer.kind.rank
        if from_below and PRIVILEGED.fullmatch(name.upper()):
            why = f"a lower layer may not set it for a hook of the {hook.layer.kind} layer"
            losses.append(Loss("trotline", f"env.{name}", why))
        else:
            given[name] = variable.value
    return given, losses


def host_environment(event: Event, hook: Hook, *, remote: bool = False) -> dict[str, str]:
    """The variables that Cursor sets for every hook."""
    root = hook.layer.root if hook.layer.kind is LayerKind.PROJECT else next(iter(event.workspace_roots), "")
    variables = {
        "CURSOR_PROJECT_DIR": root or hook.layer.root,
        "CLAUDE_PROJECT_DIR": root or hook.layer.root,
        "CURSOR_VERSION": event.cursor_version,
        "CURSOR_USER_EMAIL": event.user_email or "",
        "CURSOR_TRANSCRIPT_PATH": event.transcript_path or "",
        "CURSOR_CODE_REMOTE": "true" if remote else "",
    }
    if hook.layer.kind is LayerKind.PLUGIN:
        variables |= {"CURSOR_PLUGIN_ROOT": hook.layer.root, "CLAUDE_PLUGIN_ROOT": hook.layer.root}
    always = {"CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "CURSOR_VERSION"}
    return {name: value for name, value in variables.items() if value or name in always}
