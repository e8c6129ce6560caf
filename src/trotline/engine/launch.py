"""How a hook's command line becomes a process: its words, its environment.

The environment is inherited, as Cursor does it, and our own variables come last, so that nothing a hook put into the
session can pretend to be them.
"""

import os
import re
from collections.abc import Mapping, Sequence
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
    r"|BASH_FUNC_.*|SHELLOPTS|BASHOPTS|IFS|PS4|PERL5.*|RUBYOPT|NODE_PATH"
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
    return {name: value for name, value in inherited.items() if name != COOKIE and name not in HOST_VARIABLES}


def session_environment(hook: Hook, session: Mapping[str, Sequence[Variable]]) -> tuple[dict[str, str], list[Loss]]:
    """What earlier sessionStart hooks set, as far as this hook's layer may be told by theirs."""
    given: dict[str, str] = {}
    losses = []
    for name, variables in session.items():
        allowed = [one for one in variables if _may_set(name, one, hook)]
        from_above = [one for one in allowed if one.authority <= hook.layer.kind.authority]
        chosen = (from_above or allowed)[-1:]
        if chosen:
            given[name] = chosen[0].value
        if chosen != list(variables[-1:]):
            why = f"a hook of the {hook.layer.kind} layer is not told this by one with less authority"
            losses.append(Loss("trotline", f"env.{name}", why))
    return given, losses


def _may_set(name: str, variable: Variable, hook: Hook) -> bool:
    if name in HOST_VARIABLES:
        return False
    return variable.authority <= hook.layer.kind.authority or not PRIVILEGED.fullmatch(name.upper())


HOST_VARIABLES = frozenset(
    {
        "CURSOR_PROJECT_DIR",
        "CLAUDE_PROJECT_DIR",
        "CURSOR_VERSION",
        "CURSOR_USER_EMAIL",
        "CURSOR_TRANSCRIPT_PATH",
        "CURSOR_CODE_REMOTE",
        "CURSOR_PLUGIN_ROOT",
        "CLAUDE_PLUGIN_ROOT",
    }
)
"""What the host says, and nobody else, also where it says nothing."""


def host_environment(event: Event, hook: Hook, project: str, *, remote: bool = False) -> dict[str, str]:
    """The variables that Cursor sets for every hook; a value that no process can be given is left out."""
    root = hook.layer.root if hook.layer.kind.needs_trust else project
    plugin = hook.layer.root if hook.layer.kind is LayerKind.PLUGIN else ""
    variables = {
        "CURSOR_PROJECT_DIR": root or hook.layer.root,
        "CLAUDE_PROJECT_DIR": root or hook.layer.root,
        "CURSOR_VERSION": event.cursor_version,
        "CURSOR_USER_EMAIL": event.user_email or "",
        "CURSOR_TRANSCRIPT_PATH": event.transcript_path or "",
        "CURSOR_CODE_REMOTE": "true" if remote else "",
        "CURSOR_PLUGIN_ROOT": plugin,
        "CLAUDE_PLUGIN_ROOT": plugin,
    }
    always = {"CURSOR_PROJECT_DIR", "CLAUDE_PROJECT_DIR", "CURSOR_VERSION"}
    return {name: value for name, value in variables.items() if (value or name in always) and _can_be_given(value)}


def _can_be_given(value: str) -> bool:
    try:
        return b"\0" not in os.fsencode(value)
    except UnicodeEncodeError:
        return False
